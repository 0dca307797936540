"""``A - B``: of the Hessian and the GGN, the part in which residuals weigh the model's own second derivatives."""

import torch
from torch import Tensor

from lnlab.curvature.operators import Operator


class Difference:
    """One operator less another on the same coordinates, such as H - G (Schraudolph, 2002).

    Attributes:
        size: rows and columns.
        device: where vectors live.
    """

    def __init__(self, one: Operator, other: Operator) -> None:
        """Raises ValueError where their sizes or devices differ."""
        if (one.size, one.device) != (other.size, other.device):
            raise ValueError(f"found {one.size} and {other.size} coordinates, expected the same, on one device")
        self._one = one
        self._other = other
        self.size: int = one.size
        self.device: torch.device = one.device

    def matvec(self, block: Tensor) -> Tensor:
        """The product with a vector (size,), or with each row of a block (rows, size), in float64."""
        return self._one.matvec(block) - self._other.matvec(block)
