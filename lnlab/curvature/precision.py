"""Float64 throughout, where float32 is not enough: below about 1e-6 λ_max its products are rounding, without a sign."""

import copy
from collections.abc import Sequence

from torch import Tensor, nn


def doubled(model: nn.Module, parameters: Sequence[Tensor]) -> tuple[nn.Module, list[Tensor]]:
    """A copy of a model in float64, tied as it is, and in it the same scope."""
    double_model = copy.deepcopy(model).double()
    counterparts = {id(p): q for p, q in zip(model.parameters(), double_model.parameters(), strict=True)}
    return double_model, [counterparts[id(p)] for p in parameters]
