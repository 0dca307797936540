"""Gradients and parameter groups of an optimizer, changed for the time of its step and restored after it.

So the gradient that a probe or a clipping rule sees is the true one, whatever the optimizer saw.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.errors import LabError, Problem
from lnlab.interventions.where import Weights
from lnlab.nn.sites import Site, parameter_uses

Gradients = Mapping[Site, Tensor]


def selected_weights(model: nn.Module, where: Weights) -> dict[Site, nn.Parameter]:
    """The parameters that ``where`` selects, each once, by its first use.

    Raises:
        LabError: ``where`` selects nothing, or one use of a shared table and not the other.
    """
    uses = dict(parameter_uses(model))
    sites = where.select(list(uses), "weight")
    selected = {id(uses[site]) for site in sites}
    if apart := [site for site, p in uses.items() if id(p) in selected and site not in sites]:
        what = f"this table serves {_describe(apart[0])} too, which is not among what is chosen"
        raise LabError(Problem("interventions.where", what, "choose every use of it, or write model.tied: none"))
    first = {id(uses[site]): site for site in reversed(sites)}
    return {site: uses[site] for site in sites if first[id(uses[site])] == site}


def require_optimizer(optimizer: Optimizer | None) -> Optimizer:
    """The optimizer.

    Raises:
        LabError: there is none.
    """
    if optimizer is None:
        what = "acts on the update, and there is no optimizer that makes one"
        raise LabError(Problem("interventions", what, "add an optimizer, or choose one that acts on the function"))
    return optimizer


@contextmanager
def around_steps(optimizer: Optimizer, before: Callable[[], Callable[[], None]]) -> Iterator[None]:
    """Inside, ``before()`` is called ahead of each step, and what it returns after it."""
    undo: list[Callable[[], None]] = []
    with ExitStack() as hooks:
        hooks.callback(optimizer.register_step_pre_hook(lambda *_: undo.append(before())).remove)
        hooks.callback(optimizer.register_step_post_hook(lambda *_: undo.pop()()).remove)
        yield


@contextmanager
def transformed_gradients(
    optimizer: Optimizer | None,
    weights: Mapping[Site, nn.Parameter],
    change: Callable[[Gradients], Mapping[Site, Tensor | None]],
) -> Iterator[None]:
    """Inside, the optimizer sees ``change(gradients)`` in place of the gradients of these weights.

    None stands for no gradient: a weight without one does not move, and the optimizer's state of it stays as it is.
    """

    def before() -> Callable[[], None]:
        true = {site: p.grad for site, p in weights.items() if p.grad is not None}
        for site, gradient in change(true).items():
            weights[site].grad = gradient

        def after() -> None:
            for site, gradient in true.items():
                weights[site].grad = gradient

        return after

    with around_steps(require_optimizer(optimizer), before):
        yield


def _describe(site: Site) -> str:
    return " ".join(str(word) for word in site.row().values() if word is not None)
