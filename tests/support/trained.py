"""States in the middle of training: three updates by Adam, and a fourth whose gradient is at hand."""

from dataclasses import replace

import torch
from torch import Tensor

from lnlab.nn.modes import in_mode
from lnlab.probes.probe import State

UPDATES, RATE = 3, 1e-2
EPSILON = 1e-4
"""Large, so that entries whose gradient is rounding error alone hardly move, and numbers agree between machines."""


def gradient(state: State, number: int) -> dict[str, Tensor]:
    """Of the loss per token of a batch, with dropout, by the name of a parameter; leaves no trace."""
    leaves = {name: p for name, p in state.model.named_parameters() if p.requires_grad}
    with torch.random.fork_rng(devices=[]), in_mode(state.model, training=True), torch.enable_grad():
        torch.default_generator.manual_seed(state.draw("dropout", number))
        loss, count = state.task.loss(state.model, state.batches(number + 1, purpose="batches")[number])
        found = torch.autograd.grad(loss / count, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(leaves, found, strict=True))


def trained(state: State, updates: int = UPDATES) -> State:
    """The same model after so many updates, with all that a state in training has."""
    start = {name: p.detach().clone() for name, p in state.model.named_parameters()}
    optimizer = torch.optim.Adam(state.model.parameters(), lr=RATE, eps=EPSILON, foreach=False)
    before = start
    for number in range(updates):
        before = {name: p.detach().clone() for name, p in state.model.named_parameters()}
        for name, g in gradient(state, number).items():
            state.model.get_parameter(name).grad = g
        optimizer.step()
        optimizer.zero_grad()
    after = replace(
        state,
        step=updates,
        optimizer=optimizer,
        initial=lambda: {name: p.clone() for name, p in start.items()},
        last_update={name: p.detach() - before[name] for name, p in state.model.named_parameters()},
        last_rate=RATE,
    )
    after.next_gradient = lambda: gradient(after, updates)
    after.next_batches = lambda: after.batches(updates + 1, purpose="batches")[updates:]
    return after
