"""``lnlab pull``: the units that a spec lacks, taken from elsewhere once each is what it says: a place or a report."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.compute import decide_open_choices, remembered_decisions, stored_provenance
from lnlab.app.formats import format_quantity
from lnlab.app.plan_facts import plan_facts
from lnlab.app.request import Request, compile_request, open_store
from lnlab.app.stores.pack_checks import Refused, check_pack
from lnlab.committed.registries import load_registries
from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.store import files
from lnlab.store.looks import add_looks, question_of_looks, read_looks
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.packing import PackWriter, packs_locked
from lnlab.store.packs import PACKS_FOLDER, Packs
from lnlab.store.records.coverage import COMPLETE_STATUSES
from lnlab.store.records.layout import in_stretch_order
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.store.remote import Remote, Untrusted, untrusted
from lnlab.store.remote_packs import fetch_packs, packs_at
from lnlab.store.stretch import Stretch

if TYPE_CHECKING:
    from lnlab.compile.decisions import Decision
    from lnlab.store.store import Store

ARRIVALS_FOLDER = "arrivals"
"""Where packs of a pull lie until all of them are checked. An interrupted pull resumes from there."""
_INDEX_WEIGHT = 80
"""What a byte of an index counts as. Those of all packs that are taken lie in memory together, seven times as large."""


@dataclass(frozen=True)
class Pull:
    """What a pull did: units that are new, that were in the store already, and that are neither here nor there."""

    new: int
    present: int
    absent: int


@dataclass
class _Allowance:
    """What may be read of a place: indices, packs, and their rows as they lie in memory, together."""

    url: str
    limit: int
    _taken: int = 0

    def take(self, size: int) -> None:
        """Count bytes that are about to be read.

        Raises:
            StoreError: they are more than may be.
        """
        self._taken += size
        if self._taken > self.limit:
            most = format_quantity(self.limit, "B")
            what = f"{format_quantity(self._taken, 'B')} would be read, rows counted as in memory, and {most} may be"
            remedy = "allow more with --limit if you trust where it comes from"
            raise StoreError(Issue("too-large", self.url, what, remedy))


_Wanted = Mapping[str, TrajectoryRequest]
"""Trajectory -> what is lacking of it."""


def pull_units(store: "Store", request: Request, remote: Remote, limit: int, report: Callable[[int], None]) -> Pull:
    """Take the units that a spec lacks from another place, and remember its plan.

    The spec is compiled here, and a unit is taken under the key that follows from it with the pieces and corpora of
    this machine. Nothing enters the store before every pack with units of a stage is checked.

    Args:
        store: the store.
        request: the question.
        remote: where from.
        limit: bytes that may be read, rows counted as they lie in memory.
        report: called with the bytes of each pack that has arrived.

    Raises:
        SpecError: every problem of the spec.
        Untrusted: something there is not what it says.
        StoreError: the place cannot be read, or the store cannot be written.
    """
    allowance = _Allowance(remote.url, limit)
    seen = 0

    def take(pending: _Wanted) -> int:
        nonlocal seen
        here = {
            trajectory: {record.folder.name for record in contents.records}
            for trajectory, contents in StoreReader(store.root).read_all(pending)
        }
        with _arrivals(store) as folder:
            seen += _fetch(remote, folder / PACKS_FOLDER, here, allowance, report)
            return _adopt(store, folder, remote.url, pending, allowance)

    pulled = _pull_stages(store, request, take)
    if pulled is None:
        raise StoreError(_nothing_of(request, remote.url, any_runs=seen > 0))
    return pulled


def pull_report(store: "Store", request: Request, folder: Path, limit: int) -> Pull:
    """Take the units that a spec lacks from a report, with what was chosen there and how often its claims were judged.

    Args:
        store: the store.
        request: the question.
        folder: of the report.
        limit: bytes of rows that may be read, counted as they lie in memory.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read.
        Untrusted: a unit is not what its record says.
        StoreError: nothing of the spec is in the report, or the store cannot be written.
    """
    source = open_store(folder)
    allowance = _Allowance(str(folder), limit)

    def take(pending: _Wanted) -> int:
        with _arrivals(store):
            return _adopt(store, source.root, str(source.root), pending, allowance)

    pulled = _pull_stages(store, request, take, source)
    if pulled is None:
        raise StoreError(_nothing_of(request, str(folder), any_runs=True))
    question = question_of_looks(request.profile, request.overrides)
    add_looks(store.root, request.spec.stem, question, read_looks(source.root, request.spec.stem, question))
    return pulled


def _pull_stages(
    store: "Store",
    request: Request,
    take: Callable[[_Wanted], int],
    source: "Store | None" = None,
) -> Pull | None:
    """Take what each stage of a request lacks, and remember its plan. None: there is nothing of it, here or there.

    Args:
        store: the store.
        request: the question.
        take: puts what a place has of these units into the store, and returns how many it had.
        source: a store whose plans say what was chosen on tuning seeds.
    """
    known = load_registries(request.plugins)
    decisions: tuple[Decision, ...] = ()
    new = present = absent = 0
    while True:
        plan, document = compile_request(request, known, decisions)
        if source is not None and (made := remembered_decisions(plan, source)):
            decisions = (*decisions, *made)
            continue
        pending = {
            unit.key: TrajectoryRequest(unit.steps, {m.key: m.step for m in unit.measurements})
            for unit, _ in store.pending(plan)
        }
        taken = take(pending) if pending else 0
        new, absent = new + taken, absent + len(pending) - taken
        present += len(plan.trajectories) - len(pending)
        chosen = decide_open_choices(plan, store)
        if not chosen:
            break
        decisions = (*decisions, *chosen)
    if not new and not present:
        return None
    provenance = {} if source is None else stored_provenance(source, plan.name)
    facts = plan_facts(request, plan, document, known, provenance or stored_provenance(store, plan.name))
    store.save_plan(plan, request.spec, facts, content=request.content)
    return Pull(new, present, absent)


def _nothing_of(request: Request, place: str, *, any_runs: bool) -> Issue:
    """Why nothing was there."""
    if not any_runs:
        return Issue("not-run", place, "holds no runs", "name a report, or the place that lnlab push wrote to")
    what = f"has no run of {request.spec} as it is computed here"
    return Issue("unreachable", place, what, "other versions of lnlab, of a piece or of a corpus have other keys")


def _fetch(
    remote: Remote,
    folder: Path,
    here: Mapping[str, Container[str]],
    allowance: _Allowance,
    report: Callable[[int], None],
) -> int:
    """Put packs of a remote into a folder, and return how many packs it has.

    ``here`` has the stretches that the store holds of each unit that is wanted. A pack is taken that has others of one.
    """
    number, wanted = 0, []
    for pack, size in packs_at(remote, folder, allowance.take):
        number += 1
        if any(name not in here[trajectory] for trajectory, name in pack.stretches if trajectory in here):
            allowance.take(_INDEX_WEIGHT * size + pack.length)
            wanted.append(pack)
    for leftover in set(folder.glob("*")) - {pack.folder for pack in wanted}:
        files.remove(leftover)  # of a pull that was cut off, from another place or for another spec
    fetch_packs(remote, wanted, report)
    return number


@contextmanager
def _arrivals(store: "Store") -> Iterator[Path]:
    """The folder for what arrives, and the lock on the packs of the store.

    The folder is removed afterwards, unless the transfer was cut off and can be resumed.
    """
    with packs_locked(store.root) as acquired:
        if not acquired:
            what = "another lnlab is changing the packs of this store"
            raise StoreError(Issue("busy", str(store.root), what, "wait until it is done, then pull again"))
        folder = store.root / ARRIVALS_FOLDER
        try:
            yield folder
        # What cannot be trusted is not gone on with; after any other failure the arrivals stay.
        except Untrusted:
            files.remove(folder)
            raise
        files.remove(folder)


def _adopt(store: "Store", source: Path, place: str, pending: _Wanted, allowance: _Allowance) -> int:
    """Check the packs below a folder, put what they have of these units into the store, and return how many have more.

    Raises:
        Untrusted: a pack is not what a store writes.
        StoreError: the store cannot be written.
    """
    packs = Packs(source)
    for pack in packs.current():
        if not pending.keys().isdisjoint(pack.holds):
            try:
                check_pack(pack, allowance.take)
            except Refused as error:
                raise untrusted(f"{place}/{PACKS_FOLDER}/{pack.folder.name}", str(error)) from error
    arrived: dict[str, list[Stretch]] = {}
    for stretch in packs.read(pending)[0]:
        if stretch.record.outcome["status"] in COMPLETE_STATUSES:
            arrived.setdefault(stretch.record.trajectory, []).append(stretch)
    writer = PackWriter(store.root)
    new = 0
    for trajectory, contents in StoreReader(store.root).read_all(arrived):
        if _is_useful(contents, arrived[trajectory], pending[trajectory]):
            new += 1
            for stretch in arrived[trajectory]:
                writer.add(replace(stretch, output=b""), stretch.tables())  # nothing of what its worker printed
                if writer.is_full:
                    writer.close()
    writer.close()
    return new


def _is_useful(stored: TrajectoryContents, arrived: Sequence[Stretch], request: TrajectoryRequest) -> bool:
    """Whether a unit lacks less with these stretches than without them."""
    by_name = {stretch.record.folder.name: stretch for stretch in [*stored.stretches, *arrived]}
    together = TrajectoryContents([by_name[name] for name in in_stretch_order(by_name)])
    before, after = missing_of_request(stored, request), missing_of_request(together, request)
    return before is not None and (after is None or len(after.measurements) < len(before.measurements))
