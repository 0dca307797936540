"""How few seeds can lead to a verdict, by the rules of each kind of claim; known before anything is run."""

from itertools import count

from lnlab.analyse.statistics.intervals import clopper_pearson
from lnlab.claims.headline import OF_SHARES
from lnlab.claims.sample import N_INIT, N_TRAINED
from lnlab.claims.student import HALF
from lnlab.registry import Choice

ALWAYS_TRAINED = ("order", "fit", "table")
"""Kinds that ask for the seeds of trained runs whatever was measured."""
BY_SEEDS = ("ratio", "trend", "power_law")
N_SHARES = next(n for n in count(1) if clopper_pearson(n, n)[0] >= HALF)
"""Seeds of which so many all train: the first number whose exact interval lies above one half."""


def fewest(claim: Choice, *, trained: bool) -> int:
    """The fewest seeds on which a claim can have a verdict; 1 where its kind gives no rule.

    Args:
        claim: resolved.
        trained: whether all that it reads was measured in training.
    """
    kind = claim["kind"]
    by_training = N_TRAINED if trained else N_INIT
    if kind in OF_SHARES:
        return N_SHARES
    if kind in ALWAYS_TRAINED:
        return N_TRAINED
    if kind in BY_SEEDS:
        return by_training
    if kind != "bound" or claim["exact"]:
        return 1
    if claim["probability"] is not None:
        return _least_for_share(claim["probability"])
    return by_training if claim["scale"] == "log" else N_TRAINED


def _least_for_share(share: float) -> int:
    """Seeds that, all inside or all outside, put the exact interval on one side of a share."""
    return next(n for n in count(1) if clopper_pearson(n, n)[0] >= share or clopper_pearson(0, n)[1] < share)
