"""Stores and logs in files that the tools wrote, and the recipes of the guide for all others."""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import lnlab
from lnlab.cli import main
from lnlab.errors import LabError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "trackers"
GUIDE = Path(__file__).parents[2] / "docs" / "tables_from_elsewhere.md"


def database(path, script):
    """The tables of a tool's own SQLite file."""
    with sqlite3.connect(path) as connection:
        connection.executescript((FIXTURES / script).read_text())
    return path


def test_the_sqlite_file_of_mlflow(tmp_path):
    table = lnlab.read_table(database(tmp_path / "mlflow.db", "mlflow.sql"))
    assert set(table["run_name"]) == {*(f"{o}-{s}" for o in ("adam", "sgd") for s in (1, 2, 3)), "adam-9"}
    assert table.filter(pl.col("val_loss") == 99.0).is_empty(), "of a run that was deleted"
    last = table.filter(pl.col("run_name") == "sgd-3").sort("step")
    assert str(last["val_loss"].to_list()[-3:]) == "[nan, inf, -inf]"
    assert last["nostep"].drop_nulls().to_list() == [0.1, 0.2, 0.3], "points without a step are numbered"
    runs = lnlab.from_frame(table, axes=["optimizer"], step="step", steps=5)
    assert dict(runs.results.runs.select("seed", "status").filter(pl.col("seed") == 9).rows()) == {9: "failed"}
    assert runs.frame("test_acc")["value"].to_list().count(0.9) == 3, "a number that was logged once"
    claim = {
        "id": "r",
        "kind": "ratio",
        "of": {"quantity": "val_loss", "step": 5, "optimizer": "sgd", "seed": [1, 2, 3]},
    }
    (verdict,) = runs.judge([{**claim, "to": {"optimizer": "adam"}, "at_least": 1.2}])
    adam, sgd = (
        table.filter(pl.col("optimizer") == o, pl.col("step") == 5).sort("seed")["val_loss"] for o in ("adam", "sgd")
    )
    assert verdict.estimate == pytest.approx((sgd / adam).product() ** (1 / 3), rel=1e-9)


@pytest.fixture(params=["wal", "wal of a folder that cannot be written", "killed in a transaction"])
def unfinished(request, tmp_path):
    """A store whose file lacks what was committed, or has what was not; its run and its process are still there."""
    folder = tmp_path / "store"
    folder.mkdir()
    path = database(folder / "mlflow.db", "mlflow.sql")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma cache_size = 1")
    mode = "delete" if request.param.startswith("killed") else "wal"
    assert connection.execute(f"pragma journal_mode = {mode}").fetchone() == (mode,)
    connection.execute("begin")
    connection.execute("update metrics set value = value + 100 where key = 'val_loss' and is_nan = 0")
    if mode == "wal":
        connection.execute("commit")
    else:  # pages of an open transaction are in the file, and how to take them back in the journal
        connection.execute("create table filler (text)")
        connection.executemany("insert into filler values (?)", [("x" * 3000,)] * 50)
    beside = path.with_name("mlflow.db-wal" if mode == "wal" else "mlflow.db-journal")
    assert beside.stat().st_size > 0
    if "cannot" in request.param:
        folder.chmod(0o555)
        path.chmod(0o444)
    yield path, mode
    folder.chmod(0o755)
    path.chmod(0o644)
    connection.close()


def test_what_is_committed_counts_wherever_sqlite_keeps_it_and_nothing_is_written(unfinished, tmp_path):
    path, mode = unfinished
    former = lnlab.read_table(database(tmp_path / "plain.db", "mlflow.sql"))
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.parent.iterdir()}
    table = lnlab.read_table(path)
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.parent.iterdir()} == before
    more = 100 if mode == "wal" else 0
    finite = pl.col("val_loss").is_finite()
    assert table.filter(finite)["val_loss"].to_list() == pytest.approx(
        (former.filter(finite)["val_loss"] + more).to_list()
    )
    assert table.height == former.height


def test_a_store_of_write_ahead_mode_is_read_without_its_journal(tmp_path):
    path = database(tmp_path / "mlflow.db", "mlflow.sql")
    with sqlite3.connect(path) as connection:
        connection.execute("pragma journal_mode = wal")
    connection.close()
    assert [file.name for file in tmp_path.iterdir()] == ["mlflow.db"]
    assert lnlab.read_table(path).height == lnlab.read_table(database(tmp_path / "plain.db", "mlflow.sql")).height
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mlflow.db", "plain.db"]


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(200)])
def test_what_is_no_database_of_mlflow_is_one_line(tmp_path, content):
    (tmp_path / "mlflow.db").write_bytes(content)
    with pytest.raises(LabError, match="is no SQLite file of MLflow"):
        lnlab.read_table(tmp_path / "mlflow.db")


def test_metrics_of_lightning_and_their_hyperparameters():
    table = lnlab.read_table(FIXTURES / "lightning_logs")
    assert dict(table.select("optimizer", "seed").unique().sort("optimizer").rows()) == {"adam": 1, "sgd": 1}
    runs = lnlab.from_frame(table, axes=["optimizer"], step="step")
    losses = {name: runs.frame(name).filter(pl.col("optimizer") == "adam") for name in ("val_loss", "train_loss_epoch")}
    assert losses["val_loss"].select("step", "value").rows() == [(3, 0.6537549495697021), (7, 0.5836212038993835)]
    assert losses["train_loss_epoch"]["step"].to_list() == [3, 7]


def test_the_path_tells_runs_of_lightning_apart(tmp_path):
    """Its files have one name."""
    for seed in (1, 2, 3):
        folder = tmp_path / f"adam-seed{seed}" / "version_0"
        folder.mkdir(parents=True)
        (folder / "metrics.csv").write_text(
            f"epoch,step,train_loss,val_loss\n0,9,2.{seed},\n0,9,,2.4\n1,19,2.1,\n1,19,,2.0\n"
        )
    for files in (tmp_path, str(tmp_path / "**" / "metrics.csv")):
        for runs in ("{opt}-seed{seed}/version_*/metrics.csv", "{opt}-seed{seed}/*/metrics"):
            frame = lnlab.from_frame(lnlab.read_table(files, runs=runs), axes=["opt"], step="step").frame("loss")
            assert sorted(frame["seed"].unique()) == [1, 2, 3]
            assert frame.filter(pl.col("seed") == 2)["value"].to_list() == [2.2, 2.1, 2.4, 2.0]
    with pytest.raises(LabError, match="does not fit"):
        lnlab.read_table(tmp_path, runs="{opt}-seed{seed}")


@pytest.mark.parametrize(
    ("folder", "runs"),
    [
        ("trainer", "{optimizer}-seed{seed}/checkpoint-*/trainer_state.json"),
        ("trainer_end", "{optimizer}-seed{seed}/*"),
    ],
)
def test_the_state_of_a_trainer(folder, runs):
    """Of several checkpoints the last; at its end a Trainer adds a mean loss of the training."""
    measured = lnlab.from_frame(lnlab.read_table(FIXTURES / folder, runs=runs), axes=["optimizer"], step="step")
    path = max((FIXTURES / folder).rglob("trainer_state.json"), key=lambda path: path.as_posix())
    history = json.loads(path.read_text())["log_history"]
    rows = measured.frame("loss").select("split", "step", "value").rows()
    expected = [("train", row["step"], row["loss"]) for row in history if "loss" in row]
    assert rows == expected + [("validation", row["step"], row["eval_loss"]) for row in history if "eval_loss" in row]
    assert measured.frame("eval_loss")["step"].to_list() == [4, 8]
    if folder == "trainer_end":
        assert measured.frame("train_loss").select("step", "value").rows() == [(8, history[-1]["train_loss"])]


def test_states_of_trials_are_respected():
    table = lnlab.read_table(FIXTURES / "optuna.csv")
    runs = lnlab.from_frame(table, axes=["params_optimizer"], seed="user_attrs_seed", values=["value"])
    frame = runs.frame("value")
    assert frame.height == 12, "one of 14 trials was pruned, and one failed"
    assert frame.filter(pl.col("params_optimizer") == "sgd", pl.col("seed") == 3).is_empty()
    claim = {"id": "r", "kind": "ratio", "of": {"quantity": "value", "params_optimizer": "sgd"}}
    (verdict,) = runs.judge([{**claim, "to": {"params_optimizer": "adamw"}, "at_least": 1.2, "about": "median"}])
    assert sorted(map(int, verdict.seeds)) == [1, 2, 4, 5, 6]


def test_a_folder_with_two_kinds_of_store_is_not_guessed(tmp_path, golden):
    (tmp_path / "metrics.csv").write_text("step,loss\n1,2\n")
    (tmp_path / "events.out.tfevents.1").write_bytes(b"")
    with golden.raises(LabError):
        lnlab.read_table(tmp_path)


def recipe(name, made="table", **words):
    (code,) = re.findall(rf"<!-- recipe {name} -->\n```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    names = {}
    for word, written in words.items():
        code = code.replace(word, written)
    exec(code, names)
    return names[made]


def judged(table, quantity, axis="optimizer", **columns):
    runs = lnlab.from_frame(table, axes=[axis], **columns)
    last = {"step": "last"} if "step" in columns else {}
    low, high = sorted(table[axis].unique())
    claim = {"id": "r", "kind": "difference", "of": {"quantity": quantity, axis: high, **last}, "to": {axis: low}}
    return runs.judge([{**claim, "at_least": 0}])[0].estimate


CHART_RUNS = {"brisk-sun-12": ("adam", 1), "lively-dew-13": ("sgd", 1), "odd-sea-15": ("sgd", 2), "dry-14": ("adam", 2)}


@pytest.fixture
def chart(tmp_path, monkeypatch):
    """A chart of Weights & Biases whose runs have the names that it makes up, and the table of these runs."""
    monkeypatch.chdir(tmp_path)
    columns = {"Step": ["10", "20"]}
    for name, (optimizer, seed) in CHART_RUNS.items():
        values = [f"{(2.0 if optimizer == 'adam' else 2.6) + seed / 100 - step / 10}" for step in (1, 2)]
        columns |= {f"{name} - _step": ["10", "20"], f"{name} - _step__MIN": ["10", "20"]}
        columns |= {f"{name} - val_loss{end}": values for end in ("", "__MIN", "__MAX")}
    pl.DataFrame(columns).write_csv(tmp_path / "chart.csv", quote_style="always")
    rows = [
        {"Name": n, "State": "finished", "optimizer": o, "seed": s, "val_loss": 1.9} for n, (o, s) in CHART_RUNS.items()
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "runs.csv", quote_style="always")
    return tmp_path


def test_a_chart_whose_names_hold_no_seed_becomes_a_page(chart, capsys):
    runs = recipe("chart", "runs")
    last = runs.frame("val_loss").filter(pl.col("step") == 20).sort("optimizer", "seed")
    assert last["value"].to_list() == pytest.approx([1.81, 1.82, 2.41, 2.42])
    table = recipe("chart")
    numbered = table.drop("seed").with_columns(seed=pl.col("Name").rank("dense").over("optimizer"))
    again = lnlab.from_frame(numbered, axes=["optimizer"], step="Step").frame("val_loss")
    assert again.filter(pl.col("step") == 20)["value"].sort().to_list() == last["value"].to_list()
    table.write_csv(chart / "joined.csv")
    spec = "lnlab: 2\ntitle: T\nresults: {kind: table, files: [%s], axes: [optimizer], step: Step}\n"
    (chart / "joined.yaml").write_text(spec % "joined.csv")
    assert main(["report", "joined.yaml"]) == 0, capsys.readouterr().err
    (chart / "chart.yaml").write_text(spec % "chart.csv")
    assert main(["check", "chart.yaml"]) == 2
    assert re.search("chart exported from .* 'brisk-sun-12'; .*runs: '{Name}', and join", capsys.readouterr().err)


def test_a_table_without_seeds_says_how_runs_are_numbered(chart):
    with pytest.raises(
        LabError, match=r"no column 'seed'; known: Name, .*; where runs have none, number those of each"
    ):
        lnlab.from_frame(recipe("chart").drop("seed"), axes=["optimizer"], step="Step")


def test_a_log_with_a_pattern(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    for o, scale in (("adam", 2.0), ("sgd", 3.0)):
        for s in (1, 2):
            lines = [
                f"iter {t}: loss 9\nstep {t}: train loss {scale / (t + 1):.4f}, val loss {scale + s / 10:.4f}"
                for t in range(2)
            ]
            (tmp_path / "logs" / f"{o}-seed{s}.log").write_text("\n".join(lines))
    assert judged(recipe("log"), "val_loss", step="step") == pytest.approx(1.0)


def test_trackio(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database(tmp_path / "trackio.db", "trackio.sql")
    assert judged(recipe("trackio"), "val_loss", step="step") == pytest.approx(0.6)


def test_what_the_exporter_of_neptune_writes(tmp_path, monkeypatch):
    """Its own writer and schema, of four invented runs."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "neptune", tmp_path / "exports" / "data")
    table = recipe("neptune")
    assert judged(table, "val/loss", step="step") == pytest.approx(0.6)
    assert judged(table, "train/loss", step="step") == pytest.approx(0.6)


def test_results_and_samples_of_lm_eval(tmp_path, monkeypatch):
    """As lm-eval writes them, with its model that answers by chance."""
    monkeypatch.chdir(tmp_path)
    for path in (FIXTURES / "lm_eval").rglob("*.json*"):
        of_model = path.parent.name.replace("dummy", "EleutherAI__pythia-14m")
        copy = tmp_path / "results" / of_model / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    runs = lnlab.from_frame(recipe("lm_eval_results"), axes=["model", "task"])
    scores = dict(runs.frame("acc").select("seed", "value").rows())
    samples = recipe("lm_eval_samples", TASK="tiny_choice")
    per_document = lnlab.from_frame(samples, axes=["model"], seed="doc_id", unit="document").frame("acc")
    means = per_document.group_by("model").agg(pl.col("value").mean())
    assert {int(model[-1]): mean for model, mean in means.rows()} == scores
    assert len(set(scores.values())) == len(scores) == 2


def test_logs_of_inspect(tmp_path, monkeypatch):
    """As ``inspect log convert --to json`` writes them, without their events; a sample of one of them failed."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "inspect", tmp_path / "logs")
    table = recipe("inspect")
    assert dict(table.group_by("model").len().rows()) == {"mockllm/small": 5, "mockllm/large": 4}
    assert judged(table, "correct", "model", seed="sample") == pytest.approx(1 / 4 - 3 / 4)
