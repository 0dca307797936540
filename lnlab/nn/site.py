"""The address of a weight or an activation, and a model from elsewhere with such addresses."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue


@dataclass(frozen=True)
class Site:
    """The address of a weight or an activation. ``layer`` counts from 1 and is None outside layers."""

    stack: str | None
    layer: int | None
    sublayer: str | None
    tensor: str

    def row(self) -> dict[str, str | int | None]:
        """The site's columns of a table, in order."""
        return {"stack": self.stack, "layer": self.layer, "sublayer": self.sublayer, "tensor": self.tensor}


@dataclass(frozen=True)
class StreamPoint:
    """The output of a module, or its input."""

    path: str
    at_input: bool = False

    def __str__(self) -> str:
        return f"{self.path}:input" if self.at_input else self.path


TokenMask = Callable[[Any], Tensor | Mapping[str, Tensor]]
"""From a batch to a mask that is True at tokens and False at padding."""


class AddressedModel(nn.Module):
    """Any module, with an address for each of its parameters. A tied parameter has one address.

    Args:
        module: the model, as a loss calls it.
        sites: the address of each parameter by its name in ``module.named_parameters()``, each different.
        stream: where the residual stream passes, by site. It is empty where this is not known.
        mask: maps a batch to the mask of its tokens, (batch, length), False at padding, or to one such mask per stack
            by name. None means that every position is a token.

    Attributes:
        remembered: whether norms over batches use their running statistics while it is measured.
    """

    remembered = False

    def __init__(
        self,
        module: nn.Module,
        sites: Mapping[str, Site],
        stream: Mapping[Site, StreamPoint] | None = None,
        mask: TokenMask | None = None,
    ) -> None:
        super().__init__()
        self.module = module
        self.sites = dict(sites)
        self.stream = dict(stream or {})
        self.mask = mask
        self._recorded: dict[StreamPoint, tuple[Tensor, int]] = {}

    def addressed_parameters(self) -> list[tuple[str, Site, nn.Parameter]]:
        """Every parameter once: its name in this module, its address, and itself."""
        return [(f"module.{name}", site, self.module.get_parameter(name)) for name, site in self.sites.items()]

    def tokens_at(self, batch: Any) -> Callable[[Site, Tensor], Tensor]:
        """Return a function from a site and its tensor (..., width) to the mask of its tokens (...).

        Raises:
            LabError: the mask does not fit that tensor, or has no token.
        """
        if self.mask is None:
            return lambda _, x: torch.ones(x.shape[:-1], dtype=torch.bool, device=x.device)
        masks = self.mask(batch)

        def present(site: Site, x: Tensor) -> Tensor:
            mask = masks.get(str(site.stack)) if isinstance(masks, Mapping) else masks
            if not isinstance(mask, Tensor) or mask.shape != x.shape[:-1]:
                returned = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
                what = f"the mask of a batch is {returned}, and the stream at '{self.stream[site]}' {tuple(x.shape)}"
                raise LabError(
                    Issue("unsupported", "measure", what, "return (batch, length), or {'encoder': ..., 'decoder': ...}")
                )
            if not bool(mask.any()):
                raise LabError(
                    Issue("unsupported", "measure", "the mask of a batch leaves no token", "let it be True at tokens")
                )
            return mask.to(x.device, torch.bool)

        return present

    @contextmanager
    def differentiable(self) -> Iterator[None]:
        """Let frozen parameters have gradients inside the block."""
        frozen = [parameter for parameter in self.module.parameters() if not parameter.requires_grad]
        for parameter in frozen:
            parameter.requires_grad_()
        try:
            yield
        finally:
            for parameter in frozen:
                parameter.requires_grad_(False)

    @contextmanager
    def same_parameters(self) -> Iterator[None]:
        """Refuse a pass that adds, drops or replaces parameters, as they have no address and no optimizer."""
        before = dict(self.module.named_parameters())
        yield
        after = dict(self.module.named_parameters())
        if before.keys() != after.keys() or any(after[name] is not p for name, p in before.items()):
            what = "the model adds, drops or replaces parameters in its forward pass"
            raise LabError(
                Issue("unsupported", "measure", what, "give it all of them when it is built, or call it once there")
            )

    @contextmanager
    def activations(self) -> Iterator[dict[Site, Tensor]]:
        """Yield a dict that each forward pass fills with the stream, (..., width), at its sites."""
        seen: dict[Site, Tensor] = {}
        sites: dict[StreamPoint, list[Site]] = {}
        for site, point in self.stream.items():
            sites.setdefault(point, []).append(site)
        with ExitStack() as hooks:
            for point, same in sites.items():
                hooks.callback(self._watch(point, same, seen).remove)
            yield seen

    def end_pass(self) -> None:
        """Refuse a pass that has changed a recorded tensor in place, as the record is then wrong."""
        recorded = self._recorded
        self._recorded = {}
        for point, (x, version) in recorded.items():
            if x._version != version:
                what = f"the stream at '{point}' is changed in place after that"
                raise LabError(
                    Issue(
                        "unsupported", "measure", what, "write x = x + y for x += y, or leave the point out of stream="
                    )
                )

    def _watch(
        self, point: StreamPoint, sites: list[Site], seen: dict[Site, Tensor]
    ) -> torch.utils.hooks.RemovableHandle:
        def keep(values: tuple[Any, ...]) -> None:
            x = first_tensor(values)
            if x is None or x.dim() < 2:
                shape = "no tensor" if x is None else f"a tensor of shape {tuple(x.shape)}"
                what = f"the stream at '{point}' is {shape}, expected (batch, length, width)"
                raise LabError(Issue("wrong-type", "measure", what, "name another module in stream="))
            if point in self._recorded:
                what = f"the stream passes '{point}' more than once in a forward pass"
                raise LabError(Issue("unsupported", "measure", what, "name modules in stream= that are called once"))
            self._recorded[point] = x, x._version  # torch raises the version by each change in place
            seen.update(dict.fromkeys(sites, x))

        module = self.module.get_submodule(point.path)
        if point.at_input:  # which the caller may have given by its keyword
            return module.register_forward_pre_hook(
                lambda _, args, kwargs: keep((args, *kwargs.values())), with_kwargs=True
            )
        return module.register_forward_hook(lambda _m, _x, y: keep((y,)))


def first_tensor(values: Any) -> Tensor | None:
    """Return the first tensor in nested tuples, or in objects indexed like them."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, Mapping):
        values = tuple(values.values())
    if isinstance(values, tuple | list):
        return next((x for value in values if (x := first_tensor(value)) is not None), None)
    return None
