"""``lnlab results``: what was measured, as one table that other tools read."""

import csv
import importlib.util
import json
import math
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import lnlab as package
from lnlab.app.results_file import METADATA_KEY, write_table
from lnlab.report.folder import read_folder
from lnlab.report.tidy import tidy_rows
from lnlab.tables import Results, frame
from tests.support.toy_specs import LANGUAGE_MODEL, toy_spec

GUIDE = (Path(__file__).parents[2] / "docs" / "reading_results.md").read_text()

SPECTRA = toy_spec(
    LANGUAGE_MODEL,
    "probes: [{kind: hessian_spectrum, at: init, split: validation, batches: 1, draws: 1, steps: 3}]\n",
    task={"vocabulary": 40, "length": 8},
    norm="layer",
    placement="pre",
    seeds=1,
)


@pytest.fixture
def ran(once, tmp_path, monkeypatch):
    """A copy of the folder ``once``, in which files may be written, as the working folder."""
    shutil.copytree(once, tmp_path / "ran")
    monkeypatch.chdir(tmp_path / "ran")


def written(lnlab, spec, name, *words):
    result = lnlab("results", spec, "--out", name, *words)
    assert result.code == 0, result.err
    return result


def test_every_number_is_a_row_with_its_setting_and_no_keys(ran, lnlab):
    stored = package.results("tiny.yaml").results
    printed = written(lnlab, "tiny.yaml", "t.parquet")
    rows = pl.read_parquet("t.parquet")
    assert rows.columns[:4] == ["placement", "seed", "step", "quantity"]
    assert rows.columns[-1] == "value"
    assert not {"run", "variant", "measurement", "trajectory"} & set(rows.columns)
    assert printed.out.startswith(f"t.parquet: {rows.height:,} rows: ")
    numbers = sum(stored.tables[name].height for name in ("sites", "curves", "lines"))
    assert rows.height == numbers
    # the same sums as by hand, from the table of rows and that of axes
    by_hand = stored.tables["sites"].join(stored.axes.filter(axis="placement"), on="run").group_by("label", "seed")
    by_hand = by_hand.agg(pl.col("value").sum()).rename({"label": "placement"}).sort("placement", "seed")
    assert_frame_equal(rows.group_by("placement", "seed").agg(pl.col("value").sum()).sort("placement", "seed"), by_hand)


def test_the_three_formats_hold_the_same_numbers(ran, lnlab):
    for ending in ("parquet", "csv", "json"):
        written(lnlab, "tiny.yaml", f"t.{ending}")
    rows = pl.read_parquet("t.parquet")
    assert_frame_equal(pl.read_csv("t.csv", schema=rows.schema), rows)
    assert json.loads(Path("t.json").read_text()) == rows.to_dicts()
    with Path("t.csv").open(newline="") as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == rows["value"].to_list()


def test_the_metadata_say_what_each_column_is(ran, lnlab, golden):
    written(lnlab, "tiny.yaml", "t.parquet")
    columns = json.loads(pl.read_parquet_metadata("t.parquet")[METADATA_KEY])["columns"]
    assert list(columns) == pl.read_parquet("t.parquet").columns
    assert columns["placement"] == {"name": "placement", "path": "placement"}
    assert columns["step"]["description"]
    quantity = columns["quantity"]["quantities"]["gradient_norm"]
    golden(f"{quantity['name']}, {quantity['unit']}: {quantity['definition']}")
    written(lnlab, "tiny.yaml", "one.parquet", "--quantity", "gradient_norm")
    columns = json.loads(pl.read_parquet_metadata("one.parquet")[METADATA_KEY])["columns"]
    assert columns["value"] == {"name": "gradient norm", "unit": "nats per token"}


def test_a_derived_quantity_and_the_runs_can_be_asked_for(ran, lnlab):
    """The growth from layer 1 to layer 2 is the quotient of the stored norms, seed by seed."""
    written(lnlab, "tiny.yaml", "growth.parquet", "--quantity", "gradient_growth")
    written(lnlab, "tiny.yaml", "norms.parquet", "--quantity", "gradient_norm")
    place = {"stack": "decoder", "sublayer": "feed_forward", "tensor": "w2"}
    growth = pl.read_parquet("growth.parquet").filter(layer=2, **place).sort("placement", "seed")
    norms = pl.read_parquet("norms.parquet").filter(**place).sort("placement", "seed", "layer")
    first, second = (norms.filter(layer=layer)["value"] for layer in (1, 2))
    assert growth.height == 6
    assert growth["value"].to_list() == pytest.approx((second / first).to_list())
    written(lnlab, "tiny.yaml", "runs.parquet", "--quantity", "runs")
    runs = pl.read_parquet("runs.parquet")
    assert runs.select("placement", "seed", "status").rows() == [
        (placement, seed, "finished") for placement in ("post", "pre") for seed in (1, 2, 3)
    ]
    assert set(runs["run"]) == set(package.results("tiny.yaml").results.runs["run"])


def test_without_a_file_it_lists_what_was_measured(ran, lnlab):
    listed = lnlab("results", "tiny.yaml", "--json").json
    stored = package.results("tiny.yaml").results.tables["sites"]
    assert {row["quantity"]: row["rows"] for row in listed} == dict(stored.group_by("quantity").len().iter_rows())
    assert lnlab("results", "tiny.yaml").out.splitlines()[0].split() == ["quantity", "table", "rows"]


def test_tables_of_another_kind_are_listed_and_an_empty_file_names_them(workdir, console, lnlab):
    Path("spectra.yaml").write_text(SPECTRA)
    assert lnlab("run", "spectra.yaml", "--workers", "1").code == 0
    held = package.results("spectra.yaml").results.tables["spectra"].height
    assert lnlab("results", "spectra.yaml", "--json").json == [{"quantity": None, "table": "spectra", "rows": held}]
    assert console("results", "spectra.yaml", "--out", "t.csv").code == 0
    assert pl.read_csv("t.csv").height == 0
    written(lnlab, "spectra.yaml", "t.csv", "--quantity", "spectra")
    assert pl.read_csv("t.csv").height == held


def test_results_frame_is_the_same_table(ran, lnlab, golden):
    results = package.results("tiny.yaml")
    written(lnlab, "tiny.yaml", "t.parquet")
    assert_frame_equal(results.frame(), pl.read_parquet("t.parquet"))
    written(lnlab, "tiny.yaml", "t.parquet", "--quantity", "gradient_rms")
    assert_frame_equal(results.frame("gradient_rms"), pl.read_parquet("t.parquet"))
    with golden.raises(package.LabError):
        results.frame("gradient_nrm")


def test_a_mistake_is_one_line_and_leaves_no_file(ran, console):
    before = sorted(Path().iterdir())
    for words in (
        ("--out", "t.xlsx"),
        ("--out", "t"),
        ("--out", "absent/t.csv"),
        ("--out", "t.csv", "--quantity", "nope"),
        ("--out", "t.csv", "--profile", "nope"),
    ):
        console.refused("results", "tiny.yaml", *words)
    assert sorted(Path().iterdir()) == before


TABLE = "optimizer,device,=cmd,seed,step,loss\n"
TABLE_SPEC = (
    "lnlab: 2\ntitle: t\nresults: {kind: table, files: [runs.csv], axes: [optimizer, device, =cmd], step: step}\n"
)
HOSTILE = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "=HYPERLINK(\"http://x\")"]  # fmt: skip
HARMLESS = ["adam", "-0.5", "+3e-4", "a=b", "'quoted", "-"]


def hostile_table(folder):
    with (folder / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(TABLE.strip().split(","))
        for optimizer in HOSTILE + HARMLESS:
            writer.writerows([optimizer, 1, "x", seed, step, seed / 3 + step] for seed in (1, 2) for step in (0, 5))
    (folder / "t.yaml").write_text(TABLE_SPEC)


def test_no_spreadsheet_runs_a_cell_and_the_command_says_what_it_changed(workdir, lnlab):
    hostile_table(workdir)
    printed = written(lnlab, "t.yaml", "t.csv")
    with Path("t.csv").open(newline="") as file:
        heading, *rows = csv.reader(file)
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in (*heading, *cells) if cell[:1] in "=+@\t" and cell != "+3e-4" and cell]
    assert {row[0] for row in rows} >= {"'=1+1", "'-1+1", "'@SUM(A1)", "-0.5", "+3e-4", "a=b", "'quoted"}
    assert "'=cmd" in heading
    number = sum(cell[:2] in ("'=", "'+", "'-", "'@", "'\t") for row in (heading, *rows) for cell in row)
    assert f"t.csv: {number} cells " in printed.err
    written(lnlab, "t.yaml", "t.parquet")  # which no spreadsheet runs: as it is
    assert set(pl.read_parquet("t.parquet")["optimizer"]) >= set(HOSTILE) - {"\t=1"}


def test_an_axis_called_like_a_column_keeps_both(workdir, lnlab, console):
    hostile_table(workdir)
    written(lnlab, "t.yaml", "t.parquet", "--quantity", "runs")
    rows = pl.read_parquet("t.parquet")
    assert {"axis.device", "optimizer", "seed", "status"} <= set(rows.columns)
    assert rows["axis.device"].to_list() == [1] * rows.height
    assert_frame_equal(package.results("t.yaml").frame("runs"), rows)
    console.refused("results", "t.yaml", "-o", "u.csv", "--profile", "smoke")


def test_the_folder_of_a_report_has_the_rows_of_its_page(ran, lnlab, tmp_path):
    assert lnlab("report", "tiny.yaml", "--out", tmp_path / "page").code == 0
    written(lnlab, tmp_path / "page", tmp_path / "t.parquet")
    rows = pl.read_parquet(tmp_path / "t.parquet")
    kept = read_folder(tmp_path / "page")[1].tables["sites"]
    assert sorted(rows["value"]) == sorted(kept["value"])
    assert set(rows["placement"]) == {"post", "pre"}


def test_a_number_that_is_not_finite_is_kept_or_told(tmp_path, golden):
    runs = pl.DataFrame({"run": ["r"], "variant": ["v"], "seed": [1], "setting": ["{}"], "status": ["finished"]})
    axes = frame("axes", [{"run": "r", "axis": "lr", "value": "0.1", "number": 0.1, "label": "0.1"}])
    values = [math.inf, math.nan, -0.0, 5e-324]
    rows = pl.DataFrame({"run": "r", "variant": "v", "seed": 1, "step": 0, "quantity": "loss", "value": values})
    tidy = tidy_rows(Results(runs, axes, {"curves": rows}))
    assert write_table(tidy, {}, tmp_path / "t.parquet") == []
    assert [repr(v) for v in pl.read_parquet(tmp_path / "t.parquet")["value"]] == list(map(repr, values))
    write_table(tidy, {}, tmp_path / "t.csv")
    assert [repr(v) for v in pl.read_csv(tmp_path / "t.csv")["value"]] == list(map(repr, values))
    golden(write_table(tidy, {}, tmp_path / "t.json"))
    assert [row["value"] for row in json.loads((tmp_path / "t.json").read_text())] == [None, None, -0.0, 5e-324]


def test_a_file_that_cannot_be_written_is_as_it_was(ran, lnlab, tmp_path, monkeypatch):
    target = tmp_path / "t.csv"
    target.write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(pl.LazyFrame, "sink_csv", full)
    result = lnlab("results", "tiny.yaml", "-o", target)
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert target.read_text() == "old"
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("library", ["polars", "duckdb", "pandas"])
def test_the_code_of_the_guide_reads_it(ran, lnlab, library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    (text,) = re.findall(rf"## {library}\n.*?```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    for ending in ("parquet", "csv"):
        written(lnlab, "tiny.yaml", f"table.{ending}")
        path = Path(f"table.{ending}")
        rows = pl.read_parquet(path) if ending == "parquet" else pl.read_csv(path)
        rows = rows.with_columns(pl.lit(2).alias("model.layers"))
        if ending == "csv":
            rows.write_csv(path)
        else:
            rows.write_parquet(path, metadata={"lnlab": pl.read_parquet_metadata(path)["lnlab"]})
    names = {}
    exec(compile(text, f"{library}.py", "exec"), names)
    expected = pl.read_parquet("table.parquet").filter(quantity="gradient_norm", tensor="w2", layer=2)["value"].mean()
    by_depth = names["by_depth"]
    found = {
        "polars": lambda: by_depth.filter(layer=2)["mean"].item(),
        "duckdb": lambda: next(row[2] for row in by_depth.fetchall() if row[1] == 2),
        "pandas": lambda: by_depth.loc[(2, 2), "mean"],
    }[library]()
    assert found == pytest.approx(expected, rel=1e-12)
    if library == "polars":
        assert names["unit"] == "nats per token"
