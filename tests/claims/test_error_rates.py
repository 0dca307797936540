"""How often a verdict is wrong when the truth lies on the edge of the region: at most 5 % (t3: 8 %), whatever n.

2,000 synthetic experiments each, judged by the code that judges real ones. On the edge every decisive verdict counts as
false. The noise is Gaussian, log-normal (.5 on the log scale), Student's t with 3 degrees of freedom, or bimodal: 20 %
of the seeds fail, the others are log-normal.
"""

import math
from functools import cache

import numpy as np
import pytest

from lnlab.analyse.intervals import clopper_pearson
from lnlab.analyse.series import Series
from lnlab.claims.levels import per_seed
from lnlab.claims.order import contrast_region
from lnlab.claims.power_law import lack_of_fit, slopes
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample, of_two
from lnlab.claims.student import judged
from lnlab.claims.together import Member, together
from lnlab.claims.trend import ruled

REPEATS = 2000
SEEDS = (3, 5, 6, 8, 10)
SHAPES = ("gaussian", "log-normal", "t3", "bimodal")
DECISIVE = ("supported", "contradicted")


def noise(shape, *size, scale=1.0):
    """Mean zero; NaN is a failed seed."""
    rng = np.random.default_rng([SHAPES.index(shape), *size])
    if shape == "t3":
        return scale * rng.standard_t(3, size)
    x = scale * (0.5 if shape != "gaussian" else 1.0) * rng.normal(size=size)
    if shape == "bimodal":
        x[rng.uniform(size=size) < 0.2] = np.nan
    return x


def a_sample(numbers, *, log):
    """As a series would give it: finite numbers by seed, the others failed."""
    kept = {seed: x for seed, x in enumerate(numbers.tolist()) if math.isfinite(x)}
    failed = {seed: "diverged" for seed in range(len(numbers)) if seed not in kept}
    return Sample(kept, log, False, failed, failing=len(failed) / len(numbers))


def limit(shape):
    """What the rate may be, with three standard errors of 2,000 repeats on top."""
    rate = 0.08 if shape == "t3" else 0.05
    return rate + 3 * math.sqrt(rate * (1 - rate) / REPEATS)


def rate(verdicts):
    return sum(verdict in DECISIVE for verdict in verdicts) / REPEATS


@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_sided_regions(shape, n):
    log = shape != "gaussian"
    edge = Region(low=2.0)
    numbers = 2.0 * np.exp(noise(shape, REPEATS, n)) if log else 2.0 + noise(shape, REPEATS, n)
    assert rate(judged("", a_sample(row, log=log), edge, 3).verdict for row in numbers) <= limit(shape)


@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_two_sided_regions_at_their_upper_edge(shape, n):
    numbers = np.exp(noise(shape, REPEATS, n))
    found = (judged("", a_sample(row, log=True), Region(0.2, 1.0)).verdict for row in numbers)
    assert rate(found) <= limit(shape)


@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_failures_in_either_side_of_a_ratio(shape, n):
    """The sign test takes over where more than 20 % of one side failed; on the edge both sides fail alike."""
    a, b = np.exp(noise(shape, REPEATS, n, scale=1.0)), np.exp(noise(shape, REPEATS, n, 1)[..., 0])
    found = (judged("", of_two(series(x), series(y), log=True), Region(low=1.0)).verdict for x, y in zip(a, b, strict=True))
    assert rate(found) <= limit(shape)


def series(numbers):
    """A series without frames: what ``of_two`` reads of it."""
    kept = [seed for seed, x in enumerate(numbers) if math.isfinite(x)]
    failed = {seed: "diverged" for seed in range(len(numbers)) if seed not in kept}
    import polars as pl

    rows = {"seed": kept, "x": [None] * len(kept), "value": numbers[kept].tolist()}
    schema = {"seed": pl.Int64, "x": pl.Float64, "value": pl.Float64}
    return Series(pl.DataFrame(rows, schema=schema), failed, {}, (), False)
