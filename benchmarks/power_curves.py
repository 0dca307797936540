"""How often n seeds decide, where the truth lies well inside the region: ``python benchmarks/power_curves.py``.

Prints one table a kind: rows are the noise over seeds, columns the number of seeds, entries the share of 2,000
synthetic experiments that come out supported. Takes about 20 seconds.
"""

import numpy as np

from lnlab.claims.region import Region
from lnlab.claims.sample import Sample
from lnlab.claims.student import judge_sample

REPEATS = 2000
SEEDS = (3, 4, 5, 6, 8, 10, 15, 20)
CURVES = {
    "exponent within ±0.15, truth in the middle": (Region(-0.15, 0.15), 0.0, (0.05, 0.08, 0.12, 0.2), False),
    "exponent within ±0.10, truth in the middle": (Region(-0.1, 0.1), 0.0, (0.05, 0.08, 0.12, 0.2), False),
    "ratio at least 1.5, truth 2": (Region(low=1.5), 2.0, (0.05, 0.1, 0.2, 0.4), True),
    "ratio equals 1 within a factor 1.25, truth 1": (Region(0.8, 1.25), 1.0, (0.05, 0.1, 0.2, 0.4), True),
}


def power(region: Region, truth: float, sd: float, n: int, *, log: bool) -> float:
    """The share of experiments of ``n`` seeds that are supported."""
    noise = sd * np.random.default_rng(n).normal(size=(REPEATS, n))
    numbers = truth * np.exp(noise) if log else truth + noise
    samples = (Sample(dict(enumerate(row)), log=log, trained=False) for row in numbers.tolist())
    return sum(judge_sample("", sample, region, 3).verdict == "supported" for sample in samples) / REPEATS


def main() -> None:
    """Print every curve."""
    for name, (region, truth, spreads, log) in CURVES.items():
        print(f"\n{name}\n{'sd':>6}" + "".join(f"{n:>7}" for n in SEEDS))
        for sd in spreads:
            print(f"{sd:>6}" + "".join(f"{power(region, truth, sd, n, log=log):>7.0%}" for n in SEEDS))


if __name__ == "__main__":
    main()
