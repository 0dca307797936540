"""Every norm in every placement, and every attention and init: three steps of plain gradient descent on one batch."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lnlab.nn.attention import attentions
from lnlab.nn.inits import inits
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements


def losses(model: nn.Module, batch, steps: int = 3, rate: float = 1e-3) -> list[float]:
    """The loss before each step and after the last, in training mode; every gradient must be finite."""
    model.train()
    found = []
    for _ in range(steps + 1):
        loss = cross_entropy(model(batch).flatten(0, 1), batch.target_in.roll(-1, 1).flatten(), ignore_index=0)
        found.append(loss.item())
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients, strict=True):
                assert g.isfinite().all()
                p -= rate * g
    return found


@pytest.mark.parametrize("placement", [entry.name for entry in placements])
@pytest.mark.parametrize("norm", list(norms), ids=lambda entry: entry.name)
def test_every_norm_trains_in_every_placement(setting, build, batch, placement, norm):
    """What may not stand in a causal stack stands in the encoder alone."""
    decoder = {} if norm.facts.statistics == "token" else {"norm": norms.resolve("layer")}
    found = losses(build(setting(placement, norm=norm.name, decoder=decoder)), batch)
    assert found[-1] < found[0]


@pytest.mark.parametrize("attention", [entry.name for entry in attentions])
def test_every_attention_trains(setting, build, batch, attention):
    found = losses(build(setting("pre", attention=attention)), batch)
    assert found[-1] < found[0]


WITHOUT_ARGUMENTS = [
    entry.name
    for entry in inits
    if not (entry.facts.own or entry.facts.continues)
    and all(parameter.default is not parameter.empty for parameter in entry.keywords.values())
]


@pytest.mark.parametrize("init", WITHOUT_ARGUMENTS)
def test_every_init_trains_a_model_without_norms(setting, build, batch, init):
    found = losses(build(setting("pre", norm="none", tied="none"), init=init), batch)
    assert found[-1] < found[0]


def test_rezero_wakes_up_at_the_first_step(setting, build, batch):
    """At first only the decoder's gates and tables have a gradient; then its matrices and, through them, the encoder's
    gates; then all."""
    model = build(setting("rezero"))
    nonzero = []
    for _ in range(3):
        loss = cross_entropy(model(batch).flatten(0, 1), batch.target_in.flatten())
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        nonzero.append({name for (name, _), g in zip(model.named_parameters(), gradients, strict=True) if g.any()})
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients, strict=True):
                p -= 0.1 * g
    gates = {f"decoder.layers.{i}.placement.alpha" for i in range(2)}
    assert nonzero[0] == gates | {"decoder.embedding.table"}
    matrices = {name for name, p in model.named_parameters() if p.dim() > 1}
    assert {name for name in matrices if name.startswith("decoder")} < nonzero[1]
    assert {name for name in nonzero[1] if name.startswith("encoder.layers")} == {
        gate.replace("decoder", "encoder") for gate in gates
    }
    assert matrices < nonzero[2]
