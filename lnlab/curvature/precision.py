"""Float64 throughout, for who doubts float32: below about 1e-6 λ_max its products are rounding and say no sign."""

import copy
from collections.abc import Sequence

from torch import Tensor, nn


def doubled(model: nn.Module, parameters: Sequence[Tensor]) -> tuple[nn.Module, list[Tensor]]:
    """A copy of a model in float64, tied as it is, and in it the same scope."""
    twin = copy.deepcopy(model).double()
    mine = {id(p): q for p, q in zip(model.parameters(), twin.parameters(), strict=True)}
    return twin, [mine[id(p)] for p in parameters]
