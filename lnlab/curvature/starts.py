"""``E v vᵀ = I/n``: random unit vectors, from which ``n vᵀ f(H) v`` has the mean tr f(H) (Hutchinson, 1990).

Normalized Gaussian vectors are uniform on the sphere (Ghorbani et al., 2019). Vectors of ±1 have a smaller variance
where H is nearly diagonal. Draws are float32 numbers of a CPU generator, so that they are the same on every device.
"""

from typing import Literal

import torch
from torch import Generator, Tensor

StartDistribution = Literal["gaussian", "rademacher"]


def start(size: int, generator: Generator, distribution: StartDistribution = "gaussian") -> Tensor:
    """One unit vector, (size,), float64 on the CPU."""
    if distribution == "gaussian":
        drawn = torch.randn(size, generator=generator, dtype=torch.float32)
    else:
        drawn = torch.randint(0, 2, (size,), generator=generator).mul_(2).sub_(1)
    unit: Tensor = torch.nn.functional.normalize(drawn.double(), dim=0)
    return unit
