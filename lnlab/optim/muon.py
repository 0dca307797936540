"""``W <- (1 - lr λ) W - lr s NS(g')``: orthogonalized momentum for matrices inside layers, and optimizers by group.

    m <- m + (1 - μ)(g - m),    g' = (1 - μ) g + μ m (Nesterov) or m

NS is the Newton-Schulz iteration of Jordan et al. (2024). With X = g' / ‖g'‖_F, transposed so that the shorter side
comes first,

    A = X Xᵀ,    X <- a X + (b A + c A²) X,    (a, b, c) = (3.4445, -4.7750, 2.0315), five times.

For g' = U S Vᵀ it is U p⁵(S / ‖S‖) Vᵀ with p(x) = a x + b x³ + c x⁵, which takes most singular values to between 0.7
and 1.2. Small ones stay small. The authors' code computes it in bfloat16, this one in the format of the weights.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.optim.moments import Group, Memory, MomentsOptimizer
from lnlab.optim.optimizers import Beta, Decay, GradientsElsewhere, LearningRate, optimizers
from lnlab.registry import default

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
HIDDEN = "hidden"
"""The key of a parameter group that says whether it holds matrices of layers, or everything else."""


def newton_schulz(matrix: Tensor, steps: int = 5) -> Tensor:
    """``U p⁵(S / ‖S‖) Vᵀ`` of a matrix U S Vᵀ (rows, columns), nearly orthogonal (Jordan et al., 2024)."""
    a, b, c = COEFFICIENTS
    # The shorter side first, so that A = X Xᵀ is the smaller of the two products.
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.mT if tall else matrix
    x = x / (torch.linalg.matrix_norm(x) + 1e-7)  # a momentum of zeros stays one
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    nearly_orthogonal: Tensor = x.mT if tall else x
    return nearly_orthogonal


@optimizers.register("muon")
class Muon(MomentsOptimizer):
    """``ΔW = -lr s NS(momentum)``: an update that is as long in every direction (Jordan et al., 2024).

    s is ``scale: shape``, sqrt(max(1, rows / columns)), or ``rms``, 0.2 sqrt(max(rows, columns)), with which an update
    has the root mean square of AdamW's (Liu et al., 2025). It is for matrices alone: give the others an optimizer of
    their own by ``by_group``. Decay is decoupled. torch.optim.Muon has other defaults, lr 0.001 and weight_decay 0.1.
    """

    def __init__(
        self,
        parameters: ParamsT,
        *,
        lr: LearningRate = 0.02,
        momentum: Beta = 0.95,
        nesterov: bool = True,
        weight_decay: Decay = 0.0,
        scale: Literal["shape", "rms"] = "shape",
        iterations: Annotated[int, Field(ge=1, le=20)] = 5,
    ) -> None:
        options: dict[str, Any] = {"lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
        super().__init__(parameters, **options | {"scale": scale, "iterations": iterations})
        if any(p.dim() != 2 for group in self.param_groups for p in group["params"]):
            what = "muon updates matrices only, and the model also has vectors"
            remedy = "write {kind: by_group, matrices: muon, others: adamw}"
            raise LabError(Issue("unsupported", "optimizer", what, remedy))

    def update(self, parameter: Tensor, gradient: Tensor, memory: Memory, group: Group) -> None:
        """Move the momentum towards the gradient, and the weights along the orthogonalized momentum, in place."""
        if not memory:
            memory["momentum_buffer"] = torch.zeros_like(gradient)
        average = memory["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        # Not in place: `gradient` is what probes read.
        ahead = gradient.lerp(average, group["momentum"]) if group["nesterov"] else average
        rows, columns = parameter.shape
        size = max(1, rows / columns) ** 0.5 if group["scale"] == "shape" else 0.2 * max(rows, columns) ** 0.5
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(newton_schulz(ahead, group["iterations"]), alpha=-group["lr"] * size)


@optimizers.register("by_group", splits=True)
class ByGroup(Optimizer, GradientsElsewhere):
    """``Δθ = by matrices inside layers, by others elsewhere``: two optimizers for one model (Jordan et al., 2024).

    The rest are tables, output, gains, shifts and biases. Each has its own rate, which ``lr`` multiplies so that both
    are tuned together, and a warm-up of its own (``..._warmup_steps``, min(t/T, 1)) which multiplies the schedule that
    they share. The usual pair is Muon and AdamW. A table that is also the output's is one of the others.
    """

    def __init__(
        self,
        parameters: ParamsT,
        *,
        lr: LearningRate = 1.0,
        matrices: Annotated[Callable[..., Optimizer], optimizers] = default("muon"),
        others: Annotated[Callable[..., Optimizer], optimizers] = default(
            "adamw", lr=3e-4, beta1=0.9, beta2=0.95, eps=1e-10, weight_decay=0.0
        ),
        matrices_warmup_steps: Annotated[int, Field(ge=0)] = 0,
        others_warmup_steps: Annotated[int, Field(ge=0)] = 0,
    ) -> None:
        given: list[dict[str, Any]] = list(parameters)  # type: ignore[arg-type]
        self._parts: dict[bool, Optimizer] = {}
        groups = []
        for hidden, build, warmup in ((True, matrices, matrices_warmup_steps), (False, others, others_warmup_steps)):
            own = [dict(group) for group in given if group[HIDDEN] is hidden]
            if not own:
                what = f"by_group: the model has no {'matrices inside layers' if hidden else 'other parameters'}"
                raise LabError(Issue("unsupported", "optimizer", what, "give one optimizer for all"))
            self._parts[hidden] = build(own)
            for group in self._parts[hidden].param_groups:
                groups.append({**group, "lr": lr * group["lr"], "warmup_steps": warmup})
        super().__init__(groups, {})

    @contextmanager
    def at_gradient_point(self) -> Iterator[None]:
        """Move the weights to the point at which each part takes its gradient, and restore them on exit.

        A schedule-free optimizer takes its gradient at other weights than those of the
        model.
        """
        with ExitStack() as points:
            for part in self._synchronized_parts():
                if isinstance(part, GradientsElsewhere):
                    points.enter_context(part.at_gradient_point())
            yield

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Have each part update its own parameters. Returns the loss of ``closure``, None without one."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for part in self._synchronized_parts():
            part.step()
        return loss

    def _synchronized_parts(self) -> Iterator[Optimizer]:
        """Give each part this optimizer's groups and state, which may have been restored or divided, and yield it."""
        for hidden, part in self._parts.items():
            part.param_groups = [group for group in self.param_groups if group[HIDDEN] is hidden]
            part.state = self.state
            yield part
