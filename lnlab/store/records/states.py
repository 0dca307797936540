"""Saved states of a trajectory: the bytes of ``states/<step>.safetensors``, and ``<step>.json`` with their digest.

The JSON is written last, by rename: a state without it is not there. A damaged one is passed over, for an earlier one
leads to the same numbers.
"""

from collections.abc import Iterator
from pathlib import Path

from lnlab.errors import StoreError
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.records.checksummed import (
    CorruptFile,
    from_checksummed_json,
    read_bytes,
    read_checked,
    to_checksummed_json,
    well_formed,
)
from lnlab.tables import SavedState

STATES_FOLDER = "states"


def save_state(trajectory: Path, state: SavedState) -> None:
    """Write a state under the folder of its trajectory.

    Raises:
        StoreError: the store cannot be written. Then there is no such state.
    """
    folder = trajectory / STATES_FOLDER
    files.make_folder(folder)
    files.replace(folder / f"{state.step}.safetensors", state.content)
    entry = {"step": state.step, "sha256": digest_bytes(state.content), "facts": state.facts}
    files.replace(folder / f"{state.step}.json", to_checksummed_json(entry))


def latest_state(trajectory: Path, limit: int) -> SavedState | None:
    """The last intact state of at most ``limit`` updates."""
    for step in sorted(_steps(trajectory), reverse=True):
        if step <= limit:
            try:
                return _read(trajectory / STATES_FOLDER, step)
            except (CorruptFile, StoreError):
                continue
    return None


def state_at(trajectory: Path, step: int) -> SavedState | None:
    """The intact state after ``step`` updates."""
    try:
        return _read(trajectory / STATES_FOLDER, step)
    except (CorruptFile, StoreError):
        return None


def remove_states(trajectory: Path, until: int) -> None:
    """Remove all states of at most ``until`` updates but the last, and what a killed process left half written.

    Raises:
        StoreError: a file cannot be removed.
    """
    folder = trajectory / STATES_FOLDER
    steps = list(_steps(trajectory))
    last = max((step for step in steps if step <= until), default=0)
    for step in steps:
        if step < last:
            # Its JSON first: without it the state is not there.
            files.remove(folder / f"{step}.json")
            files.remove(folder / f"{step}.safetensors")
    for part in folder.glob("*.part"):
        files.remove(part)


def _steps(trajectory: Path) -> Iterator[int]:
    return (int(path.stem) for path in list((trajectory / STATES_FOLDER).glob("*.json")) if path.stem.isdecimal())


def _read(folder: Path, step: int) -> SavedState:
    path = folder / f"{step}.json"
    entry = from_checksummed_json(read_bytes(path), path)
    with well_formed(path):
        if entry["step"] != step:
            raise CorruptFile(f"{path} is of another step")
        return SavedState(step, read_checked(folder / f"{step}.safetensors", entry["sha256"]), entry["facts"])
