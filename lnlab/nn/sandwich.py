"""``x = x + norm(f(norm(x)))``: a norm at both ends of the branch (Ding et al., 2021)."""

from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Sublayer, placements


@placements.register("sandwich", norm_of="branch")
class Sandwich(nn.Module):
    """``x = x + outer(f(norm(x)))``: Pre-LN with a second norm on what the branch gives back (Ding et al., 2021).

    With the final norm it is Peri-LN (Kim et al., 2025) except for that paper's optional norm of the embeddings: each
    branch adds a variance of 1 whatever its weights, so that the stream grows linearly in training too.
    """

    final_norm = True

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.outer = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm, outer in zip(sublayers, self.norms, self.outer, strict=True):
            x = x + outer(f(norm(x)))
        return x
