"""Known addresses of a class of modules, by its name.

A pattern is relative to the module of that class, also in a subclass and inside any other model. A pattern that begins
with ``{layer}`` is of a block in a list, and the number is the block's own. Addresses are written as in
``own_model.addresses`` and ``own_model.stream``. In the feed-forward, ``w1`` leads in, ``w2`` leads out, and ``gate``
is what the output of ``w1`` is multiplied by.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import nn


@dataclass(frozen=True)
class Family:
    """A class of modules.

    Attributes:
        origin: the module that defines the class, or a package above it. Empty for code that is copied: any module.
        sites: addresses of parameters by pattern.
        stream: points of the residual stream by pattern.
    """

    origin: str
    sites: Mapping[str, str]
    stream: Mapping[str, str] = field(default_factory=dict)

    def describes(self, owner: type[nn.Module], module: nn.Module) -> bool:
        """Whether the class has the right origin. If any will do, the module must have every part that has a site."""
        if self.origin:
            return f"{owner.__module__}.".startswith(f"{self.origin}.")
        modules = {name for name, _ in module.named_modules()}
        return all(pattern.removeprefix("{layer}.") in modules for pattern in self.sites)


def block(stack: str, modules: Mapping[str, str]) -> dict[str, str]:
    """The patterns of a block in a list. An empty path is the block itself."""
    return {f"{{layer}}.{path}".rstrip("."): f"{stack}.{address}" for path, address in modules.items()}


def pre_norm_stream(norm_1: str, attention: str, norm_2: str, feed_forward: str) -> dict[str, str]:
    """The points of the stream in a block with its norms before its two branches, by the names of its modules."""
    return {
        norm_1: "self_attention.in",
        attention: "self_attention.branch",
        f"{norm_2}:input": "self_attention.sum/out",
        norm_2: "feed_forward.in",
        feed_forward: "feed_forward.branch",
        "": "feed_forward.sum/out",
    }
