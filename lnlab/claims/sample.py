"""One number per seed, ready to be judged, and what became of the seeds that have none."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.seed_words import seed_word, seeds_word
from lnlab.select.select import select_measured_rows
from lnlab.select.series import SeedFates, SeedSeries, joint_fates
from lnlab.specfile.columns import LAST
from lnlab.specfile.experiment import About
from lnlab.specfile.values import value_label
from lnlab.tables import Results

MAX_FAILED_SHARE = 0.2  # above this share of seeds without a number, Student's interval speaks only for the survivors
N_INIT, N_TRAINED = 3, 5
BY_RULE = "by rule"  # in the reason of a verdict that too few seeds leave undecided
NO_LOGARITHM = "a number that is not positive has no logarithm"


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: what tells it apart, and how many of its seeds diverged."""

    name: str
    diverged: int
    total: int


def arm_of(name: str, series: SeedSeries) -> Arm:
    """A side of a comparison, by the numbers of its seeds."""
    return Arm(name, len(series.diverged), series.total)


@dataclass(frozen=True)
class Sample(SeedFates):
    """The numbers of a claim.

    Attributes:
        numbers: each seed's number. On the log scale all are positive.
        log: whether the interval is taken over logarithms.
        worst: the number of a failed seed if failures rank worst. A seed is absent where both sides failed. None means
            that a failure counts against every verdict.
        failing: the share of failed seeds on the side where it is largest.
        arms: the compared sides. Empty where nothing is compared.
        bounds: the bounds between which the numbers lie, or None.
    """

    numbers: Mapping[int, float]
    log: bool
    worst: Mapping[int, float] | None = None
    failing: float = 0.0
    arms: tuple[Arm, ...] = ()
    bounds: tuple[float, float] | None = None

    @property
    def total(self) -> int:
        """Every seed that the claim is about."""
        return len(self.numbers) + len(self.failed) + len(self.excluded) + len(self.pending)


def series_sample(
    series: SeedSeries, numbers: Mapping[int, float | None], *, log: bool, bounds: tuple[float, float] | None = None
) -> Sample:
    """The sample of a claim about one series. ``numbers`` are what the claim made of its complete seeds.

    On the log scale a zero is null, and so is a negative number: both are counted as excluded. ``bounds`` are those of
    the numbers, if they have any.
    """
    usable = {seed: x for seed, x in numbers.items() if x is not None and (x > 0 or not log)}
    excluded = dict.fromkeys(numbers.keys() - usable.keys(), NO_LOGARITHM)
    return Sample(
        usable,
        log,
        trained=series.trained,
        failed=series.failed,
        excluded=dict(series.excluded) | excluded,
        pending=series.pending,
        failing=_failed_share(series),
        bimodal=series.bimodal,
        clusters=series.clusters,
        bounds=bounds,
    )


def contrast_sample(
    a: SeedSeries,
    b: SeedSeries,
    *,
    log: bool,
    names: tuple[str, str] = ("one side", "the other side"),
    bounds: tuple[float, float] | None = None,
    ranks_zeros: bool = False,
) -> Sample:
    """The sample of a contrast within the seed: a/b on the log scale, else a - b (``weighted_sample``)."""
    return weighted_sample([a, b], [1.0, -1.0], names, log=log, bounds=bounds, ranks_zeros=ranks_zeros)


def weighted_sample(
    series: Sequence[SeedSeries],
    weights: Sequence[float],
    names: Sequence[str],
    *,
    log: bool = False,
    bounds: tuple[float, float] | None = None,
    ranks_zeros: bool = False,
) -> Sample:
    """The sample of ``Σ w x`` within the seed, on the log scale of ``Π x^w``. A seed counts where all have a number.

    Failures rank worst, as the largest number: the result is at an end of its scale where the weights of the failed
    sides have one sign. With ``ranks_zeros`` a ratio with one zero ranks as 0 or infinite, as a median or a share of
    seeds needs. Otherwise it has no logarithm, and its seed is excluded.

    Args:
        series: of each side.
        weights: of each side, none of them 0.
        names: of each side, for messages.
        log: whether the sides are multiplied.
        bounds: between which the results lie, if there are any.
        ranks_zeros: whether a zero has a rank.
    """
    numbers = [one_number_per_seed(side) for side in series]
    fates = joint_fates(*series)
    failed, excluded = dict(fates.failed), dict(fates.excluded)
    ends = {True: math.inf, False: 0.0 if log else -math.inf}
    signs = {
        seed: {w > 0 for side, w in zip(series, weights, strict=True) if seed in side.failed} for seed in fates.failed
    }
    worst = {seed: ends[found.pop()] for seed, found in signs.items() if len(found) == 1}
    results: dict[int, float] = {}
    for seed in sorted(set.intersection(*map(set, numbers))):
        pairs = [(w, of_side[seed]) for w, of_side in zip(weights, numbers, strict=True)]
        present = [(w, x) for w, x in pairs if x is not None and (x > 0 or not log)]
        zeros = [w for w, x in pairs if x == 0]
        if log and ranks_zeros and len(zeros) == 1:
            failed[seed], worst[seed] = "its number is 0", ends[zeros[0] < 0]
        elif len(present) < len(pairs):
            excluded[seed] = NO_LOGARITHM
        elif log:
            over, under = (math.prod(x ** abs(w) for w, x in present if (w > 0) == up) for up in (True, False))
            results[seed] = over / under
        else:
            results[seed] = math.fsum(w * x for w, x in present)
    return Sample(
        results,
        log,
        trained=fates.trained,
        failed=failed,
        worst=worst,
        excluded=excluded,
        pending=fates.pending,
        failing=max(map(_failed_share, series)),
        bimodal=fates.bimodal,
        clusters=fates.clusters,
        arms=tuple(map(arm_of, names, series)),
        bounds=bounds,
    )


def arm_names(of: Mapping[str, Json], to: Mapping[str, Json]) -> tuple[str, str]:
    """What tells the two sides of a contrast apart: ``norm none`` and ``norm layer``."""
    sides = ({path: of.get(path) for path in to}, to)
    first, second = (
        ", ".join(
            f"{path.rpartition('.')[2]} {value_label(value)}" for path, value in side.items() if value is not None
        )
        for side in sides
    )
    return first or "the selection 'of'", second


def refuse_one_step(results: Results, of: Mapping[str, Json], to: Mapping[str, Json]) -> None:
    """Refuse to compare a run's last measurement with an earlier one where both are the same.

    Raises:
        LabError: a run that is measured at initialization alone has its ``last`` step there.
    """
    steps = of.get("step"), to.get("step")
    if set(to) != {"step"} or LAST not in steps:
        return
    first, second = ({*select_measured_rows(results, {**of, "step": step})["step"]} for step in steps)
    if first and first == second:
        what = f"both sides are step {first.pop()}: nothing is measured after it"
        raise LabError(Issue("no-effect", "to.step", what, "measure later: train.evaluate, or 'at' of the probe"))


def one_number_per_seed(series: SeedSeries) -> dict[int, float | None]:
    """Each complete seed's number, of a series that has one a seed.

    Raises:
        LabError: it has several.
    """
    if len(series.levels) > 1:
        what = f"leaves {len(series.levels)} numbers per {seed_word()}, expected one"
        raise LabError(Issue("ambiguous", "reduce", what, "reduce them, as with reduce: last"))
    return dict(series.numbers.select("seed", "value").iter_rows())


def min_seeds(sample: Sample) -> int:
    """The fewest seeds for a verdict: 3 for positive quantities at init, on the log scale, else 5."""
    return N_INIT if sample.log and not sample.trained else N_TRAINED


def reason_undecided(sample: Sample, n_min: int, about: About = "mean") -> str | None:
    """Why a rule leaves the claim undecided whatever the numbers are, in words, or None if none does."""
    n = len(sample.numbers)
    total = sample.total
    if sample.pending:
        return reason_pending(sample.pending, total)
    if len(sample.excluded) > MAX_FAILED_SHARE * total:
        return f"{len(sample.excluded)} of {total} {seeds_word()} have no number ({_distinct_reasons(sample.excluded)})"
    ranked = 0 if about == "mean" else len(sample.failed if sample.worst is None else sample.worst)
    if about == "mean" and reason_without_mean(sample):
        return None  # fewer seeds have a number because others failed, which is the better reason
    if sample.clusters and about != "mean":
        return f"replicates stand in clusters, of which the {about} has no interval; declare about: mean"
    if sample.clusters and (clusters := len({sample.clusters[seed] for seed in sample.numbers})) < n_min:
        return f"{clusters} cluster{'' if clusters == 1 else 's'} of {seeds_word()}; a verdict needs {n_min}, {BY_RULE}"
    count = n + ranked
    apart = "" if total or not any(arm.total for arm in sample.arms) else " on both sides"
    return None if count >= n_min else f"{count} {seed_word(count)}{apart}; a verdict needs {n_min}, {BY_RULE}"


def reason_without_mean(sample: Sample) -> str:
    """Why no mean can be judged, so that its verdict is withheld. Empty where one can."""
    remedy = "declare about: share or median"
    if sample.failing > MAX_FAILED_SHARE:
        return f"some {seeds_word()} fail, {sample.failing:.0%} of them: {remedy}"
    if sample.bimodal is None:
        return ""
    spread = f"the numbers of one variant span {sample.bimodal:.2f} over {seeds_word()}"
    return f"some {seeds_word()} fail, as {spread}: {remedy}"


def reason_unfinished(sample: Sample, finish: float) -> str:
    """Which side of a comparison of trained numbers does not finish often enough. Empty if both do."""
    for arm in sample.arms if sample.trained else ():
        # With room for rounding: 0.8 of 5 runs are 4.
        if arm.total and not sample.pending and arm.total - arm.diverged < finish * arm.total - 1e-9:
            return (
                f"{arm.name} diverged on {arm.diverged} of {arm.total} {seeds_word()}; "
                f"a comparison of trained numbers needs that {finish:.0%} finish"
            )
    return ""


def reason_pending(pending: Sequence[int], total: int) -> str:
    """Say that seeds have yet to run. Judging whenever one has finished would make false verdicts likely."""
    examples = ", ".join(map(str, pending[:5])) + (", ..." if len(pending) > 5 else "")
    return f"{len(pending)} of {total} {seeds_word()} have not run to their end ({examples}); a verdict waits for all"


def exclusion_notes(sample: Sample, reason: str = "") -> str:
    """What a reader must know of the seeds left out, beyond what the reason says. Empty if there is nothing."""
    parts = []
    if sample.failed:
        parts.append(
            f"{len(sample.failed)} of {sample.total} {seeds_word()} failed ({_distinct_reasons(sample.failed)})"
        )
    if sample.excluded and _distinct_reasons(sample.excluded) not in reason:
        parts.append(
            f"{len(sample.excluded)} of {sample.total} {seeds_word()} left out ({_distinct_reasons(sample.excluded)})"
        )
    return "".join(f"; {part}" for part in parts)


def _failed_share(series: SeedSeries) -> float:
    return len(series.failed) / series.total if series.total else 0.0


def _distinct_reasons(seeds: Mapping[int, str]) -> str:
    return ", ".join(sorted(set(seeds.values())))
