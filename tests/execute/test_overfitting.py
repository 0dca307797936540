"""Everything from text to text: a small model learns 60 real pairs by heart, and says them again."""

import gzip

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Trajectory
from lnlab.execute.program import build
from lnlab.execute.updates import Updates
from lnlab.probes.probe import probes

PAIRS, EPOCHS = 60, 40
FILES = ["captions.de", "captions.en"]
CORPUS = {"kind": "parallel_text", "train": FILES, "held_out": 0.0}
SPEC = {
    "task": {"kind": "translation", "corpus": CORPUS, "vocabulary": 400, "batch_tokens": 512, "label_smoothing": 0.0},
    "model": {"kind": "encoder_decoder", "layers": 2, "d_model": 96, "heads": 4, "d_ff": 192},
    "placement": "pre",
}
MOVES = {
    "optimizer": {"kind": "adam", "lr": 2e-3, "beta2": 0.98},
    "schedule": {"kind": "linear", "warmup_steps": 60},
}


@pytest.mark.nightly
@pytest.mark.data
def test_a_small_model_says_60_captions_again(multi30k_root, tmp_path):
    for name in FILES:
        with gzip.open(multi30k_root / "multi30k" / f"train.{name[-2:]}.gz", "rt", encoding="utf-8") as file:
            (tmp_path / name).write_text("".join(next(file) for _ in range(PAIRS)), encoding="utf-8")
    torch.set_num_threads(1)
    untrained = build(Trajectory("tests", 1, resolve_setting(SPEC, REGISTRIES), 0, ()), REGISTRIES, (tmp_path,))
    before = bleu(untrained)
    steps = EPOCHS * untrained.task.epoch_batches
    setting = resolve_setting({**SPEC, **MOVES, "train": {"steps": steps}}, REGISTRIES)
    state = build(Trajectory("tests", 1, setting, steps, ()), REGISTRIES, (tmp_path,))
    updates = Updates(state, setting)
    for _ in range(steps):
        updates.apply_update()
    assert before < 5
    assert bleu(state) > 90
    assert bleu(state, beam=4, alpha=0.6) > 90


def bleu(state, **given) -> float:
    rows = probes.builder(probes.resolve({"kind": "bleu", "split": "train"} | given))(state)
    return next(row["value"] for row in rows if row["quantity"] == "bleu")
