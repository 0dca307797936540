"""``x = norm(omega x + f(x))``: Post-LN that leans on its skips by a learned vector (Liu et al., 2020).

The paper profiles a batch: omega_i² is the variance of the input plus that of the branches before sublayer i, and
omega_1 is 1. The init ``admin`` does this. The authors' later package has initial values in closed form, as functions
of the number n of residual branches in the stack. They are named here after how the change of the output grows with n
when every weight is disturbed:

    log: sqrt((n + 1) / ln(n + 1) - 1), constant: sqrt(n), linear: 1, which is Post-LN.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Sublayer, placements

_Start = Literal["log", "constant", "linear", "profiled"]


@placements.register("admin", norm_of="stream", waits=("start", "profiled"))
class Admin(nn.Module):
    """``x = norm(omega * x + f(x))``: omega a learned vector a sublayer (Liu et al., 2020).

    ``start`` names the first value by the growth of the output's change in the number n of the stack's residual
    branches: ``log``, sqrt((n + 1) / ln(n + 1) - 1); ``constant``, sqrt(n); ``linear``, 1. Or it is ``profiled``: not a
    number until the init ``admin`` has seen a batch. In the authors' package omega is a constant unless asked
    otherwise; here, as in the paper, it is trained.
    """

    final_norm = False

    def __init__(self, at: LayerSpec, *, start: _Start = "log") -> None:
        super().__init__()
        self.start = start
        first = first_omega(at.layers * at.sublayers, start)
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.omega = nn.ParameterList(torch.full((at.width,), first) for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm, omega in zip(sublayers, self.norms, self.omega, strict=True):
            x = norm(x * omega + f(x))
        return x


def first_omega(branches: int, start: _Start) -> float:
    """The first value of every omega in a stack with that many residual branches."""
    n = branches
    square = {"log": (n + 1) / math.log(n + 1) - 1, "constant": n, "linear": 1, "profiled": math.nan}
    return math.sqrt(square[start])
