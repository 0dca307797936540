"""Every call of ``scaled_dot_product_attention`` in a forward pass: its queries, keys and values, and the logits again.

Calls are seen for any kernel, and not changed. Modules that compute attention otherwise, such as
``nn.TransformerEncoderLayer`` on its fast path, are not seen.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.site import AddressedModel
from lnlab.nn.sites import Site, addressed
from lnlab.probes.probe import State, evaluating
from lnlab.probes.support.token_masks import token_masks


@dataclass(frozen=True)
class AttentionCall:
    """One call, with its heads in front.

    Attributes:
        query: (heads, batch, queries, width).
        key: (heads, batch, keys, width).
        value: (heads, batch, keys, width).
        logits: in float32, (heads, batch, queries, keys); -inf at what a query may not see, and for queries of padding.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    logits: Tensor

    @property
    def sees(self) -> Tensor:
        """Which queries are of tokens and see a key: (heads, batch, queries)."""
        return self.logits.isfinite().any(-1)

    @property
    def seen(self) -> Tensor:
        """Which keys some query of a token sees: (heads, batch, keys)."""
        return self.logits.isfinite().any(-2)


def reduced_calls(
    state: State, batches: int, split: str, probe: str, reduce: Callable[[AttentionCall], Tensor]
) -> list[tuple[Site, list[Tensor]]]:
    """What ``reduce`` makes of each call, by the site of its logits, a tensor for each batch. Dropout is off.

    Raises:
        LabError: the model never calls ``scaled_dot_product_attention``, or which queries are padding is not known.
    """
    seen: dict[str, list[Tensor]] = {}
    places = [(name, site) for name, site, _ in addressed(state.model)]
    with evaluating(state.model), torch.no_grad(), _Paths(state.model) as path:
        for batch in state.batches(batches, split):
            with _Watch(path, seen, partial(_token_queries, state.model, batch, places, probe), reduce):
                state.forward(batch)
    if not seen:
        what = f"the model never calls scaled_dot_product_attention, where {probe} would see queries and keys"
        remedy = "build it so, as with attn_implementation='sdpa', or leave the probe out"
        raise LabError(Issue("unsupported", probe, what, remedy))
    return [(_site_of(where, places, number), parts) for number, (where, parts) in enumerate(seen.items(), 1)]


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
    model: nn.Module, batch: Any, places: Sequence[tuple[str, Site]], probe: str, where: str, query: Tensor
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
        remedy = "return (batch, length), or {'encoder': ..., 'decoder': ...}, or leave the probe out"
        raise LabError(Issue("wrong-type", probe, what, remedy))
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
    """Reduces every call of attention and does not change the call."""

    def __init__(
        self,
        path: Callable[[], str],
        seen: dict[str, list[Tensor]],
        token_queries: Callable[[str, Tensor], Tensor | None],
        reduce: Callable[[AttentionCall], Tensor],
    ) -> None:
        super().__init__()
        self._path = path
        self._seen = seen
        self._token_queries = token_queries
        self._reduce = reduce

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is scaled_dot_product_attention:
            where = self._path()
            query = args[0] if args else (kwargs or {})["query"]
            call = _call(*args, **(kwargs or {}), tokens=self._token_queries(where, query))
            self._seen.setdefault(where, []).append(self._reduce(call))
        return func(*args, **(kwargs or {}))


def _call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,  # noqa: ARG001 - of the signature of torch
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    tokens: Tensor | None = None,
) -> AttentionCall:
    """The call by head, with no logits of queries that are not ``tokens``, (batch, queries), where these are known."""
    if query.dim() < 4:  # (..., length, width) of one head
        query, key, value = (x.reshape(-1, 1, *x.shape[-2:]) for x in (query, key, value))
        attn_mask = attn_mask.unsqueeze(-3) if attn_mask is not None and attn_mask.dim() > 2 else attn_mask
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
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
    query, key, value = (x.flatten(0, -4).transpose(0, 1) for x in (query, key, value))
    return AttentionCall(query, key, value, logits)
