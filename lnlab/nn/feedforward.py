"""``relu(x w1 + b1) w2 + b2``: the same two matrices at every position (Vaswani et al., 2017, Section 3.3)."""

from torch import Tensor, nn
from torch.nn.functional import relu

from lnlab.nn.linear import LinearBuilder


class FeedForward(nn.Module):
    """``relu(x w1 + b1) w2 + b2``, of ``width`` coordinates in and out and ``d_ff`` between them."""

    def __init__(self, width: int, d_ff: int, linear: LinearBuilder = nn.Linear) -> None:
        super().__init__()
        self.w1 = linear(width, d_ff)
        self.w2 = linear(d_ff, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, length, width)."""
        y: Tensor = self.w2(relu(self.w1(x)))
        return y
