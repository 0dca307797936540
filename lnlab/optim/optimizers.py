"""The registry of optimizers: ``(parameters) -> torch.optim.Optimizer``."""

from collections.abc import Callable

from torch.optim import Optimizer

from lnlab.registry import Registry

optimizers: Registry[Callable[..., Optimizer]] = Registry("optimizer")
