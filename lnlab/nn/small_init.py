"""``Var = 2 / (5 d)``: attention begins as small as the feed-forward network (Nguyen and Salazar, 2019)."""

from torch import Generator, Tensor, nn

from lnlab.nn.inits import InitDistribution, fill, inits, xavier
from lnlab.nn.sites import Site
from lnlab.randomness import Draw


@inits.register("small_init")
def small_init(model: nn.Module, draw: Draw) -> None:
    """``N(0, 2 / (5 d))``: q k v o; w1 and w2 Xavier normal, tables N(0, 1/d) (Nguyen and Salazar, 2019).

    It is the law that Xavier gives w1 and w2 where d_ff = 4 d, and 0.4 of the variance that it gives q k v o.
    """

    def distribution(site: Site) -> InitDistribution:
        return xavier("normal") if site.sublayer == "feed_forward" else small

    def small(tensor: Tensor, generator: Generator) -> None:
        tensor.normal_(0, (2 / (5 * tensor.shape[1])) ** 0.5, generator=generator)

    fill(model, draw, distribution)
