"""The differences between two sides in settings, spec, runs, numbers and verdicts, the shortest list first."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import verdict_label
from lnlab.committed.comparison.numbers import ComparedQuantity, compare_numbers
from lnlab.committed.comparison.sides import Side
from lnlab.keys import Json, canonical
from lnlab.report.rounding import rounded
from lnlab.report.words.verdict_words import verdict_interval
from lnlab.report.words.wording import count_noun
from lnlab.select.axes import EVERY_RUN
from lnlab.specfile.experiment import SETTING

_Value = TypeVar("_Value")

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
        compared: how much was compared, in words.
    """

    a: str
    b: str
    differences: Mapping[str, tuple[SideDifference, ...]]
    not_compared: Mapping[str, str]
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
    texts = [{path: ", ".join(map(_line, of)) for path, of in side.settings.items()} for side in (a, b)]
    leaves = spec_leaves(a.document), spec_leaves(b.document)
    by_kind: dict[str, list[SideDifference] | None] = {
        "settings": [
            SideDifference(path, *(side.get(path, _ABSENT) for side in texts))
            for path in sorted(a.settings.keys() | b.settings.keys())
            if len({frozenset(map(canonical, side.settings.get(path, ()))) for side in (a, b)}) > 1
        ],
        "spec": list(_mapping_differences(*leaves, _line)),
        "runs": [*_mapping_differences(a.seeds, b.seeds, "seeds {}".format), *_key_differences(a.keys, b.keys)],
        "numbers": None,
        "verdicts": None,
    }
    if a.results is not None and b.results is not None:
        numbers = compare_numbers(a.results, b.results)
        other = (one for one in numbers if one.changed[0] or one.lacking or one.more)  # than another machine's rounding
        by_kind["numbers"] = [SideDifference(one.label, *_number_texts(one)) for one in other]
    if a.verdicts is not None and b.verdicts is not None:
        pairs = {claim: (a.verdicts.get(claim), b.verdicts.get(claim)) for claim in (*b.verdicts, *a.verdicts)}
        differing = [pair for pair in pairs.items() if _outcome(pair[1][0]) != _outcome(pair[1][1])]
        # claims with another verdict come before those with other numbers alone
        differing.sort(key=lambda pair: len({"" if one is None else one.verdict for one in pair[1]}) == 1)
        by_kind["verdicts"] = [SideDifference(claim, *map(verdict_text, pair)) for claim, pair in differing]
    specs = " and ".join(side.label for side in (a, b) if side.results is None)
    present = {kind: entries for kind, entries in by_kind.items() if entries}
    ordered = sorted(present, key=lambda kind: len(present[kind]))  # of equal lists the order above
    return Comparison(
        a=a.label,
        b=b.label,
        differences={kind: tuple(present[kind]) for kind in ordered},
        not_compared={kind: f"not in {specs}" for kind, entries in by_kind.items() if entries is None},
        compared=count_noun(len({**(a.verdicts or {}), **(b.verdicts or {})}), "claim"),
    )


def _line(value: Json) -> str:
    """A value as one line: words as they are, all else as JSON."""
    return value if isinstance(value, str) else canonical(value)


def _number_texts(one: ComparedQuantity) -> tuple[str, str]:
    """What differs between the numbers of one quantity, in words for each side."""
    number, variants = one.changed
    if one.table == "runs":
        return count_noun(one.numbers, "run"), f"{number:,} ended otherwise, such as {one.worst}"
    says = f"{number:,} of {one.numbers:,} differ"
    if number:
        size = "more than any number" if one.relative == float("inf") else f"{one.relative:.1e} of themselves"
        beyond = one.beyond - one.lacking
        within = f"{beyond:,} beyond their margin" if beyond > 0 else "within their margins"
        says += f" in {count_noun(variants, 'variant')}, by at most {size}, {within}"
    more = f", {one.more:,} more" if one.more else ""
    return f"{one.numbers + one.lacking:,} numbers", f"{one.numbers + one.more:,} numbers, {says}{more}"


def _mapping_differences(
    a: Mapping[str, _Value], b: Mapping[str, _Value], text: Callable[[_Value], str]
) -> Iterator[SideDifference]:
    for key in sorted(a.keys() | b.keys()):
        if a.get(key) != b.get(key):
            yield SideDifference(key, *(text(side[key]) if key in side else _ABSENT for side in (a, b)))


def _key_differences(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[SideDifference]:
    """Variants of the same name that are something else, as one entry."""
    shared = [name for name in a if name in b]
    changed = [name for name in shared if a[name] != b[name]]
    if changed:
        which = "every variant" if len(changed) == len(shared) else ", ".join(changed[:3])
        more = f" and {len(changed) - 3} more" if which != "every variant" and len(changed) > 3 else ""
        yield SideDifference(
            f"content key of {which}{more}" if changed != [EVERY_RUN] else "content key",
            a[changed[0]][:12],
            f"{b[changed[0]][:12]} (another setting, version of a piece, or corpus)",
        )


def spec_leaves(document: Mapping[str, Json]) -> dict[str, Json]:
    """Every value of a spec beyond its settings, by path. Items of lists are named by their id, title or kind."""
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
        names = []
        for number, item in enumerate(value):
            stated = [item.get(key) for key in ("id", "title", "kind")] if isinstance(item, Mapping) else []
            names.append(next((name for name in stated if isinstance(name, str)), str(number)))
        for number, (name, item) in enumerate(zip(names, value, strict=True)):
            own = name if names.count(name) == 1 else f"{name}[{number}]"
            yield from _leaves(f"{path}.{own}", item)
    else:
        yield path, value


def _outcome(verdict: Verdict | None) -> tuple[object, ...] | None:
    """What a lock holds of a verdict too: its word, seeds and rounded numbers."""
    if verdict is None:
        return None
    numbers = (verdict.estimate, verdict.low, verdict.high)
    return verdict.verdict, verdict.n, *(None if number is None else repr(rounded(number)) for number in numbers)


def verdict_text(verdict: Verdict | None) -> str:
    """A verdict as ``supported 6.3 [5.2, 7.6], 10 seeds``."""
    if verdict is None:
        return _ABSENT
    numbers = verdict_interval(verdict) if verdict.estimate is not None else ""
    return f"{' '.join(filter(None, (verdict_label(verdict), numbers)))}, {count_noun(verdict.n, 'seed')}"
