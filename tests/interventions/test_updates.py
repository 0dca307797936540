"""What an optimizer is shown is for its step alone: before and after it, gradients are the true ones."""

import pytest
import torch
from torch.optim import SGD

from lnlab.errors import LabError
from lnlab.interventions.updates import selected_weights
from lnlab.interventions.where import Weights
from lnlab.nn.sites import Site, parameter_uses


def test_a_gradient_is_the_true_one_again_after_the_step(model, intervene, batch, loss):
    made = model("post")
    optimizer = SGD(made.parameters(), lr=0.1)
    with intervene("rescale_gradient", made, optimizer, where={}, factor=1000):
        loss(made(batch), batch).backward()
        before = {p: (p.grad, p.grad.clone()) for p in made.parameters()}
        optimizer.step()
        assert all(p.grad is g and torch.equal(g, kept) for p, (g, kept) in before.items())


def test_every_parameter_is_chosen_once_by_default_a_shared_table_by_all_its_uses(model, golden):
    made = model("post", tied="all")
    tables = Weights(tensor="table")
    assert list(selected_weights(made, tables)) == [Site("encoder", None, "embedding", "table")]
    with golden.raises(LabError):
        selected_weights(made, Weights(stack="encoder"))
    assert len(selected_weights(model("post", tied="none"), tables)) == 3
    made = model("post")
    assert {id(p) for p in selected_weights(made, Weights()).values()} == {id(p) for p in made.parameters()}
    assert len(selected_weights(made, Weights())) == len(list(made.parameters())) < len(parameter_uses(made))


@pytest.mark.parametrize("kind", ["rescale_gradient", "equalize_gradient", "freeze", "rescale_learning_rate"])
def test_without_an_optimizer_there_is_nothing_to_act_on(model, intervene, kind, golden):
    given = {"factor": 2} if kind == "rescale_learning_rate" else {}
    with golden.raises(LabError):
        intervene(kind, model(), None, where={}, **given).__enter__()


def test_a_weight_that_is_not_there_is_named(model, intervene, golden):
    made = model("post")
    with golden.raises(LabError):
        intervene("freeze", made, SGD(made.parameters(), lr=1), where={"tensor": "omega"}).__enter__()
