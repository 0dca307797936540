"""``lnlab push``: the finished units of a spec, sent to another place: only what is not there yet."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.packing import PackWriter
from lnlab.store.plans import StoredPlan, plan_tables, plans_newest_first
from lnlab.store.records.coverage import COMPLETE_STATUSES
from lnlab.store.records.records import StoreReader
from lnlab.store.remote import Remote
from lnlab.store.remote_packs import packs_at, send_pack
from lnlab.store.stretch import Stretch

if TYPE_CHECKING:
    from lnlab.store.store import Store

FULL = 500_000
"""Rows after which a pack is sent. Packs that were sent stay if the push is interrupted later."""


@dataclass
class Push:
    """What was sent.

    Attributes:
        units: finished units that the place holds now.
        unfinished: units that the store has not finished, and that were left out.
        sent: packs that it did not hold before.
        size: bytes of these.
    """

    units: int
    unfinished: int
    sent: int = 0
    size: int = 0


def push_units(store: "Store", stored: StoredPlan, remote: Remote, report: Callable[[int], None]) -> Push:
    """Send the finished units of a plan, and of the tuning runs that decided it.

    Args:
        store: the store.
        stored: the plan.
        remote: where to.
        report: called with the bytes of each pack that has arrived.

    Raises:
        LabError: no unit is finished.
        StoreError: the store cannot be read, or the place cannot be written, or an index there is altered.
    """
    steps: dict[str, int] = {}  # of the longest run of each trajectory, of tuning runs too
    for plan in plans_newest_first(store.root):
        if plan.asks_the_same(stored):
            for trajectory, number in plan_tables(store.root, plan)["runs"].select("trajectory", "steps").iter_rows():
                steps[trajectory] = max(number, steps.get(trajectory, 0))
    reader = StoreReader(store.root)
    lacking: dict[str, set[str]] = {}
    for trajectory, contents in reader.read_all(steps):
        if missing_of_request(contents, TrajectoryRequest(steps[trajectory])) is None:
            if not all(stretch.is_known for stretch in contents.stretches):  # its rows would be sent in part
                what = "this store holds columns that only a newer lnlab knows"
                raise StoreError(Issue("unsupported", str(store.root), what, "update lnlab here, then do this again"))
            # a failed attempt says nothing to others
            complete = [record for record in contents.records if record.outcome["status"] in COMPLETE_STATUSES]
            lacking[trajectory] = {record.folder.name for record in complete}
    done = Push(len(lacking), len(steps) - len(lacking))
    if not lacking:
        what = f"no unit of it is finished ({done.unfinished:,} are not)"
        raise LabError(Issue("not-run", stored.spec, what, f"lnlab run {stored.spec} first"))
    for pack, _ in packs_at(remote, Path(), lambda _: None):
        for trajectory, name in pack.stretches:
            lacking.get(trajectory, set()).discard(name)

    writer = PackWriter(store.root)
    unsent = sorted(trajectory for trajectory, names in lacking.items() if names)
    for trajectory in unsent:
        for record, tables in reader.read_rows(trajectory):
            if record.folder.name in lacking[trajectory]:
                writer.add(Stretch(record, files=None), tables)  # without what its worker printed
        if writer.weight >= FULL or trajectory == unsent[-1]:
            size = send_pack(remote, writer.contents())
            writer = PackWriter(store.root)
            done.sent += 1
            done.size += size
            report(size)
    return done
