"""``lnlab pull``: the units that a spec lacks, taken from another place once each of them is what it says."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.compute import decide_open_choices
from lnlab.app.formats import format_quantity
from lnlab.app.plan_facts import plan_facts
from lnlab.app.request import Request, compile_request
from lnlab.app.stores.pushing import TRANSFER_THREADS
from lnlab.app.stores.unit_checks import Refused, check_stretch
from lnlab.committed.registries import load_registries
from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.packing import PackWriter, packs_locked
from lnlab.store.records.layout import in_stretch_order, trajectory_folder
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.store.remote import Remote, Untrusted, segment_place
from lnlab.store.segments import MOST_MANIFESTS, Segment, manifest_names, question_of, read_manifest
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
    known = load_registries(request.plugins)
    content = read_user_file(request.spec, "spec", LARGEST_SPEC) if request.content is None else request.content
    allowance = _Allowance(remote.url, limit)
    question = question_of(digest_bytes(content), request.profile, request.overrides)
    seen = 0
    decisions: tuple[Decision, ...] = ()
    new = present = absent = 0
    while True:
        plan, document = compile_request(request, known, decisions)
        pending = {
            unit.key: TrajectoryRequest(unit.steps, {m.key: m.step for m in unit.measurements})
            for unit, _ in store.pending(plan)
        }
        taken = 0
        if pending:
            listed, manifests = _listed(remote, question, pending, allowance)
            seen += manifests
            taken = _pull_stage(store, remote, pending, listed, allowance, report)
        new, absent = new + taken, absent + len(pending) - taken
        present += len(plan.trajectories) - len(pending)
        chosen = decide_open_choices(plan, store)
        if not chosen:
            break
        decisions = (*decisions, *chosen)
    if not new and not present:
        raise StoreError(_nothing_of(request, remote, any_manifest=seen > 0))
    store.save_plan(plan, request.spec, plan_facts(request, plan, document, known), content=request.content)
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


def _nothing_of(request: Request, remote: Remote, *, any_manifest: bool) -> Issue:
    """Why nothing was there."""
    if not any_manifest:
        return Issue("not-run", remote.url, "holds no runs", "name the place that lnlab push wrote to")
    what = f"has no run of {request.spec} as it is computed here"
    return Issue("unreachable", remote.url, what, "other versions of lnlab, of a piece or of a corpus have other keys")


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
        threads = ThreadPoolExecutor(TRANSFER_THREADS)
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
            stored, request = reader.read(trajectory), pending[trajectory]
            checked = _checked(store, folder, trajectory, lacking[trajectory], allowance.take)
            by_name = {stretch.record.folder.name: stretch for stretch in [*stored.stretches, *checked]}
            together = TrajectoryContents([by_name[name] for name in in_stretch_order(by_name)])
            before, after = missing_of_request(stored, request), missing_of_request(together, request)
            # It is useful only where the unit lacks less with these stretches than without them.
            if before is not None and (after is None or len(after.measurements) < len(before.measurements)):
                useful.append(trajectory)
        with packs_locked(store.root) as acquired:
            if not acquired:
                what = "another lnlab is changing the packs of this store"
                raise StoreError(Issue("busy", str(store.root), what, "wait until it is done, then pull again"))
            writer = PackWriter(store.root)
            for trajectory in useful:
                # Read again, so that the rows of one stretch at a time are in memory.
                for stretch in _checked(store, folder, trajectory, lacking[trajectory], lambda _: None):
                    writer.add(stretch, stretch.tables())
                    if writer.is_full:
                        writer.close()
            writer.close()
    return len(useful)


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
