"""The registry of interventions: ``(model, optimizer) -> context manager`` inside which one causal arrow is cut.

The tag ``acts_on`` says which: the ``function``, while the model computes, at initialization too; or the ``update``,
between the backward pass and the end of the optimizer's step. The first needs no optimizer and is part of the initial
state; the second needs one, and is part of what moves a model. On leaving, nothing is left behind.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from lnlab.registry import Registry

interventions: Registry[Callable[..., AbstractContextManager[None]]] = Registry("intervention")
"""Builders ``(model: nn.Module, optimizer: Optimizer | None, *, where, ...)``."""
