"""What was committed: a stretch of work on a trajectory, with the digest of every file. Readers believe only this."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lnlab.store.packs import Packs
from lnlab.store.records.checksummed import (
    CorruptFile,
    from_checksummed_json,
    read_bytes,
    read_checked,
    to_checksummed_json,
    well_formed,
)
from lnlab.store.records.layout import OUTPUT_FILE, RECORD_FILE, in_stretch_order, stretches, trajectory_folder


@dataclass(frozen=True)
class Record:
    """One committed stretch of work.

    Attributes:
        folder: where its files lie.
        trajectory: key of the trajectory.
        first_step: updates done when it began.
        steps: updates done when it ended.
        asked: measurements that were requested.
        measurements: measurements that were taken, and are here whole.
        outcome: its row of ``outcomes``.
        files: file name -> SHA-256.
    """

    folder: Path
    trajectory: str
    first_step: int
    steps: int
    asked: tuple[str, ...]
    measurements: tuple[str, ...]
    outcome: Mapping[str, Any]
    files: Mapping[str, str]

    @property
    def finished(self) -> bool:
        """Whether nothing went wrong."""
        return bool(self.outcome["status"] == "finished")

    @property
    def ends(self) -> bool:
        """Whether the trajectory came to its own end here: it diverged, or a rule stopped it, which gives a reason."""
        return self.outcome["status"] == "diverged" or (self.finished and self.outcome["reason"] is not None)

    def content(self) -> bytes:
        """The bytes of ``record.json``."""
        fields = ("trajectory", "first_step", "steps", "asked", "measurements", "outcome", "files")
        return to_checksummed_json({name: getattr(self, name) for name in fields})

    def read(self, name: str) -> bytes:
        """One of its files.

        Raises:
            Damaged: it is not what was committed.
        """
        return read_checked(self.folder / Path(name).name, self.files[name])  # never outside its folder


@dataclass
class TrajectoryContents:
    """What the store holds of one trajectory.

    Attributes:
        records: the intact ones, in their one order.
        tables: for each of these, file name -> bytes, verified.
        damaged: one sentence for each that is not.
    """

    records: list[Record] = field(default_factory=list)
    tables: list[dict[str, bytes]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def first_holders(self) -> dict[str, int]:
        """Measurement -> the number of the first record that holds it: taken twice, it counts once."""
        order = range(len(self.records) - 1, -1, -1)
        return {measurement: n for n in order for measurement in self.records[n].measurements}


def read_record(folder: Path) -> Record:
    """The record of a stretch of work.

    Raises:
        Damaged: it is not what was committed.
        FileNotFoundError: nothing was committed there.
    """
    path = folder / RECORD_FILE
    if folder.is_file():
        raise CorruptFile(f"{folder} is a file where a folder belongs")
    if not path.exists():
        raise FileNotFoundError(path)
    return _record(folder, read_bytes(path))


def _record(folder: Path, content: bytes) -> Record:
    path = folder / RECORD_FILE
    fields = from_checksummed_json(content, path)
    with well_formed(path):
        if fields["trajectory"] != folder.parent.name:
            raise CorruptFile(f"{path} belongs to another trajectory")
        fields["asked"] = tuple(fields["asked"])
        fields["measurements"] = tuple(fields["measurements"])
        return Record(folder=folder, **fields)


def read_trajectory(root: Path, trajectory: str) -> TrajectoryContents:
    """Every record of a trajectory, each file read and verified.

    Raises:
        StoreError: this user may not read it.
    """
    return StoreReader(root).read(trajectory)


class StoreReader:
    """Reads many trajectories of one store, from folders and packs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packs = Packs(root)

    def known(self) -> set[str]:
        """Keys of all trajectories of which something may lie in the store."""
        return {folder.name for folder in (self.root / "trajectories").glob("??/*")} | self.packs.trajectories()

    def read_all(self, trajectories: Iterable[str]) -> Iterator[tuple[str, TrajectoryContents]]:
        """What lies in the store of these trajectories, in the order in which they are quickly read.

        Raises:
            StoreError: this user may not read it.
        """
        self.packs.current()
        for trajectory in sorted(trajectories, key=self.packs.place):
            yield trajectory, self.read(trajectory)

    def read(self, trajectory: str) -> TrajectoryContents:
        """Every record of a trajectory, each file read and verified.

        The folder first, then the packs: what is moved meanwhile is in one of them.

        Raises:
            StoreError: this user may not read it.
        """
        folder = trajectory_folder(self.root, trajectory)
        intact: dict[str, tuple[Record, dict[str, bytes]]] = {}
        damaged = {"": f"{folder} is a file where a folder belongs"} if folder.is_file() else {}
        for stretch in stretches(folder):
            try:
                record = read_record(stretch)
                intact[stretch.name] = record, {name: record.read(name) for name in record.files}
            except FileNotFoundError:
                continue
            except CorruptFile as error:
                damaged[stretch.name] = str(error)
        packed, damaged_blocks = self.packs.stretches(trajectory)
        for name in packed.keys() - intact.keys():
            record = _record(folder / name, packed[name][RECORD_FILE])
            intact[name] = record, {file: packed[name][file] for file in record.files}
        sentences = [*(damaged[name] for name in sorted(damaged.keys() - intact.keys())), *damaged_blocks]
        ordered = [intact[name] for name in in_stretch_order(intact)]
        return TrajectoryContents([record for record, _ in ordered], [tables for _, tables in ordered], sentences)

    def printed(self, trajectory: str) -> str:
        """What the worker of a trajectory printed last, of a stretch that was never committed as well; or nothing.

        Raises:
            StoreError: this user may not read it.
        """
        packed, _ = self.packs.stretches(trajectory)
        outputs = {name: files[OUTPUT_FILE] for name, files in packed.items() if OUTPUT_FILE in files}
        for stretch in stretches(trajectory_folder(self.root, trajectory)):
            with suppress(OSError):
                outputs[stretch.name] = (stretch / OUTPUT_FILE).read_bytes()
        last = in_stretch_order(outputs)[-1:]
        return outputs[last[0]].decode(errors="replace") if last else ""
