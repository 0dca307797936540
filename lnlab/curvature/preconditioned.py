"""``P^-1/2 H P^-1/2``: curvature in the coordinates in which an adaptive optimizer descends (Cohen et al., 2022).

Adam's P is the diagonal of sqrt(v̂) + ε. A coordinate that has never had a gradient (v = 0), such as the row of a word
in no batch, has no step and no P. It is left out of the matrix and counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from lnlab.curvature.guards import CurvatureError, GraphFacts, check_symmetric, random_pair
from lnlab.curvature.operators import Operator
from lnlab.curvature.ranks import Ranks


class Preconditioned:
    """An operator between two factors P^-1/2, on the coordinates where P is positive.

    Attributes:
        size: number of those coordinates.
        excluded: number of the other coordinates.
    """

    def __init__(self, operator: Operator, diagonal: Tensor) -> None:
        """``diagonal`` is P, (size of the operator,), 0 where a coordinate is left out.

        Raises:
            ValueError: P has another size, a negative or infinite entry, or no positive one.
            CurvatureError: the matrix is not symmetric. In H itself an asymmetry may be hidden by entries that are
                larger by orders of magnitude. P brings both to one scale.
        """
        if diagonal.shape != (operator.size,) or not ((diagonal >= 0) & diagonal.isfinite()).all():
            raise ValueError(
                f"found P of shape {tuple(diagonal.shape)}, expected {operator.size} numbers, none negative"
            )
        self._operator = operator
        self.device = operator.device
        self._included = diagonal.nonzero().flatten()
        self._factor = diagonal[self._included].double().rsqrt()
        self.size = len(self._included)
        self.excluded = operator.size - self.size
        if self.size == 0:
            remedy = "measure weights at which a gradient is not 0"
            raise CurvatureError("found P = 0, expected a positive entry", remedy)
        pair = random_pair(self.size, self.device)
        # An operator of somebody else's says nothing of its graphs: it is held to float32.
        graph = getattr(operator, "graph", None) or GraphFacts(frozenset(), torch.finfo(torch.float32).eps)
        hu, hv = self.matvec(pair)
        check_symmetric(pair[0], pair[1], hu, hv, graph)

    def matvec(self, block: Tensor) -> Tensor:
        """The product with a vector (size,), or with each row of a block (rows, size), in float64."""
        return self._operator.matvec(self._scaled(block))[..., self._included] * self._factor

    def check_along(self, v: Tensor) -> None:
        """Check the product of the operator inside with ``P^-1/2 v``."""
        self._operator.check_along(self._scaled(v))

    def _scaled(self, block: Tensor) -> Tensor:
        whole = torch.zeros(*block.shape[:-1], self._operator.size, dtype=torch.float64, device=self.device)
        whole[..., self._included] = block.double() * self._factor
        return whole


def second_moment(
    memory: Mapping[str, Any], group: Mapping[str, Any], dtype: torch.dtype | None = None
) -> Tensor | None:
    """``v̂ = v / (1 - β2^t)`` of an optimizer with the state of torch.optim.Adam, None for any other.

    v starts at 0, and the divisor takes this bias out. AMSGrad's v is the largest so far.
    """
    if not {"exp_avg_sq", "step"} <= memory.keys() or "betas" not in group:
        return None
    v: Tensor = memory["max_exp_avg_sq"] if "max_exp_avg_sq" in memory else memory["exp_avg_sq"]
    share: float = group["betas"][1] ** float(memory["step"])
    return v.to(dtype or v.dtype) / (1 - share)


def adam_diagonal(optimizer: Optimizer, parameters: Sequence[Tensor]) -> Tensor:
    """``sqrt(v̂) + ε`` of an optimizer with the state of torch.optim.Adam, and 0 where v is 0: (size,), float64.

    Raises:
        CurvatureError: the optimizer has no second moment of a parameter.
    """
    groups = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    parts = []
    for p in parameters:
        group = groups[id(p)]
        v = second_moment(optimizer.state.get(p, {}), group, torch.float64)
        if v is None:
            what = f"found no second moment of a parameter of {p.numel()} elements, expected an update by Adam"
            raise CurvatureError(what, "train with optimizer: adam, or measure after the first update")
        root = v.sqrt() + group["eps"]
        parts.append(torch.where(v > 0, root, 0.0).flatten())
    return torch.cat(parts)


def settled_diagonal(gradients: Iterable[Tensor], eps: float, ranks: Ranks | None = None) -> Tensor:
    """``sqrt(E g²) + ε``, Adam's P with v at its mean for fixed weights, and 0 where every g is 0: (size,), float64.

    v̂ is a mean of the squared gradients of batches, weighted by powers of β2. At fixed weights its expectation is
    E g². With fewer than some dozen gradients a few coordinates have a P that is small by chance, which inflates their
    curvature.

    Args:
        gradients: gradients of single batches, flat (size,).
        eps: ε.
        ranks: the processes, each with at least one of the gradients.

    Raises:
        ValueError: there is no gradient.
    """
    squares, number = None, 0
    for g in gradients:
        square = g.double().square()
        squares, number = square if squares is None else squares + square, number + 1
    if squares is None:
        raise ValueError("found no gradient, expected at least one")
    ranks = ranks or Ranks()
    (total,) = ranks.sum(squares)
    return torch.where(total > 0, (total / sum(ranks.gather("gradients", number))).sqrt() + eps, 0.0)
