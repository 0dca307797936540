"""``ΔF = F(W + δ) - F(W)``, for a small step δ of the weights: the change, the change by δ/3, and ``ΔF - J δ``.

The computation is in float64. A step of 1e-6 changes an output by a part in 10⁵, of which float32 keeps two digits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lnlab.probes.support.float64_copy import doubles, value_and_change
from lnlab.probes.support.token_masks import token_masks
from lnlab.tasks.task import Batch


@dataclass(frozen=True)
class Step:
    """``δ = size · sign`` at every entry of the tensors that move.

    Attributes:
        signs: -1, 0 or 1, by the tensor's name.
        sizes: step size by the tensor's name.
    """

    signs: Mapping[str, Tensor]
    sizes: Mapping[str, float]

    @property
    def delta(self) -> dict[str, Tensor]:
        """δ itself."""
        return {name: self.sizes[name] * sign for name, sign in self.signs.items()}

    def applied(self, at: Mapping[str, Tensor], by: float = 1.0) -> dict[str, Tensor]:
        """``at + δ/by``, by name. Tensors that do not move are unchanged."""
        moved = {n: torch.add(at[n], sign, alpha=self.sizes[n] / by) for n, sign in self.signs.items()}
        return {**at, **moved}


class Start:
    """The weights at which steps begin, and the outputs at them.

    Attributes:
        at: the weights and buffers in float64, by name.
        tokens: number of tokens of all batches, by stack.
    """

    def __init__(self, f: nn.Module, batches: Sequence[Batch]) -> None:
        """``f`` maps a batch to outputs (batch, length, ...) by the name of a stack."""
        self.f = f
        self.batches = batches
        self.at = doubles(f)
        with torch.no_grad():
            self.outputs = [self.outputs_at(self.at, batch) for batch in batches]
        # The squared norm of a one at every token is their number.
        self.tokens = self.squared_norms(
            [{s: torch.ones_like(y[..., :1]) for s, y in outputs.items()} for outputs in self.outputs]
        )

    def outputs_at(self, at: Mapping[str, Tensor], batch: Batch) -> dict[str, Tensor]:
        """The outputs of ``f`` with these weights."""
        outputs: dict[str, Tensor] = functional_call(self.f, dict(at), (batch,))
        return outputs

    def squared_norms(self, outputs: Iterable[Mapping[str, Tensor]]) -> dict[str, float]:
        """The squared norm over all tokens of all batches, without padding, by stack."""
        sums: dict[str, float] = {}
        for batch, stack_outputs in zip(self.batches, outputs, strict=True):
            masks = token_masks(batch)
            for stack, y in stack_outputs.items():
                sums[stack] = sums.get(stack, 0.0) + float(y[masks[stack]].square().sum())
        return sums


@torch.no_grad()
def change(start: Start, step: Step, by: float = 1.0) -> dict[str, float]:
    """``Σ ‖ΔF(δ/by)‖²`` over all tokens, by stack."""
    moved = step.applied(start.at, by)
    return start.squared_norms(
        _minus(start.outputs_at(moved, b), y) for b, y in zip(start.batches, start.outputs, strict=True)
    )


@torch.no_grad()
def remainder(start: Start, step: Step) -> dict[str, float]:
    """``Σ ‖ΔF(δ) - J δ‖²`` over all tokens, by stack: the part that is not of first order."""
    moving = {name: start.at[name] for name in step.signs}
    moved = step.applied(start.at)

    def nonlinear_part(batch: Batch) -> dict[str, Tensor]:
        before, first = value_and_change(lambda at: start.outputs_at({**start.at, **at}, batch), moving, step.delta)
        return _minus(_minus(start.outputs_at(moved, batch), before), first)

    return start.squared_norms(map(nonlinear_part, start.batches))


def _minus(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {stack: one[stack] - y for stack, y in other.items()}
