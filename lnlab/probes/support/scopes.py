"""Scopes of curvature: the parameters of one kind of site, each tensor once.

The Hessian of a scope is a principal block of the whole one. A tied table belongs to the embeddings.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.sites import Site, parameter_uses

Scope = Literal[
    "all", "without_embeddings", "embeddings", "attention", "attention_qk", "attention_vo", "feed_forward", "norms"
]
ATTENTION = ("self_attention", "cross_attention")
FEED_FORWARD = ("w1", "b1", "w2", "b2", "w3", "b3")


def parameters_of(model: nn.Module, scope: Scope) -> list[Tensor]:
    """The trained parameters of a scope, in the order of the model.

    Raises:
        LabError: the model has none.
    """
    selected = {id(p): p for site, p in parameter_uses(model) if p.requires_grad and _SCOPES[scope](site)}
    if not selected:
        trained = any(p.requires_grad for p in model.parameters())
        what = f"the scope '{scope}' holds no trained parameter" if trained else "no parameter of the model is trained"
        remedy = "choose another scope" if trained else "leave the probe out, or let some parameters require gradients"
        raise LabError(Issue("unsupported", "", what, remedy))
    return list(selected.values())


def _is_norm(site: Site) -> bool:
    return site.tensor.startswith(("scale", "shift"))


def _is_embedding(site: Site) -> bool:
    return site.sublayer in ("embedding", "output")


def _is_attention(site: Site, *tensors: str) -> bool:
    """Whether a site is a matrix or a bias of those tensors, or its gain: for q, ``q``, ``bq`` and ``gain_q``."""
    return site.sublayer in ATTENTION and not _is_norm(site) and site.tensor[-1] in tensors


_SCOPES: Mapping[str, Callable[[Site], bool]] = {
    "all": lambda _: True,
    "without_embeddings": lambda site: not _is_embedding(site),
    "embeddings": _is_embedding,
    "attention": lambda site: _is_attention(site, "q", "k", "v", "o"),
    "attention_qk": lambda site: _is_attention(site, "q", "k"),
    "attention_vo": lambda site: _is_attention(site, "v", "o"),
    "feed_forward": lambda site: site.sublayer == "feed_forward" and site.tensor in FEED_FORWARD,
    "norms": _is_norm,
}
