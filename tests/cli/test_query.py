import csv
import io
import json
import signal
import subprocess
import sys
import time

import polars as pl
import psutil
import pytest

from lnlab.app import query_views as cli_views
from lnlab.cli.query import select_rows
from lnlab.errors import LabError

FRAMES = {"runs": pl.DataFrame({"run": ["a", "b"], "seed": [1, 2], "status": ["x SCAN [y", None]})}


def test_a_select_is_what_polars_makes_of_it():
    assert select_rows("SELECT run FROM runs WHERE seed > 1", FRAMES)[0].to_dicts() == [{"run": "b"}]
    assert select_rows(" WITH t AS (SELECT seed FROM runs) SELECT sum(seed) AS n FROM t", FRAMES)[0].to_dicts() == [
        {"n": 3}
    ]
    assert select_rows("show tables", FRAMES)[0]["name"].to_list() == ["runs"]


def test_text_that_looks_like_a_plan_is_no_file():
    assert select_rows("SELECT run FROM runs WHERE status = 'x SCAN [y'", FRAMES)[0].to_dicts() == [{"run": "a"}]


@pytest.mark.parametrize(
    "reader",
    [
        "read_csv('{}')",
        'READ_CSV("{}")',
        "\"read_csv\"('{}')",
        "read_csv/**/('{}')",
        "read_parquet('{}')",
        "read_json('{}')",
        "'{}'",
        '"{}"',
    ],
)
@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM {}", "SELECT run FROM runs WHERE run IN (SELECT secret FROM {})", "EXPLAIN SELECT * FROM {}"],
)
def test_no_query_reads_a_file(tmp_path, statement, reader):
    path = tmp_path / "secret.csv"
    path.write_text("secret\nxyzzy\n")
    with pytest.raises(LabError) as caught:
        select_rows(statement.format(reader.format(path)), FRAMES)
    assert "xyzzy" not in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE runs",
        "DELETE FROM runs",
        "CREATE TABLE t AS SELECT * FROM runs",
        "TRUNCATE runs",
        "",
        "SELECT 1; DROP TABLE runs",
    ],
)
def test_nothing_but_a_single_select_is_taken(statement):
    with pytest.raises(LabError, match="the tables are derived, results, runs"):
        select_rows(statement, FRAMES)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT nope FROM runs", "nope"),
        ("SELECT * FROM nope", "nope"),
        ("SELECT * FRM runs", "Expected"),
        ("SELECT (", ""),
    ],
)
def test_mistakes_are_one_problem_that_names_the_tables(statement, said):
    with pytest.raises(LabError) as caught:
        select_rows(statement, FRAMES)
    (problem,) = caught.value.problems
    assert said in problem.what
    assert "runs" in problem.remedy


def test_the_last_run_answers_as_table_json_and_csv(ran, lnlab):
    statement = (
        "SELECT r.seed, s.layer, s.value FROM sites s JOIN runs r ON s.run = r.run WHERE s.quantity = 'gradient_norm' "
        "AND s.stack = 'decoder' AND s.tensor = 'w2' ORDER BY r.seed, s.layer, s.value"
    )
    rows = lnlab("query", statement, "--json").json
    assert [(row["seed"], row["layer"]) for row in rows] == [(s, n) for s in (1, 2, 3) for n in (1, 1, 2, 2)]
    table = lnlab("query", statement, "--csv").out
    assert [float(row["value"]) for row in csv.DictReader(io.StringIO(table))] == [row["value"] for row in rows]
    lines = lnlab("query", statement, "--spec", "tiny.yaml").out.splitlines()
    assert lines[0].split() == ["seed", "layer", "value"]
    assert len(lines) == 1 + len(rows)


def test_verdicts_can_be_asked_for(ran, lnlab):
    assert lnlab("query", "SELECT claim, n FROM verdicts", "--json").json == [
        {"claim": "post_above_pre", "n": 3},
        {"claim": "far_above", "n": 3},
    ]
    assert json.loads(lnlab("query", "SELECT seeds FROM verdicts", "--json").json[0]["seeds"]).keys() == {"1", "2", "3"}


ENDLESS = " ".join(["SELECT run FROM runs WHERE seed = 0", *(f"OR seed = {n}" for n in range(4_000))])
"""Minutes of work for Polars, whose time grows with the square of the terms; many more of them overflow its stack."""


@pytest.mark.parametrize(
    "statement", ["SELECT columns('(') FROM runs", "SELECT greatest() FROM runs", "SELECT greatest() AS a"]
)
def test_what_polars_panics_about_is_one_line(ran, lnlab, statement):
    said = lnlab("query", statement)
    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert said.err.startswith("lnlab query: ")


def test_a_query_has_a_bound_on_its_memory(monkeypatch):
    monkeypatch.setattr("lnlab.cli.query.QUERY_MEMORY", 2**29)
    assert select_rows("SELECT run FROM runs", FRAMES)[0].height == 2
    with pytest.raises(LabError, match="it needs more than 537 MB of memory"):
        select_rows("SELECT lpad('a', 1000000000, 'b') FROM runs", FRAMES, seconds=120)


@pytest.mark.usefixtures("promptly")
def test_a_query_ends_when_its_time_is_up():
    begun = time.monotonic()
    with pytest.raises(LabError, match=r"no answer within 1 s; .* --timeout"):
        select_rows(ENDLESS, FRAMES, seconds=1)
    assert time.monotonic() - begun < 10


def test_a_query_is_interrupted(ran):
    command = [sys.executable, "-m", "lnlab", "query", ENDLESS, "--timeout", "600"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while not psutil.Process(running.pid).children() and time.monotonic() < deadline:
        time.sleep(0.1)
    (child,) = psutil.Process(running.pid).children()
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    child.wait(20)  # raises where it goes on


def test_no_more_rows_are_printed_than_the_limit(ran, lnlab):
    said = lnlab("query", "SELECT * FROM sites", "--json", "--limit", 2)
    assert len(said.json) == 2
    assert said.err == "the first 2 rows; there are more: --limit ROWS prints them\n"
    assert lnlab("query", "SELECT 1 AS a", "--json", "--limit", 1).err == ""


def test_describe_lists_the_columns_of_a_table():
    types = {"run": "String", "seed": "Int64", "status": "String"}
    rows = [{"column": name, "type": kind} for name, kind in types.items()]
    for statement in ("describe runs", "DESCRIBE TABLE runs;", ' desc "runs" '):
        assert select_rows(statement, FRAMES)[0].to_dicts() == rows
    with pytest.raises(LabError, match=r"there is no table 'run'.*'runs'"):
        select_rows("DESCRIBE run", FRAMES)


def test_columns_of_every_table_can_be_listed(ran, lnlab):
    names = [row["name"] for row in lnlab("query", "SHOW TABLES", "--json").json]
    assert {"runs", "axes", "sites", "derived", "results", "verdicts"} <= set(names)
    for name in ("sites", "derived", "results"):
        listed = [row["column"] for row in lnlab("query", f"describe {name}", "--json").json]
        assert {"quantity", "value"} <= set(listed)


def test_results_have_axes_for_columns_and_no_keys(ran, lnlab):
    rows = lnlab("query", "SELECT * FROM results WHERE quantity = 'gradient_norm'", "--json").json
    assert {row["placement"] for row in rows} == {"post", "pre"}
    assert not {"run", "variant", "measurement", "trajectory"} & set(rows[0])
    sums = {
        row["placement"]: row["v"]
        for row in lnlab(
            "query", "SELECT placement, sum(value) AS v FROM results GROUP BY placement ORDER BY placement", "--json"
        ).json
    }
    statement = (
        "SELECT a.label AS placement, sum(s.value) AS v FROM sites s JOIN axes a ON s.run = a.run "
        "WHERE a.axis = 'placement' GROUP BY a.label ORDER BY placement"
    )
    by_hand = {row["placement"]: row["v"] for row in lnlab("query", statement, "--json").json}
    assert sums == pytest.approx(by_hand)


def test_derived_quantities_can_be_asked_for(ran, lnlab):
    """The growth from layer 1 to layer 2 is the quotient of the stored norms, seed by seed."""
    site = "stack = 'decoder' AND sublayer = 'feed_forward' AND tensor = 'w2'"
    statement = f"SELECT run, seed, value FROM derived WHERE quantity = 'gradient_growth' AND layer = 2 AND {site}"
    growth = {row["run"]: row["value"] for row in lnlab("query", statement, "--json").json}
    norms = lnlab("query", f"SELECT run, layer, value FROM sites WHERE quantity = 'gradient_norm' AND {site}", "--json")
    by_place = {(row["run"], row["layer"]): row["value"] for row in norms.json}
    assert len(growth) == 6
    assert growth == pytest.approx({run: by_place[run, 2] / by_place[run, 1] for run in growth})


def test_a_view_is_built_only_if_it_is_named(monkeypatch):
    built = []
    monkeypatch.setattr(cli_views, "QUERY_VIEWS", {"derived": built.append, "results": built.append})
    assert cli_views.named_views("SELECT * FROM sites", "them") == {}
    assert built == []
    assert cli_views.named_views("SELECT * FROM derived", "them") == {"derived": None}
    assert built == ["them"]
