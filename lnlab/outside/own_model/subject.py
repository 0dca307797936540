"""A module with the addresses of what is measured of it, and copies of it that probes may use up."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from lnlab.curvature.copies import inside_wrappers, module_copy
from lnlab.nn.site import AddressedModel, Site, StreamPoint, TokenMask
from lnlab.outside.own_model.addresses import Address, parameter_addresses
from lnlab.outside.own_model.boundary import guarded
from lnlab.outside.own_model.fused import addressed_copy, printed_paths
from lnlab.outside.own_model.patterns import refuse
from lnlab.outside.own_model.stream import stream_points


@dataclass(frozen=True)
class Subject:
    """A module as it is measured.

    Attributes:
        module: the user's own. Only copies of it are touched.
        addresses: by the name of a parameter.
        points: of the stream, by site.
        mask: from a batch to where the stream has tokens. None means everywhere.
        structure: the module, or a copy on its parameters without the wrappers of single parts: it has their names.
        hooked: whether copies have the hooks on the forward passes of the module, as its results depend on them.
        remembered: whether norms over batches use their running statistics.
        loss: of the first batch, once that has been checked.
    """

    module: nn.Module
    addresses: Mapping[str, Address]
    points: Mapping[Site, StreamPoint]
    mask: TokenMask | None
    structure: nn.Module
    hooked: bool = True
    remembered: bool = False
    loss: float | None = None

    @classmethod
    def of(
        cls, module: nn.Module, sites: Mapping[str, str], stream: Mapping[str, str], mask: TokenMask | None
    ) -> "Subject":
        """A module with its addresses by pattern, as ``lnlab.measure`` reads them. Its wrappers are left out.

        Raises:
            LabError: a pattern is wrong, or a parameter and a point of the stream have one address.
        """
        module = inside_wrappers(module)
        wrapped = any(inside_wrappers(part) is not part for part in module.modules())
        structure = module_copy(module, {id(p): p for p in module.parameters()}) if wrapped else module
        if shape := next((name for name, p in structure.named_parameters() if p.is_meta), None):
            what = f"the parameter '{shape}' has no values: it is on the device meta"
            refuse(what, "build the model outside of torch.device('meta'), or give it its values")
        addresses = parameter_addresses(structure, sites)
        points = stream_points(structure, stream)
        paths = printed_paths(structure, addresses)
        if both := next((site for site in points if site in paths), None):
            what = f"'{paths[both]}' in sites= and '{points[both]}' in stream= have one address"
            refuse(what, "call the tensor of the parameter something else")
        user_mask = mask  # of the user's: an error in it is one line, as in a loss

        def guarded_mask(batch: Any) -> Any:
            with guarded("the mask of a batch", "call mask(batch) without lnlab: it fails there, too"):
                return None if user_mask is None else user_mask(batch)

        return cls(
            module=module,
            addresses=addresses,
            points=points,
            mask=None if mask is None else guarded_mask,
            structure=structure,
        )

    @property
    def paths(self) -> dict[Site, str]:
        """The name of the parameter or the module at each site."""
        streams = {site: str(point) for site, point in self.points.items()}
        return printed_paths(self.structure, self.addresses) | streams

    def fingerprint(self) -> str:
        """A digest of parameters, buffers and loss, the same for two models that are copies of one another."""
        content = hashlib.sha256(repr(self.loss).encode())
        for name, tensor in (*self.structure.named_parameters(), *self.structure.named_buffers()):
            content.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            # As bytes, as NumPy knows no bfloat16.
            content.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return content.hexdigest()

    def copy(self) -> AddressedModel:
        """A deep copy with its addresses."""
        own, _ = addressed_copy(self.module, self.addresses, self.points, self.mask)
        clear_hooks(own, forward=not self.hooked)
        own.remembered = self.remembered
        return own


def forward_hooks(module: nn.Module) -> bool:
    """Whether anything but torch itself, as its weight norm, has hooks on the forward passes of a module."""
    return any(
        not _is_torch_hook(h)
        for m in module.modules()
        for h in (*m._forward_hooks.values(), *m._forward_pre_hooks.values())
    )


def clear_hooks(module: nn.Module, *, forward: bool) -> None:
    """Take the hooks off a copy: those on backward passes, as a gradient is that of the loss alone, and the others."""
    for part in module.modules():
        part._backward_hooks.clear()
        part._backward_pre_hooks.clear()
        for hooks in (part._forward_hooks, part._forward_pre_hooks) if forward else ():
            for number in [number for number, hook in hooks.items() if not _is_torch_hook(hook)]:
                del hooks[number]


def _is_torch_hook(hook: Any) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("torch.")
