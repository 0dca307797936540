"""Tables from elsewhere, by what numpy makes of the same cells."""

import warnings

import numpy as np
import polars as pl
import pytest

import lnlab
from tests.support.golden import holding
from tests.support.refusals import one_line

METHODS = {"adam": 1.0, "sgd": 1.5, "lion": 0.9, "muon": 0.7}


def long_table(*, seeds=5, steps=(0, 100, 200, 300, 400, 500)):
    generator = np.random.default_rng(0)
    rows = [
        {
            "optimizer": m,
            "seed": s,
            "step": t,
            "val/loss": scale * 3 / (1 + t / 100) * np.exp(0.05 * generator.normal()),
        }
        for m, scale in METHODS.items()
        for s in range(1, seeds + 1)
        for t in steps
    ]
    return pl.DataFrame(rows)


def claim_of_optimizer(**changed):
    claim = {"id": "sgd_is_worse", "kind": "ratio", "to": {"optimizer": "adam"}, "at_least": 1.2}
    return {**claim, "of": {"quantity": "loss", "optimizer": "sgd", "step": "last", "split": "validation"}, **changed}


def test_a_long_table_is_judged_by_its_own_cells():
    table = long_table()
    runs = lnlab.from_frame(table, axes=["optimizer"], step="step")
    (verdict,) = runs.judge([claim_of_optimizer()])
    last = table.filter(pl.col("step") == 500).sort("seed")
    a, b = (last.filter(pl.col("optimizer") == m)["val/loss"].to_numpy() for m in ("sgd", "adam"))
    assert verdict.verdict == "supported"
    assert verdict.estimate == pytest.approx(np.exp(np.log(a / b).mean()), rel=1e-12)


def test_one_row_a_run_and_columns_by_name():
    table = long_table(steps=(0,)).drop("step").rename({"val/loss": "error"})
    columns = {name: table[name].to_list() for name in table.columns}
    runs = lnlab.from_frame(columns, axes=["optimizer"])
    claim = {**claim_of_optimizer(), "of": {"quantity": "error", "optimizer": "sgd"}}
    (verdict,) = runs.judge([claim])
    assert verdict.verdict == "supported"
    assert runs.frame("error").columns[:2] == ["optimizer", "seed"]


@pytest.mark.parametrize("given", [{}, {"steps": 500}, {"status": "ended"}])
def test_numbers_without_a_step_are_those_of_training(tmp_path, given, golden):
    """So three seeds are too few, as they are for the same numbers with their step; five are enough."""
    claim = claim_of_optimizer()
    at_last = claim["of"]
    anywhere = {key: value for key, value in at_last.items() if key != "step"}
    for seeds, word in ((3, "undecided"), (5, "supported")):
        table = long_table(seeds=seeds, steps=(500,)).with_columns(ended=pl.lit("finished"))
        stepless = lnlab.from_frame(table.drop("step"), axes=["optimizer"], values=["val/loss"], **given)
        with_step = lnlab.from_frame(table, axes=["optimizer"], step="step", values=["val/loss"])
        (verdict,) = stepless.judge([{**claim, "of": anywhere}])
        (same,) = with_step.judge([claim])
        assert verdict.verdict == same.verdict == word
        assert verdict.estimate == same.estimate
    report = stepless.report([{**claim, "of": anywhere}], out=tmp_path / "page")
    assert report.failed == []
    page = (tmp_path / "page" / "index.html").read_text()
    golden(holding(page, "Trained and recorded"))
    for false in ("Measured from Python", "0 updates", "initialization"):
        assert false not in page


def test_rows_of_a_tracker_fill_one_another_s_gaps():
    """A history has a row a logged number, with blanks elsewhere, and nested names."""
    rows = []
    for lr in (0.1, 0.2):
        for seed in (1, 2, 3):
            for step in (1, 2):
                rows.append({"config.lr": lr, "seed": float(seed), "_step": step, "loss": lr * step, "val_loss": None})
                rows.append({"config.lr": lr, "seed": float(seed), "_step": step, "loss": None, "val_loss": lr + step})
    runs = lnlab.from_frame(pl.DataFrame(rows), axes=["config.lr"], step="_step")
    losses = runs.frame("loss")
    assert losses.filter(pl.col("split") == "validation")["value"].to_list()[:2] == pytest.approx([1.1, 2.1])
    assert losses.filter(pl.col("split") == "train").height == 12
    assert runs.axes == ["config.lr"]


def test_a_run_that_ends_early_is_left_out_of_the_last_step():
    """One run that ends at 300 of 500 gave *supported* once, at its own last step."""
    table = long_table(seeds=6)
    table = table.filter(~((pl.col("optimizer") == "sgd") & (pl.col("seed") == 2) & (pl.col("step") > 300)))
    (verdict,) = lnlab.from_frame(table, axes=["optimizer"], step="step").judge([claim_of_optimizer()])
    assert sorted(map(int, verdict.seeds)) == [1, 3, 4, 5, 6]
    early = table.filter(pl.col("seed") != 2)
    (whole,) = lnlab.from_frame(early, axes=["optimizer"], step="step").judge([claim_of_optimizer()])
    assert verdict.estimate == pytest.approx(whole.estimate, rel=1e-12)


def test_a_number_that_is_none_is_a_failed_seed_and_a_missing_one_pending_or_absent():
    table = long_table(seeds=6)
    nan = (pl.col("optimizer") == "sgd") & (pl.col("seed") == 2) & (pl.col("step") == 500)
    table = table.with_columns(pl.when(nan).then(float("nan")).otherwise(pl.col("val/loss")).alias("val/loss"))
    (verdict,) = lnlab.from_frame(table, axes=["optimizer"], step="step").judge([claim_of_optimizer()])
    assert 2 not in set(map(int, verdict.seeds))
    status = pl.when(pl.col("seed") == 3).then(pl.lit("crashed")).otherwise(pl.lit("finished"))
    runs = lnlab.from_frame(table.with_columns(state=status), axes=["optimizer"], step="step", status="state")
    assert runs.results.runs.filter(pl.col("status") == "failed")["seed"].unique().to_list() == [3]


def refused(text, table, **given):
    assert text in one_line(lnlab.from_frame, table, **{"axes": ["optimizer"], "step": "step", **given})


def test_sides_without_a_common_seed_are_no_pairs():
    table = long_table().with_columns(seed=pl.col("seed") + 10 * (pl.col("optimizer") == "sgd"))
    (verdict,) = lnlab.from_frame(table, axes=["optimizer"], step="step").judge([claim_of_optimizer()])
    assert verdict.verdict == "undecided"
    assert verdict.reason == "0 seeds on both sides; a verdict needs 5, by rule"


def test_mistakes_have_one_line():
    table = long_table(seeds=2)
    refused("there is no column 'sed'; did you mean 'seed'", table, seed="sed")
    refused("the column 'seed' has words (s1, s2)", table.with_columns(seed="s" + pl.col("seed").cast(pl.String)))
    refused("row 1 has no seed", table.with_columns(seed=pl.when(pl.col("step") > 0).then("seed")))
    refused("row 2 has no step", table.with_columns(step=pl.when(pl.col("step") != 100).then("step")))
    refused("has fractions", table.with_columns(seed=pl.col("seed") / 2))
    both = pl.concat([table.with_columns(warmup=pl.lit(w)) for w in ("yes", "no")])
    refused("two rows have optimizer adam, seed 1, step 0, and differ in warmup; name it in axes=", both)
    again = pl.concat([table, table.with_columns(pl.col("val/loss") * 2)])
    refused("step 0, and differ in val/loss; name what tells them apart in axes=", again)
    refused("and are the same; leave one of them out", pl.concat([table, table]))
    refused("the setting 'x' has the name of a column", table.rename({"optimizer": "x"}), axes=["x"])
    refused("the column 'm' has the word 'adam' in row 1", table.with_columns(m=pl.col("optimizer")), values=["m"])
    refused("the table has no rows", table.clear())
    refused("the table is int", 3)
    refused("has sleeping for one run", table.with_columns(s=pl.lit("sleeping")), status="s")


def test_a_page_and_its_words(tmp_path, golden):
    runs = lnlab.from_frame(long_table(), axes=["optimizer"], step="step")
    sections = [{"kind": "curves", "quantity": "loss", "where": {"split": "validation"}}]
    report = runs.report([claim_of_optimizer()], out=tmp_path / "page", sections=sections)
    assert report.failed == []
    page = (tmp_path / "page" / "index.html").read_text()
    golden(holding(page, "Trained and recorded"))
    for false in ("Measured from Python", "Random numbers are keyed", "Dropout is off", "parameters)"):
        assert false not in page
    files = runs.paper([claim_of_optimizer()], out=tmp_path / "paper", sections=sections)
    assert [file.name for file in files if file.suffix == ".pdf"] == ["paper-figure-1.pdf"]


@pytest.mark.parametrize(
    ("losses", "kept"),
    [
        ({1: [3.21, 2.718, 1.6180339], 2: [3.21, 2.718, 1.6180339], 3: [3.21, 2.718, 1.6180338]}, [1, 3]),
        ({1: [0.91, 0.92, 0.92], 2: [0.91, 0.92, 0.92], 3: [0.9, 0.92, 0.92]}, [1, 2, 3]),  # by chance
        ({1: [1.0, 1.0, 1.0], 2: [1.0, 1.0, 1.0]}, [1, 2]),
        ({1: [3.21, 2.718, 1.6180339], 2: [2.718, 3.21, 1.6180339]}, [1, 2]),  # the same values at other steps
        ({1: [3.21123456, 2.71812345, float("nan")], 2: [3.21123456, 2.71812345, float("nan")]}, [1]),
    ],
)
def test_copied_rows_of_a_table_count_once_where_chance_cannot_make_them(losses, kept):
    rows = [
        {"optimizer": "sgd", "seed": seed, "step": step, "loss": loss}
        for seed, values in losses.items()
        for step, loss in enumerate(values)
    ]
    table = pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = lnlab.from_frame(table, axes=["optimizer"], step="step", values=["loss"])
    assert sorted(runs.results.runs["seed"]) == kept
    assert len(caught) == (len(kept) < len(losses))
