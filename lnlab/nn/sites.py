"""Addresses of weights and activations, read off the module tree.

A weight's address is where it is *used*: a table that serves an embedding and the output has a site for each. It is
read off the parameter's name, which must follow one of ``PATTERNS``. Two parameters never share an address. Residual
activations are recognized by the modules around them, so that no placement's formula has to report them.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import TypeVar

from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.placements import placements
from lnlab.nn.site import AddressedModel
from lnlab.nn.site import Site as Site  # noqa: PLC0414 - read from here by everyone
from lnlab.nn.transformer import Layer, stacks

_Value = TypeVar("_Value")
_STACKS = ("encoder", "decoder")
PATTERNS = (
    "output.<tensor>",
    "<stack>.layers.<n>.<sublayer>.<tensor>",
    "<stack>.embedding.<tensor>",
    "<stack>.final_norm.<tensor>",
)
"""The names of parameters that have an address. A stack is one of ``STACKS``, and layers count from 0 in names."""


def addressed(model: nn.Module) -> list[tuple[str, Site, nn.Parameter]]:
    """Every use of every parameter with its name and its site, in the order of the module tree.

    Raises:
        LabError: a name follows none of ``PATTERNS``, or two different parameters have one address.
    """
    if isinstance(model, AddressedModel):
        return model.addressed_parameters()
    uses = [(name, _site(model, name), p) for name, p in model.named_parameters(remove_duplicate=False)]
    known = [(name, site, p) for name, site, p in uses if site is not None]
    if unknown := [name for name, site, _ in uses if site is None]:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        what = f"the parameter '{unknown[0]}'{more} has no address"
        raise LabError(
            Issue("unsupported", "model", what, f"name it {', '.join(PATTERNS)}; a stack is {' or '.join(_STACKS)}")
        )
    first: dict[Site, tuple[str, nn.Parameter]] = {}
    for name, site, p in known:
        other, tensor = first.setdefault(site, (name, p))
        if tensor is not p:
            layer = f"layer {site.layer}" if site.layer else None
            words = " ".join(filter(None, (site.stack, layer, site.sublayer, site.tensor)))
            what = f"the parameters '{other}' and '{name}' have one address, {words}"
            raise LabError(
                Issue("unsupported", "model", what, "give them names that differ in sublayer or tensor, or tie them")
            )
    return known


def parameter_uses(model: nn.Module) -> list[tuple[Site, nn.Parameter]]:
    """Every use of every parameter, in the order of the module tree. A tied one comes once per use.

    Raises:
        LabError: as ``addressed``.
    """
    return [(site, p) for _, site, p in addressed(model)]


def first_uses(model: nn.Module) -> list[tuple[Site, nn.Parameter]]:
    """Every parameter once, a tied one by the first of its sites."""
    # Reversed, as the last entry of a key stays.
    return list({id(p): (site, p) for site, p in reversed(parameter_uses(model))}.values())


def weights(model: nn.Module) -> list[tuple[Site, nn.Parameter]]:
    """As ``parameter_uses``, but only matrices and tables: q k v o w1 w2 of every sublayer, and the tables."""
    return [(site, p) for site, p in parameter_uses(model) if p.dim() > 1]


def values_by_site(model: nn.Module, named: Mapping[str, _Value]) -> list[tuple[Site, _Value]]:
    """Map values by a parameter's name, such as updates, to every use of the parameter.

    The value of a tied parameter comes whole at each use.

    A parameter without a value is left out.
    """
    names = {id(p): name for name, p in model.named_parameters()}
    return [(site, named[name]) for site, p in parameter_uses(model) if (name := names[id(p)]) in named]


@contextmanager
def separated(model: nn.Module) -> Iterator[list[tuple[Site, nn.Parameter]]]:
    """Yield ``parameter_uses(model)`` with a separate leaf for each use, on the same memory.

    So the parts of a tied table's gradient are separate, and no ``.grad`` is changed. Frozen parameters are no leaves,
    and what they compute has a gradient. The model is as before on leaving, also after an error. A model from elsewhere
    has one leaf per parameter.
    """
    if isinstance(model, AddressedModel):  # it may hold a parameter where no name leads, so that none is replaced
        trained = [(site, p) for site, p in parameter_uses(model) if p.requires_grad]
        with model.differentiable():
            yield trained
        return
    uses = []
    for name, site, p in addressed(model):
        owner, _, word = name.rpartition(".")
        uses.append((site, model.get_submodule(owner), word, p))
    leaves = [(site, nn.Parameter(p.detach())) for site, _, _, p in uses]
    try:
        for (_, module, word, _), (_, leaf) in zip(uses, leaves, strict=True):
            setattr(module, word, leaf)
        yield [leaf for leaf, (_, _, _, p) in zip(leaves, uses, strict=True) if p.requires_grad]
    finally:
        for _, module, word, p in uses:
            setattr(module, word, p)


@contextmanager
def activations(model: nn.Module) -> Iterator[dict[Site, Tensor]]:
    """Yield a dict that each forward pass fills with the activations (batch, length, width) at their sites.

    Each sublayer f has ``in``, the input of f, ``branch``, its output, ``sum``, the stream after the addition, and
    ``out``, the stream as it goes on (the norm of ``sum`` in Post-LN, ``sum`` itself in Pre-LN). The embedding and the
    final norm have ``out``. A model from elsewhere has activations where its stream is known.
    """
    if isinstance(model, AddressedModel):
        with model.activations() as recorded:
            yield recorded
        return
    seen: dict[Site, Tensor] = {}
    with ExitStack() as hooks:
        for name, stack in stacks(model).items():
            for sublayer in ("embedding", "final_norm"):
                if (module := getattr(stack, sublayer)) is not None:
                    site = Site(name, None, sublayer, "out")
                    keep = lambda _m, _x, y, site=site: seen.__setitem__(site, y)  # noqa: E731
                    hooks.callback(module.register_forward_hook(keep).remove)
            for number, layer in enumerate(stack.layers, 1):
                if isinstance(layer, Layer):
                    Stream(seen, name, number).follow(layer, hooks)
        yield seen


class Stream:
    """Follows the residual stream through one layer, and records its activations in a dict by site.

    After a branch has returned, the first tensor that enters a norm or the next sublayer, or leaves the layer, is the
    sum. If it enters a norm of the same sublayer, the stream goes on normed. Otherwise it goes on as it is.
    """

    def __init__(self, seen: dict[Site, Tensor], stack: str, layer: int) -> None:
        self.seen = seen
        self.stack = stack
        self.layer = layer
        self.pending: str | None = None  # the sublayer whose sum is due
        self.branch: Tensor | None = None
        self.replaces_stream = False  # whether the branch is the stream: nothing is added to it

    def follow(self, layer: Layer, hooks: ExitStack) -> None:
        """Hook a layer until the hooks are removed."""
        self.replaces_stream = norms_stream(layer)
        for name, sublayer in layer.sublayers.items():
            hooks.callback(sublayer.register_forward_pre_hook(lambda _m, x, n=name: self.enter(n, x[0])).remove)
            hooks.callback(sublayer.register_forward_hook(lambda _m, _x, y, n=name: self.leave(n, y)).remove)
        for name, norm in norms_beside(layer):
            hooks.callback(norm.register_forward_hook(lambda _m, x, y, n=name: self.norm(n, x[0], y)).remove)
        hooks.callback(layer.register_forward_hook(lambda _m, _x, y: self.complete_sum(y)).remove)

    def enter(self, name: str, x: Tensor) -> None:
        """A sublayer has the input ``x``."""
        self.complete_sum(x)
        self._keep(name, "in", x)

    def leave(self, name: str, branch: Tensor) -> None:
        """A sublayer returns ``branch``."""
        self._keep(name, "branch", branch)
        self.pending, self.branch = name, branch

    def norm(self, name: str, x: Tensor, normed: Tensor) -> None:
        """A norm beside a sublayer has the input ``x`` and returns ``normed``."""
        if x is self.branch and not self.replaces_stream:  # a norm on the branch itself comes before the addition
            return
        self.complete_sum(x, normed if name == self.pending else None)

    def complete_sum(self, total: Tensor, normed: Tensor | None = None) -> None:
        """Record ``total`` as the pending sum, if there is one, and as its output, or ``normed`` if that is given."""
        if self.pending is not None:
            self._keep(self.pending, "sum", total)
            self._keep(self.pending, "out", total if normed is None else normed)
        self.pending = self.branch = None

    def _keep(self, sublayer: str, tensor: str, x: Tensor) -> None:
        self.seen[Site(self.stack, self.layer, sublayer, tensor)] = x


def norms_stream(layer: Layer) -> bool:
    """Whether the placement of a layer has the fact that it norms the stream."""
    return any(e.build is type(layer.placement) and e.facts.norm_of == "stream" for e in placements)


def norms_beside(layer: Layer) -> list[tuple[str, nn.Module]]:
    """Every norm of a layer's placement, with the name of its sublayer."""
    # Not strict: a list of parameters holds no norm, and HybridNorm's ends before the feed-forward network.
    owned = [zip(layer.sublayers, norms.children(), strict=False) for norms in layer.placement.children()]
    return [pair for pairs in owned for pair in pairs]


def _site(model: nn.Module, name: str) -> Site | None:
    """The site of the parameter of that name, or None where the name follows no pattern."""
    match name.split("."):
        case [stack, "layers", number, "placement", group, place, *path] if number.isdecimal() and stack in _STACKS:
            # `norms.1.weight` is the second sublayer's scale, `outer.1.weight` its scale_outer, `omega.1` its omega.
            layer = model.get_submodule(f"{stack}.layers.{number}")
            sublayers = tuple(layer.sublayers) if isinstance(layer, Layer) else ()
            if not place.isdecimal() or int(place) >= len(sublayers):
                return None
            tensor = _AFFINE.get(path[-1], path[-1]) if path else group
            named = tensor if group in ("norms", tensor) else f"{tensor}_{group}"
            return Site(stack, int(number) + 1, sublayers[int(place)], named)
    return _site_by_name(name)


@lru_cache(maxsize=1 << 14)  # models of one experiment hardly differ in the names of their parameters
def _site_by_name(name: str) -> Site | None:
    """The site of a parameter whose name alone says where it is."""
    match name.split("."):
        case ["output", tensor]:
            return Site(None, None, "output", tensor)
        case [stack, *_] if stack not in _STACKS:
            return None
        case [stack, "layers", number, "placement", tensor] if number.isdecimal():
            return Site(stack, int(number) + 1, None, tensor)  # of the whole layer, such as ReZero's `alpha`
        case [stack, "layers", number, sublayer, *path] if number.isdecimal() and path:
            return Site(stack, int(number) + 1, sublayer, _tensor(path))
        case [stack, "embedding" | "final_norm" as sublayer, *_, tensor]:
            return Site(stack, None, sublayer, _AFFINE.get(tensor, tensor))
    return None


def _tensor(path: list[str]) -> str:
    """``q.weight`` is q, ``q.bias`` bq, ``w1.bias`` b1, ``q.gain`` gain_q, and ``norms.q.weight`` scale_q.

    A parameter of the sublayer itself keeps its name, except that ``weight`` is scale and ``bias`` shift, as in a norm.
    """
    if len(path) == 1:
        return _AFFINE.get(path[0], path[0])
    if len(path) == 3:
        return f"{_AFFINE.get(path[-1], path[-1])}_{path[-2]}"
    if path[-1] == "bias":
        return f"b{path[-2].removeprefix('w')}"
    return path[-2] if path[-1] == "weight" else "_".join(reversed(path))


_AFFINE = {"weight": "scale", "bias": "shift"}
