"""``#{|g| in [2^e (1 + q/4), 2^e (1 + (q + 1)/4))}``: the sizes of a gradient's entries (Liu et al., 2020).

It shows what a norm hides: a gradient concentrated in few entries, or one with most values below an optimizer's
epsilon. Counts are exact, and zeros, such as those of unused rows of a table, are counted separately.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.sites import Site, separated, values_by_site
from lnlab.probes.probe import State, probes, reads_next_update, with_gradient
from lnlab.probes.stream_gradient import site_gradients
from lnlab.probes.support.known_sites import at_all_sites, of_the_model, parameter_sites, stream_sites
from lnlab.probes.support.octaves import counts, entry_histogram, histogram_rows
from lnlab.probes.support.stream_sums import site_sums
from lnlab.probes.support.training_state import mean_gradient, next_update_gradient
from lnlab.tables import Row
from lnlab.vocabulary.gradients import GRADIENT_HISTOGRAM

QUANTITY = "gradient_size"


@probes.register(
    "gradient_histogram",
    table="histograms",
    passes=with_gradient,
    quantities=GRADIENT_HISTOGRAM,
    sites=lambda model, choice: {
        "weights": of_the_model([QUANTITY]),
        "sites": at_all_sites([QUANTITY], parameter_sites(model, matrices=True)),
        "input": at_all_sites([QUANTITY], [site for site in stream_sites(model) if site.sublayer == "embedding"]),
    }[choice["of"]],
    ahead=reads_next_update,
    any_model=lambda choice: choice["of"] != "input",
    of_training=lambda choice: choice["of"] == "weights" and choice["batches"] == "step",
)
def gradient_histogram(
    state: State,
    *,
    of: Literal["weights", "sites", "input"] = "weights",
    batches: Annotated[int, Field(ge=1)] | Literal["step"] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``#{|g| in [2^e(1 + q/4), 2^e(1 + (q + 1)/4))}``: gradient entries by size (Liu et al., 2020, Figure 2).

    ``of: weights`` is every matrix and table together, ``sites`` each for itself (a tied table's whole gradient at
    every use). Their gradient is that of the loss per token over all batches, without dropout; ``batches: step`` takes
    the one that the next update will use, before clipping, and costs no pass. ``of: input`` is the gradient of each
    batch's loss per token by what the embedding layers give on, position included and padding left out (Huang et al.,
    2020, Figure 3). Four bins an octave; zeros are in a bin from 0 to 0.

    Raises:
        LabError: the next update's gradient is requested by the input, or where there will be no update.
    """
    if of == "input":
        if batches == "step":
            what = "the next update's gradient is by the weights, and gradient_histogram asks for that by the input"
            raise LabError(Issue("unsupported", "", what, "give a number of batches"))
        read = partial(site_gradients, selected=lambda site: site.sublayer == "embedding")
        with separated(state.model):  # so that the input has a gradient where the tables are frozen
            counts_by_site: dict[Site, Tensor] = site_sums(state, batches, split, lambda g, mask: counts(g[mask]), read)
        for site, counts_by_bin in counts_by_site.items():
            yield from histogram_rows(QUANTITY, site.row(), counts_by_bin)
    else:
        by_name = next_update_gradient(state) if batches == "step" else mean_gradient(state, batches, split)
        yield from weight_histograms(QUANTITY, state, by_name, apart=of == "sites")


def weight_histograms(
    quantity: str, state: State, named: Mapping[str, Tensor], *, apart: bool, over: float | None = None
) -> Iterator[Row]:
    """Histograms of the values of matrices and tables by parameter name, together or per site.

    ``over`` is an optional divisor of all values.
    """
    matrices = {name: x for name, x in named.items() if x.dim() > 1}
    if not apart:
        return entry_histogram(quantity, {}, matrices.values(), over)
    sites = values_by_site(state.model, matrices)
    return (row for site, x in sites for row in entry_histogram(quantity, site.row(), [x], over))
