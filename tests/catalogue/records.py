"""What is kept of each registered piece, its version and its numbers, and what is wrong when one moves alone."""

import json
from pathlib import Path
from typing import Any

from lnlab.registry import Entry, Roots
from tests.catalogue.measured import MEASURES, Numbers

FIXTURE = Path(__file__).parents[1] / "fixtures" / "numbers.json"
TOLERANCE = {"probe": 1e-3}
"""Of a kind that computes in float32; whatever is in float64 differs between machines by its float32 draws alone."""
PRECISE = 1e-4
NOISE = 1e-12
"""Of what is 0 but for the last digit of float64."""

Record = dict[str, Any]


def record_of(entry: Entry[Any], roots: Roots) -> Record:
    """The version of an entry, the versions of whatever it is measured with, and its numbers.

    Args:
        entry: of a kind in ``MEASURES``.
        roots: a folder in which anything may be written, and those that may hold real corpora.

    Raises:
        CorpusError: the entry needs a corpus that is not there.
    """
    with_it, numbers = MEASURES[entry.kind](entry, roots)
    own = f"{entry.kind} {entry.name}"
    others = {name: version for name, version in sorted(with_it.items()) if name != own}
    return {"version": entry.version, "with": others, "numbers": numbers}


def complaint(kind: str, kept: Record | None, found: Record) -> str:
    """What is wrong between the record that is kept and the one found now; empty where nothing is."""
    if kept is None:
        return "its numbers are not kept yet: run `make numbers`"
    moved = moves(kept["numbers"], found["numbers"], TOLERANCE.get(kind, PRECISE))
    if found["version"] != kept["version"]:
        return f"its version went from {kept['version']} to {found['version']}: run `make numbers`"
    if moved and kept["with"] != found["with"]:
        return f"its numbers moved with what they are measured with ({', '.join(moved)}): run `make numbers`"
    return f"its numbers moved and its version did not ({', '.join(moved)}): raise it" if moved else ""


def moves(kept: Numbers, found: Numbers, tolerance: float) -> list[str]:
    """The names of the numbers that differ by more than a relative tolerance; digests must be equal."""
    return sorted(name for name in kept.keys() | found.keys() if not _same(kept.get(name), found.get(name), tolerance))


def read() -> dict[str, Record]:
    """The records that are kept, by kind and name."""
    kept: dict[str, Record] = json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {}
    return kept


def write(records: dict[str, Record]) -> None:
    """One line an entry, in order, so that two branches that add entries can be merged."""
    lines = [f'"{name}": {json.dumps(records[name])}' for name in sorted(records)]
    FIXTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _same(kept: Any, found: Any, tolerance: float) -> bool:
    if not isinstance(kept, list) or not isinstance(found, list):
        return bool(kept == found)
    off = [abs(one - two) for one, two in zip(kept, found, strict=True)]
    return off[0] == 0 and all(each <= tolerance * kept[1] + NOISE for each in off)
