"""One typo in a key of a shipped spec, wherever it stands, is told with its line: a sample of keys of every spec."""

from pathlib import Path
from random import Random

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.check import check_spec
from lnlab.errors import SpecError
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import parse_leniently, parse_spec

SPECS = sorted((Path(__file__).parents[1] / "specs").glob("*.yaml"))
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}
NAMES_BELOW = (("methods",), ("guesses",), ("lines",), ("published",))
"""What stands below these is called as its author likes; a table's caption counts published numbers without a cell."""


def misspelt(word: str, draw: Random) -> str:
    """The word with two neighbouring letters exchanged, with one lost, or with one twice."""
    i = draw.randrange(max(1, len(word) - 1))
    exchanged = word[:i] + word[i + 1 : i + 2] + word[i] + word[i + 2 :]
    others = [exchanged, word[:i] + word[i + 1 :], word[:i] + word[i] + word[i:]]
    return draw.choice([other for other in others if other not in ("", word)])


def is_name(path: tuple[str | int, ...]) -> bool:
    """Whether a key is a name that an author gives, and not a word of the language."""
    return path[-2:-1] in NAMES_BELOW or path[:-1] == ("profiles",)


def keys(document) -> list[tuple[int, int, tuple[str | int, ...]]]:
    """Line, column and path of each key that is written without quotes, each once: an alias repeats some."""
    found = {}
    lines = document.text.splitlines()
    for path, (mark, _) in document.marks.items():
        written = path and lines[mark.line - 1][mark.column - 1 :].startswith(f"{path[-1]}:")
        if written and not is_name(path):
            found.setdefault((mark.line, mark.column), path)
    return [(*place, path) for place, path in sorted(found.items())]


def places(text: str, spec: Path, profile: str | None) -> list[str]:
    """Where the problems of a spec lie that is checked with a profile."""
    try:
        document, faults = parse_leniently(text, spec)
    except SpecError as error:
        return [problem.where for problem in error.problems]
    found = check_spec(document, EVERY, (), profile=profile, overrides=(), files=False)
    return [problem.where for problem in (*faults, *found.problems)]


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_typo_in_a_key_is_told_with_its_line(spec):
    document, draw = parse_spec(spec.read_text(), spec), Random(spec.stem)
    line, column, path = draw.choice(keys(document))
    lines = document.text.splitlines(keepends=True)
    before, after = lines[line - 1][: column - 1], lines[line - 1][column - 1 + len(path[-1]) :]
    wrong = misspelt(path[-1], draw)
    lines[line - 1] = before + wrong + after
    profiles = [None, *document.data["profiles"]]
    found = (place for profile in profiles for place in places("".join(lines), spec, profile))
    assert any(place.startswith(f"{spec}:{line}:") for place in found), f"line {line}: {wrong} for {path}"
