"""``x = norm(f(x))``: layers without residual connections (the "plain" networks of He et al., 2016)."""

from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Sublayer, placements


@placements.register("plain", norm_of="stream")
class Plain(nn.Module):
    """``x = norm(f(x))`` for each sublayer f: Post-LN without its residual connections (after He et al., 2016).

    All that a token is has to pass through every attention, which mixes it with others until all tokens are alike (Dong
    et al., 2021). There is no sum; where one is asked for, it is the branch.
    """

    final_norm = False

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = norm(f(x))
        return x
