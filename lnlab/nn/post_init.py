"""A hook for modules with values that follow from the initial values of their matrices."""

from abc import ABC, abstractmethod

from torch import nn


class PostInitHook(ABC):
    """A module whose ``post_init`` every init calls after its matrices are drawn."""

    @abstractmethod
    def post_init(self) -> None:
        """Set the values that follow from the matrices. Nothing needs to be set on the meta device."""


def run_post_init_hooks(model: nn.Module) -> None:
    """Call every module's ``post_init``. An init that changes what another has drawn calls this again."""
    for module in model.modules():
        if isinstance(module, PostInitHook):
            module.post_init()
