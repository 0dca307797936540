"""A module with the addresses of what is measured of it, and copies of it that probes may use up."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from lnlab.nn.site import AddressedModel, Site, StreamPoint, TokenMask
from lnlab.own_model.addresses import Address, parameter_addresses
from lnlab.own_model.fused import addressed_copy, printed_paths
from lnlab.own_model.patterns import refuse
from lnlab.own_model.stream import stream_points


@dataclass(frozen=True)
class Subject:
    """A module as it is measured.

    Attributes:
        module: the user's own, of which only copies are touched.
        addresses: by the name of a parameter.
        points: of the stream, by site.
        mask: from a batch to where the stream has tokens; None: everywhere.
    """

    module: nn.Module
    addresses: Mapping[str, Address]
    points: Mapping[Site, StreamPoint]
    mask: TokenMask | None

    @classmethod
    def of(
        cls, module: nn.Module, sites: Mapping[str, str], stream: Mapping[str, str], mask: TokenMask | None
    ) -> "Subject":
        """A module with its addresses by pattern, as ``lnlab.measure`` reads them.

        Raises:
            LabError: a pattern is wrong, or a parameter and a point of the stream have one address.
        """
        addresses = parameter_addresses(module, sites)
        points = stream_points(module, stream)
        paths = printed_paths(module, addresses)
        if both := next((site for site in points if site in paths), None):
            what = f"'{paths[both]}' in sites= and '{points[both]}' in stream= have one address"
            refuse(what, "call the tensor of the parameter something else")
        return cls(module, addresses, points, mask)

    @property
    def paths(self) -> dict[Site, str]:
        """By site the name of the parameter or the module there."""
        streams = {site: str(point) for site, point in self.points.items()}
        return printed_paths(self.module, self.addresses) | streams

    def copy(self) -> AddressedModel:
        """A deep copy with its addresses."""
        return addressed_copy(self.module, self.addresses, self.points, self.mask)[0]
