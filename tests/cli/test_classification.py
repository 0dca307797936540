"""Sentences with labels through the whole laboratory: two passes over generated news, and how many labels are right."""

import polars as pl
import pytest

from tests.support.toy_specs import toy_spec

REST = """\
task: {kind: classification, corpus: {kind: toy_finance, sentences: 120}, vocabulary: 120, batch_sentences: 16,
       split: [0.5, 0.25, 0.25], max_length: 24, bucket: true}
model: {kind: classifier, layers: 1, d_model: 16, heads: 2, d_ff: 16}
norm: batch
train: {epochs: 2, evaluate: {epochs: 1}}
report:
  - {kind: curves, quantity: accuracy, where: {split: validation}}
"""
SPEC = toy_spec(rest=REST, task=None, model=None, seeds=2)


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def test_a_classifier_trains_for_two_epochs_and_its_accuracy_is_a_share(lnlab, spec):
    said = lnlab("run", "spec.yaml", "-w", 1, "--json")
    assert (said.code, said.json["runs"]) == (0, {"finished": 2})
    tables = pl.concat([pl.read_parquet(path) for path in spec.rglob("trajectories/**/curves.parquet")])
    accuracy = tables.filter(quantity="accuracy", split="validation")
    assert sorted(accuracy["step"].unique()) == [0, 4, 8]
    assert accuracy["value"].is_between(0, 1).all()
    assert all((30 * value) == pytest.approx(round(30 * value)) for value in accuracy["value"])
    loss = tables.filter(quantity="nll", split="validation")["value"]
    assert loss.is_between(0, 5).all()


@pytest.mark.parametrize(
    "override",
    [
        "task.classes=4",
        "task.tokenizer=bert_base_uncased",
        "task.corpus=multi30k",
        "task.split=[0.5,0.5,0.5]",
        "task.pad=16",
        "model.kind=encoder",
    ],
)
def test_what_does_not_fit_is_found_before_any_text_is_read(console, spec, override):
    path = spec / "spec.yaml"
    path.write_text(SPEC.replace("{epochs: 2, evaluate: {epochs: 1}}", "{steps: 2}"))
    assert console("check", path, "-s", override).code == 2
