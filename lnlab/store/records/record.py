"""What was committed: a stretch of work on a trajectory, with the digest of every file. Readers believe only this."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnlab.store.records.checksummed import (
    CorruptFile,
    from_checksummed_json,
    read_bytes,
    read_checked,
    to_checksummed_json,
    well_formed,
)
from lnlab.store.records.layout import RECORD_FILE


@dataclass(frozen=True)
class Record:
    """One committed stretch of work.

    Attributes:
        folder: where its files lie, or lay before they were packed.
        trajectory: key of the trajectory.
        first_step: updates done when it began.
        steps: updates done when it ended.
        asked: measurements that were requested.
        measurements: measurements that were taken, and are here whole.
        outcome: its row of ``outcomes``.
        files: file name -> SHA-256.
        thinned: the quantities of which not every row is here, see ``claims.thinned``. Of work that was computed here
            there is none.
    """

    folder: Path
    trajectory: str
    first_step: int
    steps: int
    asked: tuple[str, ...]
    measurements: tuple[str, ...]
    outcome: Mapping[str, Any]
    files: Mapping[str, str]
    thinned: tuple[str, ...] = ()

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
        fields = ["trajectory", "first_step", "steps", "asked", "measurements", "outcome", "files"]
        fields += ["thinned"] if self.thinned else []
        return to_checksummed_json({name: getattr(self, name) for name in fields})

    def read(self, name: str) -> bytes:
        """One of its files.

        Raises:
            CorruptFile: it is not what was committed.
        """
        return read_checked(self.folder / Path(name).name, self.files[name])  # never outside its folder


def read_record(folder: Path) -> Record:
    """The record of a stretch of work.

    Raises:
        CorruptFile: it is not what was committed.
        FileNotFoundError: nothing was committed there.
    """
    path = folder / RECORD_FILE
    if not path.exists():
        raise FileNotFoundError(path)
    return parse_record(folder, read_bytes(path))


def parse_record(folder: Path, content: bytes) -> Record:
    """The record whose file has this content.

    Raises:
        CorruptFile: it is not what was committed, or belongs to another trajectory than its folder.
    """
    path = folder / RECORD_FILE
    fields = from_checksummed_json(content, path)
    with well_formed(path):
        if fields["trajectory"] != folder.parent.name:
            raise CorruptFile(f"{path} belongs to another trajectory")
        fields["asked"] = tuple(fields["asked"])
        fields["measurements"] = tuple(fields["measurements"])
        fields["thinned"] = tuple(fields.get("thinned", ()))
        return Record(folder=folder, **fields)
