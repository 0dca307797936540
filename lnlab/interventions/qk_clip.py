"""``w_q, w_k <- sqrt(γ) w_q, sqrt(γ) w_k`` after an update, for each head whose largest attention logit is above τ."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Annotated

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
    matrices = {module: _matrices(module) for module in model.modules() if isinstance(module, DotProductAttention)}
    if not matrices or None in matrices.values():
        what = "clips the matrices of softmax attention, and another attention, or another linear map, stands here"
        raise LabError(Issue("unsupported", "interventions", what, "choose softmax attention with plain matrices"))
    latest: dict[DotProductAttention, Tensor] = {}
    largest: dict[DotProductAttention, Tensor] = {}

    def see(attention: DotProductAttention, x: Tensor, memory: Tensor, mask: Tensor) -> None:
        logits = attention.logits(x, memory).masked_fill(~mask, -torch.inf)
        latest[attention] = logits.amax((0, 2, 3))

    def keep(attention: DotProductAttention) -> None:
        """A backward pass has reached it, so that the last batch that it saw is one of the update."""
        seen = latest.pop(attention, None)
        if seen is not None:
            largest[attention] = torch.maximum(seen, largest.get(attention, seen))

    @torch.no_grad()
    def clip() -> None:
        for attention, maxima in largest.items():
            factor = (most / maxima).clamp(max=1).where(maxima > 0, 1.0).sqrt()
            for parameter in (parameter for matrix in matrices[attention] or () for parameter in matrix.parameters()):
                rows = parameter.view(len(factor), -1)  # those of a head lie together
                rows *= factor[:, None].to(rows)
        largest.clear()

    with ExitStack() as hooks:
        for attention, (q, _) in ((module, pair) for module, pair in matrices.items() if pair):
            saw = partial(see, attention)
            hooks.callback(attention.register_forward_pre_hook(lambda _, inputs, saw=saw: saw(*inputs)).remove)
            kept = partial(keep, attention)
            hook = q.weight.register_post_accumulate_grad_hook(lambda _, kept=kept: kept())  # type: ignore[no-untyped-call]
            hooks.callback(hook.remove)
        hooks.enter_context(around_steps(require_optimizer(optimizer), lambda: clip))
        yield


def _matrices(attention: DotProductAttention) -> tuple[nn.Linear, nn.Linear] | None:
    """The matrices of queries and keys, if the logits are their product alone."""
    q, k = attention.q, attention.k
    if type(attention) is not SoftmaxAttention or nn.utils.parametrize.is_parametrized(q):
        return None
    return (q, k) if type(q) is type(k) is nn.Linear else None
