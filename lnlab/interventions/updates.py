"""Gradients and parameter groups of an optimizer, changed for the time of its step and restored after it.

So probes and clipping rules always see the true gradient.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.errors import LabError
from lnlab.interventions.where import Weights
from lnlab.issues import Issue
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
        use = " ".join(str(word) for word in apart[0].row().values() if word is not None)
        what = f"this table serves {use} too, which is not selected"
        raise LabError(
            Issue("unsupported", "interventions.where", what, "select every use of it, or write model.tied: none")
        )
    first = {id(uses[site]): site for site in reversed(sites)}  # reversed, as the last entry of a key stays
    return {site: uses[site] for site in sites if first[id(uses[site])] == site}


def require_optimizer(optimizer: Optimizer | None) -> Optimizer:
    """Return the optimizer, so that an intervention on the update can act.

    Raises:
        LabError: there is none, as in a run without training.
    """
    if optimizer is None:
        what = "acts on the update, and there is no optimizer that makes one"
        raise LabError(
            Issue("unsupported", "interventions", what, "add an optimizer, or choose one that acts on the function")
        )
    return optimizer


@contextmanager
def around_steps(optimizer: Optimizer, before: Callable[[], Callable[[], None]]) -> Iterator[None]:
    """Call ``before()`` ahead of each optimizer step inside the block, and the function it returns after the step."""
    undo: list[Callable[[], None]] = []
    with ExitStack() as hooks:
        hooks.callback(optimizer.register_step_pre_hook(lambda *_: undo.append(before())).remove)
        hooks.callback(optimizer.register_step_post_hook(lambda *_: undo.pop()()).remove)
        yield


@contextmanager
def scaled_rates(optimizer: Optimizer, factors: Mapping[nn.Parameter, float]) -> Iterator[None]:
    """Multiply the rates of these parameters by their factors in each step inside the block.

    During a step each parameter group is split into one group per factor, so that the numbers are those of separate
    groups bit for bit. A parameter without a factor has 1.
    """

    def before() -> Callable[[], None]:
        groups = list(optimizer.param_groups)
        split: list[dict[str, Any]] = []
        for group in groups:  # in parts of one factor each
            parts: dict[float, list[nn.Parameter]] = {}
            for p in group["params"]:
                parts.setdefault(factors.get(p, 1.0), []).append(p)
            split += [{**group, "params": part, "lr": factor * group["lr"]} for factor, part in parts.items()]
        optimizer.param_groups[:] = split

        def after() -> None:
            optimizer.param_groups[:] = groups

        return after

    with around_steps(optimizer, before):
        yield


@contextmanager
def transformed_gradients(
    optimizer: Optimizer | None,
    weights: Mapping[Site, nn.Parameter],
    change: Callable[[Gradients], Mapping[Site, Tensor | None]],
) -> Iterator[None]:
    """Inside the block the optimizer sees ``change(gradients)`` in place of the gradients of these weights.

    During a step ``change`` replaces their ``.grad``. After the step the true gradients are back. None stands for no
    gradient: a weight without one does not move, and the optimizer's state of it stays as it is.
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
