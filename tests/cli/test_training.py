"""Runs that train, from the spec to the exit code: what is asked for anew is computed, and nothing else."""

import re
from math import ceil
from pathlib import Path

import polars as pl
import pytest

from lnlab.store.records.records import read_trajectory
from lnlab.store.store import Store
from tests.support.toy_specs import SMALLEST, toy_spec

SPEC = toy_spec(
    SMALLEST,
    train={"steps": 12, "evaluate": {"every": 4}},
    seeds=1,
    probes=[{"kind": "update_size", "at": [4, 8]}],
)


@pytest.fixture
def run(lnlab, workdir):
    """``run(text, *more)``: what ``lnlab run --json`` printed, and the results; every state on the way is kept."""

    def made(text, *more):
        (workdir / "x.yaml").write_text(text)
        said = lnlab("run", "x.yaml", "-w", "1", "-q", "--save-every", "0", "--json", *more)
        assert said.code == 0, said
        return said.json, Store(Path(".lnlab").absolute()).results(said.json["plan"])

    return made


def stretches(results, seed=1):
    """First and last step of each committed stretch of work in which updates were made."""
    (trajectory,) = results.runs.filter(seed=seed)["trajectory"]
    records = read_trajectory(Path(".lnlab").absolute(), trajectory).records
    return [(record.first_step, record.steps) for record in records if record.first_step < record.steps]


def rows(results, table, until=99):
    """The rows of seed 1 without the names that differ from plan to plan."""
    found = results.tables[table].filter(pl.col("seed") == 1, pl.col("step") <= until).drop("run", "variant")
    return found.sort(found.columns).to_dicts()


def test_what_is_asked_for_anew_is_computed_and_nothing_else(run):
    _, first = run(SPEC)
    assert stretches(first) == [(step, step + 1) for step in range(12)]
    assert first.runs.select("done", "status").rows() == [(12, "finished")]
    again, _ = run(SPEC)
    assert again["computed"] == 0

    fewer, short = run(SPEC, "-s", "train.steps=8")
    assert fewer["computed"] == 0
    assert short.runs.select("done", "status", "reason").rows() == [(8, "finished", None)]
    assert rows(short, "sites") == rows(first, "sites")
    assert [row["step"] for row in rows(short, "curves") if row["quantity"] == "loss" and row["split"] == "train"] == [
        *range(8)
    ]
    evaluated = [row for row in rows(short, "curves") if row["split"] == "validation"]
    assert evaluated == [row for row in rows(first, "curves", 8) if row["split"] == "validation"]

    more, long = run(SPEC, "-s", "train.steps=16")
    assert more["computed"] == 1
    assert stretches(long) == [(step, step + 1) for step in range(16)]
    assert [row for row in rows(long, "curves", 11) if row["quantity"] != "epoch"] == [
        row for row in rows(first, "curves", 11) if row["quantity"] != "epoch"
    ]

    seeds, two = run(SPEC, "-s", "seeds=2")
    assert (seeds["computed"], seeds["reused"]) == (1, 1)
    assert rows(two, "curves") == rows(first, "curves")

    added, probed = run(SPEC.replace("at: [4, 8]", "at: [4, 6, 8]"))
    assert added["computed"] == 1
    assert max(end for _, end in stretches(probed)) == 16
    assert [end for _, end in stretches(probed) if end <= 6] == [*range(1, 7)]  # trained again, and kept once
    assert rows(probed, "curves") == rows(first, "curves")
    assert [row for row in rows(probed, "sites") if row["step"] != 6] == rows(first, "sites")
    assert {row["step"] for row in rows(probed, "sites")} == {4, 6, 8}


TARGET = "{kind: target, split: validation, quantity: nll, at_most: 4.3}"


@pytest.mark.parametrize(
    ("more", "summary", "status"),
    [
        (["-s", f"train.stop={TARGET}", "-s", "train.steps=60"], "1 run: 1 finished; 1 unit computed", "finished"),
        (["-s", "optimizer={kind: sgd, lr: 1.0e+30}", "-s", "norm=none"], "1 run: 1 diverged;", "diverged"),
    ],
)
def test_a_run_that_its_rule_ended_is_done(lnlab, workdir, more, summary, status):
    (workdir / "x.yaml").write_text(SPEC.replace("probes", "# probes"))
    said = lnlab("run", "x.yaml", "-w", "1", "-q", *more)
    assert said.code == 0, said
    assert summary in said.out.splitlines()[-1]
    assert "--retry-failed" not in said.err
    again = lnlab("run", "x.yaml", "-w", "1", "-q", "--json", *more)
    assert (again.code, again.json["computed"], again.json["runs"]) == (0, 0, {status: 1})
    (run,) = Store(Path(".lnlab").absolute()).results(again.json["plan"]).runs.to_dicts()
    assert run["done"] < run["steps"]
    assert f"at step {run['done']}" in run["reason"]
    failures = again.json["failures"]
    assert [each["reason"] for each in failures] == ([run["reason"]] if status == "diverged" else [])
    assert (run["reason"] in said.out) == (status == "diverged")


EPOCHS = (
    SPEC.replace("steps: 12", "epochs: 2, accumulate: 2")
    .replace("evaluate: {every: 4}", "evaluate: {epochs: 1}")
    .replace("at: [4, 8]", "at: {epochs: 1}")
    + "schedule: {kind: step, epochs: [1], factor: 0.5}\n"
)


def test_a_run_in_epochs_is_as_long_as_its_data(run):
    _, results = run(EPOCHS)
    curves = results.tables["curves"]
    steps = results.runs["steps"].item()
    epochs = {row["step"]: row["value"] for row in curves.filter(quantity="epoch").to_dicts()}
    epoch = max(epochs) / epochs[max(epochs)]
    assert steps == results.runs["done"].item() == ceil(2 * epoch) > 4
    assert sorted(epochs) == [0, ceil(epoch), ceil(2 * epoch)]
    assert sorted(curves.filter(split="validation", quantity="nll")["step"]) == sorted(epochs)
    assert sorted(results.tables["sites"]["step"].unique()) == sorted(epochs)[1:]
    rates = dict(curves.filter(quantity="learning_rate").select("step", "value").iter_rows())
    assert rates == {t: 1e-2 if t - 1 < epoch else 5e-3 for t in range(1, steps + 1)}


def test_epochs_of_an_absent_corpus_pass_check_and_run_says_how_to_get_it(lnlab, console, workdir):
    text = re.sub(r"\{kind: toy_german_english[^}]*\}", "multi30k", EPOCHS)
    (workdir / "x.yaml").write_text(text)
    assert lnlab("check", "x.yaml").code == 0
    console.refused("run", "x.yaml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("steps: 12", "epochs: 2"),
        ("evaluate: {every: 4}", "evaluate: {epochs: 1}"),
        ("at: [4, 8]", "at: {epochs: 1}"),
        ("seeds: 1", "schedule: {kind: step, epochs: [1]}"),
        ("seeds: 1", "schedule: step"),
        ("steps: 12", "steps: 12, accumulate: 0"),
        ("steps: 12", "steps: 12, clip: 0"),
        ("steps: 12", "steps: 12, clip: .inf"),
        ("steps: 12", "steps: 12, stop: {kind: target, split: train, at_most: 1.0}"),
    ],
)
def test_check_refuses_what_training_cannot_do(console, workdir, old, new):
    start, end = SPEC.index("task:"), SPEC.index("model:")
    text = SPEC[:start] + "task: {kind: random_tokens, vocabulary: 300}\n" + SPEC[end:]
    assert old in text
    (workdir / "x.yaml").write_text(text.replace(old, new))
    assert console("check", "x.yaml").code == 2
