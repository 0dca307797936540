"""log Z of the output, against sums by hand, the loss that is made of it, and a shift of all logits."""

import math

import pytest
import torch

from lnlab.corpora.vocabulary.tokenizers import PAD
from lnlab.probes.output_logits import output_logits
from lnlab.tasks.cross_entropy import squared_log_partition


def values(state, **given):
    return {row["quantity"]: row["value"] for row in output_logits(state, **given)}


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_they_are_what_the_logits_of_the_targets_sum_to(state, placement):
    made = state(placement)
    logs, largest = [], 0.0
    for batch in made.batches(2):
        for logits, targets in zip(made.model(batch).double().tolist(), batch.target_out.tolist(), strict=True):
            kept = [row for row, target in zip(logits, targets, strict=True) if target != PAD]
            logs += [math.log(math.fsum(map(math.exp, row))) for row in kept]
            largest = max(largest, *(abs(x) for row in kept for x in row))
    found = values(made, batches=2)
    assert found["output_log_z"] == pytest.approx(math.fsum(logs) / len(logs), rel=1e-5)
    assert found["output_log_z_size"] == pytest.approx(math.sqrt(math.fsum(x * x for x in logs) / len(logs)), rel=1e-5)
    assert found["output_logit_max"] == pytest.approx(largest, rel=1e-6)


def test_the_z_loss_is_the_square_of_its_size(state):
    made = state("pre")
    (batch,) = made.batches(1)
    with torch.no_grad():
        expected = squared_log_partition(made.model(batch), batch.target_out).item() / batch.tokens
    assert values(made)["output_log_z_size"] ** 2 == pytest.approx(expected, rel=1e-5)


def test_a_shift_of_all_logits_shifts_log_z_and_leaves_the_loss(state, monkeypatch):
    made = state("pre")
    before = values(made)
    forward = made.model.forward
    monkeypatch.setattr(made.model, "forward", lambda batch: forward(batch) + 7.0)
    assert values(made)["output_log_z"] == pytest.approx(before["output_log_z"] + 7.0, rel=1e-5)
