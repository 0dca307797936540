"""Whether a unit from elsewhere is what it says: its keys follow from its setting, its rows from its record."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.work import needs_next_update
from lnlab.errors import LabError
from lnlab.keys import Json, digest, digest_bytes
from lnlab.registry import Flawed, Roots
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json
from lnlab.store.records.coverage import COMPLETE_STATUSES
from lnlab.store.records.layout import RECORD_FILE
from lnlab.store.records.records import Record
from lnlab.tables import table_schema

if TYPE_CHECKING:
    from pathlib import Path

    from lnlab.app.request import Registries

MOST_ROWS = 2_000_000
"""Rows of one file: a few bytes of Parquet can unfold to billions."""
LONGEST_TEXT = 4_000
_UNREADABLE = (LabError, Flawed, KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
_FIELDS = {"trajectory": str, "first_step": int, "steps": int, "asked": list, "measurements": list} | {
    "outcome": dict,
    "files": dict,
}


class Refused(Exception):
    """A unit is not what it says; the message says where."""


class UnitKeys:
    """Recomputes the keys of units from their settings, with the pieces and corpora of this machine."""

    def __init__(self, known: "Registries", roots: Roots) -> None:
        self._known = known
        self._keys = ContentKeys(known, roots)

    def check(self, trajectory: str, setting: Json, seed: int, measurements: Sequence[tuple[str, int, Json]]) -> int:
        """How many updates the setting asks for, once every key of the unit is the one that follows from it.

        Raises:
            Refused: a key is another one, or the setting or a probe is unknown here.
        """
        try:
            keys = self._keys.of(setting)
            state = keys.state(seed)
            if keys.trajectory(state) != trajectory:
                raise Refused(f"{trajectory[:16]}: its key does not follow from its setting")
            for key, step, probe in measurements:
                ahead = needs_next_update(self._known["probe"], probe)
                state_key = state if step == 0 and not ahead else trajectory
                if digest(["measurement", state_key, step, self._keys.choice("probe", probe)]) != key:
                    raise Refused(f"{trajectory[:16]}: the key of a measurement does not follow from its probe")
        except _UNREADABLE as error:
            raise Refused(f"{trajectory[:16]}: its setting cannot be read here ({_reason(error)})") from error
        return keys.steps


def _reason(error: Exception) -> str:
    problems = error.problems if isinstance(error, LabError) else ()
    return "; ".join(map(str, problems)) or f"{type(error).__name__}: {str(error)[:120]}"


def check_stretch(
    folder: "Path", contents: Mapping[str, bytes], allowed: Mapping[str, int]
) -> tuple[Record, dict[str, bytes]]:
    """The record and the tables of a stretch of work, once the rows are those that the record says.

    Args:
        folder: where it would lie in the store.
        contents: its files by name.
        allowed: the measurements of its unit, each with its training step.

    Raises:
        Refused: something in it is not what it should be.
    """
    where = f"{folder.parent.name[:16]}/{folder.name}"
    try:
        record = _record(folder, contents, where)
    except (CorruptFile, *_UNREADABLE) as error:
        raise Refused(f"{where}: {RECORD_FILE} is missing or altered") from error
    if not set(record.measurements) <= allowed.keys():
        raise Refused(f"{where}: its record has measurements that its unit does not")
    if record.outcome["status"] not in COMPLETE_STATUSES:
        raise Refused(f"{where}: it ended as {str(record.outcome['status'])[:40]}, which is no result")
    tables = {name: content for name, content in contents.items() if name != RECORD_FILE}
    if tables.keys() != record.files.keys() or "outcomes.parquet" not in tables:
        raise Refused(f"{where}: its files are not those of its record")
    for name, content in tables.items():
        if digest_bytes(content) != record.files[name]:
            raise Refused(f"{where}/{name}: its rows are not those of its record")
        _check_rows(f"{where}/{name}", name.removesuffix(".parquet"), content, record)
    return record, tables


def _record(folder: "Path", contents: Mapping[str, bytes], where: str) -> Record:
    fields = from_checksummed_json(contents[RECORD_FILE], folder / RECORD_FILE)
    if fields.keys() != _FIELDS.keys() or any(type(fields[name]) is not kind for name, kind in _FIELDS.items()):
        raise Refused(f"{where}: its record lacks a field, or has one of another type")
    words = [*fields["asked"], *fields["measurements"], *fields["files"].values(), *fields["files"]]
    if not all(isinstance(word, str) and len(word) <= 64 for word in words):
        raise Refused(f"{where}: a key in its record is none")
    if fields["trajectory"] != folder.parent.name or not 0 <= fields["first_step"] <= fields["steps"]:
        raise Refused(f"{where}: its record belongs to another unit, or ends before it begins")
    if int(folder.name.partition("-")[0]) != fields["first_step"]:
        raise Refused(f"{where}: its name says another first step than its record")
    outcome = fields["outcome"]
    if outcome.keys() != table_schema("outcomes").keys() or outcome["steps"] != fields["steps"]:
        raise Refused(f"{where}: its outcome is not one of this record")
    if any(len(value) > LONGEST_TEXT for value in outcome.values() if isinstance(value, str)):
        raise Refused(f"{where}: a text of its outcome is too long")
    lists = {name: tuple(fields[name]) for name in ("asked", "measurements")}
    return Record(folder=folder, **{**fields, **lists})


def _check_rows(where: str, table: str, content: bytes, record: Record) -> None:
    """The rows of a table belong to the measurements and the trajectory of the record."""
    try:
        rows = pl.scan_parquet(BytesIO(content))
        schema = rows.collect_schema()
        expected = table_schema(table)
        if not schema.items() <= expected.items():
            raise Refused(f"{where}: its columns are not those of the table {table}")
        if rows.select(pl.len()).collect().item() > MOST_ROWS:
            raise Refused(f"{where}: it has more than {MOST_ROWS:,} rows")
        frame = rows.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError) as error:
        raise Refused(f"{where}: it cannot be read as Parquet") from error
    for column, values in (("measurement", record.measurements), ("trajectory", (record.trajectory,))):
        if column in expected and not set(frame[column].unique() if column in frame.columns else [None]) <= set(values):
            raise Refused(f"{where}: it has rows of another {column}")
    if table == "outcomes" and (frame.height != 1 or not _same_outcome(frame.row(0, named=True), record.outcome)):
        raise Refused(f"{where}: its outcome is not that of the record")


def _same_outcome(row: Mapping[str, Json], outcome: Mapping[str, Json]) -> bool:
    """Whether the row of a table says what the record says, where a number that is not finite is null."""
    return all(row[name] == value for name, value in outcome.items() if value is not None)
