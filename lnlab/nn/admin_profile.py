"""Admin's profile: omega from one batch, sublayer after sublayer as the batch passes (Liu et al., 2020).

    omega_1 = 1,   omega_{i+1}² = Var[omega_i x_{i-1}] + Var[f_i(x_{i-1})]

over every coordinate of every token of the batch, with omega_i in its place before the batch goes on. The stream
between the norms has variance 1, so that omega_i² = Var[x_0] + Σ_{j<i} Var[f_j(x_{j-1})] for i >= 2. Each stack has its
own count. A decoder's sublayers are self-attention, cross-attention and feed-forward network, in this order.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from lnlab.nn.admin import Admin
from lnlab.nn.data import Batches
from lnlab.nn.inits import inits
from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.modes import in_mode
from lnlab.nn.placements import Sublayer
from lnlab.nn.seeding import restored_generators, seed_dropout
from lnlab.nn.transformer import Stack, stacks
from lnlab.randomness import Draw
from lnlab.registry import default


@inits.register("admin", profiles="admin", reads=lambda _: 1, passes=lambda _: 1.0)
def admin(
    model: nn.Module,
    draw: Draw,
    batches: Batches,
    *,
    of: Annotated[Callable[..., None], inits] = default("xavier_normal"),
    dropout: bool = False,
) -> None:
    """``omega_i² = Var[x_0] + Σ_{j<i} Var[f_j]``: another init, then the profile of one batch (Liu et al., 2020).

    It writes omega of placement ``admin`` with ``start: profiled``; omega_1 is 1. Padding is left out and dropout is
    off. The authors' code counts padding and leaves dropout on; ``dropout: true`` profiles in training mode too.
    """
    of(model, draw)
    (batch,) = batches(1)
    device = next(model.parameters()).device
    with torch.no_grad(), restored_generators(device), in_mode(model, training=dropout), ExitStack() as hooks:
        for stack in stacks(model).values():
            if any(placement.start == "profiled" for placement in _placements(stack)):
                _Profile(stack).follow(hooks)
        seed_dropout(draw("dropout", "profile"), device)
        model(batch)


def _placements(stack: Stack) -> list[Admin]:
    """The placements of a stack's layers that are Admin's."""
    return [p for p in (layer.placement for layer in stack.layers) if isinstance(p, Admin)]


class _Profile:
    """Writes each omega of a stack before the batch reaches it."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.omegas = [omega for placement in _placements(stack) for omega in placement.omega]
        self.done = 0
        self.present: Tensor | None = None

    def follow(self, hooks: ExitStack) -> None:
        """Watch the stack at work until the hooks are taken off."""

        def read(_stack: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            self.present = inputs[0] != PAD_TOKEN

        def enter(_placement: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            x, *sublayers = inputs
            return x, *(partial(self._through, f) for f in sublayers)  # what a pre-hook returns are the new arguments

        self.omegas[0].fill_(1)
        hooks.callback(self.stack.register_forward_pre_hook(read).remove)
        for placement in _placements(self.stack):
            hooks.callback(placement.register_forward_pre_hook(enter).remove)

    def _through(self, f: Sublayer, x: Tensor) -> Tensor:
        """Return the branch f(x), and set the next omega from the variances of the branch and of the scaled skip."""
        branch = f(x)
        omega = self.omegas[self.done]
        self.done += 1
        if self.done < len(self.omegas):
            self.omegas[self.done].fill_((self._variance(x * omega) + self._variance(branch)).sqrt())
        return branch

    def _variance(self, x: Tensor) -> Tensor:
        """Variance over every coordinate of every token, padding left out: (batch, length, width) -> (), float64."""
        return x[self.present].double().var(correction=0)
