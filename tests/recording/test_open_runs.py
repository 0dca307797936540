"""Runs opened together: against the rows that went in, hand-made statistics, and pages."""

import json
import re

import numpy as np
import polars as pl
import pytest
import torch

import lnlab
from lnlab.errors import LabError
from tests.support.golden import holding


@pytest.fixture(scope="module")
def runs(tmp_path_factory, loop, small, some_batches):
    root = tmp_path_factory.mktemp("runs")
    for lr in (0.01, 0.003):
        for seed in (1, 2, 3, 4, 5):
            rec = lnlab.Recorder(
                root / f"{lr}-{seed}",
                settings={"optimizer.lr": lr, "width": 8},
                seed=seed,
                probes=["displacement", {"kind": "gradient_norm", "every": 6}],
                batches=some_batches(99, 1),
                loss=small.token_loss,
                sites=small.NANO_SITES,
                every=2,
                hooks_every=2,
            )
            loop(rec, seed=seed, steps=8, optimizer=lambda m, lr=lr: torch.optim.AdamW(m.parameters(), lr=lr))
            rec.close()
    return lnlab.open_runs(root / "*")


def test_settings_that_differ_are_axes_and_steps_a_column(runs):
    assert runs.axes == ["optimizer.lr"]
    frame = runs.frame("total_displacement")
    assert frame.columns[:3] == ["optimizer.lr", "seed", "step"]
    assert frame["step"].unique().sort().to_list() == [2, 4, 6, 8]
    assert frame.height == 2 * 5 * 4


def test_a_claim_over_runs_is_the_statistic_of_their_rows(runs):
    claim = {
        "id": "farther",
        "kind": "ratio",
        "of": {"quantity": "total_displacement", "step": "last", "optimizer.lr": 0.01},
        "to": {"optimizer.lr": 0.003},
        "at_least": 1.5,
    }
    (verdict,) = runs.judge([claim])
    assert verdict.verdict == "supported"
    last = runs.frame("total_displacement").filter(pl.col("step") == 8).sort("seed")
    a, b = (last.filter(pl.col("optimizer.lr") == lr)["value"].to_numpy() for lr in (0.01, 0.003))
    assert verdict.estimate == pytest.approx(np.exp(np.log(a / b).mean()), rel=1e-9)
    over = {**claim, "id": "rises", "of": {"quantity": "total_displacement", "optimizer.lr": 0.01}, "over": "step"}
    del over["to"]
    (verdict,) = runs.judge([{**over, "kind": "trend", "direction": "up", "at_least": 1.2}])
    assert verdict.verdict == "supported", verdict.reason


def test_derived_quantities_are_had_everywhere(runs, golden):
    frame = runs.frame("gradient_growth")
    norms = runs.frame("gradient_norm").filter(pl.col("tensor") == "w1", pl.col("step") == 6, pl.col("seed") == 2)
    one, two = norms.filter(pl.col("optimizer.lr") == 0.01).sort("layer")["value"]
    at = [pl.col("tensor") == "w1", pl.col("step") == 6, pl.col("seed") == 2, pl.col("optimizer.lr") == 0.01]
    assert frame.filter(*at)["value"].item() == pytest.approx(two / one, rel=1e-12)
    for x in (None, "step", "optimizer.lr"):
        runs.plot("gradient_growth", x=x).to_dict()
        runs.plot("loss", x=x).to_dict()
    with golden.raises(LabError):
        runs.plot("loss", x="layers")
    with golden.raises(LabError):
        runs.frame("los")


def test_the_page_says_how_its_runs_were_made(runs, tmp_path, golden):
    of = {"quantity": "loss", "step": "last"}
    claims = [{"id": "a", "kind": "bound", "of": of, "over": "optimizer.lr", "at_most": 99}]
    report = runs.report(claims, out=tmp_path / "page", title="Mine")
    assert report.failed == []
    page = (tmp_path / "page" / "index.html").read_text()
    for false in ("Measured from Python", "Random numbers are keyed", "with the weights that they had", "by its rule"):
        assert false not in page
    golden(holding(page, "Trained and recorded"))
    golden(holding(page, "dropout and after"))


def test_the_page_of_one_run_draws_each_of_its_curves_and_the_course_of_a_number_of_the_whole(tmp_path):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(4, 3)
    with lnlab.Recorder(
        tmp_path / "run",
        settings={"kind": "plain"},
        seed=1,
        probes=[{"kind": "sharpness", "steps": 2}],
        batches=[batch],
        loss=lambda m, x: m(x).square().mean(),
        every=2,
        hooks_every=2,
    ) as rec:
        rec.attach(model, optimizer)
        rec(model, 0)
        for step in range(1, 7):
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            named = {f"number_{i}": step * i for i in range(1, 13)}
            rec(model, step, loss=loss.detach(), val_loss=1 / step, **named)
    report = lnlab.open_runs(tmp_path / "run").report(out=tmp_path / "page")
    assert (report.failed, report.empty) == ([], [])
    sections = json.loads((tmp_path / "page" / "data" / "experiment.json").read_text())["sections"]
    drawn = [(s["quantity"], (s["where"] or {}).get("split"), s.get("x")) for s in sections if s["kind"] != "table"]
    numbers = [(f"number_{i}", None, "step") for i in range(1, 13)]
    assert drawn[:2] == [("loss", "train", "step"), ("loss", "validation", "step")]
    assert {*numbers, ("learning_rate", None, "step")} < set(drawn)
    assert ("sharpness", None, "step") in drawn
    tables = {s["quantity"] for s in sections if s["kind"] == "table"}
    assert tables == {"step_gradient_norm", "update_to_weight"}


def test_a_run_that_ended_early_is_not_compared_at_its_own_last_step(tmp_path, loop, small, some_batches):
    """``step: last`` of a run that was closed at 4 of 6 updates would be its step 4."""
    for lr in (0.01, 0.003):
        for seed in range(1, 7):
            steps = 4 if (lr, seed) == (0.01, 3) else 6
            rec = lnlab.Recorder(tmp_path / f"{lr}-{seed}", settings={"lr": lr}, seed=seed, hooks_every=1)
            loop(rec, seed=seed, steps=steps, optimizer=lambda m, lr=lr: torch.optim.AdamW(m.parameters(), lr=lr))
            rec.close()
    runs = lnlab.open_runs(tmp_path / "*")
    of = {"quantity": "loss", "step": "last", "lr": 0.01}
    (verdict,) = runs.judge([{"id": "a", "kind": "ratio", "of": of, "to": {"lr": 0.003}, "at_most": 99}])
    assert verdict.n == 5
    assert sorted(map(int, verdict.seeds)) == [1, 2, 4, 5, 6]
    ended = runs.results.runs.filter(pl.col("done") == 4)
    assert ended["reason"].to_list() == ["ended at step 4 of 6"]
    assert ended["steps"].to_list() == [6]


def test_looks_at_several_steps_are_joined(small, some_batches):
    torch.manual_seed(1)
    model = small.NanoGPT()
    looks = []
    for step in (0, 10):
        looks.append(lnlab.measure(model, some_batches(1, 1), small.token_loss, probes=["parameter_size"], step=step))
        with torch.no_grad():
            model.head.weight.mul_(2.0)
    joined = lnlab.Measurements.of_runs(looks)
    norms = joined.frame("parameter_norm").filter(pl.col("path") == "wte.weight").sort("step")
    assert norms["step"].to_list() == [0, 10]
    assert norms["value"][1] == pytest.approx(2 * norms["value"][0], rel=1e-6)
    with pytest.raises(LabError, match="both have step 10"):
        lnlab.Measurements.of_runs([looks[1], looks[1]])


def copies_of(root, loop, small, some_batches, starts):
    """Runs by name and seed; ``starts`` says which seed the loop used in truth."""
    for (name, seed), start in starts.items():
        with lnlab.Recorder(
            root / f"{name}-{seed}",
            settings={"name": name},
            seed=seed,
            probes=["displacement"],
            batches=some_batches(99, 1),
            loss=small.token_loss,
            every=2,
        ) as rec:
            rate = 0.01 if name == "a" else 0.003
            loop(rec, seed=start, steps=4, optimizer=lambda m, rate=rate: torch.optim.AdamW(m.parameters(), lr=rate))


def test_copies_are_told_and_counted_once(tmp_path, loop, small, some_batches):
    copies_of(tmp_path, loop, small, some_batches, {(name, seed): 1 for name in "ab" for seed in range(1, 6)})
    with pytest.warns(UserWarning, match="name a, seed 2, .*have the numbers of an earlier seed, counted once"):
        runs = lnlab.open_runs(tmp_path / "*")
    of = {"quantity": "total_displacement", "step": "last", "name": "a"}
    claim = {"id": "c", "kind": "ratio", "of": of, "to": {"name": "b"}, "at_least": 0.5}
    (verdict,) = runs.judge([claim])
    assert (verdict.verdict, verdict.n) == ("undecided", 1)
    runs.report([claim], out=tmp_path / "page")
    page = (tmp_path / "page" / "index.html").read_text()
    for name in "ab":
        assert re.search(f"The seeds 2.5 of name {name} repeat the numbers of an earlier seed; both count once", page)


def test_only_what_is_the_same_is_a_copy(tmp_path, loop, small, some_batches):
    """Seed 3 is one of seed 1, opened apart; b has the weights of a and is another setting."""
    starts = {("a", 1): 1, ("a", 2): 2, ("a", 3): 1, ("b", 1): 1, ("b", 2): 2}
    copies_of(tmp_path, loop, small, some_batches, starts)
    apart = [lnlab.open_runs(tmp_path / "a-[12]"), lnlab.open_runs(tmp_path / "a-3"), lnlab.open_runs(tmp_path / "b-*")]
    with pytest.warns(UserWarning, match="^name a, seed 3: has the numbers"):
        runs = lnlab.Measurements.of_runs(apart)
    kept = runs.results.runs.join(runs.results.axes, on="run").select("label", "seed").rows()
    assert sorted(kept) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
