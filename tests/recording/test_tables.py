"""What tables of other tools hold: each case with its right value, by what their cells say."""

import json
import math
import sys

import numpy as np
import polars as pl
import pytest

import lnlab
from lnlab.cli import main
from lnlab.errors import LabError
from tests.support.refusals import one_line


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def table_of(cells, separator="\t", others=None):
    rows = [f"a{separator}{seed}{separator}{cell}" for seed, cell in enumerate(cells, 1)]
    header = f"opt{separator}seed{separator}x"
    if others:
        header += f"{separator}y"
        rows = [f"{row}{separator}{other}" for row, other in zip(rows, others, strict=True)]
    return "\n".join([header, *rows]) + "\n"


def of_runs(optimizers="ab", seeds=5, steps=(1, 2), **columns):
    """A table with a row a step of each run; columns are functions of optimizer, seed and step."""
    return pl.DataFrame(
        {"opt": o, "seed": s, "step": t} | {name: column(o, s, t) for name, column in columns.items()}
        for o in optimizers
        for s in range(1, seeds + 1)
        for t in steps
    )


@pytest.mark.parametrize("separator", ["\t", ";", "|"])
@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["0,5", "12,25"], [0.5, 12.25]),
        (["1.299,99", "5"], [1299.99, 5]),
        (["1,299.99", "5"], [1299.99, 5]),
        (["1,234,567", "12"], [1234567, 12]),
        (["0,512", "0,125"], [0.512, 0.125]),
        (["2,310", "0.5"], [2310, 0.5]),
        (["2,310", "12,5"], [2.31, 12.5]),
        (["2.288", "1.950"], [2.288, 1.95]),
        (["2.310", "1250"], [2.31, 1250]),
        (["1 234", "12 345,5"], [1234, 12345.5]),
        (["1'234.5", "2"], [1234.5, 2]),
        (["\u22121.5", "+2"], [-1.5, 2]),
        (["1e-3", "2,5E1"], [0.001, 25]),
    ],
)
def test_a_column_says_which_mark_is_the_decimal_one(tmp_path, separator, cells, read):
    for encoding in ("utf-8", "utf-16"):
        path = written(tmp_path / "t.csv", table_of(cells, separator, others=["0.5", "1.25"]), encoding)
        assert lnlab.read_table(path)["x"].to_list() == read


@pytest.mark.parametrize(
    ("cells", "others"),
    [
        (["2,310", "950"], None),
        (["2,310", "2.310"], None),
        (["2.288", "950"], ["0,5", "1,25"]),
        (["2.310", "95"], None),
    ],
)
def test_an_open_mark_is_refused_until_somebody_says_it(tmp_path, cells, others, golden):
    path = written(tmp_path / "t.tsv", table_of(cells, others=others))
    with golden.raises(LabError):
        lnlab.read_table(path)
    point = [float(cell.replace(",", "")) for cell in cells]
    comma = [float(cell.replace(".", "").replace(",", ".")) for cell in cells]
    for given, read in (({"decimal": "."}, point), ({"thousands": ","}, point), ({"decimal": ","}, comma)):
        assert lnlab.read_table(path, **given)["x"].to_list() == read
    with golden.raises(LabError):
        lnlab.read_table(path, decimal=",", thousands=",")


def test_two_marks_in_a_column_are_refused(tmp_path):
    with pytest.raises(LabError, match=r"two decimal marks, in '1,5' \(row 1 .*\) and in '0.5' \(row 2"):
        lnlab.read_table(written(tmp_path / "t.tsv", table_of(["1,5", "0.5"])))


def test_tokens_with_thousands_in_a_spec(tmp_path, monkeypatch, capsys):
    """The ratio is 2.5; by decimal commas it was 0.0077, contradicted."""
    monkeypatch.chdir(tmp_path)
    tokens = {(o, s): (900 if o == "adam" else 2300) + s * 10 + 40 for o in ("adam", "sgd") for s in range(1, 7)}
    rows = [f"{o}\t{s}\t{t}\t{n:,}\n" for (o, s), n in tokens.items() for t in (1, 2)]
    written(tmp_path / "tok.tsv", "opt\tseed\tstep\ttokens\n" + "".join(rows))
    spec = """lnlab: 2
title: T
results: {kind: table, files: [tok.tsv], axes: [opt], seed: seed, step: step, values: [tokens]}
claims:
  - {id: r, kind: ratio, of: {quantity: tokens, step: last, opt: sgd}, to: {opt: adam}, at_least: 1.2}
"""
    written(tmp_path / "tok.yaml", spec)
    assert main(["check", "tok.yaml"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tok.yaml:3:")
    assert "'1,000' (row" in error
    written(tmp_path / "tok.yaml", spec.replace("values:", 'thousands: ",", values:'))
    assert main(["run", "tok.yaml", "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    expected = np.exp(np.mean([np.log(tokens["sgd", s] / tokens["adam", s]) for s in range(1, 7)]))
    assert (verdict["verdict"], verdict["estimate"]) == ("supported", pytest.approx(expected))


LOSSES = "".join(
    f"{o},{s},{t},{(3 if o == 'sgd' else 2) / t + s * 0.01}\n"
    for o in ("adam", "sgd")
    for s in range(1, 6)
    for t in (1, 2)
)


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("NaN", math.nan),
        ("nan", math.nan),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
        (" 2.5", 2.5),
        ("NA", None),
        ("", None),
        ("n/a", None),
        ("null", None),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame"])
def test_words_that_tools_write_for_numbers(tmp_path, word, number, kind):
    text = f"opt,seed,step,loss\n{LOSSES}adam,6,1,2\nadam,6,2,{word}\n"
    table = lnlab.read_table(written(tmp_path / "w.csv", text))
    if kind == "frame":
        table = table.with_columns(pl.col("loss").cast(pl.String))
    if kind == "jsonl":
        rows = [
            dict(zip(("opt", "seed", "step", "loss"), line.split(","), strict=True)) for line in text.splitlines()[1:]
        ]
        table = lnlab.read_table(written(tmp_path / "w.jsonl", "\n".join(map(json.dumps, rows))))
    frame = lnlab.from_frame(table, axes=["opt"], step="step").frame("loss")
    cells = frame.filter(pl.col("seed") == 6, pl.col("step") == 2)["value"].to_list()
    assert str(cells) == str([] if number is None else [number])


@pytest.mark.parametrize("word", ["-", "None", "50%", "diverged", "1.2.3", "2,5 s", "\u0663"])
def test_any_other_word_among_numbers_is_refused_with_its_row(tmp_path, word, golden):
    path = written(tmp_path / "w.csv", f'opt,seed,step,loss\n{LOSSES}adam,6,1,2\nadam,6,2,"{word}"\n')
    for values in (None, ["loss"]):
        with golden.raises(LabError):
            lnlab.from_frame(lnlab.read_table(path), axes=["opt"], step="step", values=values)


@pytest.mark.parametrize("cell", ["{}0%", "1.{}%", "{},00,000", "1{},50,000"])
def test_a_column_of_cells_that_are_nearly_numbers_does_not_vanish(tmp_path, cell, golden):
    """Shares in percent, and digits grouped as in India."""
    table = lnlab.read_table(
        written(tmp_path / "t.tsv", table_of([cell.format(s) for s in range(1, 6)], others="12345"))
    )
    with golden.raises(LabError):
        lnlab.from_frame(table, axes=["opt"])


def test_a_dash_for_most_cells_hides_no_column(tmp_path, golden):
    rows = "".join(f"a,{s},{t},{t},{'-' if t < 5 else 2.5}\n" for s in range(1, 6) for t in range(1, 6))
    with golden.raises(LabError):
        lnlab.from_frame(
            lnlab.read_table(written(tmp_path / "w.csv", "opt,seed,step,loss,acc\n" + rows)), axes=["opt"], step="step"
        )


def test_words_and_numbers_of_an_unnamed_column_of_names_are_no_quantity(tmp_path):
    rows = "".join(f"a,{s},{s / 3},{name}\n" for s, name in enumerate(("3f2a", "1234", "77bc", "9a01", "aa11"), 1))
    frame = lnlab.from_frame(
        lnlab.read_table(written(tmp_path / "w.csv", "opt,seed,acc,commit\n" + rows)), axes=["opt"]
    )
    assert frame.frame("acc").height == 5


@pytest.mark.parametrize(
    ("first", "second", "of"),
    [
        ("loss", "train_loss", "train"),
        ("val_loss", "eval_loss", "validation"),
        ("val/loss", "val_loss", "validation"),
        ("test_acc", "test/acc", "test"),
    ],
)
def test_two_names_never_become_one_quantity(first, second, of):
    table = of_runs(**{first: lambda o, s, t: s / t, second: lambda o, s, t: 10.0 + s * t})
    runs = lnlab.from_frame(table, axes=["opt"], step="step")
    for name in (first, second):
        frame = runs.frame(name)
        assert frame["value"].to_list() == table[name].to_list()
        assert set(frame["split"]) == {of}
        claim = {"id": "r", "kind": "ratio", "of": {"quantity": name, "step": "last", "opt": "b"}, "to": {"opt": "a"}}
        assert runs.judge([{**claim, "equals": 1}])[0].verdict == "supported"


def test_a_name_with_two_splits_is_no_role():
    """By its first word ``train/val_loss`` would be called as the other column is."""
    rows = [{"opt": "a", "seed": s, "train/val_loss": s * 1.017, "val_loss": s * 2.017} for s in range(1, 6)]
    runs = lnlab.from_frame(pl.DataFrame(rows), axes=["opt"])
    for name in ("train/val_loss", "val_loss"):
        assert runs.frame(name)["value"].to_list() == [row[name] for row in rows]


def test_a_column_is_asked_for_by_its_name_or_its_role(tmp_path):
    losses = {"val_loss": lambda o, s, t: s * 1.017 / t * (1 + (o == "b")), "train_loss": lambda o, s, t: s + t * 1.1}
    runs = lnlab.from_frame(of_runs(seeds=6, steps=(1, 2, 3), **losses), axes=["opt"], step="step")
    by_name, by_role = {"quantity": "val_loss"}, {"quantity": "loss", "split": "validation"}
    claim = {"id": "c", "kind": "ratio", "of": {"step": "last", "opt": "b"}, "to": {"opt": "a"}, "at_least": 1.5}
    one, other = (runs.judge({**claim, "of": claim["of"] | of})[0] for of in (by_name, by_role))
    assert one.estimate == other.estimate == pytest.approx(2.0)
    assert runs.frame("val_loss").equals(runs.frame("loss").filter(pl.col("split") == "validation"))
    sections = [{"kind": "curves", "quantity": "val_loss", "claims": [claim]}]
    report = runs.report(out=tmp_path / "page", sections=sections)
    assert report.failed == []
    runs.plot("val_loss")


@pytest.mark.parametrize("header", ["loss,loss", "loss, loss", "seed,loss", "step,loss"])
def test_equal_headers_are_refused(tmp_path, header):
    with pytest.raises(LabError, match="has two columns '"):
        lnlab.read_table(written(tmp_path / "d.csv", f"opt,seed,step,{header}\na,1,1,2.5,9\n"))


def test_equal_names_elsewhere_are_refused(tmp_path, golden):
    chart = written(tmp_path / "w.csv", '"Step","adam-seed1 - loss","adam-seed1 - loss"\n"10","2.5","2.6"\n')
    with golden.raises(LabError):
        lnlab.read_table(chart, runs="{opt}-seed{seed}")
    with golden.raises(LabError):
        lnlab.read_table(written(tmp_path / "w.jsonl", '{"opt": "a", "seed": 1, "loss": 1, "loss": 2}\n'))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["a", 1, 2.5, 9]], columns=["opt", "seed", "loss", "loss"])
    with golden.raises(LabError):
        lnlab.from_frame(frame, axes=["opt"])


def test_rows_of_one_step_are_joined_where_no_column_contradicts(golden):
    """As transformers and Lightning log: a row for training, one for validation, with the epoch in both."""
    rows = []
    for o in "ab":
        for s in range(1, 6):
            for step in (10, 20):
                both = {"opt": o, "seed": s, "step": step, "epoch": step / 20}
                rows += [
                    {**both, "loss": 2 - step / 20 + s},
                    {**both, "eval_loss": 3 - step / 20 + s, "eval_runtime": 0.3},
                ]
                rows += [{**both, "loss_epoch": 1.5 + s}]
    table = pl.DataFrame(rows, infer_schema_length=None)
    runs = lnlab.from_frame(table, axes=["opt"], step="step")
    for name, start in (("loss", 2), ("eval_loss", 3)):
        frame = runs.frame(name).filter(pl.col("opt") == "a", pl.col("seed") == 2)
        frame = frame.filter(pl.col("split") == ("train" if name == "loss" else "validation"))
        assert frame.select("step", "value").rows() == [(10, start + 1.5), (20, start + 1.0)]
    contradicting = pl.concat([table, table.head(1).with_columns(pl.col("loss") + 1)])
    with golden.raises(LabError):
        lnlab.from_frame(contradicting, axes=["opt"], step="step")
    with golden.raises(LabError):
        lnlab.from_frame(
            table.with_row_index().with_columns(host="h" + pl.col("index").cast(pl.String)).drop("index"),
            axes=["opt"],
            step="step",
        )


@pytest.mark.parametrize("filled", [1, 2])
def test_a_number_logged_once_a_run_is_a_quantity(filled):
    once = lambda o, s, t: None if t != filled else (0.8 if o == "a" else 0.99) + s / 1000  # noqa: E731
    table = of_runs(seeds=6, loss=lambda o, s, t: s / t, lr=lambda o, s, t: 0.1, test_acc=once)
    runs = lnlab.from_frame(table, axes=["opt"], step="step")
    of = {"quantity": "acc", "split": "test", "step": filled, "opt": "b"}
    (verdict,) = runs.judge([{"id": "r", "kind": "ratio", "of": of, "to": {"opt": "a"}, "at_least": 1.2}])
    expected = np.exp(np.mean([np.log((0.99 + s / 1000) / (0.8 + s / 1000)) for s in range(1, 7)]))
    assert (verdict.verdict, verdict.estimate) == ("supported", pytest.approx(expected))
    with pytest.raises(LabError, match="nothing called 'lr'"):
        runs.frame("lr")  # a setting


def test_numbers_of_runs_that_all_diverged_at_once_are_no_setting():
    frame = lnlab.from_frame(of_runs(seeds=2, loss=lambda *_: math.nan), axes=["opt"], step="step").frame("loss")
    assert str(frame["value"].to_list()) == str([math.nan] * 8)


ONE = {"opt": ["a"], "seed": [1], "loss": [1.0]}


@pytest.mark.parametrize(
    ("table", "given"),
    [
        (pl.DataFrame({"opt": ["a"], "seed": pl.Series([2**63 + 5], dtype=pl.UInt64), "loss": [1.0]}), {}),
        ({**ONE, "seed": ["9223372036854775813"]}, {}),
        ({**ONE, "step": [10**20]}, {"step": "step"}),
        ({**ONE, "step": [1e300]}, {"step": "step"}),
        (ONE, {"axes": ["seed"]}),
        (ONE, {"axes": ["opt", "opt"]}),
        ({**ONE, "seed": [1, 2]}, {}),
        ({**ONE, "loss": [1j]}, {"values": ["loss"]}),
    ],
)
def test_what_is_no_table_of_runs_is_one_line(table, given, golden):
    golden(one_line(lnlab.from_frame, table, **{"axes": ["opt"], **given}))


@pytest.mark.parametrize(
    ("values", "unit"), [([281 / 300, 2 / 3, 281 / 300, 7 / 9], None), ([0.123456789012345] * 4, "document")]
)
def test_equal_shares_and_equal_documents_are_no_copies(values, unit):
    """Of 300 examples two seeds may have 281 right each, however many digits that share has."""
    frame = {"opt": ["a"] * 4, "seed": [1, 2, 3, 4], "acc": values}
    runs = lnlab.from_frame(frame, axes=["opt"], unit=unit)
    assert runs.frame("acc")["value"].to_list() == values


def test_seeds_as_text_are_exact(tmp_path):
    path = written(tmp_path / "s.csv", f"opt,seed,loss\na,{2**53},1\na,{2**53 + 1},2\n")
    assert lnlab.from_frame(lnlab.read_table(path), axes=["opt"]).results.runs["seed"].to_list() == [2**53, 2**53 + 1]


def line(step, loss):
    return json.dumps({"opt": "a", "seed": 1, "step": step, "metrics": {"loss": loss}}) + "\n"


@pytest.mark.parametrize(
    ("text", "losses"),
    [
        (line(1, 2.0) + line(2, math.nan), "[2.0, nan]"),
        (line(1, 2.0) + line(2, -math.inf), "[2.0, -inf]"),
        ("\ufeff" + line(1, 2.0) + "\n" + line(2, 1), "[2.0, 1.0]"),
        (line(1, 2.0) + line(2, "NaN"), "[2.0, nan]"),
        (line(1, 2.0) + line(2, None), "[2.0, None]"),
        ('{"metrics": {"loss": 2}, "text": "a\u2028b\u0085"}\r\n{"metrics": {"loss": 1.5}}\r\n', "[2.0, 1.5]"),
    ],
)
def test_json_lines_as_python_writes_them(tmp_path, text, losses):
    assert str(lnlab.read_table(written(tmp_path / "x.jsonl", text))["metrics.loss"].to_list()) == losses


@pytest.mark.parametrize(
    "text",
    [line(1, 2.0) + '{"opt": "a", "se', line(1, 2.0) + "[1, 2]\n", line(1, [1, 2])],
)
def test_what_is_no_line_of_json_is_named(tmp_path, text, golden):
    with golden.raises(LabError):
        lnlab.read_table(written(tmp_path / "x.jsonl", text))


@pytest.mark.parametrize(
    ("most", "read", "place"),
    [
        (3, lambda folder: lnlab.read_table(folder / "t.csv"), "t.csv"),
        (3, lambda folder: lnlab.read_table(folder / "t.parquet"), "t.parquet"),
        (3, lambda folder: lnlab.from_frame(pl.read_csv(folder / "t.csv"), axes=["opt"], values=["x"]), "from_frame"),
        (7, lambda folder: lnlab.from_frame(pl.read_csv(folder / "t.csv"), axes=["opt"]), "from_frame"),
    ],
)
def test_a_table_of_more_numbers_than_a_page_holds_is_refused(tmp_path, monkeypatch, most, read, place):
    rows = pl.DataFrame({"opt": ["a"] * 4, "seed": range(4), "x": [1.0, 2, 3, 5], "y": [2.0, 3, 5, 7]})
    rows.write_csv(tmp_path / "t.csv")
    rows.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("lnlab.user_tables.MOST_ROWS", 8)
    read(tmp_path)
    monkeypatch.setattr("lnlab.user_tables.MOST_ROWS", most)
    with pytest.raises(LabError) as refused:
        read(tmp_path)
    (issue,) = refused.value.issues
    assert (issue.code, issue.where.removeprefix(f"{tmp_path}/")) == ("too-large", place)


def test_work_grows_with_columns_and_replicates_and_not_with_their_squares():
    """Counted in lines of Python that are run, which no other work on the machine moves."""

    def lines(columns, seeds=2):
        values = {f"c{i}": [i + s / 7 for s in range(seeds)] for i in range(columns)}
        table = pl.DataFrame({"opt": ["a"] * seeds, "seed": range(seeds), **values})
        count = 0

        def trace(_frame, event, _argument):
            nonlocal count
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            lnlab.from_frame(table, axes=["opt"])
        finally:
            sys.settrace(before)
        return count

    lines(10)
    assert lines(800) < 10 * lines(100)
    assert lines(5, 1600) < 10 * lines(5, 200), "where each is compared with all others it is 15"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("sep=;\nopt;seed;x\na;1;0,5\na;2;1,25\n", [0.5, 1.25]),
        (",opt,seed,x\n0,a,1,0.5\n1,a,2,1.25\n", [0.5, 1.25]),  # the index of pandas has no name
        ("opt,seed,x\ra,1,0.5\ra,2,1.25\r", [0.5, 1.25]),
    ],
)
def test_further_dialects(tmp_path, text, read):
    table = lnlab.read_table(written(tmp_path / "t.csv", text))
    assert table.columns == ["opt", "seed", "x"]
    assert table["x"].to_list() == read


@pytest.mark.parametrize("row", ["a,1", "a,1,2,3"])
def test_a_row_of_another_length_is_named(tmp_path, row):
    with pytest.raises(LabError, match=rf"row 2 \(line 3\) has {row.count(',') + 1} cells"):
        lnlab.read_table(written(tmp_path / "t.csv", f"opt,seed,loss\na,1,2\n{row}\na,3,1\n"))


def test_a_folder_of_tables_is_read(tmp_path):
    for seed in (1, 2):
        written(tmp_path / f"adam-seed{seed}.csv", f"step,loss\n1,{seed}.5\n2,{seed}.25\n")
    table = lnlab.read_table(tmp_path, runs="{opt}-seed{seed}")
    assert table.select("seed", "step", "loss").rows() == [(1, 1, 1.5), (1, 2, 1.25), (2, 1, 2.5), (2, 2, 2.25)]


def test_one_word_in_one_of_several_files_hides_no_column(tmp_path):
    for seed, word in ((1, "0.5"), (2, "NA"), (3, "?")):
        written(tmp_path / f"adam-seed{seed}.csv", f"step,loss\n1,{seed}.5\n2,{word}\n")
    table = lnlab.read_table([tmp_path / f"adam-seed{s}.csv" for s in (1, 2)], runs="{opt}-seed{seed}")
    assert table["loss"].to_list() == [1.5, 0.5, 2.5, None]
    with pytest.raises(LabError, match=r"the word '\?' in row 6 \(opt adam, seed 3\)"):
        lnlab.from_frame(lnlab.read_table(tmp_path, runs="{opt}-seed{seed}"), axes=["opt"], step="step")


@pytest.mark.parametrize("step", [None, "step"])
def test_a_spec_without_a_report_has_a_page_of_its_quantities(tmp_path, monkeypatch, capsys, step):
    monkeypatch.chdir(tmp_path)
    numbers = {"val_loss": lambda o, s, t: 2.13 * s / t + (o == "sgd"), "acc": lambda o, s, t: s * 0.117 / t}
    table = of_runs(("adam", "sgd"), steps=(1, 2, 3) if step else (1,), **numbers)
    (table if step else table.drop("step")).write_csv("runs.csv")
    with_step = f", step: {step}" if step else ""
    written(
        tmp_path / "t.yaml",
        f"lnlab: 2\ntitle: T\nresults: {{kind: table, files: [runs.csv], axes: [opt]{with_step}}}\n",
    )
    assert main(["report", "t.yaml"]) == 0, capsys.readouterr().err
    page = (tmp_path / "reports" / "t" / "index.html").read_text()
    assert page.count("<h2" if step else "Table ") >= 2
    for quantity in ("Loss", "Acc"):
        assert quantity in page
    assert "step 0" not in page
