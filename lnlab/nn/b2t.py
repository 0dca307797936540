"""``x = norm(x_in + x + f(x))``: a second skip, from the bottom of a layer to its top (Takase et al., 2022)."""

from torch import Tensor, nn

from lnlab.nn.placements import Place, Sublayer, placements


@placements.register("b2t", norm_of="stream")
class BottomToTop(nn.Module):
    """``x = norm(x_in + x + f(x))`` in a layer's last sublayer: before it, Post-LN as it is (Takase et al., 2022).

    So the layer's input x_in passes one norm a layer. The authors' code also multiplies every matrix of a layer by
    N^(-1/2) at first; that is for an init to do.
    """

    final_norm = False

    def __init__(self, at: Place) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        bottom = x
        for f, norm in zip(sublayers[:-1], self.norms[:-1], strict=True):
            x = norm(x + f(x))
        top: Tensor = self.norms[-1](bottom + x + sublayers[-1](x))
        return top
