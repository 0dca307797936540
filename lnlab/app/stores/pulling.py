"""``lnlab pull``: the units that a spec lacks, taken from elsewhere once each is what it says: a place or a report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.compute import decide_open_choices, remembered_decisions, stored_provenance
from lnlab.app.formats import format_quantity
from lnlab.app.plan_facts import plan_facts
from lnlab.app.request import Request, compile_request, open_store
from lnlab.app.stores.unit_checks import Refused, check_stretch
from lnlab.committed.registries import load_registries
from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.looks import add_looks, question_of_looks, read_looks
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.packing import PackWriter, packs_locked
from lnlab.store.records.coverage import COMPLETE_STATUSES
from lnlab.store.records.layout import in_stretch_order, trajectory_folder
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.store.remote import Remote, Untrusted, segment_place
from lnlab.store.segments import (
    MOST_MANIFESTS,
    Segment,
    encode_segment,
    manifest_names,
    question_of,
    read_manifest,
)
from lnlab.store.stretch import Stretch
from lnlab.userfiles import LARGEST_SPEC, read_user_file

if TYPE_CHECKING:
    from lnlab.compile.decisions import Decision
    from lnlab.store.store import Store

ARRIVALS_FOLDER = "arrivals"
"""Where segments of a pull lie until all of them are checked. An interrupted pull resumes from there."""
_LOCK_FILE = "lock"


@dataclass(frozen=True)
class Pull:
    """What a pull did: units that are new, that were in the store already, and that are neither here nor there."""

    new: int
    present: int
    absent: int


MOST_ARRIVING = 32 * 1024 * 1024
"""Bytes of segments in memory at once, about."""

Listed = dict[str, dict[str, tuple[Segment, str]]]
"""Trajectory -> name of a stretch -> the segment, and the place of the manifest that lists it."""


@dataclass
class _Allowance:
    """What may be read of a place: its manifests, its segments, and their rows as they lie in memory, together."""

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


def pull_units(
    store: "Store", request: Request, remote: Remote, limit: int, report: Callable[[int, int], None]
) -> Pull:
    """Take the units that a spec lacks from another place, and remember its plan.

    The spec is compiled here, and a unit is taken under the key that follows from it with the pieces and corpora of
    this machine. Nothing enters the store before every file of every unit of a stage is checked.

    Args:
        store: the store.
        request: the question.
        remote: where from.
        limit: bytes that may be read, rows counted as they lie in memory.
        report: called with the bytes that have arrived, and those of all.

    Raises:
        SpecError: every problem of the spec.
        Untrusted: something there is not what it says.
        StoreError: the place cannot be read, or the store cannot be written.
    """
    content = read_user_file(request.spec, "spec", LARGEST_SPEC) if request.content is None else request.content
    allowance = _Allowance(remote.url, limit)
    question = question_of(digest_bytes(content), request.profile, request.overrides)
    seen = 0

    def take(pending: Mapping[str, TrajectoryRequest]) -> int:
        nonlocal seen
        listed, manifests = _listed(remote, question, pending, allowance)
        seen += manifests
        return _pull_stage(store, remote, pending, listed, allowance, report)

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

    def take(pending: Mapping[str, TrajectoryRequest]) -> int:
        reader, here = StoreReader(source.root), StoreReader(store.root)
        useful = []
        for trajectory, there in reader.read_all(pending):
            checked = []
            for stretch in there.stretches:
                if stretch.record.outcome["status"] in COMPLETE_STATUSES:
                    segment, content = encode_segment(stretch)
                    home = trajectory_folder(store.root, trajectory) / segment.stretch
                    try:
                        checked.append(check_stretch(home, segment.split(content), allowance.take))
                    except Refused as error:
                        raise Untrusted(str(folder), str(error)) from error
            if checked and _is_useful(here.read(trajectory), checked, pending[trajectory]):
                useful.append(checked)
        _add_stretches(store, chain.from_iterable(useful))
        return len(useful)

    pulled = _pull_stages(store, request, take, source)
    if pulled is None:
        raise StoreError(_nothing_of(request, str(folder), any_runs=True))
    question = question_of_looks(request.profile, request.overrides)
    add_looks(store.root, request.spec.stem, question, read_looks(source.root, request.spec.stem, question))
    return pulled


def _pull_stages(
    store: "Store",
    request: Request,
    take: Callable[[Mapping[str, TrajectoryRequest]], int],
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


def _listed(
    remote: Remote, question: str, wanted: Mapping[str, TrajectoryRequest], allowance: _Allowance
) -> tuple[Listed, int]:
    """What manifests list of the units, and how many were read: of the question, then of others what is lacking."""
    found: Listed = {}
    read: set[str] = set()

    def read_all(names: list[tuple[str, int]]) -> None:
        for name, size in names:
            if name in read:
                continue
            if len(read) >= MOST_MANIFESTS:
                raise Untrusted(remote.url, f"has more than {MOST_MANIFESTS:,} manifests")
            read.add(name)
            place = remote.place(name)
            listed = read_manifest(remote, name, size, wanted)
            allowance.take(size)
            for trajectory, segments in listed.items():
                stretches = found.setdefault(trajectory, {})
                for segment in segments:
                    other, _ = stretches.setdefault(segment.stretch, (segment, place))
                    if other != segment:
                        raise Untrusted(place, f"lists {trajectory[:16]}/{segment.stretch} with other bytes")

    read_all(manifest_names(remote, question))
    if not wanted.keys() <= found.keys():
        for named in manifest_names(remote):
            if wanted.keys() <= found.keys():
                break
            read_all([named])
    return found, len(read)


def _nothing_of(request: Request, place: str, *, any_runs: bool) -> Issue:
    """Why nothing was there."""
    if not any_runs:
        return Issue("not-run", place, "holds no runs", "name a report, or the place that lnlab push wrote to")
    what = f"has no run of {request.spec} as it is computed here"
    return Issue("unreachable", place, what, "other versions of lnlab, of a piece or of a corpus have other keys")


def _pull_stage(
    store: "Store",
    remote: Remote,
    pending: Mapping[str, TrajectoryRequest],
    listed: Listed,
    allowance: _Allowance,
    report: Callable[[int, int], None],
) -> int:
    """Take what the plan of a stage lacks, and return the number of units that arrived."""
    reader = StoreReader(store.root)
    lacking: dict[str, dict[str, tuple[Segment, str]]] = {}
    for trajectory, stretches in listed.items():
        here = {record.folder.name for record in reader.read(trajectory).records}
        lacking[trajectory] = {name: entry for name, entry in stretches.items() if name not in here}
    segments = {segment.sha256: segment for stretches in lacking.values() for segment, _ in stretches.values()}
    total = sum(segment.size for segment in segments.values())
    allowance.take(total)
    if not segments:
        return 0
    with _arrivals(store) as folder:

        def fetch(segment: Segment) -> int:
            path = folder / segment.sha256
            # A pull that was cut off left what had arrived.
            if not (path.is_file() and digest_bytes(path.read_bytes()) == segment.sha256):
                files.replace(path, remote.read(segment_place(segment.sha256), segment.size))
            return segment.size

        arrived = 0
        threads = ThreadPoolExecutor(remote.transfers_at_once)
        try:
            for several in _batches(segments.values()):
                for size in threads.map(fetch, several):
                    arrived += size
                    report(arrived, total)
        finally:
            # After a failure nothing more is fetched; what has arrived stays for the next pull.
            threads.shutdown(cancel_futures=True)
        useful = []
        for trajectory in sorted(lacking):
            checked = _checked(store, folder, trajectory, lacking[trajectory], allowance.take)
            if _is_useful(reader.read(trajectory), checked, pending[trajectory]):
                useful.append(trajectory)
        # Read again, so that the rows of one stretch at a time are in memory.
        _add_stretches(
            store,
            (
                stretch
                for trajectory in useful
                for stretch in _checked(store, folder, trajectory, lacking[trajectory], lambda _: None)
            ),
        )
    return len(useful)


def _is_useful(stored: TrajectoryContents, arrived: Sequence[Stretch], request: TrajectoryRequest) -> bool:
    """Whether a unit lacks less with these stretches than without them."""
    by_name = {stretch.record.folder.name: stretch for stretch in [*stored.stretches, *arrived]}
    together = TrajectoryContents([by_name[name] for name in in_stretch_order(by_name)])
    before, after = missing_of_request(stored, request), missing_of_request(together, request)
    return before is not None and (after is None or len(after.measurements) < len(before.measurements))


def _add_stretches(store: "Store", stretches: Iterable[Stretch]) -> None:
    """Put checked stretches into packs of the store.

    Raises:
        StoreError: another process changes the packs, or the store cannot be written.
    """
    with packs_locked(store.root) as acquired:
        if not acquired:
            what = "another lnlab is changing the packs of this store"
            raise StoreError(Issue("busy", str(store.root), what, "wait until it is done, then pull again"))
        writer = PackWriter(store.root)
        for stretch in stretches:
            writer.add(stretch, stretch.tables())
            if writer.is_full:
                writer.close()
        writer.close()


def _batches(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """The segments in their order, as many at once as may be in memory, and one at least."""
    batch: list[Segment] = []
    for segment in segments:
        if batch and sum(other.size for other in batch) + segment.size > MOST_ARRIVING:
            yield batch
            batch = []
        batch.append(segment)
    yield batch


@contextmanager
def _arrivals(store: "Store") -> Iterator[Path]:
    """The folder for what arrives. It is removed afterwards, unless the transfer was cut off and can be resumed."""
    folder = store.root / ARRIVALS_FOLDER
    files.make_folder(folder)
    with files.locked(folder / _LOCK_FILE, wait=False) as acquired:
        if not acquired:
            what = "another lnlab pulls into this store"
            raise StoreError(Issue("busy", str(store.root), what, "wait until it is done, then pull again"))
        try:
            yield folder
        # What cannot be trusted is not gone on with; after any other failure the arrivals stay.
        except Untrusted:
            _clear(folder)
            raise
        _clear(folder)


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        # Whoever waits for a lock file that was removed would not exclude those who come later.
        if path.name != _LOCK_FILE:
            files.remove(path)


def _checked(
    store: "Store",
    folder: Path,
    trajectory: str,
    stretches: Mapping[str, tuple[Segment, str]],
    count: Callable[[int], None],
) -> list[Stretch]:
    """The stretches of a unit, once its rows are those of its records. ``count`` is called with their bytes in memory.

    Raises:
        Untrusted: they are not.
    """
    home = trajectory_folder(store.root, trajectory)
    checked = []
    for name in in_stretch_order(stretches):
        segment, place = stretches[name]
        try:
            checked.append(check_stretch(home / name, segment.split((folder / segment.sha256).read_bytes()), count))
        except Refused as error:
            raise Untrusted(place, str(error)) from error
    return checked
