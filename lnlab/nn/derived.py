"""Modules with numbers that follow from the first values of their matrices."""

from abc import ABC, abstractmethod

from torch import nn


class Derived(ABC):
    """A module that every init tells when its matrices are drawn."""

    @abstractmethod
    def derive(self) -> None:
        """Set what follows from the matrices. Nothing needs to be set on the meta device."""


def derive(model: nn.Module) -> None:
    """Tell every such module of the model."""
    for module in model.modules():
        if isinstance(module, Derived):
            module.derive()
