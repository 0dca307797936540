"""``W = gain / sigma(V) V``: a matrix with a learned spectral norm, so that attention cannot collapse fast.

Sigma, the largest singular value, comes from one step of power iteration per forward pass. The vectors are constants to
the gradient. They begin at the singular vectors themselves and move only in training. An evaluation makes one step from
them and does not store it, as in the authors' code.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from lnlab.nn.linear import linears
from lnlab.nn.post_init import PostInitHook

_Start = Literal["sigma", "one"]


@linears.register("sigma_reparam", normalized=True)
class SigmaLinear(nn.Linear, PostInitHook):
    """``x Wᵀ + b, W = gain / sigma(V) V``: V is the weight, and the gain is learned (Zhai et al., 2023).

    ``start`` is the first gain: ``sigma``, so that the model begins as it would without, is the authors' code; ``one``
    is the paper. They begin with a normal law of deviation 0.02; here the law is the init's.
    """

    u: Tensor

    def __init__(self, fan_in: int, fan_out: int, *, start: _Start = "sigma") -> None:
        super().__init__(fan_in, fan_out)
        self.start = start
        self.gain = nn.Parameter(torch.ones(()))
        self.register_buffer("u", torch.full((fan_in,), fan_in**-0.5))  # what torch normalizes without values is slow

    @torch.no_grad()
    def post_init(self) -> None:
        """Set the right singular vector of the largest singular value, and the gain."""
        if self.weight.is_meta:
            return
        _, sigmas, right = torch.linalg.svd(self.weight.double(), full_matrices=False)
        self.u.copy_(right[0])
        self.gain.copy_(sigmas[0] if self.start == "sigma" else torch.ones(()))

    def sigma(self) -> Tensor:
        """The largest singular value after one more step."""
        with torch.no_grad():
            v = normalize(self.weight.mv(self.u), dim=0)
            u = normalize(self.weight.T.mv(v), dim=0)
            if self.training:
                self.u.copy_(u)
        # Outside of no_grad, so that the weight has a gradient, and u and v have none.
        return v @ (self.weight @ u)

    def forward(self, x: Tensor) -> Tensor:
        """(..., fan_in) -> (..., fan_out)."""
        return linear(x, (self.gain / self.sigma()) * self.weight, self.bias)
