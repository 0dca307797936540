"""The folder of a report may come from anybody: nothing in it blocks, leads elsewhere, or is read without end."""

import json
import os
import shutil
import socket
from pathlib import Path

import polars as pl
import pytest

from lnlab.errors import ReportError
from lnlab.report.contents import LARGEST_REPORT_FILE, is_report, list_files, read_file, reports_below
from lnlab.report.facts import facts_from_json
from lnlab.report.folder import read_folder, write_files
from lnlab.report.index import read_cards
from lnlab.report.paper.write import write_paper
from lnlab.report.write import render_report
from lnlab.store.records.checksummed import to_checksummed_json
from tests.support.report_folders import save_folder


@pytest.fixture(scope="module")
def written(tmp_path_factory, small):
    out = tmp_path_factory.mktemp("door") / "reports" / "r1"
    save_folder(out, *small)
    return out


@pytest.fixture
def report(written, tmp_path):
    """A copy of a report that is slow to make."""
    return shutil.copytree(written.parent, tmp_path / "reports") / "r1"


def pipe(path):
    os.mkfifo(path)


def link(path):
    path.symlink_to("/etc/passwd")


def broken_link(path):
    path.symlink_to("nothing there")


def loop(path):
    path.symlink_to(path.parent)


def hole(path):
    with path.open("wb") as file:
        file.truncate(2 * LARGEST_REPORT_FILE)


def sock(path):
    with socket.socket(socket.AF_UNIX) as opened:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket is short
        opened.bind(path.name)
        os.chdir(here)


def subfolder(path):
    path.mkdir()


def damaged(path):
    path.write_bytes(b"PAR1 nothing else")


PLANTED = [pipe, link, broken_link, loop, hole, sock, subfolder, damaged]


TABLES = [
    "data/packs/*/sites.parquet",
    "data/packs/*/index.json",
    "data/plans/*/runs.parquet",
    "data/plans/*/plan.json",
]


@pytest.mark.parametrize("name", ["data/verdicts.parquet", *TABLES])
@pytest.mark.parametrize("plant", PLANTED)
def test_whatever_stands_for_a_table_is_one_message_with_its_place(report, name, plant):
    (path,) = report.glob(name)
    path.unlink()
    plant(path)
    with pytest.raises(ReportError) as caught:
        read_folder(report)
    (problem,) = caught.value.issues
    assert problem.where in (str(path), str(report / "data/packs"))
    assert problem.remedy


def test_a_store_that_leads_out_of_the_folder_is_refused(report, golden):
    """The index of a pack and the digest of a plan are names that a stranger may choose."""
    path = report / "data/experiment.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"digest": "../../../elsewhere"}))
    with golden.raises(ReportError):
        read_folder(report)


def test_a_pack_of_more_than_its_index_says_is_refused(report):
    (path,) = report.glob("data/packs/*/sites.parquet")
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ReportError, match="packs:"):
        read_folder(report)
    index = path.with_name("index.json")
    content = json.loads(index.read_text())["content"]
    content["tables"]["sites"][1][0][1] = 1 << 60
    index.write_bytes(to_checksummed_json(content))
    with pytest.raises(ReportError, match="packs:"):
        read_folder(report)


def test_a_table_that_unfolds_to_more_than_a_report_is_refused(report, monkeypatch):
    monkeypatch.setattr("lnlab.report.folder.LARGEST_UNFOLDED", 1000)
    with pytest.raises(ReportError, match="it unfolds to"):
        read_folder(report)


@pytest.mark.parametrize("plant", PLANTED)
def test_every_command_that_reads_a_report_goes_through_the_door(report, plant, tmp_path):
    (path,) = report.glob("data/plans/*/axes.parquet")
    path.unlink()
    plant(path)
    with pytest.raises(ReportError):
        render_report(report)
    with pytest.raises(ReportError):
        write_paper([report], tmp_path / "paper")
    assert read_cards(report.parent)[0].error


@pytest.mark.parametrize("name", ["data", "data/experiment.json"])
def test_a_link_in_place_of_the_data_is_refused(report, name, tmp_path):
    shutil.move(report / name, tmp_path / "elsewhere")
    (report / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReportError, match="link"):
        read_folder(report)


@pytest.mark.parametrize("name", ["data", "figures", "tables", "index.html", "tables/verdicts.csv"])
def test_a_report_is_written_into_its_folder_and_not_through_a_link(report, name, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine").write_bytes(b"mine")
    place = report / name
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.symlink_to(target if "." not in name else target / "mine")
    with pytest.raises(ReportError, match="is a link"):
        write_files(report, {"index.html": b"a", "tables/verdicts.csv": b"b", "data/runs.parquet": b""}, ("figures",))
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {"mine": b"mine"}
    assert place.is_symlink()


def test_a_report_folder_that_is_itself_reached_over_a_link_is_a_report(report, tmp_path):
    (tmp_path / "shortcut").symlink_to(report)
    assert read_folder(tmp_path / "shortcut")[0] == read_folder(report)[0]


def test_the_listing_has_hidden_files_and_names_what_is_none(report):
    (report / ".hidden").write_text("x")
    (report / "data" / ".git").mkdir()
    (report / "data" / ".git" / "config").write_text("x")
    os.mkfifo(report / "pipe")
    loop(report / "loop")
    other = report / "real"
    shutil.copytree(report / "data", other / "data")
    names, foreign = list_files(report)
    assert {".hidden", "data/.git/config", "data/experiment.json"} <= set(names)
    assert {(entry.name, entry.what) for entry in foreign} == {("pipe", "a pipe"), ("loop", "a link")}
    assert not any(name.startswith("real/") for name in names)  # a report of its own
    assert list(reports_below(report.parent)) == [report, other]


@pytest.mark.parametrize("name", ["r[1]", "r*", "r?", "{r1}", "[!a]", "**"])
def test_no_name_of_a_folder_is_a_pattern(report, name, small):
    """Beside ``r1`` lies a folder whose name, as a pattern, would be ``r1``."""
    facts, results, verdicts = read_folder(report)
    other = report.with_name(name)
    save_folder(other, facts, results.__class__(results.runs.head(1), results.axes, results.tables), verdicts)
    assert read_folder(other)[1].runs.height == 1
    assert read_folder(report)[1].runs.height == results.runs.height
    assert {card.name for card in read_cards(report.parent)} == {"r1", name}


WRONG = {
    "[]": "JSON object",
    "null": "JSON object",
    '"text"': "JSON object",
    "[" * 100_000: "nested too deeply",
    '{"a":' * 100_000: "nested too deeply",
    "": "line 1, column 1",
    "{": "line 1, column 2",
    '{"format": NaN}': "NaN",
    '{"format": Infinity}': "Infinity",
    '{"title": "\\ud800"}': "surrogate",
    '{"format": "7"}': "",
    '{"format": 6}': "write the report again",
    '{"format": 8}': "update lnlab",
    '{"format": 1e999}': "",
    "{}": "of format None",
    '{"format": 7}': "unknown or missing fields",
    "9" * 5000: "",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
def test_a_file_of_facts_that_is_none_is_one_message_with_its_place(report, text):
    (report / "data/experiment.json").write_text(text)
    with pytest.raises(ReportError) as caught:
        read_folder(report)
    (problem,) = caught.value.issues
    assert problem.where == str(report / "data/experiment.json")
    assert WRONG[text] in str(problem)
    assert "pydantic" not in str(problem)


def test_bytes_that_are_no_text_are_one_message(report):
    (report / "data/experiment.json").write_bytes(b'{"title": "caf\xe9"}')
    with pytest.raises(ReportError, match="byte 15"):
        read_folder(report)


@pytest.mark.parametrize("value", [None, 1, True, [], {}, "text", [1], [[]], {"a": 1}, [{"a": 1}], [None]])
def test_a_field_of_another_type_is_one_message_or_is_drawn(report, value):
    """Every field in turn holds every value; what is no traceback is right."""
    path = report / "data/experiment.json"
    whole = json.loads(path.read_text())
    refused = []
    for name in whole:
        path.write_text(json.dumps(whole | {name: value}))
        try:
            read_folder(report)
        except ReportError as error:
            refused.append([problem.where for problem in error.issues])
    assert len(refused) >= 10
    assert refused == [[str(path)]] * len(refused)


def test_a_table_of_other_columns_is_no_table_of_a_report(report):
    pl.DataFrame({"a": [1]}).write_parquet(report / "data/verdicts.parquet")
    with pytest.raises(ReportError, match=r"verdicts\.parquet:"):
        read_folder(report)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *[(name, -1) for name in ("claim", "says", "role", "verdict", "quantity", "reason")],
        *[(name, "x") for name in ("verdict", "role", "estimate", "low", "region_high", "law", "n", "seeds")],
        *[("seeds", text) for text in ('{"1": null}', "[]", "[[]]", '{"1": "x"}')],
        *[("elsewhere", text) for text in ('{"a": [1]}', '{"a": 1}')],
        *[(name, 1e308) for name in ("level", "bound")],
        ("look", 0),
        ("claim", None),
    ],
)
def test_a_verdict_that_holds_what_none_has_is_one_message_with_the_file(report, column, value):
    path = report / "data/verdicts.parquet"
    table = pl.read_parquet(path)
    kind = table.schema[column] if value is None or column == "look" else None
    table.with_columns(pl.lit(value, kind).alias(column)).write_parquet(path)
    with pytest.raises(ReportError, match=r"verdicts\.parquet:"):
        read_folder(report)


def test_a_folder_without_facts_is_no_report(tmp_path):
    (tmp_path / "data").mkdir()
    assert not is_report(tmp_path)
    os.mkfifo(tmp_path / "data/experiment.json")
    assert not is_report(tmp_path)
    assert read_file(tmp_path, "data/verdicts.parquet") is None


def test_a_wrong_entry_of_a_field_is_one_message_with_the_file_and_the_field(report):
    path = report / "data/experiment.json"
    whole = json.loads(path.read_text())
    look = {"look": 1, "seeds": [1], "n": 1, "alpha": 0.05, "date": "2026-11-28", "commit": "", "criterion": "c"}
    facts_from_json(whole | {"looks": {"a": [look]}}, str(path))
    for wrong in (look | {"n": [[]]}, look | {"alpha": 2.0}, look | {"more": 1}, {"look": 1}):
        with pytest.raises(ReportError, match=r"experiment\.json.*looks\.a\.0"):
            facts_from_json(whole | {"looks": {"a": [wrong]}}, str(path))
    task, init = {"task": {"kind": "x"}, "key": "k"}, {"init": {"kind": "x"}, "run": ["k"]}
    facts_from_json(whole | {"files_read": [task, task | {"epoch": None}, init]}, str(path))
    for wrong in (
        {},
        {"task": {"kind": "x"}},
        {"init": {"kind": "x"}},
        task | {"epoch": 0},
        task | init,
        init | {"run": []},
    ):
        with pytest.raises(ReportError, match=r"experiment\.json.*files_read\.0"):
            facts_from_json(whole | {"files_read": [wrong]}, str(path))
