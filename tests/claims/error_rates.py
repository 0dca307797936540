"""How often a verdict is wrong with the truth on the edge of the accepted range: tables of docs/looks_and_margins.md.

``make error_rates`` writes them. Synthetic experiments are judged by the code that judges real ones, at every look
until the claim is decided. On the edge every decided verdict counts as wrong, so that either word is counted.
"""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

import lnlab.claims.kinds.difference  # noqa: F401 - registers the kind
from lnlab.claims.claim import stated_finding
from lnlab.claims.criterion import Criterion, Null
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.kinds.fit import fit_verdict
from lnlab.claims.kinds.order import contrast_region
from lnlab.claims.kinds.power_law import log_log_slopes
from lnlab.claims.kinds.status import SeedTally, share_finding
from lnlab.claims.kinds.trend import trend_verdict
from lnlab.claims.look_book import LookBook
from lnlab.claims.looks import level
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample, weighted_sample
from lnlab.claims.student import judge_sample
from lnlab.report.gallery.yu_convergence import boundary_verdict
from lnlab.select.series import SeedSeries

REPEATS = 2000
DECIDED = ("supported", "contradicted", "smaller", "beyond")
DOCUMENT = Path(__file__).parents[2] / "docs/looks_and_margins.md"
MARKS = ("<!-- error rates: written by `make error_rates` -->", "<!-- end of error rates -->")
Judge = Callable[[np.ndarray, Criterion], str]

SCHEDULES = {
    "one look": (1, 1),
    "open, three looks": ("open", 3),
    "three declared": ("sizes", 3),
    "past, three looks": (1, 3),
}
"""Name -> what was declared, and how many looks there are."""


def sample(numbers: np.ndarray, *, log: bool = False) -> Sample:
    """Numbers by seed; those that are not finite are failed seeds, which rank worst."""
    kept = {seed: x for seed, x in enumerate(numbers.tolist()) if math.isfinite(x)}
    lost = [seed for seed in range(len(numbers)) if seed not in kept]
    share = len(lost) / len(numbers)
    failed = dict.fromkeys(lost, "diverged")
    return Sample(kept, log, dict.fromkeys(lost, math.inf), trained=False, failed=failed, failing=share)


def of_numbers(about: str, region: Region, null: Null | None = None, *, log: bool = False) -> Judge:
    def judge(x: np.ndarray, criterion: Criterion) -> str:
        criterion = Criterion(criterion.level, about=about)  # type: ignore[arg-type]
        return judge_sample("", sample(np.exp(x) if log else x, log=log), region, 3, criterion, null).verdict

    return judge


def of_our_range(region: Region) -> Judge:
    """A range of ours that asks for no effect: outside of it the word is ``beyond``."""

    def judge(x: np.ndarray, criterion: Criterion) -> str:
        ours = replace(criterion, margin="ours")
        finding = judge_sample("", sample(x), region, 3, ours)
        return stated_finding(finding, {"kind": "difference"}, ours, 1).verdict

    return judge


def interactions(draws: np.ndarray) -> np.ndarray:
    """The number of each seed, shape (experiments, seeds), of its four sides: all experiments are joined at once."""
    sides = [
        SeedSeries(numbers=pl.DataFrame({"seed": range(len(x)), "x": None, "value": x}), trained=True)
        for x in (draws + np.array([0.75, 0.0, 1.0, 0.0])).reshape(-1, 4).T
    ]
    found = weighted_sample(sides, (1.0, -1.0, -0.75, 0.75), "abcd").numbers
    return np.array([found[seed] for seed in range(len(found))]).reshape(draws.shape[:2])


def of_order(x: np.ndarray, criterion: Criterion) -> str:
    region = contrast_region("<", 0.0, log=False)
    return intersection_union([Member("", sample(column), region) for column in x.T], 3, criterion).verdict


def of_trend(x: np.ndarray, criterion: Criterion) -> str:
    matrix = np.exp(np.linspace(0, math.log(2.5), 6) + 0.05 * x)
    return trend_verdict(sample(matrix[:, -1] / matrix[:, 0], log=True), matrix, Region(low=2.5), criterion)[0]


def of_power_law(x: np.ndarray, criterion: Criterion) -> str:
    levels = np.array([6.0, 8, 10, 12, 14])
    slopes = log_log_slopes(levels, np.exp(np.outer(0.15 + 0.12 * x, np.log(levels))))
    return judge_sample("", sample(slopes), Region(-0.15, 0.15), 3, criterion).verdict


def of_fit(x: np.ndarray, criterion: Criterion) -> str:
    errors = np.full((len(x), 6), 0.01)
    return fit_verdict(sample(1.1 * np.exp(0.1 * x), log=True), ("a", "b"), (errors, errors), criterion)[0]


def of_table(x: np.ndarray, criterion: Criterion) -> str:
    return boundary_verdict(sample(0.5 + 0.1 * x), Region(high=0.5), 0.5, criterion)[0]


def of_status(x: np.ndarray, criterion: Criterion) -> str:
    return share_finding(_tally(x > 0), "", Region(low=0.5), criterion).verdict


def _tally(met: np.ndarray) -> SeedTally:
    return SeedTally(dict(enumerate(met.tolist())), {}, (), {})


KINDS: dict[str, tuple[Judge, tuple[int, ...], tuple[int, ...]]] = {
    "`bound`, mean": (of_numbers("mean", Region(low=0.0)), (), (5, 10, 20)),
    "`bound`, mean, two edges": (of_numbers("mean", Region(-1.0, 0.0)), (), (5, 10, 20)),
    "`bound`, median": (of_numbers("median", Region(low=0.0)), (), (7, 14, 28)),
    "`bound`, share": (of_numbers("share", Region(low=0.0)), (), (7, 14, 28)),
    "`ratio`, mean": (of_numbers("mean", Region(low=1.0), log=True), (), (5, 10, 20)),
    "`bound`, our margin, zone": (of_numbers("mean", Region(low=0.0), Null(-1.0, -1.5, -0.5)), (), (5, 10, 20)),
    "`order` of four": (of_order, (3,), (5, 10, 20)),
    "`trend`": (of_trend, (6,), (5, 10, 20)),
    "`power_law`": (of_power_law, (), (5, 10, 20)),
    "`fit`": (of_fit, (), (5, 10, 20)),
    "`table`": (of_table, (), (5, 10, 20)),
    "`status`, `everywhere`": (of_status, (), (7, 14, 28)),
    "`interaction`, part": (of_numbers("mean", Region(low=0.0)), (4,), (5, 10, 20)),
    "`difference`, our range": (of_our_range(Region(high=0.0)), (), (5, 10, 20)),
    "`difference`, our range, two edges": (of_our_range(Region(-3.0, 0.0)), (), (5, 10, 20)),
}
"""Kind -> its judge, the shape of one seed's noise, and the sizes of the looks."""


@cache
def look_rate(kind: str, schedule: str) -> float:
    """How often a claim of a kind is decided with the truth on the edge."""
    judge, shape, sizes = KINDS[kind]
    declared, n_looks = SCHEDULES[schedule]
    rng = np.random.default_rng([list(KINDS).index(kind), list(SCHEDULES).index(schedule)])
    looks = [
        (n, Criterion(level(k, sizes if declared == "sizes" else declared))) for k, n in enumerate(sizes[:n_looks], 1)
    ]
    draws = rng.normal(size=(REPEATS, looks[-1][0], *shape))
    draws = interactions(draws) if kind.startswith("`interaction`") else draws
    wrong = sum(any(judge(x[:n], criterion) in DECIDED for n, criterion in looks) for x in draws)
    return wrong / REPEATS


CHANGED = (("mean", 0), ("mean", 1), ("median", 0), ("mean", 2))
"""The criteria among which one changes on the same seeds: what is judged, and the selection with numbers of its own."""


@cache
def changed_rate(*, counted: bool) -> float:
    """How often a claim is decided whose criterion is changed after each look that leaves it open.

    The truth lies on the edge of every criterion. All are tried on ten seeds, then all again on twenty.

    Args:
        counted: whether a change is a further look, as the look book has it, or each begins with a first one.
    """
    book, looks = LookBook(), []
    for n, (about, selection) in itertools.product((10, 20), CHANGED):
        criterion, seeds = f"{about}{selection}", range(n)
        number = book.number("it", criterion, seeds)
        book.record("it", criterion, seeds, number, level(number))
        judge = of_numbers(about, Region(low=0.0))
        looks.append((judge, n, selection, Criterion(level(number if counted else 1))))
    draws = np.random.default_rng(23).normal(size=(REPEATS, 20, 3))
    wrong = sum(any(judge(x[:n, place], criterion) in DECIDED for judge, n, place, criterion in looks) for x in draws)
    return wrong / REPEATS


POPULATIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "Gaussian": lambda rng, n: rng.normal(size=n),
    "one in ten fails": lambda rng, n: np.where(rng.uniform(size=n) < 0.1, 0.0, 1 + 0.1 * rng.normal(size=n)),
    "two in five fail": lambda rng, n: np.where(rng.uniform(size=n) < 0.4, 0.0, 1 + 0.1 * rng.normal(size=n)),
    "log-normal": lambda rng, n: np.exp(0.5 * rng.normal(size=n)),
    "Student's t, 3 degrees": lambda rng, n: rng.standard_t(3, size=n),
    "one in ten at 10 sd": lambda rng, n: rng.normal(size=n) * np.where(rng.uniform(size=n) < 0.1, 10.0, 1.0),
    "one in ten at +8": lambda rng, n: rng.normal(size=n) + np.where(rng.uniform(size=n) < 0.1, 8.0, 0.0),
}


@cache
def median_of(population: str) -> float:
    """The median of a population, from a million draws."""
    return float(np.median(POPULATIONS[population](np.random.default_rng(0), 1_000_000)))


@cache
def one_sided_rates(population: str, about: str, n: int) -> tuple[float, float]:
    """How often "at least the median" and "at most the median" are supported."""
    rng = np.random.default_rng([list(POPULATIONS).index(population), n])
    middle = median_of(population)
    criterion = Criterion(about=about)  # type: ignore[arg-type]
    counts = [0, 0]
    for _ in range(REPEATS):
        numbers = sample(POPULATIONS[population](rng, n))
        for side, region in enumerate((Region(low=middle), Region(high=middle))):
            counts[side] += judge_sample("", numbers, region, 3, criterion).verdict == "supported"
    return counts[0] / REPEATS, counts[1] / REPEATS


CLUSTERS, CORRELATIONS = (10, 20, 40), (0.0, 0.2, 0.5)
CLUSTER_SIZES: dict[str, Callable[[int], list[int]]] = {
    "10 in each": lambda clusters: [10] * clusters,
    "1 to 20 in each": lambda clusters: [1 + 7 * i % 20 for i in range(clusters)],
}


@cache
def coverage(sizes: str, clusters: int, icc: float, *, declared: bool = True) -> float:
    """How often the interval of a claim on a mean holds the truth, where replicates stand in clusters.

    Numbers have variance 1, of which a cluster's members share the part ``icc``.

    Args:
        sizes: of ``CLUSTER_SIZES``.
        clusters: how many there are.
        icc: the correlation within a cluster.
        declared: whether the claim knows of the clusters, or takes replicates as independent.
    """
    counts = CLUSTER_SIZES[sizes](clusters)
    names = {seed: str(name) for seed, name in enumerate(np.repeat(np.arange(clusters), counts))}
    rng = np.random.default_rng([clusters, round(10 * icc)])
    held = 0
    for _ in range(REPEATS):
        common = np.repeat(rng.normal(size=clusters) * math.sqrt(icc), counts)
        numbers = sample(common + rng.normal(size=sum(counts)) * math.sqrt(1 - icc))
        found = judge_sample("", replace(numbers, clusters=names if declared else {}), Region(low=0.0), 3, Criterion())
        held += found.low <= 0 <= found.high  # type: ignore[operator]
    return held / REPEATS


def coverage_row(sizes: str, *, declared: bool = True) -> str:
    """A line of the third table."""
    cells = [f"{100 * coverage(sizes, n, icc, declared=declared):.1f}" for icc in CORRELATIONS for n in CLUSTERS]
    return " | ".join([f"| {sizes if declared else f'{sizes}, no `cluster:`'}", *cells]) + " |"


def look_row(kind: str) -> str:
    """A line of the first table."""
    sizes = "/".join(map(str, KINDS[kind][2]))
    return " | ".join([f"| {kind}", sizes, *(f"{100 * look_rate(kind, s):.1f}" for s in SCHEDULES)]) + " |"


def population_row(population: str) -> str:
    """A line of the second table."""
    cells = [one_sided_rates(population, about, n) for about in ("median", "share") for n in (6, 10, 20)]
    return " | ".join([f"| {population}", *(f"{100 * a:.1f}, {100 * b:.1f}" for a, b in cells)]) + " |"


def tables() -> str:
    """All tables as Markdown."""
    first = [
        f"Percent of {REPEATS:,} synthetic experiments that are decided, with the truth on the edge:",
        "",
        f"| kind | seeds at the looks | {' | '.join(SCHEDULES)} |",
        f"|---|---|{'---|' * len(SCHEDULES)}",
        *map(look_row, KINDS),
    ]
    second = [
        'Percent of one-sided verdicts that are wrong, "at least" and "at most", with the median on the edge:',
        "",
        "| seeds' numbers | median, n = 6 | n = 10 | n = 20 | share, n = 6 | n = 10 | n = 20 |",
        "|---|---|---|---|---|---|---|",
        *map(population_row, POPULATIONS),
    ]
    places = " | ".join(f"{icc:g}, {n}" for icc in CORRELATIONS for n in CLUSTERS)
    third = [
        "Percent of 95 % intervals of a mean that hold the truth, by the correlation within clusters and their number:",
        "",
        f"| replicates | {places} |",
        f"|---|{'---|' * len(CORRELATIONS) * len(CLUSTERS)}",
        *(coverage_row(sizes, declared=declared) for declared in (True, False) for sizes in CLUSTER_SIZES),
    ]
    return "\n".join([*first, "", *second, "", *third])


def written(text: str) -> str:
    """The document with the tables of today between its marks."""
    between = re.compile(f"(?<={re.escape(MARKS[0])}\n).*?(?={re.escape(MARKS[1])})", re.DOTALL)
    return between.sub(lambda _: f"\n{tables()}\n\n", text)


def main(arguments: Sequence[str] = ()) -> None:
    """Write the tables into the document."""
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
