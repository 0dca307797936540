"""``max q·k/√d`` and ``-Σ p log p``: the sharpness of attention, by head and layer (Zhai et al., 2023).

Where logits grow without bound, the entropy of the weights collapses, and training diverges soon after. Both are
measured wherever a model calls ``scaled_dot_product_attention``, for any kernel. Queries, keys and mask are recorded,
and the logits are computed again in float32. Modules that compute attention otherwise, such as
``nn.TransformerEncoderLayer`` on its fast path, are not measured.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.measured.attention import ATTENTION_LOGITS
from lnlab.nn.site import AddressedModel
from lnlab.nn.sites import Site, addressed
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.support.known_sites import attention_heads
from lnlab.probes.support.token_masks import token_masks
from lnlab.tables import Row

_LARGEST, _ENTROPY = ATTENTION_LOGITS


@probes.register(
    "attention_logits",
    table="sites",
    passes=once,
    quantities=ATTENTION_LOGITS,
    sites=lambda model, _: attention_heads(tuple(ATTENTION_LOGITS), model),
    any_model=lambda _: True,
    in_float32=True,
)
def attention_logits(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``max q·k/√d, E[-Σ p log p]``: largest logit and entropy of attention, by head (Zhai et al., 2023, Section 3).

    Over the queries of all batches, padding left out, and the keys that a query may see; a query that sees none is left
    out. ``index`` is the head, from 1. Dropout is off.

    Raises:
        LabError: the model never calls ``scaled_dot_product_attention``, or which queries are padding is not known.
    """
    seen: dict[str, list[Tensor]] = {}
    places = [(name, site) for name, site, _ in addressed(state.model)]
    with evaluating(state.model), torch.no_grad(), _Paths(state.model) as path:
        for batch in state.batches(batches, split):
            with _Watch(path, seen, partial(_token_queries, state.model, batch, places)):
                state.forward(batch)
    if not seen:
        what = "the model never calls scaled_dot_product_attention, where attention_logits would see queries and keys"
        remedy = "build it so, as with attn_implementation='sdpa', or leave the probe out"
        raise LabError(Issue("unsupported", "attention_logits", what, remedy))
    for number, (where, parts) in enumerate(seen.items(), 1):
        largest = torch.stack([part[0] for part in parts]).amax(0)
        entropy, queries = torch.stack([part[1:] for part in parts]).sum(0)
        site = _site_of(where, places, number)
        for quantity, values in ((_LARGEST, largest), (_ENTROPY, entropy / queries)):
            for head, value in enumerate(values.tolist(), 1):
                if math.isfinite(value):
                    yield {"quantity": quantity, **site.row(), "index": head, "value": value}


def _site_of(where: str, places: Sequence[tuple[str, Site]], number: int) -> Site:
    """The site of a module's logits: the sublayer of its parameters, or of the nearest enclosing module's."""
    path = where
    while path:
        for name, site in places:
            if name.startswith(f"{path}.") and site.layer is not None:
                return Site(site.stack, site.layer, site.sublayer, "logits")
        path = path.rpartition(".")[0] if "." in path else ""
    return Site(None, None, where.removeprefix("module.") or f"call_{number}", "logits")


def _token_queries(
    model: nn.Module, batch: Any, places: Sequence[tuple[str, Site]], where: str, query: Tensor
) -> Tensor | None:
    """Which queries are of tokens and not of padding, (batch, queries). None means all: the model has no mask.

    Raises:
        LabError: the mask does not fit these queries.
    """
    masks: Tensor | Mapping[Any, Tensor]
    if isinstance(model, AddressedModel):
        if model.mask is None:
            return None
        masks = model.mask(batch)
    else:
        masks = token_masks(batch)
    stack = _site_of(where, places, 1).stack
    mask = masks.get(stack) if isinstance(masks, Mapping) else masks
    leading = query.shape[:-3] if query.dim() > 3 else query.shape[:-2]
    expected = (leading.numel(), query.shape[-2])
    if not isinstance(mask, Tensor) or tuple(mask.shape) != expected:
        shape = tuple(mask.shape) if isinstance(mask, Tensor) else "missing"
        what = f"the mask of a batch is {shape} for the queries of '{where}', expected {expected}"
        remedy = "return (batch, length), or {'encoder': ..., 'decoder': ...}, or leave attention_logits out"
        raise LabError(Issue("wrong-type", "attention_logits", what, remedy))
    return mask.to(query.device, torch.bool)


class _Paths:
    """Which module a forward pass is in, by its path."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._stack: list[str] = []
        self._hooks = ExitStack()

    def __enter__(self) -> Callable[[], str]:
        for path, module in self._model.named_modules():
            before = module.register_forward_pre_hook(lambda _m, _x, path=path: self._stack.append(path))
            # A slice is deleted, as `pop` would fail where a module was entered before the hooks were there, and the
            # path that it returns would replace the module's output.
            leave = lambda _m, _x, _y: self._stack.__delitem__(slice(-1, None))  # noqa: E731
            after = module.register_forward_hook(leave, always_call=True)
            self._hooks.callback(before.remove)
            self._hooks.callback(after.remove)
        return lambda: self._stack[-1] if self._stack else ""

    def __exit__(self, *_: object) -> None:
        self._hooks.close()


class _Watch(TorchFunctionMode):
    """Records the arguments of every call of attention and does not change the call."""

    def __init__(
        self,
        path: Callable[[], str],
        seen: dict[str, list[Tensor]],
        token_queries: Callable[[str, Tensor], Tensor | None],
    ) -> None:
        super().__init__()
        self._path = path
        self._seen = seen
        self._token_queries = token_queries

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is scaled_dot_product_attention:
            where = self._path()
            query = args[0] if args else (kwargs or {})["query"]
            statistics = _statistics(*args, **(kwargs or {}), tokens=self._token_queries(where, query))
            self._seen.setdefault(where, []).append(statistics)
        return func(*args, **(kwargs or {}))


def _statistics(
    query: Tensor,
    key: Tensor,
    value: Tensor,  # noqa: ARG001 - of the signature of torch
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,  # noqa: ARG001
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    tokens: Tensor | None = None,
) -> Tensor:
    """The largest logit, the sum of entropies, and the number of queries of each head: (3, heads).

    They are over the queries that are ``tokens``, (batch, queries), or over all.
    """
    if query.dim() < 4:  # (..., length, width) of one head
        query, key = (x.reshape(-1, 1, *x.shape[-2:]) for x in (query, key))
        attn_mask = attn_mask.unsqueeze(-3) if attn_mask is not None and attn_mask.dim() > 2 else attn_mask
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    logits = (query.float() @ key.float().transpose(-1, -2)) * factor
    if is_causal:
        allowed = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
        logits = logits.masked_fill(~allowed, -torch.inf)
    if attn_mask is not None:
        if attn_mask.dtype is torch.bool:
            logits = logits.masked_fill(~attn_mask, -torch.inf)
        else:
            # Additive masks hold the least number of their precision as often as -inf.
            logits = logits + attn_mask.float()
            logits = logits.masked_fill(logits < torch.finfo(torch.float32).min / 2, -torch.inf)
    logits = logits.flatten(0, -4).transpose(0, 1)  # (heads, batch, queries, keys)
    if tokens is not None:
        logits = logits.masked_fill(~tokens[..., None], -torch.inf)
    sees = logits.isfinite().any(-1)
    weights = logits.log_softmax(-1).nan_to_num(neginf=0.0)
    entropy = -(weights.exp() * weights).masked_fill(logits.isneginf(), 0.0).sum(-1)
    totals = torch.where(sees, entropy, 0.0).sum((1, 2))
    return torch.stack((logits.amax((1, 2, 3)), totals, sees.sum((1, 2)).float()))
