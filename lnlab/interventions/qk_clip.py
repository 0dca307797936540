"""``w_q, w_k <- sqrt(γ) w_q, sqrt(γ) w_k`` after an update, for each head whose largest attention logit is above τ."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.errors import LabError
from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import around_steps, require_optimizer
from lnlab.issues import Issue
from lnlab.nn.attention import DotProductAttention, SoftmaxAttention


@interventions.register("qk_clip", acts_on="update")
@contextmanager
def qk_clip(
    model: nn.Module, optimizer: Optimizer | None, *, most: Annotated[float, Field(gt=0)] = 100.0
) -> Iterator[None]:
    """``γ = min(1, τ / max q·k/√d)``: after each update, w_q and w_k of a head times √γ (Kimi Team, 2025).

    ``most`` is τ. The maximum of a head is over all batches of the update, queries and the keys that they see, with the
    weights before the update. A logit after it is γ times what it would be, and the other heads stay as they are.

    Raises:
        LabError: no attention is ``softmax`` with plain matrices, whose logits alone are γ times as large then.
    """
    attentions = [module for module in model.modules() if isinstance(module, DotProductAttention)]
    if not attentions or not all(map(_is_plain, attentions)):
        what = "clips the matrices of softmax attention, and another attention, or another linear map, stands here"
        raise LabError(Issue("unsupported", "interventions", what, "choose softmax attention with plain matrices"))
    latest: dict[nn.Module, Tensor] = {}
    largest: dict[nn.Module, Tensor] = {}

    def see(attention: nn.Module, inputs: tuple[Any, ...]) -> None:
        x, memory, mask = inputs
        logits = attention.logits(x, memory).masked_fill(~mask, -torch.inf)
        latest[attention] = logits.amax((0, 2, 3))

    def keep(attention: nn.Module) -> None:
        """A backward pass has reached it, so that the last batch that it saw is one of the update."""
        seen = latest.pop(attention, None)
        if seen is not None:
            largest[attention] = torch.maximum(seen, largest.get(attention, seen))

    def before() -> Callable[[], None]:
        return after

    @torch.no_grad()
    def after() -> None:
        for attention, maxima in largest.items():
            factor = (most / maxima).clamp(max=1).where(maxima > 0, 1.0).sqrt()
            for linear in (attention.q, attention.k):
                for parameter in linear.parameters():
                    rows = parameter.view(len(factor), -1)
                    rows *= factor[:, None].to(rows)
        largest.clear()

    with ExitStack() as hooks:
        for attention in attentions:
            hooks.callback(attention.register_forward_pre_hook(see).remove)
            weight = attention.q.weight
            hook = weight.register_post_accumulate_grad_hook(lambda _, attention=attention: keep(attention))
            hooks.callback(hook.remove)
        hooks.enter_context(around_steps(require_optimizer(optimizer), before))
        yield


def _is_plain(attention: DotProductAttention) -> bool:
    plain = type(attention.q) is type(attention.k) is nn.Linear
    return type(attention) is SoftmaxAttention and plain and not nn.utils.parametrize.is_parametrized(attention.q)
