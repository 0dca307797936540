"""``lnlab why``: every number on a page leads back to its rows and runs, and a failed run to its log."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from lnlab.store.plans import find_plan
from lnlab.store.store import Store


@pytest.fixture
def rows_behind(ran):
    """The rows of the tiny experiment as the store has them."""
    store = Store(Path(".lnlab").absolute())
    return store.results(find_plan(store.root, Path("tiny.yaml")).digest)


def test_a_claim_leads_to_rows_from_which_its_estimate_follows(lnlab, rows_behind):
    trace = lnlab("why", "tiny:post_above_pre", "--json", "--rows", "1000").json
    of, to = trace["selections"]
    assert (of["role"], to["role"]) == ("of", "to")
    assert of["conditions"] == "quantity = gradient_norm, layer = last, placement = post, stack = decoder, tensor = w2"
    values = [{row["seed"]: row["value"] for row in part["first_rows"]} for part in (of, to)]
    logs = [math.log(values[0][seed] / values[1][seed]) for seed in (1, 2, 3)]
    mean = sum(logs) / 3
    half = stats.t.ppf(0.975, 2) * stats.sem(logs)
    verdict = trace["verdict"]
    expected = [math.exp(x) for x in (mean, mean - half, mean + half)]
    assert [verdict["estimate"], verdict["low"], verdict["high"]] == pytest.approx(expected, rel=1e-9)
    (variant,) = of["variants"]
    assert set(variant["runs"]) <= set(rows_behind.runs["run"])
    assert (variant["variant"], variant["seeds"], variant["statuses"]) == ("placement=post", "1-3", "3 finished")
    assert of["steps"] == [0]
    assert of["quantities"][0]["origin"] == "probe gradient_norm, version 1"
    assert of["quantities"][0]["formula"].startswith("‖E[dL/dW]‖")


def test_the_place_where_it_was_declared_and_judged_is_named(lnlab, ran, tmp_path):
    assert lnlab("report", "tiny.yaml", "-q", "--out", tmp_path / "reports/tiny").code == 0
    line = next(n for n, text in enumerate(Path("tiny.yaml").read_text().splitlines(), 1) if "id: far_above" in text)
    from_store = lnlab("why", "tiny.yaml:far_above", "--json").json
    assert from_store["declared"].startswith(f"tiny.yaml:{line}:")
    assert from_store["judged"].startswith("plan ")
    link = f"{tmp_path}/reports/tiny/index.html#claim-2"
    for address in (link, f"{tmp_path}/reports/tiny:far_above", f"{tmp_path}/reports/tiny:2"):
        traced = lnlab("why", address, "--json").json
        assert traced["verdict"]["claim"] == "far_above"
        assert traced["judged"].endswith("data/verdicts.parquet, row 2")
        assert traced["page"] == link
        assert traced["selections"] == from_store["selections"]
    by_name = lnlab("why", "tiny:far_above", "--reports", tmp_path / "reports", "--json").json
    assert by_name["page"] == link, "a report comes before the store"


def test_every_line_is_printed_once_and_its_rows_stand_below(lnlab, ran):
    printed = lnlab("why", "tiny:post_above_pre", "--rows", "2").out
    assert [printed.count(f"\n{name} ") for name in ("verdict", "declared", "judged in", "of", "to")] == [1] * 5
    assert "the first 2:" in printed
    assert printed.count("gradient_norm  decoder") == 4


def test_a_run_is_known_by_the_beginning_of_its_key(lnlab, rows_behind):
    run = rows_behind.runs.row(0, named=True)
    trace = lnlab("why", run["run"][:10], "--json").json
    assert trace["run"] == run["run"]
    assert trace["name"] == "placement=post, seed 1"
    assert trace["outcome"]["status"] == "finished"
    assert trace["setting"] == json.loads(run["setting"])
    (probe,) = trace["probes"]
    expected = rows_behind.tables["sites"].filter(pl.col("run") == run["run"]).height
    assert probe["rows"] == {"sites": expected}
    assert expected > 0
    assert lnlab("why", run["trajectory"][:10]).code == 0
    several = lnlab("why", run["variant"][:10])
    assert (several.code, several.err.count("\n")) == (2, 1)
    assert "3 runs" in several.err
    assert f"{run['run'][:16]} (placement=post, seed 1)" in several.err


def test_a_failed_run_leads_to_its_reason_and_to_what_it_printed(lnlab, plugged, workers):
    text = plugged.read_text().replace("  - {kind: gradient_norm, at: init, batches: 1}\n", "  - {kind: fragile}\n")
    plugged.write_text(text.partition("report:")[0])
    ran = lnlab("run", "tiny.yaml", "--with", "mine.py", "-w", "1")
    (hint,) = [line for line in ran.err.splitlines() if "lnlab why" in line]
    key = hint.split()[-1]
    assert f"(lnlab why {key})" in lnlab("status", "tiny.yaml").out
    printed = lnlab("why", key, "--with", "mine.py").out
    assert "placement=post, seed 2" in printed
    assert "status       failed" in printed
    log = printed.partition("printed last:\n")[2]
    assert "  about to measure" in log
    assert "RuntimeError: no luck" in log


def test_a_wrong_address_is_one_line(ran, console):
    for address in ("tiny:post_above_prr", "tiny:3", "tinny:post_above_pre", "nonsense", "abcdef0123"):
        console.refused("why", address)
