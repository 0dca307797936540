"""One letter of one key of a shipped spec is lost, or exchanged with the next."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from lnlab.catalogue import REGISTRIES
from lnlab.compile.check import check_spec
from lnlab.corpora.files.fetch import data_roots
from lnlab.errors import SpecError
from lnlab.issues import Issue
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import SpecDocument, parse_leniently, parse_spec
from tests.support.forking import servers
from tests.torture.faults import Tally, fault, sample
from tests.torture.loader_faults import GROUP, SPECS

PROMISE = (
    "a misspelt key is reported with its line and column, or those of the value that a selection names with it, "
    "and 95 % with the word that was meant"
)
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}
SUGGESTED = 0.95
OF_THE_SUITE, PORTION = 12, 40
_NAMING = ("methods", "guesses", "lines", "published", "profiles", "sweep", "nodes", "parts")
NAMES_BELOW = tuple((word,) for word in _NAMING)
"""What stands right below these is called as its author likes, or by the names that a model's parts have."""
SELECTIONS = ("of", "to", "where", "reference")
"""What selects runs: a value in it is one that runs have, and is reported as a whole."""


Typo = tuple[int, int, str, str]
"""Line and column of a key, the key, and how it is misspelt."""


def misspelling(word: str, draw: Random, known: frozenset[str]) -> str | None:
    """The word with a letter lost, or with two neighbours exchanged; None: that always yields another key."""
    lost = [word[:i] + word[i + 1 :] for i in range(len(word))]
    exchanged = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]
    kinds = [sorted({*wrong} - {"", word} - known) for wrong in (lost, exchanged)]
    kinds = [wrong for wrong in kinds if wrong]
    return draw.choice(draw.choice(kinds)) if kinds else None


def keys_of(document: SpecDocument) -> list[tuple[int, int, str]]:
    """Line, column and word of each key of the language that is written without quotes; an alias repeats some."""
    lines, places = document.text.splitlines(), {}
    for path, (mark, _) in document.marks.items():
        named_by_author = not path or path[-2:-1] in NAMES_BELOW
        if not named_by_author and lines[mark.line - 1][mark.column - 1 :].startswith(f"{path[-1]}:"):
            places.setdefault((mark.line, mark.column), path[-1])
    return [(*place, word) for place, word in sorted(places.items())]


def places_of(document: SpecDocument, line: int, column: int) -> set[str]:
    """Where a typo in the key at a place is to be reported: there, or at the value that a selection names with it."""
    places = {(line, column)}
    for path, (mark, _) in document.marks.items():
        if (mark.line, mark.column) == (line, column) and path[:1] in (("report",), ("claims",)):
            conditions = (n for n, word in enumerate(path[:-2]) if word in SELECTIONS and path[n + 1] not in SELECTIONS)
            whole = (document.marks[path[: n + 2]][1] for n in conditions)
            places |= {(value.line, value.column) for value in whole}
    return {f"{document.path}:{line}:{column}" for line, column in places}


def typos_of(document: SpecDocument, known: frozenset[str]) -> Iterator[Typo]:
    """One typo in each key, drawn from the spec's name."""
    draw = Random(document.path.stem)
    for line, column, word in keys_of(document):
        if wrong := misspelling(word, draw, known):
            yield line, column, word, wrong


def problems_at(places: set[str], text: str, spec: Path) -> list[Issue]:
    """What ``lnlab check`` says of these places: first without profile and files, and if that is nothing, with them."""
    try:
        document, faults = parse_leniently(text, spec)
    except SpecError as error:
        return [problem for problem in error.issues if problem.where.split(": ")[0] in places]
    profiles = document.data.get("profiles")
    for profile in (None, *(profiles if isinstance(profiles, dict) else ())):
        for files in (False, True):
            roots = data_roots(spec.parent) if files else ()
            checked = check_spec(document, EVERY, roots, profile=profile, overrides=(), files=files)
            here = [problem for problem in (*faults, *checked.issues) if problem.where.split(": ")[0] in places]
            if here:
                return here
    return []


def is_meant(word: str, wrong: str, remedy: str) -> bool:
    """Whether a remedy suggests the word, or that part of a dotted path which is wrong."""
    suggested = re.match(r"did you mean '([^']*)'", remedy)
    parts = wrong.split(".")
    mended = (".".join([*parts[:n], suggested[1], *parts[n + 1 :]]) for n in range(len(parts)) if suggested)
    return word in {suggested and suggested[1], *mended}


def typo_job(name: str, typos: Sequence[Typo]) -> tuple[list[str], list[str]]:
    """The typos of a spec that are not reported at their place, and those without the word that was meant."""
    spec = next(path for path in SPECS if path.stem == name)
    document = parse_spec(spec.read_text(), spec)
    lines = document.text.splitlines(keepends=True)
    misplaced, unguided = [], []
    for line, column, word, wrong in typos:
        before, after = lines[line - 1][: column - 1], lines[line - 1][column - 1 + len(word) :]
        text = "".join([*lines[: line - 1], before, wrong, after, *lines[line:]])
        typo = f"{name}:{line}: {wrong} for {word}"
        try:
            reported = problems_at(places_of(document, line, column), text, spec)
        except Exception as error:  # the user would see its traceback
            misplaced.append(f"{typo}: {type(error).__name__}: {error!s:.80}")
            continue
        if not reported:
            misplaced.append(typo)
        if not any(is_meant(word, wrong, problem.remedy) for problem in reported):
            unguided.append(typo)
    return misplaced, unguided


@fault(GROUP, "a key with a letter lost or exchanged", PROMISE)
def misspelt(folder: Path, full: bool) -> Tally:
    """One typo in every key of every shipped spec."""
    del folder  # nothing is written
    documents = {path.stem: parse_spec(path.read_text(), path) for path in SPECS}
    words = frozenset(str(path[-1]) for document in documents.values() for path in document.marks if path)
    typos = [(name, typo) for name, document in documents.items() for typo in typos_of(document, words)]
    chosen = typos if full else sample(typos, OF_THE_SUITE)
    by_spec: dict[str, list[Typo]] = {}
    for name, typo in chosen:
        by_spec.setdefault(name, []).append(typo)
    portions = [(name, part[n : n + PORTION]) for name, part in by_spec.items() for n in range(0, len(part), PORTION)]
    pool, tally, unguided = servers(), Tally(len(chosen)), list[str]()
    for misplaced, without in pool.map(lambda portion: pool.answer(f"{__name__}:typo_job", *portion), portions):
        tally.lost += [f"not reported at its place: {typo}" for typo in misplaced]
        unguided += without
    share = 1 - len(unguided) / len(chosen)
    tally.notes.append(f"{share:.1%} with the word that was meant")
    # Of the few that the suite draws anew with each change of a spec, one may be of those 5 %.
    if len(unguided) > max(1, (1 - SUGGESTED) * len(chosen)):
        tally.lost.append(f"{len(unguided):,} typos without the word that was meant: {', '.join(unguided[:5])}")
    return tally
