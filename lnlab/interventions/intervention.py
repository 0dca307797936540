"""The registry of interventions: ``(model, optimizer) -> context manager`` inside which one causal arrow is cut.

On leaving, the model and the optimizer are as before.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from lnlab.facts import Facts
from lnlab.registry import Registry


@dataclass(frozen=True)
class InterventionFacts(Facts):
    """The facts of an intervention.

    Attributes:
        acts_on: ``function`` acts while the model computes, also at initialization. It needs no optimizer and is part
            of the initial state. ``update`` acts between the backward pass and the end of the optimizer's step. It
            needs an optimizer and is part of what moves a model.
    """

    acts_on: Literal["function", "update"] = "function"


interventions: Registry[Callable[..., AbstractContextManager[None]]] = Registry("intervention", InterventionFacts)
"""Builders ``(model: nn.Module, optimizer: Optimizer | None, *, where, ...)``."""
