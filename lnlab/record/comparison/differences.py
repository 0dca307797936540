"""In what two sides differ, kind by kind: settings, spec, runs, numbers, verdicts; the shortest list first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import verdict_label
from lnlab.keys import Json, canonical
from lnlab.record.comparison.row_differences import number_differences
from lnlab.record.comparison.sides import EVERY_RUN, Side, line_of_value
from lnlab.report.rounding import rounded
from lnlab.report.words.wording import count_noun, format_interval
from lnlab.specfile.experiment import SETTING
from lnlab.tables import Results

_Part = TypeVar("_Part")

_PARTS = {"settings": "settings", "spec": "document", "numbers": "results", "verdicts": "verdicts"}
"""Kinds of differences that a side may not know, with the attribute that it lacks then."""
_ABSENT = "–"
_NOT_OF_QUESTION = (*SETTING, "sweep", "methods", "profiles")
"""Keys of a spec that determine runs, which are compared as resolved settings."""


@dataclass(frozen=True)
class SideDifference:
    """One thing that differs: its place, and what stands there on either side."""

    where: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.where}: {self.a} → {self.b}"


@dataclass(frozen=True)
class Comparison:
    """The outcome of a comparison.

    Attributes:
        a: label of the first side.
        b: label of the second side.
        differences: those of each kind in which the sides differ, the shortest list first.
        not_compared: kinds that one side does not know, with the reason.
        provenance: what the runs and pages were made with, where it differs; it decides nothing.
        compared: how much was compared, in words.
    """

    a: str
    b: str
    differences: Mapping[str, tuple[SideDifference, ...]]
    not_compared: Mapping[str, str]
    provenance: tuple[SideDifference, ...]
    compared: str

    @property
    def same(self) -> bool:
        """Whether nothing differs that both sides know."""
        return not self.differences

    @property
    def sentence(self) -> str:
        """One sentence: what differs, or that nothing does."""
        counts = ", ".join(f"{kind} {len(entries)}" for kind, entries in self.differences.items())
        unknown = f" ({', '.join(self.not_compared)} not compared)" if self.not_compared else ""
        if counts:
            return f"{self.a} and {self.b} differ: {counts}{unknown}."
        return f"{self.a} and {self.b} say the same: {self.compared}{unknown}."


def compare(a: Side, b: Side) -> Comparison:
    """Everything in which two sides differ."""
    by_kind = {
        "settings": _both(a.settings, b.settings, _setting_differences),
        "spec": _both(a.document, b.document, _spec_differences),
        "runs": list(_run_differences(a, b)),
        "numbers": _both(a.results, b.results, _number_differences),
        "verdicts": _both(a.verdicts, b.verdicts, _verdict_differences),
    }
    without = {
        kind: " and ".join(side.label for side in (a, b) if getattr(side, _PARTS[kind]) is None)
        for kind, entries in by_kind.items()
        if entries is None
    }
    differing = {kind: entries for kind, entries in by_kind.items() if entries}
    ordered = sorted(differing, key=lambda kind: len(differing[kind]))  # of equal lists the order above
    provenance = tuple(_mapping_differences(a.provenance, b.provenance)) if a.provenance and b.provenance else ()
    return Comparison(
        a=a.label,
        b=b.label,
        differences={kind: tuple(differing[kind]) for kind in ordered},
        not_compared={kind: f"not in {sides}" for kind, sides in without.items()},
        provenance=provenance,
        compared=count_noun(len({**(a.verdicts or {}), **(b.verdicts or {})}), "claim"),
    )


def _both(
    a: _Part | None, b: _Part | None, differences: Callable[[_Part, _Part], Iterator[SideDifference]]
) -> list[SideDifference] | None:
    """The differences between parts of two sides; None where a side lacks its own."""
    return None if a is None or b is None else list(differences(a, b))


def _setting_differences(a: Mapping[str, Sequence[Json]], b: Mapping[str, Sequence[Json]]) -> Iterator[SideDifference]:
    """Paths of the resolved settings that take other values."""
    for path in sorted(a.keys() | b.keys()):
        one, other = ({canonical(value) for value in side.get(path, ())} for side in (a, b))
        if one != other:
            yield SideDifference(path, _values(a.get(path)), _values(b.get(path)))


def _values(values: Sequence[Json] | None) -> str:
    return _ABSENT if values is None else ", ".join(map(line_of_value, values))


def _spec_differences(a: Mapping[str, Json], b: Mapping[str, Json]) -> Iterator[SideDifference]:
    """What the specs ask of their runs: claims, probes, sections, seeds and sentences."""
    one, other = spec_leaves(a), spec_leaves(b)
    for path in sorted(one.keys() | other.keys()):
        if one.get(path) != other.get(path):
            in_a, in_b = (line_of_value(side[path]) if path in side else _ABSENT for side in (one, other))
            yield SideDifference(path, in_a, in_b)


def spec_leaves(document: Mapping[str, Json]) -> dict[str, Json]:
    """Every value of a spec beyond its settings, with its path; what has an id, a title or a kind is named by it."""
    return {
        path: value
        for key, part in document.items()
        if key not in _NOT_OF_QUESTION
        for path, value in _leaves(key, part)
    }


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        path = "claims" if path.endswith(".claims") else path  # a claim is known by its id, wherever it stands
        names = [_name_of_item(item, number) for number, item in enumerate(value)]
        for number, (name, item) in enumerate(zip(names, value, strict=True)):
            own = name if names.count(name) == 1 else f"{name}[{number}]"
            yield from _leaves(f"{path}.{own}", item)
    else:
        yield path, value


def _name_of_item(item: Json, number: int) -> str:
    names = (item.get(key) for key in ("id", "title", "kind")) if isinstance(item, Mapping) else ()
    return next((name for name in names if isinstance(name, str)), str(number))


def _run_differences(a: Side, b: Side) -> Iterator[SideDifference]:
    """Variants that one side lacks, those with other seeds, and those of the same name that are something else."""
    for name in sorted(a.seeds.keys() | b.seeds.keys()):
        one, other = (f"seeds {side.seeds[name]}" if name in side.seeds else _ABSENT for side in (a, b))
        if one != other:
            yield SideDifference(name, one, other)
    shared = [name for name in a.keys if name in b.keys]
    changed = [name for name in shared if not _same_key(a.keys[name], b.keys[name])]
    if changed:
        which = "every variant" if len(changed) == len(shared) else ", ".join(changed[:3])
        more = f" and {len(changed) - 3} more" if which != "every variant" and len(changed) > 3 else ""
        yield SideDifference(
            f"content key of {which}{more}" if changed != [EVERY_RUN] else "content key",
            a.keys[changed[0]][:12],
            f"{b.keys[changed[0]][:12]} (another setting, version of a piece, or corpus)",
        )


def _same_key(one: str, other: str) -> bool:
    """Whether two keys are the same; a lock has their beginnings only."""
    digits = min(len(one), len(other))
    return one[:digits] == other[:digits]


def _number_differences(a: Results, b: Results) -> Iterator[SideDifference]:
    return (SideDifference(*entry) for entry in number_differences(a, b))


def _verdict_differences(a: Mapping[str, Verdict], b: Mapping[str, Verdict]) -> Iterator[SideDifference]:
    """Claims that differ: those with another verdict first, then those with other numbers."""
    pairs = [(claim, a.get(claim), b.get(claim)) for claim in dict.fromkeys((*b, *a))]
    differing = [pair for pair in pairs if _outcome(pair[1]) != _outcome(pair[2])]
    for claim, one, other in sorted(differing, key=lambda pair: _word(pair[1]) == _word(pair[2])):
        yield SideDifference(claim, _verdict_text(one), _verdict_text(other))


def _outcome(verdict: Verdict | None) -> tuple[object, ...] | None:
    """What a lock holds of a verdict too: its word, seeds and rounded numbers."""
    if verdict is None:
        return None
    numbers = (verdict.estimate, verdict.low, verdict.high)
    return verdict.verdict, verdict.n, *(None if number is None else repr(rounded(number)) for number in numbers)


def _word(verdict: Verdict | None) -> str:
    return "" if verdict is None else verdict.verdict


def _verdict_text(verdict: Verdict | None) -> str:
    """``supported 6.3 [5.2, 7.6], 10 seeds``; with all digits where two texts would be the same."""
    if verdict is None:
        return _ABSENT
    numbers = format_interval(verdict.estimate, verdict.low, verdict.high) if verdict.estimate is not None else ""
    return f"{' '.join(filter(None, (verdict_label(verdict), numbers)))}, {count_noun(verdict.n, 'seed')}"


def _mapping_differences(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[SideDifference]:
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            yield SideDifference(key, a.get(key, _ABSENT), b.get(key, _ABSENT))
