"""``g x / ‖x‖``: one learned length for all tokens (Nguyen and Salazar, 2019)."""

import math

import torch
from torch import Tensor, nn

from lnlab.nn.norms import NormEpsilon, norms


@norms.register("scale", statistics="token")
class ScaleNorm(nn.Module):
    """``g x / max(‖x‖, eps)``: a learned scalar g, √d at first, in place of a scale a coordinate (Nguyen et al., 2019).

    At first the vectors are as long as those of RMSNorm.
    """

    def __init__(self, width: int, *, eps: NormEpsilon = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.tensor(math.sqrt(width)))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> the same shape."""
        length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x * (self.gain / length.clamp(min=self.eps))
