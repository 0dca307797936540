"""``lnlab push``: the finished units of a spec, sent to another place: only what is not there yet."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.plans import StoredPlan, plan_tables, plans_newest_first
from lnlab.store.records.coverage import COMPLETE_STATUSES
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.store.remote import MANIFESTS, Remote, segment_place
from lnlab.store.segments import (
    Segment,
    encode_manifest,
    encode_segment,
    manifest_names,
    question_of,
    read_manifest,
)
from lnlab.store.stretch import PackReplaced

if TYPE_CHECKING:
    from lnlab.store.store import Store

BATCH_BYTES = 32 * 1024 * 1024
"""Bytes of segments in memory at once, about."""
MANIFEST_UNITS = 2_000
"""Units of one manifest. Manifests that were sent stay valid if the push is interrupted later."""


@dataclass
class Push:
    """What was sent.

    Attributes:
        units: finished units that the place holds now.
        sent: segments that it did not hold before.
        size: bytes of these.
        unfinished: units that the store has not finished, and that were left out.
    """

    units: int = 0
    sent: int = 0
    size: int = 0
    unfinished: int = 0


@dataclass
class _Sending:
    """What goes to a place, and what of it was there."""

    remote: Remote
    question: str
    report: Callable[[int], None]
    listed: dict[str, dict[str, Segment]]
    done: Push = field(default_factory=Push)
    _pending: list[tuple[str, bytes]] = field(default_factory=list)
    _unlisted: dict[str, list[Segment]] = field(default_factory=dict)
    _there: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, trajectory: str, contents: TrajectoryContents) -> None:
        """Send the segments of a unit that are not there, and list it.

        Raises:
            PackReplaced: it lay in a pack that is gone. Nothing was added.
        """
        listed = self.listed.get(trajectory, {})
        segments = []
        pending = []
        for stretch in contents.stretches:
            if stretch.record.outcome["status"] not in COMPLETE_STATUSES:
                continue  # a failed attempt, which says nothing to others
            segment = listed.get(stretch.record.folder.name)
            # A file that was cut off has another size than was promised, and is sent again.
            if segment is None or self._size_there(segment) != segment.size:
                segment, content = encode_segment(stretch)
                if self._size_there(segment) != segment.size:
                    pending.append((segment.sha256, content))
            segments.append(segment)
        self.done.units += 1
        self._pending += pending
        if any(segment != listed.get(segment.stretch) for segment in segments):
            self._unlisted[trajectory] = segments
        if sum(len(content) for _, content in self._pending) >= BATCH_BYTES:
            self._flush()
        if len(self._unlisted) >= MANIFEST_UNITS:
            self.close()

    def close(self) -> None:
        """Send what is left, and last of all the manifest."""
        self._flush()
        if self._unlisted:
            content = encode_manifest(self._unlisted)
            self.remote.write(f"{MANIFESTS}/{self.question}/{digest_bytes(content)}", content)
            self._unlisted = {}

    def _size_there(self, segment: Segment) -> int | None:
        prefix = segment.sha256[:2]
        if prefix not in self._there:
            self._there[prefix] = self.remote.digests(segment_place(segment.sha256).rpartition("/")[0])
        return self._there[prefix].get(segment.sha256)

    def _flush(self) -> None:
        def send(entry: tuple[str, bytes]) -> int:
            sha256, content = entry
            self.remote.write(segment_place(sha256), content)
            return len(content)

        with ThreadPoolExecutor(self.remote.transfers_at_once) as threads:
            for size in threads.map(send, self._pending):
                self.done.sent += 1
                self.done.size += size
                self.report(size)
        self._pending = []


def push_units(store: "Store", stored: StoredPlan, remote: Remote, report: Callable[[int], None]) -> Push:
    """Send the finished units of a plan, and of the tuning runs that decided it.

    Args:
        store: the store.
        stored: the plan.
        remote: where to.
        report: called with the bytes of each segment that has arrived.

    Raises:
        LabError: no unit is finished.
        StoreError: the store cannot be read, or the place cannot be written, or what lists its units is altered.
    """
    question = question_of(stored.text, stored.profile, stored.overrides)
    listed: dict[str, dict[str, Segment]] = {}
    for name, size in manifest_names(remote, question):
        for trajectory, segments in read_manifest(remote, name, size).items():
            listed.setdefault(trajectory, {}).update({segment.stretch: segment for segment in segments})
    steps: dict[str, int] = {}  # of the longest run of each trajectory, of tuning runs too
    for plan in plans_newest_first(store.root):
        if plan.asks_the_same(stored):
            for trajectory, number in plan_tables(store.root, plan)["runs"].select("trajectory", "steps").iter_rows():
                steps[trajectory] = max(number, steps.get(trajectory, 0))
    sending = _Sending(remote, question, report, listed)
    reader = StoreReader(store.root)
    # From the end, so that a unit whose pack was replaced stays there and is tried again.
    waiting = sorted(steps, reverse=True)
    while waiting:
        trajectory = waiting[-1]
        contents = reader.read(trajectory)
        if missing_of_request(contents, TrajectoryRequest(steps[trajectory])) is None:
            try:
                sending.add(trajectory, contents)
            except PackReplaced:  # another process joined it into a new pack: read it there
                reader = StoreReader(store.root)
                continue
        else:
            sending.done.unfinished += 1
        waiting.pop()
    if not sending.done.units:
        what = f"no unit of it is finished ({sending.done.unfinished:,} are not)"
        raise LabError(Issue("not-run", stored.spec, what, f"lnlab run {stored.spec} first"))
    sending.close()
    return sending.done
