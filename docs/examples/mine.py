"""A norm, a probe and a derived quantity of one's own."""

from collections.abc import Iterator

import polars as pl
import torch
from torch import Tensor, nn

from lnlab.facts import QuantityWords
from lnlab.nn.norms import norms
from lnlab.probes.probe import State, once, probes
from lnlab.probes.support.stream_sums import site_sums
from lnlab.select.quantity import quantities, quantity_product, stored_rows
from lnlab.tables import Results, Row


@norms.register("largest", statistics="token")
class Largest(nn.Module):
    """``x / max |x_i| * scale``: the largest coordinate of each token becomes 1; ``floor`` bounds the divisor."""

    def __init__(self, width: int, *, floor: float = 1e-6) -> None:
        super().__init__()
        self.floor = floor
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x / x.abs().amax(-1, keepdim=True).clamp(min=self.floor) * self.scale


PEAK = QuantityWords("peak", "over the r.m.s.", "largest absolute coordinate of a token, over their r.m.s.")
GAIN = QuantityWords("gain of the peak", "ratio", "peak after a sublayer over that before it")


@probes.register("peak", table="sites", passes=once, quantities={"peak": PEAK})
def peak(state: State, *, batches: int = 2) -> Iterator[Row]:
    """``E max |x_i| / rms(x)``: how far the largest coordinate of a token stands out, averaged over ``batches``."""
    for site, sums in site_sums(state, batches, "train", _peaks).items():
        yield {"quantity": "peak", **site.row(), "value": float(sums[0] / sums[1])}


def _peaks(x: Tensor, mask: Tensor) -> Tensor:
    return torch.stack(((x.abs().amax(-1) / x.square().mean(-1).sqrt())[mask].sum(), mask.sum()))


@quantities.register("peak_gain", of=("peak",), words=GAIN)
def peak_gain(results: Results) -> pl.DataFrame:
    """``peak after a sublayer / peak before it``: of the residual stream, before the next norm."""
    peaks = stored_rows(results, "peak")
    after, before = (peaks.filter(pl.col("tensor") == tensor) for tensor in ("sum", "in"))
    return quantity_product(after, before, "peak_gain", at=("stack", "layer", "sublayer"), power=-1)
