"""What ``lnlab check`` knows before a run: the files that a spec names, and schedules that do not do what they say."""

import datetime
import re
from types import SimpleNamespace

import polars as pl
import pytest

import lnlab
from lnlab.app.planning.schedule_notes import updates_without_rectification
from lnlab.app.run_summary import RunResult
from lnlab.cli import main
from lnlab.rectification import rectification

SPEC = """lnlab: 2
title: t
task: {kind: classification, corpus: {kind: labelled_table, file: FILE}, vocabulary: 99, batch_sentences: 8, classes: 2}
model: {kind: classifier, layers: 1, d_model: 16, heads: 2, d_ff: 16}
placement: pre
optimizer: {kind: adam, lr: 1e-3}
train: {steps: 2}
report: [{title: L, kind: curves, quantity: loss, where: {split: validation}}]
"""
ROWS = [(f"word{i % 7} some text {i}", f"l{i % 2}") for i in range(200)]


@pytest.fixture
def check(tmp_path, monkeypatch, console):
    monkeypatch.chdir(tmp_path)

    def checked(file, content, *, spec=SPEC, also=()):
        if isinstance(content, pl.DataFrame):
            content.write_parquet(tmp_path / file)
        elif content is not None:
            (tmp_path / file).write_bytes(content)
        (tmp_path / "s.yaml").write_text(spec.replace("FILE", file))
        said = console("check", "s.yaml", *also)
        return said.code, said.out + said.err

    return checked


def lines(separator=",", rows=ROWS, header=("text", "label")):
    return "\n".join(separator.join(row) for row in [header, *rows]) + "\n"


@pytest.mark.parametrize(
    "content",
    [lines(";").encode(), lines("\t").encode("utf-16"), lines("|").replace("some", "schön").encode("latin-1")],
)
def test_a_table_of_any_dialect_passes(check, content):
    assert check("t.csv", content)[0] == 0


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        ("t.csv", None, "3:67: task.corpus.file"),
        ("t.csv", lines(header=("txt", "label")).encode(), "'text'"),
        ("t.csv", lines(rows=ROWS[:1]).encode(), "t.csv"),
        ("t.csv", lines(rows=[("a", "x"), ("b", "y"), ("c", "z")]).encode(), "classes: 3"),
        ("t.csv", lines(rows=ROWS[:2] * 100).encode(), "row 3"),
        ("t.csv", lines(rows=[("a", "x"), ("a", "y")] * 100).encode(), "200"),
        ("t.csv", lines(rows=[*ROWS, ("a", "b", "c")]).encode(), "row 201 (line 202)"),
        ("t.parquet", pl.DataFrame({"text": [text for text, _ in ROWS], "label": [[0]] * 200}), "'label'"),
    ],
)
def test_what_is_wrong_with_a_table_is_known_before_the_run_and_at_its_place(check, file, content, what):
    code, said = check(file, content)
    assert code == 2
    assert said.startswith("s.yaml:3:")
    assert said.count("\n") == 1
    assert what in said


def test_dates_are_labels(check):
    days = [datetime.date(2024, 1, 1 + i % 2) for i in range(200)]
    assert check("t.parquet", pl.DataFrame({"text": [text for text, _ in ROWS], "label": days}))[0] == 0


def test_the_page_says_how_many_rows_are_used_and_the_terminal_which_sections_have_nothing_to_show(
    check, console, golden, tmp_path, monkeypatch
):
    monkeypatch.setenv("LNLAB_STORE", str(tmp_path / "store"))
    empty = "  - {title: The spectrum, kind: spectral_density}\n  - {kind: cumulative_spectrum}\n"
    spec = SPEC.replace("report: [", "report:\n  - ").replace("}}]\n", "}}\n") + empty
    code, said = check("t.csv", lines(rows=[*ROWS, ROWS[0], ROWS[0]]).encode(), spec=spec)
    assert code == 0
    note = re.search("note: (.*)", said)[1]
    assert "200 of 202" in note
    assert "row 201" in note
    assert main(["run", "s.yaml", "--quiet", "-w", "1"]) == 0
    console("report", "s.yaml", of="section")
    page = (tmp_path / "reports" / "s" / "index.html").read_text()
    assert note in page
    assert "The spectrum" not in page.partition('id="again"')[0]
    console("report", "s.yaml", "--quiet")


TEXT = (
    SPEC[: SPEC.index("task:")]
    + (
        "task: {kind: language_modeling, corpus: {kind: text, files: [FILE]}, vocabulary: 60, length: 8, windows: 4}\n"
        "model: {kind: language_model, layers: 1, d_model: 16, heads: 2, d_ff: 16}\n"
    )
    + SPEC[SPEC.index("placement:") :]
)


@pytest.mark.parametrize("content", [None, b"good\nb\xe4d\n", b"one\rtwo\rthree\r", b"\n\n"])
def test_what_is_wrong_with_a_text_is_known_before_the_run(check, content):
    code, said = check("a.txt", content, spec=TEXT)
    assert code == 2
    assert said.startswith("s.yaml:3:")


def test_a_warm_up_longer_than_the_run_and_the_first_updates_of_radam_are_noted(check):
    also = ["-s", "schedule={kind: inverse_sqrt, warmup_steps: 400}", "-s", "optimizer={kind: radam, beta2: 0.98}"]
    code, said = check("t.csv", lines().encode(), also=also)
    assert (code, said.count("note: ")) == (0, 2)
    assert "note: warmup" not in check("t.csv", None, also=["-s", "schedule={kind: constant, warmup_steps: 2}"])[1]


@pytest.mark.parametrize("beta2", [0.5, 0.66, 0.7, 0.9, 0.98, 0.999])
def test_updates_before_rectification_are_those_of_torch(beta2):
    number = updates_without_rectification(beta2)
    small = [t for t in range(1, 200) if rectification(t, beta2).rho_t <= 5]
    assert small == list(range(1, 200 if number is None else number + 1))


def test_a_run_of_which_a_part_failed_says_so_from_python(monkeypatch):
    endings = [{"status": "failed", "reason": "it broke\x1b[31m"}, {"status": "diverged", "reason": "NaN"}]
    runs = SimpleNamespace(runs=pl.DataFrame({"run": ["a", "b", "c"]}))
    interrupted = SimpleNamespace(interrupted=False, stored=SimpleNamespace(facts=None))
    result = RunResult(request=None, summary=interrupted, results=runs, verdicts=())
    monkeypatch.setattr("lnlab.app.run_summary.unfinished_runs", lambda _: endings)
    monkeypatch.setattr("lnlab.app.running.run_request", lambda *_, **__: result)
    with pytest.warns(UserWarning, match=r"1 of 3 .*it broke\\x1b\[31m"):
        lnlab.run("s.yaml", progress=False)


@pytest.mark.parametrize("train", ["steps: 2", "epochs: 2"])
def test_a_wrong_number_of_labels_is_told_at_its_place_also_where_epochs_are_counted(check, train):
    spec = SPEC.replace("classes: 2", "classes: 3").replace("steps: 2", train)
    code, said = check("t.csv", lines().encode(), spec=spec)
    assert (code, said.startswith("s.yaml:3:120: task.classes: ")) == (2, True)
