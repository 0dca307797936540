"""The effect of an update against two copies of the model, and a linear stack's closed form."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from lnlab.errors import LabError
from lnlab.probes.update_effect import _change_of_any_model, update_effect
from tests.support.models import stack_outputs

STACKS = ("encoder", "decoder")


@pytest.mark.parametrize(("placement", "tied"), [("post", "all"), ("pre", "target")])
def test_the_change_is_that_between_two_copies_of_the_model(state, trained, values, placement, tied):
    made = trained(state(placement, tied=tied))
    now = copy.deepcopy(made.model).double()
    before = copy.deepcopy(now)
    with torch.no_grad():
        for name, p in before.named_parameters():
            p -= made.last_update[name].double()
    pairs = [(stack_outputs(now, batch), stack_outputs(before, batch)) for batch in made.batches(2)]
    length = sum(delta.double().square().sum().item() for delta in made.last_update.values())
    rows = list(update_effect(made, batches=2))
    changes, amplified = (values(rows, name) for name in ("output_change_update", "update_amplification"))
    for stack in STACKS:
        by_token = torch.cat([(after[stack] - earlier[stack]).square().sum(-1) for after, earlier in pairs])
        site = (stack, None, None, "out")
        assert by_token.mean() > 1e-4
        assert changes[site] == pytest.approx(by_token.mean().item(), rel=1e-9)
        assert amplified[site] == pytest.approx(by_token.mean().item() / length, rel=1e-9)


def test_of_a_shift_after_the_last_norm_nothing_is_amplified(state, trained, values):
    """All moves by δ in every coordinate of the encoder's last shift: ‖ΔF‖² = d δ² = ‖Δθ‖² for every token."""
    made = trained(state("post"))
    update = {name: torch.zeros_like(p) for name, p in made.model.named_parameters()}
    shift = "encoder.layers.1.placement.norms.1.bias"
    update[shift] += 0.125
    rows = list(update_effect(replace(made, last_update=update)))
    site = ("encoder", None, None, "out")
    assert values(rows, "output_change_update")[site] == pytest.approx(16 * 0.125**2, rel=1e-9)
    assert values(rows, "update_amplification")[site] == pytest.approx(1.0, rel=1e-9)


def test_without_an_update_nothing_is_amplified_and_none_can_be_asked_for(state, trained, values, golden):
    made = trained(state("post"))
    still = {name: torch.zeros_like(p) for name, p in made.model.named_parameters()}
    rows = list(update_effect(replace(made, last_update=still)))
    assert set(values(rows, "output_change_update").values()) == {0.0}
    assert not values(rows, "update_amplification")
    with golden.raises(LabError):
        list(update_effect(state("post")))


def test_a_loss_that_fails_after_the_update_was_taken_back_leaves_the_weights():
    torch.manual_seed(0)
    model = torch.nn.Module()
    model.module = torch.nn.Linear(3, 3)
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    calls = []

    def loss(made, batch):
        calls.append(made.module(batch))
        if len(calls) == 2:
            raise RuntimeError("out of memory")

    state = SimpleNamespace(batches=lambda _number, _split: [torch.ones(2, 3)], task=SimpleNamespace(loss=loss))
    update = {name: torch.full_like(p, 0.1) for name, p in weights.items()}
    with pytest.raises(RuntimeError, match="out of memory"):
        list(_change_of_any_model(state, model, update, 1, "validation"))
    assert not torch.equal(*calls)
    for name, p in model.named_parameters():
        assert torch.equal(p, weights[name])
    assert not model.module._forward_hooks
