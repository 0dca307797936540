"""``lnlab import``: the units of an archive put into a store, all of them at once or none, once all are verified."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.app.stores.exporting import UNITS_FORMAT
from lnlab.app.stores.unit_checks import Refused, UnitKeys, check_stretch
from lnlab.errors import Problem, StoreError
from lnlab.keys import Json
from lnlab.store.archive import ArchivedFile, open_archive
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.packing import BLOCK_BYTES, PackWriter, packs_locked
from lnlab.store.packs import encode_block
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json
from lnlab.store.records.layout import in_stretch_order, trajectory_folder
from lnlab.store.records.records import Record, StoreReader, TrajectoryContents

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.store.store import Store

_UNTRUSTED = "nothing was imported; do not trust this archive"
_MALFORMED = (CorruptFile, KeyError, TypeError, ValueError, IndexError, AttributeError)


@dataclass(frozen=True)
class Import:
    """What was imported: how many units are new, and how many were in the store already and stay as they were."""

    new: int
    present: int


@dataclass(frozen=True)
class _Unit:
    """A unit as the manifest declares it."""

    trajectory: str
    setting: Json
    seed: int
    measurements: tuple[tuple[str, int, Json], ...]


def import_units(store: "Store", path: Path, known: "Registries", limit: int) -> Import:
    """Put the units of an archive into a store.

    Every key is recomputed from its setting, with the pieces and corpora of this machine, and every row is held against
    its record. Units become visible together, by one rename; until then the store is as it was.

    Args:
        store: the store.
        path: of the archive.
        known: the registries of both wings.
        limit: bytes that the archive may unfold to.

    Raises:
        StoreError: the archive cannot be read, anything in it is not what it says, or the store cannot be written.
    """
    from lnlab.corpora.files.fetch import data_roots

    writer, new, present = PackWriter(store.root), 0, 0
    pending: list[tuple[str, str, str, bytes]] = []
    with open_archive(path, limit) as (manifest, files):
        units = _declared(path, manifest)
        keys = UnitKeys(known, data_roots(Path()))
        reader = StoreReader(store.root)
        for trajectory, group in groupby(files, key=lambda file: file.trajectory):
            unit = units.pop(trajectory, None)
            if unit is None:
                raise _refusal(path, f"{trajectory[:16]} is no unit of this archive, or is there twice")
            entries = _checked_files(store, path, unit, list(group), keys, reader)
            new, present = new + bool(entries), present + (not entries)
            pending += entries
            if sum(len(content) for *_, content in pending) >= BLOCK_BYTES:
                _flush(writer, pending)
                pending = []
    if units:
        raise _refusal(path, f"{len(units)} of its units have no files")
    if pending:
        _flush(writer, pending)
    if new:
        with packs_locked(store.root) as acquired:
            if not acquired:
                what = "another lnlab is changing the packs of this store"
                raise StoreError(Problem(str(store.root), what, "wait until it is done, then import again"))
            writer.close()
    return Import(new, present)


def _refusal(path: Path, what: str) -> StoreError:
    return StoreError(Problem(str(path), what, _UNTRUSTED))


def _declared(path: Path, manifest: bytes) -> dict[str, _Unit]:
    """The units that the manifest declares, by trajectory."""
    try:
        fields = from_checksummed_json(manifest, path)
        if fields["format"] != UNITS_FORMAT:
            what = f"is of format {str(fields['format'])[:20]}, and this lnlab reads {UNITS_FORMAT}"
            raise StoreError(Problem(str(path), what, "export it again with this lnlab"))
        settings = fields["settings"]
        probes = fields["probes"]
        units = [
            _Unit(
                _text(trajectory),
                settings[_number(setting)],
                _number(seed),
                tuple((_text(key), _number(step), probes[_number(probe)]) for key, step, probe in measurements),
            )
            for trajectory, setting, seed, measurements in fields["units"]
        ]
    except _MALFORMED as error:
        raise _refusal(path, "its list of units is altered or malformed") from error
    if len({unit.trajectory for unit in units}) != len(units):
        raise _refusal(path, "its list of units has one twice")
    return {unit.trajectory: unit for unit in units}


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 64:
        raise ValueError("no key")
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("no number")
    return value


def _checked_files(
    store: "Store", path: Path, unit: _Unit, files: list[ArchivedFile], keys: UnitKeys, reader: StoreReader
) -> list[tuple[str, str, str, bytes]]:
    """The files of a unit as a pack has them; none where the store has the unit already.

    Raises:
        StoreError: the unit is not what it says.
    """
    allowed = {key: step for key, step, _ in unit.measurements}
    folder = trajectory_folder(store.root, unit.trajectory)
    try:
        steps = keys.check(unit.trajectory, unit.setting, unit.seed, unit.measurements)
        stretches = {
            name: check_stretch(folder / name, {file.name: file.content for file in group}, allowed)
            for name, group in groupby(files, key=lambda file: file.stretch)
        }
    except Refused as error:
        raise _refusal(path, str(error)) from error
    ordered: list[tuple[Record, dict[str, bytes]]] = [stretches[name] for name in in_stretch_order(stretches)]
    contents = TrajectoryContents([record for record, _ in ordered], [tables for _, tables in ordered])
    request = TrajectoryRequest(steps, allowed)
    if len(stretches) != len({file.stretch for file in files}) or missing_of_request(contents, request) is not None:
        raise _refusal(path, f"{unit.trajectory[:16]} is not finished, or its files are not in order")
    stored = reader.read(unit.trajectory)
    if missing_of_request(stored, request) is None:
        return []
    present = {record.folder.name for record in stored.records}
    return [(file.trajectory, file.stretch, file.name, file.content) for file in files if file.stretch not in present]


def _flush(writer: PackWriter, entries: list[tuple[str, str, str, bytes]]) -> None:
    holds: dict[str, tuple[str, ...]] = {}
    for trajectory, stretch in dict.fromkeys((entry[0], entry[1]) for entry in entries):
        holds[trajectory] = (*holds.get(trajectory, ()), stretch)
    writer.add(encode_block(entries), holds)
