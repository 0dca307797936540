"""Whose answers hang on their batch: norms over it, and no others; against batches of one sentence by hand."""

import copy
from dataclasses import replace
from math import sqrt

import pytest
import torch

from lnlab.nn.modes import in_mode
from lnlab.probes.batch_dependence import batch_dependence, single_sentence

INDEPENDENT = ["layer", "rms", {"kind": "group", "groups": 4}, "none"]


def numbers(state, **given):
    return {row["quantity"]: row["value"] for row in batch_dependence(state, **given)}


@pytest.mark.parametrize("norm", INDEPENDENT, ids=str)
def test_statistics_of_a_token_or_a_sentence_are_rounding_away_from_independence(classifier, norm):
    assert all(value < 1e-12 for value in numbers(classifier(norm), batches=2).values())


def test_instance_norm_with_a_first_token_is_independent_and_a_batch_of_one_sentence_its_own_company(classifier):
    model = {"kind": "classifier", "layers": 2, "d_model": 16, "heads": 2, "d_ff": 24, "pool": "first"}
    assert numbers(classifier("instance", model=model))["batch_dependence"] < 1e-12
    state = classifier("batch", task={"batch_sentences": 1})
    assert numbers(state, batches=3)["batch_dependence"] < 1e-12


@pytest.mark.parametrize("naive", [False, True])
def test_batch_norm_hangs_on_its_batch_but_not_on_what_it_remembers(classifier, naive):
    """The oracle is the double copy of the model, asked sentence by sentence."""
    state = classifier({"kind": "batch", "naive": naive})
    found = numbers(state)
    assert found["batch_dependence_in_use"] < 1e-12
    model, (batch,) = copy.deepcopy(state.model).double(), state.batches(1)
    with torch.no_grad(), in_mode(model, training=False):
        together = model(batch)
        lonely = torch.cat([model(single_sentence(batch, row)) for row in range(len(together))])
    expected = (together - lonely).norm() / together.norm()
    assert found["batch_dependence"] == pytest.approx(expected.item(), rel=1e-10)
    assert found["batch_dependence"] > 0.01


def test_a_model_that_answers_at_every_token_is_asked_at_those_of_the_sentence(state):
    """Layer norm: independent though sentences are padded; and a model that adds the batch's mean to its logits."""
    made = state("post")
    assert all(value < 1e-12 for value in numbers(made).values())

    class Leaking(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, batch):
            return self.model(batch) + len(batch.source)

    leaking, (batch,) = replace(made, model=Leaking(made.model)), made.batches(1)
    (held,) = ((batch.target_in != 0),)
    with torch.no_grad():
        logits = leaking.model.eval()(batch)[held].double()
    moved = (len(batch.source) - 1) * sqrt(logits.numel())
    assert numbers(leaking)["batch_dependence"] == pytest.approx(moved / logits.norm().item(), rel=1e-5)
