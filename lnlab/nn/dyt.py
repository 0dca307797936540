"""``tanh(alpha x) * scale + shift``: what a trained norm looks like, without any statistics (Zhu et al., 2025)."""

import torch
from torch import Tensor, nn

from lnlab.nn.norms import norms


@norms.register("dyt", statistics="token")
class DynamicTanh(nn.Module):
    """``tanh(alpha x) * scale + shift``: alpha a learned scalar, one for the whole norm (Zhu et al., 2025).

    It squashes large coordinates as a norm does, but its Jacobian does not shrink with the size of x while alpha x is
    small: a control for every claim that rests on 1/sigma. Of the authors' values of ``alpha`` 0.5 is that of all but
    large language models, which take 0.8 to 0.2 at attention and 0.2 to 0.05 elsewhere, less the wider they are.
    """

    def __init__(self, width: int, *, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> the same shape."""
        return torch.tanh(self.alpha * x) * self.weight + self.bias
