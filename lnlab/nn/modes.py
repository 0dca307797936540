"""Training or evaluation mode, for good or for a while."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from torch import nn

from lnlab.nn.batch_norm import batch_statistics


def switch(model: nn.Module) -> Callable[[bool], object]:
    """What ``model.train`` does, with a boolean, at a twentieth of its cost, for the modules that there are now.

    ``nn.Module`` looks for parameters and modules whenever an attribute is set, and a mode is neither. A model with a
    module that has a ``train`` of its own is asked itself.
    """
    modules = list(model.modules())
    if any(type(module).train is not nn.Module.train for module in modules):
        return model.train

    def to(training: bool) -> None:
        for module in modules:
            object.__setattr__(module, "training", training)

    return to


@contextmanager
def in_mode(model: nn.Module, *, training: bool, remembered: bool = False) -> Iterator[None]:
    """Inside, the model is in one mode; on leaving, also by an error, each module is in its own again.

    Batch norms take the statistics of the batch at hand, as in training, and remember nothing of it: what is looked at
    is the function that is trained. With ``remembered`` they take what they remember of training, so that in
    evaluation no sentence depends on those beside it.
    """
    modes = {module: module.training for module in model.modules()}
    model.train(training)
    try:
        with nullcontext() if remembered else batch_statistics(model):
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode
