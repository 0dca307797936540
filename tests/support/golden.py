"""Sentences that are frozen once: a test says them, a file beside all tests holds them, and a diff shows what changed.

``make golden`` writes what the tests of today say. Tests themselves assert codes, places and numbers.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from lnlab import __version__

TESTS = Path(__file__).parents[1]
FOLDER = TESTS / "golden"
_TITLE = re.compile(r"^== (.*)\n", re.MULTILINE)
_BETWEEN = "\n--\n"
_OF_THE_DAY = {
    rf"\blnlab {re.escape(__version__)}": "lnlab VERSION",
    r"\b(\d-)?[0-9a-f]{24,}\b": "DIGEST",
    r"(127\.0\.0\.1):\d+": r"\1:PORT",
    r"\bTMP/([a-z_]+)\d+\b": r"TMP/\1",
    r"\(known: [^)]* more\)": "(known: ...)",
    r"(is called '[^']*'; known: ).*": r"\1...",
    r"(measure one of|choose from|these models (do|read one text):) .*": r"\1 ...",
}
"""What a sentence holds that another day has otherwise: digests, free ports, numbers of temporary folders, pieces."""
_OF_THE_MACHINE = {
    r"(\d+ (h|min) )?\d+(\.\d+)? (s|min)\b": "TIME",
    r"\b\d+(\.\d+)? [kMGT]?B\b": "SIZE",
}
"""What a transcript holds that another machine has otherwise."""


def transcript(words: Sequence[object], code: int, out: str, err: str) -> str:
    """A command with what it printed, ``!`` before lines of standard error, and its exit code if that is not 0."""
    lines = [f"$ lnlab {shlex.join(map(str, words))}", *out.splitlines(), *(f"! {line}" for line in err.splitlines())]
    lines += [f"exit code {code}"] if code else []
    text = "\n".join(line.rstrip() for line in lines).replace(date.today().isoformat(), "TODAY")
    for pattern, name in _OF_THE_MACHINE.items():
        text = re.sub(pattern, name, text)
    return text


def holding(page: str, words: str) -> list[str]:
    """The texts between two tags of a page, or the lines of what was printed, that hold these words."""
    texts = (" ".join(text.split()) for text in re.split(r"<[^>]*>|\n\s*\n|\n(?=\S+: )", page))
    return [text for text in texts if words in text]


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


class Golden:
    """``golden(text)``: the sentences of a test, or their lines, are those that are kept, in the order of calls.

    Attributes:
        said: what the test has said so far.
        kept: what its file holds; None while that is renewed.
        names: folder -> what stands for its path.
    """

    def __init__(self, said: list[str], kept: list[str] | None, names: Mapping[Path, str]) -> None:
        self.said, self.kept, self.names = said, kept, names

    def __call__(self, text: str | Sequence[str]) -> None:
        """Say a sentence or several."""
        lines = text if isinstance(text, str) else "\n".join(text)
        for folder, name in self.names.items():
            lines = lines.replace(str(folder), name)
        for pattern, name in _OF_THE_DAY.items():
            lines = re.sub(pattern, name, lines)
        self.said.append(lines)
        renewing = self.kept is None or self.said == self.kept[: len(self.said)]
        assert renewing, f"the sentence is another: read it, and `make golden`: {lines}"

    @contextmanager
    def raises(self, *kinds: type[BaseException]) -> Iterator[pytest.ExceptionInfo[BaseException]]:
        """What is done inside is refused by an error of one of these kinds, with the sentence that is kept."""
        with pytest.raises(kinds) as refused:
            yield refused
        self(str(refused.value))

    def end(self) -> None:
        """Nothing that is kept was left unsaid."""
        assert self.kept is None or len(self.said) == len(self.kept), "sentences are no longer said: `make golden`"
