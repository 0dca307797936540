"""The digest of a claim and its rows: moved by what the claim reads, and by nothing else."""

import math
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from lnlab.claims.row_digest import rows_digest
from lnlab.row_digests import digest_of_rows

CLAIM = {"id": "x", "kind": "ratio", "of": {"quantity": "q", "placement": "a"}, "to": {"placement": "b"}, "at_least": 2}


@pytest.fixture(scope="module")
def results(experiment):
    return experiment({"a": [1.0, 1.01], "b": [2.0, 2.0], "c": [5.0, 6.0]})


def changed(results, arm, column, value):
    sites = results.tables["sites"]
    here = pl.col("variant").str.starts_with(arm)
    new = pl.when(here).then(pl.lit(value, dtype=sites.schema[column])).otherwise(pl.col(column)).alias(column)
    return replace(results, tables={**results.tables, "sites": sites.with_columns(new)})


def test_it_is_stable_under_the_order_of_rows_and_of_keys_and_moved_by_nan_null_claim_and_ends(results):
    shuffled = replace(
        results, runs=results.runs.reverse(), tables={**results.tables, "sites": results.tables["sites"].reverse()}
    )
    assert (
        rows_digest(CLAIM, shuffled)
        == rows_digest(CLAIM, results)
        == rows_digest(dict(reversed(CLAIM.items())), results)
    )
    assert rows_digest(CLAIM | {"requires": ()}, results) == rows_digest(CLAIM | {"requires": []}, results)
    nan, null = changed(results, "a", "value", float("nan")), changed(results, "a", "value", None)
    assert len({rows_digest(CLAIM, r) for r in (results, nan, null)}) == 3
    diverged = replace(results, runs=results.runs.with_columns(status=pl.lit("diverged")))
    assert rows_digest(CLAIM | {"at_least": 3}, results) != rows_digest(CLAIM, results) != rows_digest(CLAIM, diverged)


@pytest.mark.parametrize("arm", ["a", "b"])
def test_a_number_of_either_side_moves_it(results, arm):
    assert rows_digest(CLAIM, changed(results, arm, "value", 1.0 + 2**-52)) != rows_digest(CLAIM, results)


def test_other_rows_do_not_move_it_unless_it_requires_them(results):
    other = changed(results, "c", "value", 9.0)
    assert rows_digest(CLAIM, other) == rows_digest(CLAIM, results)
    needs = CLAIM | {"requires": [{"kind": "bound", "of": {"quantity": "q", "placement": "c"}, "at_most": 9}]}
    assert rows_digest(needs, other) != rows_digest(needs, results)


def test_digests_and_verdicts_need_neither_scipy_nor_torch():
    code = "import sys, lnlab.claims.row_digest; print({'scipy', 'torch', 'altair'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_digest_of_rows_tells_null_from_nan_and_no_text_from_an_empty_one():
    frames = [
        pl.DataFrame({"value": [1.0, None], "text": ["a", "b"]}),
        pl.DataFrame({"value": [1.0, math.nan], "text": ["a", "b"]}),
        pl.DataFrame({"value": [1.0, None], "text": ["a", None]}),
        pl.DataFrame({"value": [1.0, None], "text": ["a", ""]}),
        pl.DataFrame({"value": [1.0, None], "text": ["", "ab"]}),
        pl.DataFrame({"value": [1.0, None], "text": ["ab", ""]}),
        pl.DataFrame(schema={"value": pl.Float64, "text": pl.String}),
    ]
    digests = [digest_of_rows(frame) for frame in frames]
    assert len(set(digests)) == len(frames)
    assert [digest_of_rows(frame.reverse()) for frame in frames] == digests
