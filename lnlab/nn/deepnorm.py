"""``x = norm(alpha x + f(x))`` and branches that are beta times smaller: DeepNorm (Wang et al., 2022).

Alpha and beta depend on the number of layers N of the stack and M of the other one. They bound the change of the output
by one update at any depth. A stack with s residual branches per layer has alpha = (s N)^(1/4) and beta =
(4 s N)^(-1/4), with s = 2 alone and s = 3 for a decoder that attends to an encoder. That encoder has alpha =
0.81 (N⁴ M)^(1/16) and beta = 0.87 (N⁴ M)^(-1/16).

The authors' code differs from the paper. It scales the initial values of its modules, so that v has a gain of 1/√2
beside beta, and w1 and w2 begin as U(-1/√fan_in, 1/√fan_in). The encoder's beta is 1.15 (N⁴ M)^(-1/16).
"""

from torch import Tensor, nn

from lnlab.nn.inits import InitDistribution, depths, fill, inits, xavier
from lnlab.nn.placements import LayerSpec, Sublayer, placements
from lnlab.nn.sites import Site
from lnlab.randomness import Draw


@placements.register("deepnorm", norm_of="stream")
class DeepNorm(nn.Module):
    """``x = norm(alpha x + f(x))``: a constant alpha of both stacks' depths, at every sublayer (Wang et al., 2022).

    Its other half is the init ``deepnorm``.
    """

    final_norm = False

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.alpha, _ = constants(at.stack, at.layers, at.other_layers, at.sublayers)
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = norm(self.alpha * x + f(x))
        return x


@inits.register("deepnorm", norm_of="stream")
def deepnorm(model: nn.Module, draw: Draw) -> None:
    """``N(0, beta² 2 / (fan_in + fan_out))``: v o w1 w2, with beta of both depths, 1 for q k (Wang et al., 2022).

    Tables are N(0, 1/d). The authors' code differs: see the module.
    """
    stacks = depths(model)
    beta = {}
    for name, (layers, sublayers) in stacks.items():
        # Of two stacks each has the other's layers in its constants; a single one has none.
        other = next((other for stack, (other, _) in stacks.items() if stack != name), None)
        _, beta[name] = constants(name, layers, other, sublayers)

    def distribution(site: Site) -> InitDistribution:
        return xavier("normal", 1.0 if site.tensor in ("q", "k") else beta[str(site.stack)])

    fill(model, draw, distribution)


def constants(stack: str, layers: int, other_layers: int | None, sublayers: int) -> tuple[float, float]:
    """Alpha and beta of a stack with ``sublayers`` residual branches per layer.

    ``other_layers`` is the number of layers of the other stack, None if there is none.
    """
    if stack == "encoder" and other_layers is not None:
        depth: float = (layers**4 * other_layers) ** (1 / 16)
        return 0.81 * depth, 0.87 / depth
    return (sublayers * layers) ** 0.25, (4 * sublayers * layers) ** -0.25
