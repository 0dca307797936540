"""The registry of interventions: ``(model, optimizer) -> context manager`` inside which one causal arrow is cut."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from lnlab.registry import Registry

interventions: Registry[Callable[..., AbstractContextManager[None]]] = Registry("intervention")
