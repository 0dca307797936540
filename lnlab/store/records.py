"""What was committed: a stretch of work on a trajectory, with the digest of every file. Readers believe only this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lnlab.store.layout import RECORD, stretches, trajectory_folder
from lnlab.store.seal import Damaged, read_bytes, read_checked, seal, unseal


@dataclass(frozen=True)
class Record:
    """One committed stretch of work.

    Attributes:
        folder: where its files lie.
        trajectory: key of the trajectory.
        first_step: updates done when it began.
        steps: updates done when it ended.
        asked: measurements that were to be taken.
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
        return seal({name: getattr(self, name) for name in fields})

    def read(self, name: str) -> bytes:
        """One of its files.

        Raises:
            Damaged: it is not what was committed.
        """
        return read_checked(self.folder / Path(name).name, self.files[name])  # never outside its folder


@dataclass
class Found:
    """What lies in the folder of one trajectory.

    Attributes:
        records: the intact ones, in their one order.
        tables: for each of these, file name -> bytes, verified.
        damaged: one sentence for each that is not.
    """

    records: list[Record] = field(default_factory=list)
    tables: list[dict[str, bytes]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def first(self) -> dict[str, int]:
        """Measurement -> the number of the first record that holds it: taken twice, it counts once."""
        order = range(len(self.records) - 1, -1, -1)
        return {measurement: n for n in order for measurement in self.records[n].measurements}


def read_record(folder: Path) -> Record:
    """The record of a stretch of work.

    Raises:
        Damaged: it is not what was committed.
        FileNotFoundError: nothing was committed there.
    """
    path = folder / RECORD
    if not path.exists():
        raise FileNotFoundError(path)
    held = unseal(read_bytes(path), path)
    if held["trajectory"] != folder.parent.name:
        raise Damaged(f"{path} belongs to another trajectory")
    held["asked"], held["measurements"] = tuple(held["asked"]), tuple(held["measurements"])
    return Record(folder=folder, **held)


def look(root: Path, trajectory: str) -> Found:
    """Every record of a trajectory, each file read and verified.

    Raises:
        StoreError: this user may not read it.
    """
    found = Found()
    for folder in stretches(trajectory_folder(root, trajectory)):
        try:
            record = read_record(folder)
            tables = {name: record.read(name) for name in record.files}
        except FileNotFoundError:
            continue
        except Damaged as error:
            found.damaged.append(str(error))
            continue
        found.records.append(record)
        found.tables.append(tables)
    return found
