"""An evaluation with the statistics of each batch: by hand, and where it differs from one with running statistics."""

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.work import Measurement
from lnlab.execute.measure import measure
from lnlab.nn.batch_norm import BatchNorm, batch_statistics
from tests.support.pieces import LABELS, SMALL, setting_with, state_of

TASK = {"kind": "classification", "corpus": SMALL["labelled_corpus"], "vocabulary": 80, "batch_sentences": 8}
SHAPE = {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 24}


def looked(state, kind, split="validation"):
    choice = REGISTRIES["probe"].resolve({"kind": kind, "split": split})
    table, rows = measure(state, Measurement("key", 0, choice), REGISTRIES)
    assert table == "curves"
    return {row["quantity"]: row["value"] for row in rows}


def state(norm, task=TASK):
    entry = REGISTRIES["norm"][norm]
    return state_of(setting_with(entry, task=task, model={"kind": "classifier", **SHAPE}, placement={"kind": "post"}))


@pytest.mark.parametrize("split", ["train", "validation"])
def test_it_is_the_mean_over_sentences_with_the_statistics_of_their_batch(split):
    made = state("batch")
    found, total, right, number = looked(made, "batch_evaluation", split), 0.0, 0, 0
    made.model.eval()
    with torch.no_grad(), batch_statistics(made.model):
        for batch in made.task.batches(split, "evaluation"):
            chances = made.model(batch).double().log_softmax(-1)
            total -= float(chances.gather(1, batch.target_out[:, None]).sum())
            right += int((chances.argmax(-1) == batch.target_out).sum())
            number += len(batch.target_out)
    assert found == pytest.approx({"batch_nll": total / number, "batch_accuracy": right / number}, rel=1e-5)


def test_only_a_batch_norm_tells_the_modes_apart_and_its_running_statistics_stay():
    for norm, same in (("batch", False), ("layer", True), ("none", True)):
        made = state(norm)
        running, batch = looked(made, "evaluation"), looked(made, "batch_evaluation")
        assert (batch["batch_nll"] == running["nll"]) is same
    made = state("batch")
    norms = [module for module in made.model.modules() if isinstance(module, BatchNorm)]
    before = [norm.running_mean.clone() for norm in norms]
    looked(made, "batch_evaluation")
    assert norms
    assert all(torch.equal(norm.running_mean, was) for norm, was in zip(norms, before, strict=True))
    assert looked(state("layer", LABELS), "batch_evaluation").keys() >= {"batch_nll"}
