"""Sentences that are frozen once: a test says them, a file beside all tests holds them, and a diff shows what changed.

``make golden`` writes what the tests of today say. Tests themselves assert codes, places and numbers.
"""

import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[1]
FOLDER = TESTS / "golden"
_TITLE = re.compile(r"^== (.*)\n", re.MULTILINE)
_BETWEEN = "\n--\n"


def golden_file(module: Path) -> Path:
    """Where the sentences of a test module stand."""
    return FOLDER / module.relative_to(TESTS).with_suffix(".txt")


def read_golden(file: Path) -> dict[str, list[str]]:
    """Test -> what it says, in order; nothing where there is no such file."""
    if not file.is_file():
        return {}
    _, *parts = _TITLE.split(file.read_text(encoding="utf-8"))
    return {title: body[:-1].split(_BETWEEN) for title, body in zip(parts[::2], parts[1::2], strict=True)}


def write_golden(file: Path, sayings: dict[str, list[str]]) -> None:
    """Keep what the tests of a module say, by name, so that a diff is of sentences and not of their order."""
    file.parent.mkdir(parents=True, exist_ok=True)
    blocks = [f"== {title}\n{_BETWEEN.join(sayings[title])}\n" for title in sorted(sayings) if sayings[title]]
    file.write_text("".join(blocks), encoding="utf-8")


class Said:
    """What tests have said in this session, by module and test."""

    def __init__(self) -> None:
        self.sayings: dict[Path, dict[str, list[str]]] = defaultdict(dict)

    def write(self) -> None:
        """Replace the file of every module that said anything."""
        for module, sayings in self.sayings.items():
            write_golden(golden_file(module), sayings)
