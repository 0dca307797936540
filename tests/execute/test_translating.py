"""From generated text to translations of sentences that were never seen: some hundred updates beat copying by far."""

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Trajectory
from lnlab.execute.program import build
from lnlab.execute.updates import Updates
from lnlab.probes.probe import probes

STEPS = 400
SETTING = {
    "task": {
        "kind": "translation",
        "corpus": {"kind": "toy_german_english", "validation": 200, "test": 200},
        "vocabulary": 300,
        "batch_tokens": 512,
        "label_smoothing": 0.1,
    },
    "model": {"kind": "encoder_decoder", "layers": 1, "d_model": 64, "heads": 4, "d_ff": 128, "tied": "target"},
    "placement": "pre",
    "optimizer": {"kind": "adam", "lr": 8e-3, "beta2": 0.98},
    "schedule": {"kind": "inverse_sqrt", "warmup_steps": 100},
    "train": {"steps": STEPS},
}


@pytest.mark.nightly
def test_held_out_sentences_are_translated():
    torch.set_num_threads(1)
    setting = resolve_setting(SETTING, REGISTRIES)
    state = build(Trajectory("tests", 1, setting, STEPS, ()), REGISTRIES)
    updates = Updates(state, setting)
    for _ in range(STEPS):
        updates.apply_update()
    rows = probes.builder(probes.resolve({"kind": "bleu", "split": "test"}))(state)
    found = {row["quantity"]: row["value"] for row in rows if row["quantity"] in ("bleu", "copy_bleu")}
    assert found["bleu"] > 3
    assert found["bleu"] > 20 * found["copy_bleu"]
