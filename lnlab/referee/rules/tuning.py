"""Rules on how values were chosen: where the grid ends, whether both sides were searched alike, on which seeds."""

import math
from collections.abc import Iterator
from itertools import pairwise
from math import comb

from lnlab.claims.claim import Verdict
from lnlab.claims.claim_scope import results_of_claim
from lnlab.claims.judging import judge_claim
from lnlab.claims.region import Region
from lnlab.errors import LabError
from lnlab.keys import Json, canonical
from lnlab.referee.rule import Remark, rule
from lnlab.referee.study import ClaimArm, Study, Tuning, settings_at
from lnlab.referee.words import counted, in_words
from lnlab.seed_words import seeds_word
from lnlab.select.axis_words import setting_name
from lnlab.setting import Setting

_FAILED_BELOW_WORDS = 0.1
"""Nats: a candidate that ends no further below the loss of word frequencies has learned nothing."""
_BEST = ("best", "safest")
"""Kinds of rules that choose the value with the lowest loss."""
_FEW_BUDGETS = 2
"""The order of two arms is asked from this many candidates on: that of a single one says little."""


@rule("R1", "Is the chosen value the end of its grid?", "one more value beyond this end")
def chosen_at_the_end(study: Study) -> Iterator[Remark]:
    """Whether one more step that gains as much as the last would change the word of a comparison of losses."""
    for verdict in study.judged("supported", "contradicted", "smaller", "undecided"):
        arms = study.arms[verdict.claim]
        if verdict.estimate is None or not study.is_loss(verdict.claim):
            continue
        for place, arm in enumerate(arms):
            for tuning in arm.tunings:
                if (end := _end_of_grid(tuning)) is None:
                    continue
                words = min(
                    (study.word_entropy[run] for run in arm.runs if run in study.word_entropy), default=math.inf
                )
                gain = _last_gain(tuning, words - _FAILED_BELOW_WORDS)
                which = "largest" if end else "smallest"
                best = f"The best {setting_name(tuning.path)} for {arm.name} is the {which} of {len(tuning.candidates)}"
                if gain is None:
                    says = f"{best}, and the one next to it failed; one more step could change this verdict."
                    yield Remark(says, (verdict.claim,), grave=True)
                    continue
                moved = _moved(verdict, gain, place, _best_score(tuning))
                if moved is None:
                    continue
                changes = _word(verdict, study.no_effect(verdict.claim), *moved) != _word(
                    verdict, study.no_effect(verdict.claim), verdict.low, verdict.high
                )
                could = "one more step that gains as much could" if changes else "one more step would not"
                says = f"{best}; the last step gained {gain:.2g} nats, and {could} change this verdict."
                yield Remark(says, (verdict.claim,), asks=changes, grave=changes)


def _end_of_grid(tuning: Tuning) -> int | None:
    """0 where the smallest candidate was chosen as the best, -1 where the largest, None where one between."""
    values = [candidate.value for candidate in tuning.candidates]
    numbers = all(isinstance(value, int | float) for value in values)
    if tuning.kind not in _BEST or len(values) < 2 or not numbers or tuning.chosen not in values:
        return None
    return {0: 0, len(values) - 1: -1}.get(values.index(tuning.chosen))


def _last_gain(tuning: Tuning, failing: float) -> float | None:
    """By how much the last step to the chosen end lowered the loss. None where the value before it failed."""
    scores = [candidate.score for candidate in tuning.candidates]
    best, before = (scores[0], scores[1]) if _end_of_grid(tuning) == 0 else (scores[-1], scores[-2])
    return None if best is None or before is None or before >= failing else before - best


def _best_score(tuning: Tuning) -> float:
    """The loss of the chosen value on the tuning seeds."""
    return next((c.score for c in tuning.candidates if c.value == tuning.chosen and c.score is not None), math.inf)


def _moved(verdict: Verdict, gain: float, place: int, loss: float) -> tuple[float, float] | None:
    """The interval of a comparison if the loss of one side, by its place, were lower by a gain."""
    if verdict.low is None or verdict.high is None:
        return None
    if verdict.kind in ("difference", "order", "interaction") and verdict.measure != "ratio":
        shift = -gain if place in (0, 3) else gain
        return verdict.low + shift, verdict.high + shift
    if verdict.measure == "ratio" and 0 < gain < loss < math.inf:
        factor = (loss - gain) / loss if place == 0 else loss / (loss - gain)
        return verdict.low * factor, verdict.high * factor
    return None


def _word(verdict: Verdict, no_effect: float, low: float | None, high: float | None) -> tuple[str, bool]:
    """Where an interval lies, and on which side of no effect where the margin is ours."""
    region = Region(verdict.region_low, verdict.region_high)
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    where = position(region, low, high)
    return where, verdict.margin == "ours" and where == "outside" and low > no_effect


def position(region: Region, low: float, high: float) -> str:
    """``inside``, ``outside`` or ``across`` a region."""
    if low in region and high in region:
        return "inside"
    return "outside" if high < region.bottom or low > region.top else "across"


@rule("R1c", "Is the largest tolerated rate the end of its grid?", "rates beyond the end of the grid")
def tolerated_at_the_end(study: Study) -> Iterator[Remark]:
    """Where more than half of the seeds tolerate the largest rate that was tried, or not even the smallest."""
    for verdict in study.judged():
        if not study.is_rate(verdict.claim):
            continue
        path = study.over(verdict.claim) or ""
        for place, arm in enumerate(study.arms[verdict.claim]):
            rates = sorted(value for value in settings_at(study, arm.runs, path) if isinstance(value, int | float))
            values = _seed_values(study, verdict.claim, arm)
            if len(rates) < 2 or not values:
                continue
            above = sum(math.isclose(value, rates[-1]) for value in values) / len(values)
            below = sum(value == 0 for value in values) / len(values)
            if max(above, below) <= 0.5:
                continue
            seeds = f"{round(max(above, below) * len(values))} of {len(values)} {seeds_word()}"
            if above > below:
                says = (
                    f"{arm.name}: {seeds} train at the largest of {len(rates)} rates, too; the true one may be larger."
                )
            else:
                says = f"{arm.name}: {seeds} train at none of the {len(rates)} rates, and smaller ones were not tried."
            stronger = _only_stronger(verdict, place, upwards=above > below)
            says += " That could only strengthen this verdict." if stronger else ""
            yield Remark(says, (verdict.claim,), asks=not stronger)


def _only_stronger(verdict: Verdict, place: int, *, upwards: bool) -> bool:
    """Whether a rate that is in truth further out could only make a one-sided word stronger."""
    rises = upwards == (place in (0, 3))
    if verdict.verdict == "supported":
        return verdict.region_low is None if not rises else verdict.region_high is None
    return False


def _seed_values(study: Study, claim: str, arm: ClaimArm) -> list[float]:
    """The number of each seed of one side."""
    bound = {"id": claim, "kind": "bound", "of": arm.selection, "at_least": 0.0, "scale": "linear"}
    declared = {**bound, "seeds": study.claims[claim].get("seeds")}
    try:
        return list(judge_claim(declared, results_of_claim(declared, study.results)).seeds.values())
    except LabError:
        return []


@rule("R2", "Were both sides searched alike?", "the same grid and tuning seeds for every side", "both")
def unequal_searches(study: Study) -> Iterator[Remark]:
    """Whether sides of a claim differ in the number of candidates, in what they span, or in tuning seeds."""
    for claim, arms in study.arms.items():
        searches = [(arm, tuning) for arm in arms for tuning in arm.tunings]
        shapes = {tuning.path: {t.search for _, t in searches if t.path == tuning.path} for _, tuning in searches}
        for path, searched in shapes.items():
            if len(searched) < 2:
                continue
            sides = [
                f"{arm.name} over {counted(tuning.search[0], 'value')} in {tuning.octaves:.2g} octaves on "
                f"{counted(len(tuning.seeds), 'seed')}"
                for arm, tuning in searches
                if tuning.path == path
            ]
            says = f"The {setting_name(path)} was searched unequally: {in_words(dict.fromkeys(sides))}."
            yield Remark(says, (claim,))


@rule("R7", "Is a best value taken over unequal numbers of tries?", "as many values for every side", "both")
def best_of_unequal_numbers(study: Study) -> Iterator[Remark]:
    """The best of more tries is better by chance alone, where the tries are the judged runs themselves."""
    for claim, arms in study.arms.items():
        if not (path := study.over(claim)):
            continue
        numbers = [len(settings_at(study, arm.runs, path)) for arm in arms if arm.runs]
        if len(set(numbers)) > 1:
            tries = in_words(f"{arm.name} {n}" for arm, n in zip([a for a in arms if a.runs], numbers, strict=True))
            says = f"The best is taken over unequal numbers of {setting_name(path)}s: {tries}."
            yield Remark(says, (claim,), grave=True)


@rule("R12", "Do the seeds tell rates apart?", "a finer grid of rates")
def known_to_a_step(study: Study) -> Iterator[Remark]:
    """Where all seeds have the same rate: it is known within one step of the grid only."""
    for verdict in study.judged():
        if not study.is_rate(verdict.claim):
            continue
        path = study.over(verdict.claim) or ""
        values = {round(value, 9) for value in verdict.seeds.values()}
        runs = [run for arm in study.arms[verdict.claim] for run in arm.runs]
        rates = sorted({value for value in settings_at(study, runs, path) if isinstance(value, int | float)})
        if len(verdict.seeds) >= 5 and len(values) == 1 and len(rates) > 1:
            step = max(high / low for low, high in pairwise(rates))
            says = (
                f"All {len(verdict.seeds)} {seeds_word()} have one rate: rates are known within a factor of {step:.2g}."
            )
            yield Remark(says, (verdict.claim,))


@rule("R15", "On how many seeds was it tuned?", "two or more tuning seeds", "both")
def tuned_on_one_seed(study: Study) -> Iterator[Remark]:
    """A choice on one tuning seed may be that seed's."""
    tuned = {
        claim: {setting_name(tuning.path) for arm in arms for tuning in arm.tunings if len(tuning.seeds) == 1}
        for claim, arms in study.arms.items()
    }
    for words in dict.fromkeys(in_words(sorted(paths)) for paths in tuned.values() if paths):
        claims = tuple(claim for claim, paths in tuned.items() if paths and in_words(sorted(paths)) == words)
        yield Remark(f"The {words} was chosen on one seed.", claims)


@rule("R20", "Was each side's value chosen for it?", "tune every side by itself", "both")
def borrowed_choice(study: Study) -> Iterator[Remark]:
    """Where a side takes a value that was chosen on the runs of another side."""
    sides: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for claim, arms in study.arms.items():
        for arm in arms:
            for tuning in arm.tunings:
                failing = tuning.kind == "failing"
                compares = len(arms) > 1 and study.is_trained(claim) and _is_against(study, claim)
                if tuning.of and (compares or not failing) and not any(_is_own(study, run, tuning) for run in arm.runs):
                    choice = (setting_name(tuning.path), tuning.kind, in_words(tuning.of.values()))
                    sides.setdefault(choice, {}).setdefault(arm.name, []).append(claim)
    for (path, kind, decided), claims_of_side in sides.items():
        claims = tuple(dict.fromkeys(claim for claims in claims_of_side.values() for claim in claims))
        how = "where that one fails" if kind == "failing" else "and not for these"
        names = in_words(sorted(claims_of_side, key=lambda side: -len(claims_of_side[side])))
        yield Remark(f"The {path} was chosen for {decided}, {how}: {names}.", claims, grave=kind != "failing")


def _is_own(study: Study, run: str, tuning: Tuning) -> bool:
    """Whether a run is one of those that decided."""
    point, setting = study.points[run], Setting(study.settings[run])
    return all(
        (point[path] if path in point else next(iter(setting.values(path)), None)) in _alternatives(condition)
        for path, condition in tuning.of.items()
    )


def _alternatives(condition: Json) -> list[Json]:
    return list(condition) if isinstance(condition, list | tuple) else [condition]


def _is_against(study: Study, claim: str) -> bool:
    """Whether a claim of the source is not supported, or, before the runs, could come to be."""
    verdict = study.verdicts.get(claim)
    return verdict is None or (verdict.role == "source" and verdict.verdict != "supported")


@rule("R28", "Are tuning seeds judged?", "tune on seeds that are not judged", "both")
def judged_tuning_seeds(study: Study) -> Iterator[Remark]:
    """A value that was chosen on a seed looks better on that seed."""
    for claim, arms in study.arms.items():
        tuning_seeds = {seed for arm in arms for tuning in arm.tunings for seed in tuning.seeds}
        judged = {study.run_facts[run]["seed"] for arm in arms for run in arm.runs}
        if both := sorted(tuning_seeds & judged):
            yield Remark(
                f"It is tuned and judged on {in_words(f'seed {seed}' for seed in both)}.", (claim,), grave=True
            )


@rule("R33", "Does a side lose that could have been the other?", "a longer search for the side that has the choice")
def contains_the_other(study: Study) -> Iterator[Remark]:
    """A side whose candidates hold the other's value loses by more than noise only if it was searched too little."""
    for verdict in study.judged():
        arms = study.arms[verdict.claim]
        if len(arms) != 2 or not study.is_loss(verdict.claim) or verdict.low is None or verdict.high is None:
            continue
        no_effect = study.no_effect(verdict.claim)
        for place, (arm, other) in enumerate(((arms[0], arms[1]), (arms[1], arms[0]))):
            loses = verdict.low > no_effect if place == 0 else verdict.high < no_effect
            for tuning in (t for t in arm.tunings if loses and t.kind in _BEST):
                own = settings_at(study, other.runs, tuning.path)
                contained = len(own) == 1 and own[0] in [candidate.value for candidate in tuning.candidates]
                if contained and own[0] != tuning.chosen and _equal_besides(study, arm, other, tuning.path):
                    says = (
                        f"{arm.name} loses though its search includes the {setting_name(tuning.path)} of {other.name}."
                    )
                    yield Remark(says, (verdict.claim,), grave=True)


def _equal_besides(study: Study, arm: ClaimArm, other: ClaimArm, path: str) -> bool:
    """Whether the settings of two sides are equal but for one path."""
    texts = set()
    for run in (*arm.runs, *other.runs):
        setting = dict(study.settings[run])
        key, *inner = path.split(".")
        part = setting.get(key)
        if inner and isinstance(part, dict):
            setting[key] = {name: value for name, value in part.items() if name != inner[0]}
        setting = {name: value for name, value in setting.items() if name not in ("method", "times")}
        texts.add(canonical(setting))
    return len(texts) == 1


@rule("R34", "Does the order depend on how much was tuned?")
def order_at_every_budget(study: Study) -> Iterator[Remark]:
    """The order of the best losses to be expected of k of the candidates, for every k (Dodge et al., 2019)."""
    for verdict in study.judged("supported", "contradicted"):
        arms = study.arms[verdict.claim]
        if len(arms) != 2 or not study.is_loss(verdict.claim) or verdict.estimate is None:
            continue
        shared = [(a, b) for a in arms[0].tunings for b in arms[1].tunings if a.path == b.path and a != b]
        for first, second in shared[:1]:
            differences = _budget_differences(first, second)
            signs = {difference > 0 for difference in differences[_FEW_BUDGETS - 1 :]}
            if len(differences) < _FEW_BUDGETS or len(signs) > 1:
                continue
            if (verdict.estimate > study.no_effect(verdict.claim)) == signs.pop():
                most = len(differences)
                says = f"The order holds at every tuning budget, from {_FEW_BUDGETS} values of the grid to {most}."
                yield Remark(says, (verdict.claim,), strength=True)


def _budget_differences(first: Tuning, second: Tuning) -> list[float]:
    """How far the best loss to be expected of k candidates of the first is above that of the second, for k = 1 ..."""
    scores = [[c.score for c in tuning.candidates] for tuning in (first, second)]
    finite = [score for both in scores for score in both if score is not None and math.isfinite(score)]
    if not finite:
        return []
    worst = max(finite)  # a failed candidate counts as the worst that trained, which spares it an unknown number
    filled = [sorted(worst if s is None or not math.isfinite(s) else s for s in both) for both in scores]
    most = min(map(len, filled))
    return [expected_best(filled[0], k) - expected_best(filled[1], k) for k in range(1, most + 1)]


def expected_best(rising: list[float], k: int) -> float:
    """The expected smallest of k values drawn from these without replacement: ``Σ x_i C(n-i, k-1) / C(n, k)``."""
    n = len(rising)
    return sum(value * comb(n - place, k - 1) for place, value in enumerate(rising, 1)) / comb(n, k)
