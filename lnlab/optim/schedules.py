"""The registry of schedules: ``() -> (step -> factor on the learning rate)``, or ``(steps)`` if the total matters."""

from collections.abc import Callable

from lnlab.registry import Registry

schedules: Registry[Callable[..., Callable[[int], float]]] = Registry("schedule")
