"""What the store holds of trajectories, from folders and packs: every byte that is read is verified first."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from lnlab.store.packs import Packs
from lnlab.store.records.checksummed import CorruptFile
from lnlab.store.records.layout import OUTPUT_FILE, in_stretch_order, stretches, trajectory_folder
from lnlab.store.records.record import Record, read_record
from lnlab.store.stretch import PackReplaced, Stretch

_TOGETHER = 2_000
"""Trajectories that are read together, as the files of those in folders are held in memory."""


@dataclass
class TrajectoryContents:
    """What the store holds of one trajectory.

    Attributes:
        stretches: the intact ones, in their one order.
        damaged: one sentence for each that is not.
        records: of the stretches.
    """

    stretches: list[Stretch] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    records: list[Record] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.records = [stretch.record for stretch in self.stretches]

    def first_holders(self) -> dict[str, int]:
        """Measurement -> the number of the first record that holds it: taken twice, it counts once."""
        order = range(len(self.records) - 1, -1, -1)
        return {measurement: n for n in order for measurement in self.records[n].measurements}


def read_trajectory(root: Path, trajectory: str) -> TrajectoryContents:
    """What a store holds of a trajectory.

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

    def read(self, trajectory: str) -> TrajectoryContents:
        """What the store holds of one trajectory.

        Raises:
            StoreError: this user may not read it.
        """
        return self._read([trajectory])[trajectory]

    def read_all(self, trajectories: Iterable[str]) -> Iterator[tuple[str, TrajectoryContents]]:
        """What the store holds of these trajectories, in the order in which they are quickly read.

        Raises:
            StoreError: this user may not read it.
        """
        self.packs.current()
        places = self.packs.places()
        ordered = sorted(trajectories, key=lambda trajectory: places.get(trajectory, ("", 0)))
        for first in range(0, len(ordered), _TOGETHER):
            yield from self._read(ordered[first : first + _TOGETHER]).items()

    def _read(self, trajectories: Sequence[str]) -> dict[str, TrajectoryContents]:
        """The folders first, then the packs: what is moved meanwhile is in one of them."""
        intact: dict[str, dict[str, Stretch]] = {}
        damaged: dict[str, list[tuple[str, str]]] = {}
        for trajectory in trajectories:
            intact[trajectory], damaged[trajectory] = {}, []
            for folder in stretches(trajectory_folder(self.root, trajectory)):
                try:
                    intact[trajectory][folder.name] = self.read_stretch(folder)
                except FileNotFoundError:  # nothing was committed there
                    continue
                except CorruptFile as error:
                    damaged[trajectory].append((folder.name, str(error)))
        packed, damaged_groups = self.packs.read(trajectories)
        for stretch in packed:
            intact[stretch.record.trajectory].setdefault(stretch.record.folder.name, stretch)
        contents = {}
        for trajectory in trajectories:
            found = intact[trajectory]
            # a stretch that is damaged in its folder may be intact in a pack
            sentences = [sentence for name, sentence in damaged[trajectory] if name not in found]
            ordered = [found[name] for name in in_stretch_order(found)]
            contents[trajectory] = TrajectoryContents(ordered, [*sentences, *damaged_groups.get(trajectory, ())])
        return contents

    def read_stretch(self, folder: Path) -> Stretch:
        """The stretch in a folder of its own.

        Raises:
            CorruptFile: one of its files is not what was committed.
            FileNotFoundError: nothing was committed there.
        """
        record = read_record(folder)
        return Stretch(record, {name: record.read(name) for name in record.files})

    def read_rows(self, trajectory: str) -> list[tuple[Record, dict[str, pl.DataFrame]]]:
        """The records of a trajectory, each with its rows by table.

        Raises:
            StoreError: this user may not read it.
        """
        while True:
            try:
                return [(stretch.record, stretch.tables()) for stretch in self.read(trajectory).stretches]
            except PackReplaced:
                self.packs = Packs(self.root)

    def printed(self, trajectory: str) -> str:
        """What the worker of a trajectory printed last, or an empty text. Stretches without a record count, too.

        Raises:
            StoreError: this user may not read it.
        """
        packed, _ = self.packs.read([trajectory])
        outputs = {stretch.record.folder.name: stretch.output for stretch in packed if stretch.output}
        for folder in stretches(trajectory_folder(self.root, trajectory)):
            with suppress(OSError):
                outputs[folder.name] = (folder / OUTPUT_FILE).read_bytes()
        last = in_stretch_order(outputs)[-1:]
        return outputs[last[0]].decode(errors="replace") if last else ""
