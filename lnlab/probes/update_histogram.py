"""``#{|Δθ|/lr in [2^e (1 + q/4), 2^e (1 + (q + 1)/4))}``: the sizes of an update's entries (Huang et al., 2020).

Divided by the learning rate, Adam's update is m̂/(sqrt(v̂) + ε). It is ±1 at every entry with a gradient in the first
step, and about 0.16 in the median when successive gradients are pure noise (β1 = 0.9). Where it is much smaller, v
still contains larger past gradients. As 1 is an edge, rounding spreads the first step over the bins on either side.
"""

from collections.abc import Iterator
from typing import Literal

from lnlab.probes.gradient_histogram import weight_histograms
from lnlab.probes.probe import State, probes
from lnlab.probes.support.known_sites import at_all_sites, of_the_model, parameter_sites
from lnlab.probes.support.training_state import last_update
from lnlab.tables import Row
from lnlab.vocabulary.parameters import UPDATE_HISTOGRAM

_QUANTITIES = tuple(UPDATE_HISTOGRAM)


@probes.register(
    "update_histogram",
    table="histograms",
    passes=lambda _: 0.0,
    quantities=UPDATE_HISTOGRAM,
    sites=lambda model, choice: (
        of_the_model(_QUANTITIES[: 2 if choice["rate"] else 1])
        if choice["of"] == "weights"
        else at_all_sites(_QUANTITIES[: 2 if choice["rate"] else 1], parameter_sites(model, matrices=True))
    ),
    trained=True,
    update=True,
    any_model=lambda _: True,
    of_training=lambda choice: choice["of"] == "weights",
    in_float32=True,
)
def update_histogram(state: State, *, of: Literal["weights", "sites"] = "weights", rate: bool = False) -> Iterator[Row]:
    """``#{|Δθ|/lr in [2^e(1 + q/4), 2^e(1 + (q + 1)/4))}``: update entries by size (Huang et al., 2020, Figure 3).

    Of the last update, weight decay included, over its learning rate; ``rate`` adds that of the update itself. ``of:
    weights`` is every matrix and table together, ``sites`` each for itself. A rate of 0 leaves no update to divide.
    Four bins an octave; zeros are in a bin from 0 to 0.

    Raises:
        LabError: no update was made.
    """
    update, lr = last_update(state)
    apart = of == "sites"
    if lr:
        yield from weight_histograms(_QUANTITIES[0], state, update, apart=apart, over=lr)
    if rate:
        yield from weight_histograms(_QUANTITIES[1], state, update, apart=apart)
