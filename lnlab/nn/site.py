"""The address of a weight or an activation, and a model from elsewhere with the addresses of its parameters."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from torch import nn


@dataclass(frozen=True)
class Site:
    """The address of a weight or an activation; layers count from 1 and are None outside layers."""

    stack: str | None
    layer: int | None
    sublayer: str | None
    tensor: str

    def row(self) -> dict[str, str | int | None]:
        """The site's columns of a table, in order."""
        return asdict(self)


class AddressedModel(nn.Module):
    """Any module, with an address for each of its parameters; a tied one is one parameter, with one address.

    Args:
        module: the model, as a loss calls it.
        sites: by the name of a parameter in ``module.named_parameters()`` its address, each different.
    """

    def __init__(self, module: nn.Module, sites: Mapping[str, Site]) -> None:
        super().__init__()
        self.module = module
        self.sites = dict(sites)

    def addressed_parameters(self) -> list[tuple[str, Site, nn.Parameter]]:
        """Every parameter once: its name in this module, its address, and itself."""
        return [(f"module.{name}", site, self.module.get_parameter(name)) for name, site in self.sites.items()]

    @contextmanager
    def differentiable(self) -> Iterator[None]:
        """Inside, frozen parameters have gradients too."""
        frozen = [parameter for parameter in self.module.parameters() if not parameter.requires_grad]
        for parameter in frozen:
            parameter.requires_grad_()
        try:
            yield
        finally:
            for parameter in frozen:
                parameter.requires_grad_(False)
