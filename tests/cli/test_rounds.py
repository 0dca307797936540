"""From a spec that chooses its rate to verdicts: both rounds, with a trainer whose losses are a formula."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from torch.optim import SGD

from lnlab.app.rounds import units
from lnlab.cli import main
from lnlab.execute.progress import SweepSummary
from lnlab.optim.optimizers import optimizers
from lnlab.select.quantity import quantities
from lnlab.store.store import Store
from tests.support.toy_specs import toy_spec

REST = """\
sweep:
  - {placement: [post, pre], optimizer.lr: [0.001, 0.01, 0.1]}
choose:
  optimizer.lr: {kind: failing, below: 0.25}
  seeds: 101-102
  of: {placement: post}
  times: [0.5, 1]
report: []
claims:
  - id: pre_is_better
    says: At the rate at which Post-LN fails, Pre-LN trains.
    kind: ratio
    of: {quantity: final_loss, placement: post, times: 1}
    to: {placement: pre}
    at_least: 1.5
    requires: {kind: bound, of: {quantity: final_loss, placement: post, times: 1}, at_least: 3.5}
profiles:
  each: {choose: {optimizer.lr: best, seeds: 101-102}}
  mild: {optimizer.lr: [0.001, 0.002]}
"""
SPEC = toy_spec(rest=REST, optimizer={"kind": "descent", "lr": 1}, train={"steps": 4}, seeds=6)


def nll(setting, seed):
    """Post-LN fails from 0.01 on and diverges at 0.1; Pre-LN is best at 0.01."""
    lr, post = setting["optimizer"]["lr"], setting["decoder"]["placement"]["kind"] == "post"
    if post:
        return None if lr >= 0.1 else (3.9 if lr >= 0.01 else 2.0) + seed / 1e4
    return 2.0 + abs(lr - 0.01) + seed / 1e4


@pytest.fixture(scope="module")
def pieces():
    """The optimizer and the quantity that the spec names, and a formula instead of workers: what it was handed."""
    seen, odd = [], {}

    def sweep(units, open_unit, load, **options):
        tally = SweepSummary()
        for unit in units:
            seen.append((unit.seed, unit.setting["optimizer"]["lr"]))
            where, found = open_unit(unit.key), nll(unit.setting, unit.seed)
            row = {"trajectory": unit.key, "split": "validation", "quantity": "nll"}
            entropy = {"trajectory": unit.key, "split": "train", "quantity": "unigram_entropy", "step": 0, "value": 4.0}
            where.write("curves", [entropy, {**row, "step": 0, "value": 5.0}])
            if found is not None:
                where.write("curves", [{**row, "step": 4, "value": found}])
            status = odd.get(unit.seed, "finished" if found is not None else "diverged")
            outcome = {"trajectory": unit.key, "steps": 4 if found is not None else 3, "status": status, "reason": None}
            outcome |= {"last_finite_loss": None, "parameters": 1, "seconds": 0.1, "device": "cpu", "versions": "{}"}
            where.commit([m.key for m in unit.measurements], outcome)
            tally.ended[status] += 1
        return tally

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "sweep", sweep)
        for registry in (optimizers, quantities):
            patch.setattr(registry, "_entries", dict(registry.entries))

        @optimizers.register("descent")
        def descent(parameters, *, lr: float):
            return SGD(parameters, lr=lr)

        @quantities.register("final_loss")
        def final_loss(results):
            rows = results.tables["curves"].filter(pl.col("quantity") == "nll", pl.col("step") > 0)
            return rows.select("run", "variant", "seed", "step", pl.lit("final_loss").alias("quantity"), "value")

        yield SimpleNamespace(seen=seen, odd=odd)


@pytest.fixture
def trained(pieces):
    """What the formula was handed in this test, and how units of a seed end otherwise."""
    pieces.seen.clear()
    pieces.odd.clear()
    return pieces


@pytest.fixture
def tuned(trained, workdir):
    """The spec in the working folder."""
    path = workdir / "tuned.yaml"
    path.write_text(SPEC)
    return path


@pytest.fixture(scope="module")
def computed(pieces, tmp_path_factory):
    folder = tmp_path_factory.mktemp("computed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("tuned.yaml").write_text(SPEC)
        assert main(["run", "tuned.yaml", "-q"]) == 0
    return folder / ".lnlab"


@pytest.fixture
def ran(tuned, computed, workdir):
    """The spec with a store in which both rounds were run."""
    shutil.copytree(computed, workdir / ".lnlab")
    return tuned


def test_it_tunes_decides_and_judges(console, tuned, trained):
    assert console("run", "tuned.yaml", "-q").code == 0
    assert sorted(trained.seen[:6]) == [(seed, lr) for seed in (101, 102) for lr in (0.001, 0.01, 0.1)]
    assert {seed for seed, _ in trained.seen[6:]} == set(range(1, 7))
    assert {lr for _, lr in trained.seen[6:]} == {0.005, 0.01}


def test_both_rounds_are_pushed_and_pulled(lnlab, console, ran, trained):
    console("push", "tuned.yaml", "there")
    seen = len(trained.seen)
    console("pull", "tuned.yaml", "there", "--store", "other")
    ran = lnlab("run", "tuned.yaml", "--json", "--store", "other").json
    assert (ran["computed"], len(trained.seen)) == (0, seen)
    console("pull", "tuned.yaml", "there", "--store", "longer", "-s", "train.steps=8")


def test_what_a_report_has_chosen_is_not_chosen_again(lnlab, ran, trained):
    """A report has no tuning runs. A further seed is run at the rates that it states, here and in another store."""
    assert lnlab("report", "tuned.yaml", "--out", "page", "-q").code == 0
    seen = len(trained.seen)
    ran.write_text(SPEC.replace("seeds: 6", "seeds: 7"))
    assert lnlab("plan", "tuned.yaml", "--store", "page", "--json").json["units"] == {"all": 28, "missing": 4}
    assert lnlab("pull", "tuned.yaml", "page", "--store", "other").out.startswith("24 units pulled")
    more = lnlab("run", "tuned.yaml", "--json", "--store", "other").json
    assert (more["computed"], more["reused"], more["tuned"]) == (4, 24, 0)
    assert [seed for seed, _ in trained.seen[seen:]] == [7] * 4
    ran.write_text(SPEC.replace("below: 0.25", "below: 0.3"))
    assert lnlab("plan", "tuned.yaml", "--store", "other", "--json").json["undecided"]


def test_the_tables_hold_judged_runs_only_and_the_decision_stands_beside_them(lnlab, ran, trained):
    store = Store(Path(".lnlab").absolute())
    stored = store.last()
    results = store.results(stored.digest)
    assert sorted(results.runs["seed"].unique()) == list(range(1, 7))
    assert results.axes.filter(axis="times")["value"].unique().sort().to_list() == ["0.5", "1"]
    (decision,) = stored.facts["report"]["decisions"]
    assert (decision["value"], decision["met"], decision["look"]) == (0.01, True, 1)
    assert [tried["losses"] for tried in decision["candidates"]][2] == [None, None]
    assert lnlab("run", "tuned.yaml", "--json").json["decisions"] == [decision]


def test_more_seeds_and_other_specs_tune_nothing_again(lnlab, ran, trained):
    more = lnlab("run", "tuned.yaml", "-q", "-s", "seeds=7", "--json").json
    assert (more["tuned"], more["computed"], more["reused"]) == (0, 4, 24)
    each = lnlab("run", "tuned.yaml", "-q", "-p", "each", "--json").json
    assert each["tuned"] == 6
    assert [(d["about"], d["value"]) for d in each["decisions"]] == [
        ({"placement": "post"}, 0.001),
        ({"placement": "pre"}, 0.01),
    ]


def test_the_plan_shows_the_round_that_is_next(lnlab, console, tuned, trained):
    console("plan", "tuned.yaml")
    assert not Path(".lnlab").exists()
    facts = lnlab("plan", "tuned.yaml", "--json").json
    assert (facts["runs"], facts["later_runs"], len(facts["undecided"])) == (6, 24, 1)
    assert facts["later_seconds"] > facts["seconds"]  # the judged runs are four times as many
    lnlab("run", "tuned.yaml", "-q")
    console("plan", "tuned.yaml")
    judged = lnlab("plan", "tuned.yaml", "--json").json
    assert judged["later_seconds"] is None
    assert facts["flops"]["missing"] > judged["flops"]["all"] > 0  # compute and time count the same runs


def test_what_fails_in_the_first_round_decides_nothing(lnlab, console, tuned, trained):
    trained.odd[102] = "failed"
    assert console("run", "tuned.yaml").code == 1
    console.refused("report")
    (found,) = lnlab("status", "--json").json
    assert found["undecided"] is True
    assert "\nround 1" in lnlab("plan", "tuned.yaml").out
    trained.odd.clear()
    again = lnlab("run", "tuned.yaml", "--retry-failed", "-q")
    assert (again.code, again.out.startswith("chosen: optimizer.lr = 0.01: ")) == (0, True)


def test_where_nothing_fails_the_claim_is_not_testable(console, tuned, trained):
    assert console("run", "tuned.yaml", "-q", "-p", "mild").code == 0


def test_check_builds_what_tunes_and_what_would_be_judged(console, tuned):
    assert console("check", "tuned.yaml").code == 0


def test_the_page_shows_what_was_chosen(lnlab, golden, ran, trained):
    said = lnlab("report", "-q")
    assert said.code == 0, said.err
    page = Path(said.out.strip()).read_text()
    golden([line.strip() for line in page.splitlines() if "tuning seeds" in line or "fraction 0.045" in line])
    assert "0.001: 1, 0.01: 0.045, 0.1: 0 (" in page
