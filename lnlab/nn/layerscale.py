"""``x = x + gate f(norm(x))`` per coordinate: Pre-LN with a nearly closed gate (Touvron et al., 2021)."""

import torch
from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Sublayer, placements


@placements.register("layerscale", norm_of="branch", gate="start")
class LayerScale(nn.Module):
    """``x = x + gate * f(norm(x))``: the gate a learned vector a sublayer, small at first (Touvron et al., 2021).

    ``start`` is its first value: 1e-5 in the paper's models of 24 layers and 1e-6 in deeper ones.
    """

    final_norm = True

    def __init__(self, at: LayerSpec, *, start: float = 1e-4) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.gate = nn.ParameterList(torch.full((at.width,), start) for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm, gate in zip(sublayers, self.norms, self.gate, strict=True):
            x = x + gate * f(norm(x))
        return x
