"""A CSV of four methods and five seeds becomes a judged page and a paper's figure with ten lines of YAML."""

import json

import numpy as np
import polars as pl
import pytest
from ruamel.yaml import YAML

from lnlab.cli import main
from tests.support.golden import holding

SPEC = """title: Four optimizers
results: {kind: table, files: [runs.csv], axes: [optimizer], step: step}
report:
  - kind: curves
    quantity: loss
    where: {split: validation}
    claims:
      - {id: sgd, kind: ratio, of: {step: last, optimizer: sgd}, to: {optimizer: adam}, at_least: 1.2}
      - {id: lion, kind: ratio, of: {step: last, optimizer: lion}, to: {optimizer: adam}, at_most: 1}
"""


def table():
    generator = np.random.default_rng(0)
    scales = {"adam": 1.0, "sgd": 1.5, "lion": 0.9, "muon": 0.7}
    return pl.DataFrame(
        {"optimizer": m, "seed": s, "step": t, "val/loss": 3 * c / (1 + t / 100) * np.exp(0.05 * generator.normal())}
        for m, c in scales.items()
        for s in range(1, 6)
        for t in (0, 100, 200, 300)
    )


@pytest.fixture
def lnlab(capsys, monkeypatch):
    """The command in a folder: its exit code, what it prints, and its messages."""

    def call(folder, *words):
        monkeypatch.chdir(folder)
        code = main(list(words))
        return (code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table().write_csv(folder / "runs.csv")
    (folder / "optimizers.yaml").write_text(SPEC)
    return folder


def test_it_may_be_written_as_json_or_with_quoted_keys(folder, lnlab):
    (folder / "flow.yaml").write_text("# as written by a program\n---\n" + json.dumps(YAML(typ="safe").load(SPEC)))
    (folder / "quoted.yaml").write_text(SPEC.replace("results:", '"results":'))
    for name in ("flow.yaml", "quoted.yaml"):
        assert lnlab(folder, "check", name)[:2] == (0, f"{name}: ok: 20 runs, 4 variants, 2 claims\n")


def test_it_is_checked_judged_and_drawn(folder, lnlab, golden):
    code, checked, _ = lnlab(folder, "check", "optimizers.yaml")
    assert (code, checked) == (0, "optimizers.yaml: ok: 20 runs, 4 variants, 2 claims\n")
    _, judged, _ = lnlab(folder, "run", "optimizers.yaml", "--json")
    verdicts = {v["claim"]: v for v in json.loads(judged)["verdicts"]}
    last = table().filter(pl.col("step") == 300).sort("seed")
    a, b = (last.filter(pl.col("optimizer") == m)["val/loss"].to_numpy() for m in ("sgd", "adam"))
    assert verdicts["sgd"]["verdict"] == "supported"
    assert verdicts["sgd"]["estimate"] == pytest.approx(np.exp(np.log(a / b).mean()), rel=1e-9)
    code, _, errors = lnlab(folder, "report", "optimizers.yaml")
    assert code == 0, errors
    page = (folder / "reports" / "optimizers" / "index.html").read_text()
    assert "4 variants with 5 seeds each" in page
    assert "lnlab report optimizers.yaml" in page
    golden(holding(page, "Loss (as it"))
    for unknown in ("nats", "per item", "train split", "label smoothing", "dropout"):
        assert unknown not in page, "of a table nobody knows how its loss was computed"
    code, _, errors = lnlab(folder, "paper", "reports/optimizers", "--out", "paper")
    assert code == 0, errors
    assert list((folder / "paper").glob("*.pdf"))
    code, _, errors = lnlab(folder, "report", "--from", "reports/optimizers")
    assert code == 0, errors


@pytest.mark.parametrize("kind", ["parquet", "ndjson", "semicolons", "spreadsheet"])
def test_other_files_give_the_same(folder, tmp_path, lnlab, kind):
    name = {"semicolons": "runs.csv", "spreadsheet": "runs.csv"}.get(kind, f"runs.{kind}")
    writers = {
        "parquet": lambda: table().write_parquet(tmp_path / name),
        "ndjson": lambda: table().write_ndjson(tmp_path / name),
        "spreadsheet": lambda: (tmp_path / name).write_bytes(
            table().write_csv(separator=";", decimal_comma=True).encode("utf-16")
        ),
        "semicolons": lambda: table().write_csv(tmp_path / name, separator=";"),
    }
    writers[kind]()
    (tmp_path / "o.yaml").write_text(SPEC.replace("runs.csv", name))
    assert lnlab(tmp_path, "run", "o.yaml", "--json") == lnlab(folder, "run", "optimizers.yaml", "--json")


def test_mistakes_have_their_place(tmp_path, lnlab):
    table().write_csv(tmp_path / "runs.csv")
    mistakes = {
        ("files: [runs.csv]", "files: [ruins.csv]"): "no file matches 'ruins.csv'",
        ("axes: [optimizer]", "axes: [optimiser]"): "there is no column 'optimiser'; did you mean 'optimizer'",
        ("step: step", "stop: step"): "results has no parameter 'stop'; did you mean 'step'",
        (", axes: [optimizer]", ""): "results needs 'axes'",
        ("title:", "task: x\ntitle:"): "a spec with results has no 'task'",
        ("at_least", "atleast"): "bad.yaml:8:",
        ("kind: curves", "kind: curve"): "bad.yaml:4:",
    }
    for (old, new), message in mistakes.items():
        (tmp_path / "bad.yaml").write_text(SPEC.replace(old, new, 1))
        code, _, errors = lnlab(tmp_path, "check", "bad.yaml")
        assert code == 2, (new, errors)
        assert message in errors, (new, errors)
        assert "bad.yaml:" in errors
        assert "Traceback" not in errors


def test_it_is_locked_and_verified_as_computed_runs_are(tmp_path, lnlab, golden):
    table().write_csv(tmp_path / "runs.csv")
    (tmp_path / "optimizers.yaml").write_text(SPEC)
    assert lnlab(tmp_path, "report", "optimizers.yaml")[0] == 0
    code, printed, errors = lnlab(tmp_path, "lock", "optimizers.yaml")
    assert (code, printed) == (0, "optimizers.lock\n"), errors
    for level in ("0", "1", "2"):
        code, printed, errors = lnlab(tmp_path, "verify", "optimizers.yaml", "--level", level)
        assert code == 0, (level, printed, errors)
    golden(holding(printed, "1 file of"))
    assert "computed again" not in printed + errors
    changed = table().with_columns(pl.col("val/loss") * 2)
    changed.write_csv(tmp_path / "runs.csv")
    assert lnlab(tmp_path, "verify", "optimizers.yaml", "--level", "1")[0] == 0  # the report is still what was locked
    code, printed, errors = lnlab(tmp_path, "verify", "optimizers.yaml", "--level", "2")
    assert code != 0
    golden(holding(printed + errors, "optimizers.yaml: its files"))
    code, printed, _ = lnlab(tmp_path, "index", "reports")
    assert (code, printed) == (0, "reports/index.html\n")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "optimizers.yaml", "-p", "smoke"),
        ("report", "optimizers.yaml", "-s", "seeds=3"),
        ("check", "optimizers.yaml", "-p", "x"),
        ("plan", "optimizers.yaml"),
        ("push", "optimizers.yaml", "remote"),
    ],
)
def test_what_computes_nothing_says_so(folder, lnlab, words):
    code, _, errors = lnlab(folder, *words)
    assert code == 2
    assert "table" in errors
    assert len(errors.strip().splitlines()) == 1
