"""The registry of rules that stop early: ``() -> (losses so far -> status or None)``, blind to claims."""

from collections.abc import Callable, Sequence

from lnlab.registry import Registry

stops: Registry[Callable[..., Callable[[Sequence[float]], str | None]]] = Registry("stop")
