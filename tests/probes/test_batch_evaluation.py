"""A split scored with the statistics of each batch, against torch's own cross-entropy in training mode."""

import copy

import pytest
import torch
from torch.nn.functional import cross_entropy

from lnlab.probes.batch_evaluation import batch_evaluation
from lnlab.probes.evaluation import evaluation


def trained_a_little(state, updates=4):
    """Steps of gradient descent in training mode, so that batch norms remember something."""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(state.model.parameters(), lr=0.1)
    state.model.train()
    for batch in state.batches(updates):
        optimizer.zero_grad()
        loss, count = state.task.loss(state.model, batch)
        (loss / count).backward()
        optimizer.step()
    state.model.eval()
    state.model.zero_grad()
    return state


def by_hand(state, split, training):
    """Mean cross-entropy and share of right answers by a copy in one mode, without dropout."""
    model = copy.deepcopy(state.model).train(training)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    batches = list(state.task.batches(split, "evaluation"))
    with torch.no_grad():
        logits = torch.cat([model(batch) for batch in batches])
    answers = torch.cat([batch.target_out for batch in batches])
    return [cross_entropy(logits, answers).item(), (logits.argmax(-1) == answers).double().mean().item()]


def measured(rows):
    return [row["value"] for row in rows if row["quantity"].startswith(("nll", "accuracy"))]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_it_is_the_loss_in_training_mode_and_evaluation_is_that_of_the_other(classifier, split):
    state = trained_a_little(classifier("batch"))
    found, used = (measured(probe(state, split=split)) for probe in (batch_evaluation, evaluation))
    assert found == pytest.approx(by_hand(state, split, True), rel=1e-5)
    assert used == pytest.approx(by_hand(state, split, False), rel=1e-5)
    assert abs(found[0] - used[0]) > 1e-3


def test_without_norms_over_a_batch_the_two_are_one(classifier):
    state = trained_a_little(classifier("layer"))
    assert measured(batch_evaluation(state)) == measured(evaluation(state))


def test_it_leaves_modes_and_running_statistics_as_they_were(classifier):
    state = trained_a_little(classifier("batch"))
    state.model.train()
    buffers = [b.clone() for b in state.model.buffers()]
    list(batch_evaluation(state))
    assert all(module.training for module in state.model.modules())
    assert all(map(torch.equal, state.model.buffers(), buffers))
