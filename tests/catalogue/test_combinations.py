"""Every norm, placement, model and attention together: what is let through trains, what is refused has a reason."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from lnlab.catalogue import REGISTRIES
from lnlab.compile.checks.contradictions import contradictions
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.issues import Issue
from lnlab.nn.sites import Site, parameter_uses
from lnlab.probes.probe import State
from lnlab.registry import Choice, Entry
from tests.support.pieces import LABELS, state_of

TASK = LABELS | {"vocabulary": 12, "sentences": 2, "length": 4, "law": "uniform"}
STEPS, RATE = 3, 0.02
WIDTH = 16
ATTENTIONS = [
    # far below its base width muP's products are large, and saturate the softmax of a model without norm
    {"kind": "mup", "base_width": WIDTH} if entry.name == "mup" else entry.name
    for entry in REGISTRIES["attention"]
]


def asked(model: Entry, placement: Entry, attention: Choice | str, **given: Choice | str) -> Choice:
    """A tiny setting as a spec writes it; a placement that is two in one stack gets a layer of each."""
    layers = {"layers": 4 if placement.facts.norm_of == "both" else 1}
    # Behind the closed gates of both stacks what reads or returns unit vectors moves by less than rounding.
    short = attention == "ngpt" or given.get("norm") == "unit"
    opened = {placement.facts.gate: 0.1} if short and placement.facts.gate else {}
    return {
        "task": TASK if model.facts.says == "sentence" else TASK | {"classes": None},
        "model": {"kind": model.name, "d_model": WIDTH, "heads": 2, "d_ff": 8} | layers,
        "placement": {"kind": placement.name} | opened,
        "attention": attention,
    } | given


def flaws_of(given: Choice) -> list[Issue]:
    return contradictions(resolve_setting(given, REGISTRIES), REGISTRIES)


def descended(state: State) -> tuple[list[float], dict[Site, bool]]:
    """The loss of a batch before each clipped step of gradient descent and after all; and what moved. In float64."""
    model, (batch,) = state.model.double().train(), state.batches(1)
    leaves = list(model.parameters())
    before, losses = [p.detach().clone() for p in leaves], []
    for _ in range(STEPS):
        loss, count = state.task.loss(model, batch)
        gradients = torch.autograd.grad(loss / count, leaves)
        losses.append(loss.item() / count)
        with torch.no_grad():
            torch._foreach_add_(leaves, gradients, alpha=-RATE / max(1.0, norm_of(gradients)))
    losses.append(state.task.loss(model, batch)[0].item() / count)
    places = {id(p): site for site, p in parameter_uses(model)}
    moved = {places[id(p)]: not at_rest(p, was) for p, was in zip(leaves, before, strict=True)}
    return losses, moved


def norm_of(gradients: tuple[Tensor, ...]) -> float:
    return torch.stack([g.norm() for g in gradients]).norm().item()


def at_rest(p: Tensor, was: Tensor) -> bool:
    return bool((p.detach() - was).abs().max() < 1e-13)


def without_effect(state: State, site: Site) -> bool:
    """Whether no logit depends on a parameter: softmax hides what all keys share, batch norm what all tokens do."""
    (batch,) = state.batches(1)
    parameter = dict(parameter_uses(state.model))[site]
    with torch.no_grad():
        before = state.model(batch)
        parameter += torch.linspace(-1, 2, parameter.numel(), dtype=parameter.dtype).view(parameter.shape)
        return bool((state.model(batch) - before).abs().max() < 1e-9)


NORMS, PLACEMENTS = list(REGISTRIES["norm"]), list(REGISTRIES["placement"])
INSIDE = list(product(REGISTRIES["model"], ATTENTIONS))
PARTS = 16
"""Of the models and attentions a norm and a placement meet one part in every run, another from placement to placement:
so each norm, and each placement, meets every model with every attention somewhere."""


@pytest.mark.parametrize("part", ["one part", pytest.param("the other parts", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("placement", PLACEMENTS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("norm", NORMS, ids=lambda entry: entry.name)
def test_what_is_let_through_trains_and_what_is_refused_has_a_reason(norm, placement, part):
    """A norm that is refused in a causal stack alone stands in the other."""
    first = (NORMS.index(norm) + PLACEMENTS.index(placement)) % PARTS
    for number, (model, attention) in enumerate(INSIDE):
        if (number % PARTS == first) != (part == "one part"):
            continue
        given = asked(model, placement, attention, norm=norm.name)
        flaws = flaws_of(given)
        assert all(flaw.path and flaw.what and flaw.remedy for flaw in flaws)
        if [flaw.path for flaw in flaws] == [("decoder", "norm")] and "encoder" in model.facts.stacks:
            given = asked(model, placement, attention, encoder={"norm": norm.name}, decoder={"norm": "layer"})
            flaws = flaws_of(given)
        if not flaws:
            must_train(state_of(resolve_setting(given, REGISTRIES)))


def must_train(state: State) -> None:
    losses, moved = descended(state)
    assert all(map(math.isfinite, losses))
    resting = [site for site, has in moved.items() if not has]
    assert all(site.tensor.startswith(("b", "shift")) for site in resting), resting
    assert all(without_effect(state, site) for site in resting), resting
