"""``lnlab bisect``: the change that moved a verdict, by judging as few specs between two versions as tell."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.app.bisection.changes import SpecChange, about_claim, applied, changes_between
from lnlab.app.bisection.judge import ClaimJudge
from lnlab.app.comparison.sides import EVERY_RUN, Side
from lnlab.compile.content_keys import ContentKeys
from lnlab.errors import LabError, Problem, SpecError
from lnlab.keys import Json, digest
from lnlab.registry import Flawed, Registry, Roots
from lnlab.specfile.load import read_data
from lnlab.specfile.values import value_label

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.compile.plan import Plan

_FURTHER_VERSIONS = 3
"""How many versions after today's are tried for a piece, where a side was made with newer code."""


@dataclass(frozen=True)
class Trial:
    """A spec between the two that was judged: what it has of the changes, and its verdict, or why it has none."""

    what: str
    verdict: str


@dataclass(frozen=True)
class Bisection:
    """What moved the verdict.

    Attributes:
        claim: its id.
        good: its verdict on the first side.
        bad: its verdict on the second side.
        cause: ``spec``, ``code or corpus``, or ``rows``: nothing but the numbers themselves.
        changes: what moved it, in words; several where none can be told from the others.
        trials: what was judged on the way.
        units: how many units were computed for it.
    """

    claim: str
    good: str
    bad: str
    cause: str
    changes: tuple[str, ...]
    trials: tuple[Trial, ...]
    units: int


class _InVersion(Registry[Any]):
    """A registry with a piece in another version: what keys would be, not what numbers would."""

    def __init__(self, registry: Registry[Any], name: str, version: int) -> None:
        super().__init__(registry.kind, registry.facts)
        self._entries = {**registry.entries, name: replace(registry[name], version=version)}
        self._discovered = True


def bisect_claim(good: Side, bad: Side, judge: ClaimJudge, on_trial: Callable[[Trial], None]) -> Bisection:
    """Find what moved the verdict of a claim between two sides.

    Raises:
        LabError: a side does not judge the claim or lacks its spec, or both have the same verdict.
    """
    words = [_verdict_word(side, judge.claim) for side in (good, bad)]
    if words[0] == words[1]:
        what = f"is {words[0]} in {good.label} and in {bad.label}"
        raise LabError(Problem(judge.claim, what, "name two sides with other verdicts: lnlab diff lists them"))
    specs = [about_claim(_spec(side), judge.claim, judge.profile) for side in (good, bad)]
    changes = changes_between(*specs)
    trials: list[Trial] = []

    def word_of(number: int) -> str | None:
        """The verdict with so many of the changes; None where a spec with just these is wrong."""
        try:
            word: str | None = judge.verdict(applied(specs[0], changes[:number])).verdict
        except SpecError as error:
            word, reason = None, str(error.problems[0])
        shown = word or f"is no spec: {reason}"
        trials.append(Trial(f"{number} of {len(changes)} changes", shown))
        on_trial(trials[-1])
        return word

    outcome = Bisection(judge.claim, words[0], words[1], "", (), (), 0)
    plan, _ = judge.plan(specs[0])
    if not _same_keys(plan, good) and word_of(0) != words[0]:
        causes = (*_changed_corpora(good, bad), *_changed_versions(plan, good, judge))
        unknown = "code or a corpus that the sides do not name"
        return _ended(outcome, "code or corpus", causes or (unknown,), trials, judge)
    if not changes:
        return _ended(outcome, "rows", ("the specs, the versions and the corpora are the same",), trials, judge)
    low, high = _search(word_of, words[0], len(changes))
    if high > len(changes):
        causes = tuple(_changed_corpora(good, bad)) or ("code that has changed since, or rows that differ",)
        return _ended(outcome, "code or corpus", causes, trials, judge)
    moved: Sequence[SpecChange] = changes[low:high]
    return _ended(outcome, "spec", tuple(change.label for change in moved), trials, judge)


def _ended(
    outcome: Bisection, cause: str, changes: tuple[str, ...], trials: Sequence[Trial], judge: ClaimJudge
) -> Bisection:
    return replace(outcome, cause=cause, changes=changes, trials=tuple(trials), units=judge.units)


def _verdict_word(side: Side, claim: str) -> str:
    if side.verdicts is None or claim not in side.verdicts:
        raise LabError(Problem(side.label, f"has no verdict on '{claim}'", "name two locks or reports that judge it"))
    return side.verdicts[claim].verdict


def _spec(side: Side) -> dict[str, Json]:
    if side.text is None:
        raise LabError(Problem(side.label, "comes without its spec", "name a lock with its spec, or its report"))
    data, _, faults = read_data(side.text)
    if faults or not isinstance(data, dict):
        raise LabError(Problem(side.label, "has a spec that this lnlab cannot read", "name a later version"))
    return data


def _search(word_of: Callable[[int], str | None], good: str, total: int) -> tuple[int, int]:
    """The last number of changes with the good verdict, and the next that is known to have another.

    A number whose spec is wrong is passed over, and its change is told with its neighbours. ``total + 1``: with all
    changes the verdict is still the good one.
    """
    last = word_of(total)
    if last == good:
        return total, total + 1
    low, high, wrong = 0, total, set[int]()
    while numbers := [n for n in range(low + 1, high) if n not in wrong]:
        middle = min(numbers, key=lambda n: abs(n - (low + high) / 2))
        word = word_of(middle)
        if word is None:
            wrong.add(middle)
        elif word == good:
            low = middle
        else:
            high = middle
    return low, high


def _names(plan: "Plan") -> dict[str, str]:
    """Variant in words -> its key, as the code and the corpora of this machine make it."""
    return {
        " ".join(f"{axis}={value_label(value)}" for axis, value in plan.points[variant].items()) or EVERY_RUN: variant
        for variant in plan.points
    }


def _same_keys(plan: "Plan", side: Side) -> bool:
    """Whether today's code and corpora give the variants and measurements of a side their keys: then its rows stand."""
    shared = {name: key for name, key in _names(plan).items() if name in side.keys}
    same_variants = bool(shared) and all(key.startswith(side.keys[name][:16]) for name, key in shared.items())
    return same_variants and _measured_of_runs(side, plan) <= {key for *_, key in plan.needs}


def _changed_corpora(good: Side, bad: Side) -> Iterator[str]:
    """Corpora and vocabularies that both sides name, with other content."""
    for name in sorted(good.provenance.keys() & bad.provenance.keys()):
        if name.startswith(("corpus ", "tokenizer ")) and good.provenance[name] != bad.provenance[name]:
            yield f"{name}: {good.provenance[name]} → {bad.provenance[name]}"


def _changed_versions(plan: "Plan", good: Side, judge: ClaimJudge) -> Iterator[str]:
    """The pieces that in another version give the keys that the good side has: a key holds the versions of all pieces.

    Of a piece inside another one (a tokenizer, a corpus) nothing is known here.
    """
    kinds = {text for run in plan.runs[:1] for text in _kinds(plan.settings[run.variant])}
    kinds |= {text for _, _, probe, _ in plan.needs for text in _kinds(probe)}
    matching = _matches(plan, good, judge.known, judge.roots)
    for kind, registry in judge.known.items():
        for piece in (entry for entry in registry if entry.name in kinds):
            for version in (v for v in range(1, piece.version + _FURTHER_VERSIONS) if v != piece.version):
                known = {**judge.known, kind: _InVersion(registry, piece.name, version)}
                if _matches(plan, good, known, judge.roots) > matching:
                    yield f"{kind} {piece.name}: version {version} → {piece.version}"


def _kinds(choice: Json) -> Iterator[str]:
    """The names of all pieces in a setting or a choice."""
    if isinstance(choice, dict):
        yield from (value for key, value in choice.items() if key == "kind")
    for inner in choice.values() if isinstance(choice, dict) else choice if isinstance(choice, list) else ():
        yield from _kinds(inner)


def _matches(plan: "Plan", side: Side, known: "Registries", roots: Roots) -> int:
    """How many keys of a side follow from the first run of a plan with these pieces."""
    content_keys, run = ContentKeys(known, roots), plan.runs[0]
    try:
        keys = content_keys.of(plan.settings[run.variant])
        state = keys.state(run.seed)
        trajectory, measured = keys.trajectory(state), _measured_of_all(side)
        names = [name for name, variant in _names(plan).items() if variant == run.variant]
        own_variants = [n for n in names if n in side.keys and keys.variant.startswith(side.keys[n][:16])]
        own = {
            digest(["measurement", place, step, content_keys.choice("probe", probe)])
            for key, step, probe, _ in plan.needs
            if key == run.key
            for place in (state, trajectory)
        }
    except (Flawed, LabError, KeyError):
        return 0
    return len(own_variants) + len(own & measured)


def _measured_of_runs(side: Side, plan: "Plan") -> set[str]:
    """The keys of what a side has measured of the runs of a plan, as far as it has rows."""
    runs = pl.Series([run.key for run in plan.runs], dtype=pl.String).implode()
    tables = side.results.tables.values() if side.results else ()
    rows = (table.filter(pl.col("run").is_in(runs)) for table in tables if "measurement" in table.columns)
    return {key for part in rows for key in part["measurement"].unique()}


def _measured_of_all(side: Side) -> set[str]:
    tables = side.results.tables.values() if side.results else ()
    return {key for table in tables if "measurement" in table.columns for key in table["measurement"].unique()}
