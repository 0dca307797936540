"""``x = x + alpha f(x)``: a gate that is closed at first, and no norm (Bachlechner et al., 2021)."""

import torch
from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Sublayer, placements


@placements.register("rezero", norm_of="nothing", gate="start")
class ReZero(nn.Module):
    """``x = x + alpha f(x)``: one learned alpha for all of a layer's sublayers, 0 at first (Bachlechner et al., 2021).

    The setting's norm is not made. ``start`` is the first value of alpha. While it is 0 every layer is the identity,
    and at the first step no matrix of a layer has a gradient. Dropout acts before the gate; in the authors' encoder,
    after it.
    """

    final_norm = False

    def __init__(self, at: LayerSpec, *, start: float = 0.0) -> None:  # noqa: ARG002
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(start))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f in sublayers:
            x = x + self.alpha * f(x)
        return x
