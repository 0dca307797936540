"""The fewest seeds that can lead to a verdict, by the rules of each kind of claim. It is known before any run."""

from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.sample import N_INIT, N_TRAINED
from lnlab.claims.student import fewest_alike
from lnlab.registry import Choice

SHARE_KINDS = ("status", "everywhere")
"""Kinds that count seeds."""
TRAINED_KINDS = ("order", "fit", "table", "difference", "interaction")
"""Kinds that ask for the seeds of trained runs whatever was measured."""
INTERVAL_KINDS = ("ratio", "trend", "power_law", "printed_mean")
"""Kinds whose interval needs more seeds after training than before."""


def min_share_seeds() -> int:
    """The fewest seeds that, if all of them train, put the exact interval of the share above one half."""
    return fewest_alike(ONE_LOOK.level)  # not computed on import, as scipy.special takes a while to load


def fewest_seeds(claim: Choice, *, trained: bool, criterion: Criterion = ONE_LOOK) -> int:
    """The fewest seeds on which a claim can have a verdict, or 1 where its kind has no rule.

    Args:
        claim: resolved.
        trained: whether all that it reads was measured in training.
        criterion: level and estimand.
    """
    kind = claim["kind"]
    by_training = N_TRAINED if trained else N_INIT
    if kind == "bound" and claim["exact"]:
        return 1
    if kind == "bound" and claim["probability"] is not None:
        return fewest_alike(criterion.level, claim["probability"])
    # A share and a median ask for as many as decide if all are alike, whenever they were measured.
    if kind in SHARE_KINDS or (criterion.about != "mean" and kind in (*TRAINED_KINDS, *INTERVAL_KINDS, "bound")):
        return fewest_alike(criterion.level)
    if kind in TRAINED_KINDS:
        return N_TRAINED
    if kind in INTERVAL_KINDS:
        return by_training
    if kind != "bound":
        return 1
    return by_training if claim["scale"] == "log" else N_TRAINED
