"""How few seeds can lead to a verdict, by the rules of each kind of claim; known before anything is run."""

from itertools import count

from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.claims.sample import N_INIT, N_TRAINED
from lnlab.claims.student import HALF_OF_SEEDS
from lnlab.registry import Choice

SHARE_KINDS = ("status", "everywhere")
"""Kinds that count seeds."""
TRAINED_KINDS = ("order", "fit", "table")
"""Kinds that ask for the seeds of trained runs whatever was measured."""
INTERVAL_KINDS = ("ratio", "trend", "power_law", "printed_mean")
"""Kinds whose interval needs more seeds after training than before."""
MIN_SHARE_SEEDS = next(n for n in count(1) if clopper_pearson(n, n)[0] >= HALF_OF_SEEDS)
"""Seeds of which so many all train: the first number whose exact interval lies above one half."""


def fewest_seeds(claim: Choice, *, trained: bool) -> int:
    """The fewest seeds on which a claim can have a verdict; 1 where its kind gives no rule.

    Args:
        claim: resolved.
        trained: whether all that it reads was measured in training.
    """
    kind = claim["kind"]
    by_training = N_TRAINED if trained else N_INIT
    if kind in SHARE_KINDS:
        return MIN_SHARE_SEEDS
    if kind in TRAINED_KINDS:
        return N_TRAINED
    if kind in INTERVAL_KINDS:
        return by_training
    if kind != "bound" or claim["exact"]:
        return 1
    if claim["probability"] is not None:
        return _least_for_share(claim["probability"])
    return by_training if claim["scale"] == "log" else N_TRAINED


def _least_for_share(share: float) -> int:
    """Seeds that, all inside or all outside, put the exact interval on one side of a share."""
    return next(n for n in count(1) if clopper_pearson(n, n)[0] >= share or clopper_pearson(0, n)[1] < share)
