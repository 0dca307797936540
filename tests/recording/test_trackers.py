"""Exports of Weights & Biases, event files of TensorBoard and folders of MLflow are tables like any other."""

import polars as pl
import pytest

import lnlab
from lnlab.cli import main
from lnlab.errors import LabError
from lnlab.outside.foreign_runs.readers import read_table
from lnlab.outside.foreign_runs.run_names import RunNames

LOSSES = {("pre", 1): [3.0, 1.0], ("pre", 2): [3.1, 1.1], ("post", 1): [3.0, 2.0], ("post", 2): [3.2, 2.3]}
SPEC = """title: Placements
results: {{kind: table, files: [{files}], runs: "{{placement}}-seed{{seed}}", axes: [placement], step: {step}}}
claims:
  - {{id: post, kind: ratio, of: {{quantity: loss, split: validation, step: last, placement: post}},
      to: {{placement: pre}}, at_least: 1.5}}
"""


def expected():
    return {(p, s, 10 * i, value) for (p, s), values in LOSSES.items() for i, value in enumerate(values)}


def rows_of(frame, step="step", metric="val/loss"):
    """Runs, steps and values; an event file has its numbers in single precision."""
    return {
        (*keys, round(value, 5))
        for *keys, value in frame.select("placement", "seed", step, metric).drop_nulls().iter_rows()
    }


def chart_export(path, metric="val/loss"):
    """As Weights & Biases exports a chart: a column a run, and its band."""
    frame = pl.DataFrame({"Step": [0, 10]})
    for (placement, seed), values in LOSSES.items():
        name = f"{placement}-seed{seed} - {metric}"
        bands = [pl.Series(f"{name}__{end}", [v * 2 for v in values]) for end in ("MIN", "MAX")]
        frame = frame.with_columns(pl.Series(name, values), *bands)
    frame.write_csv(path)


def event_files(folder):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    for (placement, seed), values in LOSSES.items():
        with tensorboard.SummaryWriter(folder / f"{placement}-seed{seed}") as writer:
            for i, value in enumerate(values):
                writer.add_scalar("val/loss", value, 10 * i)


def mlflow_runs(folder):
    """The layout that MLflow 3 writes, with one deleted run."""
    for number, ((placement, seed), values) in enumerate([*LOSSES.items(), (("post", 1), [9.0, 9.0])]):
        run = folder / "1" / f"{number:032x}"
        (run / "metrics" / "val").mkdir(parents=True)
        (run / "params").mkdir()
        stage = "deleted" if number == len(LOSSES) else "active"
        meta = f"run_name: {placement}-seed{seed}\nstatus: 3\nlifecycle_stage: {stage}\n"
        (run / "meta.yaml").write_text(meta)
        (run / "params" / "lr").write_text("0.001")
        (run / "params" / "loss").write_text("cross_entropy")
        lines = [f"1795645720954 {value} {10 * i}" for i, value in enumerate(values)]
        (run / "metrics" / "val" / "loss").write_text("\n".join(lines))
        (run / "metrics" / "loss").write_text("1795645720954 5.0 0\n1795645720955 4.0 0\n")
    (folder / "1" / "meta.yaml").write_text("name: placements\nlifecycle_stage: active\n")


def test_a_chart_of_weights_and_biases(tmp_path):
    chart_export(tmp_path / "chart.csv")
    frame = read_table(tmp_path / "chart.csv", runs="{placement}-seed{seed}")
    assert rows_of(frame, "Step") == expected()
    assert frame.columns == ["Step", "val/loss", "placement", "seed"]


def test_two_charts_are_two_metrics_of_the_same_runs(tmp_path):
    chart_export(tmp_path / "a.csv")
    chart_export(tmp_path / "b.csv", "grad norm")
    frame = read_table(str(tmp_path / "*.csv"), runs="{placement}-seed{seed}")
    runs = lnlab.from_frame(frame, axes=["placement"], step="Step")
    assert sorted(runs.frame("grad norm")["value"]) == sorted(v for values in LOSSES.values() for v in values)
    assert runs.frame("loss").height == runs.frame("grad norm").height == 8


def test_event_files(tmp_path):
    event_files(tmp_path)
    frame = read_table(tmp_path, runs="{placement}-seed{seed}")
    assert rows_of(frame) == expected()
    one = next((tmp_path / "pre-seed2").iterdir())
    assert read_table(one, runs="{placement}-seed{seed}")["val/loss"].to_list() == pytest.approx(LOSSES["pre", 2])


def test_no_point_of_a_long_curve_is_left_out(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(tmp_path) as writer:
        for step in range(12_000):  # TensorBoard itself keeps a sample of 10,000
            writer.add_scalar("loss", float(step), step)
    assert read_table(tmp_path)["loss"].to_list() == list(range(12_000))


def test_hyperparameters_are_columns_of_the_run_that_they_describe(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    for seed in (1, 2):
        with tensorboard.SummaryWriter(tmp_path / f"run{seed}") as writer:
            writer.add_scalar("loss", 2.0, 0)
            writer.add_scalar("loss", 1.0, 5)
            writer.add_hparams({"seed": seed, "lr": 0.5, "placement": "pre"}, {"final": 1.0})
    frame = read_table(tmp_path)
    assert frame.select("run_name", "seed", "lr", "placement", "step", "loss").rows() == [
        (f"run{seed}", seed, 0.5, "pre", step, loss) for seed in (1, 2) for step, loss in ((0, 2.0), (5, 1.0))
    ]
    assert frame["final"].drop_nulls().to_list() == [1.0, 1.0]


def test_an_event_file_that_a_kill_has_cut_is_read_as_far_as_it_goes(tmp_path):
    event_files(tmp_path)
    torn = next((tmp_path / "post-seed1").iterdir())
    torn.write_bytes(torn.read_bytes()[:-5])
    frame = read_table(tmp_path, runs="{placement}-seed{seed}")
    assert rows_of(frame) == expected() - {("post", 1, 10, 2.0)}


@pytest.mark.parametrize("place", [0.75, 0.05])
def test_a_damaged_event_file_is_no_shorter_run(tmp_path, place, golden):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(tmp_path / "adam-1") as writer:
        for step in range(10):
            writer.add_scalar("loss", 10.0 - step, step)
    (written,) = (tmp_path / "adam-1").iterdir()
    path = written.rename(written.with_name("events.out.tfevents.1"))  # its name has the time and the process
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 0xFF
    path.write_bytes(content)
    with golden.raises(LabError):
        read_table(tmp_path, runs="{opt}-{seed}")


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (range(10, 16), (13, 15), [(10, 1.0), (11, 1.0), (12, 1.0), (13, 2.0), (15, 2.0)]),
        (range(3), range(3, 5), [(0, 1.0), (1, 1.0), (2, 1.0), (3, 2.0), (4, 2.0)]),
        ((0, 5, 10), (0, 5), [(0, 2.0), (5, 2.0)]),
    ],
)
def test_a_run_that_was_resumed_has_one_history(tmp_path, first, second, kept):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    for part, (steps, value) in enumerate(((first, 1.0), (second, 2.0))):
        with tensorboard.SummaryWriter(tmp_path / "adam-1", filename_suffix=f".{part}") as writer:
            for step in steps:
                writer.add_scalar("loss", value, step)
            writer.add_scalar(f"seldom/{part}", value, max(steps))
    with tensorboard.SummaryWriter(tmp_path / "adam-1", filename_suffix=".own") as writer:
        writer.add_scalar("own", 3.0, 0)  # another writer's numbers are no history of this one
    table = read_table(tmp_path, runs="{opt}-{seed}")
    assert table.select("step", "loss").drop_nulls().rows() == kept
    assert table["own"].drop_nulls().to_list() == [3.0]
    # what was given up is no part of the history, though it was not written again
    assert ("seldom/0" in table.columns) == (max(first) < min(second))


def test_points_without_a_step_are_numbered(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(tmp_path) as writer:
        for value in (3.0, 2.0, 1.0):
            writer.add_scalar("loss", value)
    assert read_table(tmp_path).select("step", "loss").rows() == [(0, 3.0), (1, 2.0), (2, 1.0)]


def test_mlflow_folders(tmp_path):
    mlflow_runs(tmp_path)
    frame = read_table(tmp_path, runs="{placement}-seed{seed}")
    assert rows_of(frame) == expected()
    assert set(frame["status"]) == {"finished"}
    assert set(frame["lr"]) == {0.001}
    assert set(frame["params.loss"]) == {"cross_entropy"}  # the metric of that name stays
    assert frame["loss"].drop_nulls().to_list() == [5.0, 4.0] * 4  # points without a step are numbered


def test_mlflow_itself_writes_such_folders(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="needs MLflow: pip install mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("placements")
    for (placement, seed), values in LOSSES.items():
        with mlflow.start_run(run_name=f"run {placement} {seed}"):
            mlflow.log_params({"placement": placement, "seed": seed})
            for i, value in enumerate(values):
                mlflow.log_metric("val/loss", value, step=10 * i)
    assert rows_of(read_table(tmp_path)) == expected()


def mlflow_run(run, meta="status: 3", **metrics):
    """A run with the parameter lr, and metrics by their lines."""
    (run / "metrics").mkdir(parents=True)
    (run / "params").mkdir()
    (run / "meta.yaml").write_text(f"run_name: pre-seed1\n{meta}\n")
    (run / "params" / "lr").write_text("0.001")
    for name, lines in metrics.items():
        (run / "metrics" / name).write_text(lines)


def test_a_metric_may_be_called_as_a_column_of_lnlab(tmp_path):
    points = {"loss": "0 3.0 0\n1 nan 5\n", "step": "0 7.0 0\n", "run_name": "0 8.0 0\n", "status": "0 9.0 0\n"}
    mlflow_run(tmp_path / "run", **points, empty="")
    frame = read_table(tmp_path)
    named = frame.select("run_name", "step", "status", "metrics.step", "metrics.run_name", "metrics.status")
    assert named.row(0) == ("pre-seed1", 0, "finished", 7.0, 8.0, 9.0)
    assert str(frame["loss"].to_list()) == "[3.0, nan]"


@pytest.mark.parametrize(
    ("meta", "word"),
    [("status: 4", "failed"), ("status: FAILED", "failed"), ("status: 9", "9"), ("a: b", "finished")],
)
def test_how_a_run_ended_is_never_guessed(tmp_path, meta, word):
    mlflow_run(tmp_path / "run", meta, loss="0 3.0 0\n")
    assert read_table(tmp_path)["status"].to_list() == [word]


@pytest.mark.parametrize(
    ("meta", "lines"),
    [
        ("start_time: 2024-13-01", "0 1 0"),
        ("status: 3", "0 1 99999999999999999999"),
        ("status: 3", "0 1 1.5"),
        ("status: 3", ""),
        ("status: 3\nlifecycle_stage: deleted", "0 1 0"),
    ],
)
def test_what_mlflow_does_not_write_is_one_line(tmp_path, meta, lines, golden):
    mlflow_run(tmp_path / "run", meta, loss=lines)
    with golden.raises(LabError):
        read_table(tmp_path)


def test_trials_below_a_folder_without_numbers_are_runs(tmp_path):
    """As TensorBoard's own tutorial of hyperparameters writes them."""
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_text("about", "a search")
    for seed in (1, 2):
        with tensorboard.SummaryWriter(tmp_path / f"pre-seed{seed}") as writer:
            for event in tensorboard.summary.hparams({"lr": 0.5 * seed}, {"loss": 0.0}):
                writer.file_writer.add_summary(event)
            writer.add_scalar("loss", 2.0 * seed, 1)
    frame = read_table(tmp_path, runs="{placement}-seed{seed}")
    assert frame.select("placement", "seed", "lr", "loss").rows() == [("pre", 1, 0.5, 2.0), ("pre", 2, 1.0, 4.0)]


@pytest.mark.parametrize(("name", "quoted"), [('a "b" c', '"a ""b"" c"'), ('"x"', '"""x"""'), ("a, b", '"a, b"')])
def test_quotes_in_the_name_of_a_run_are_its_own(tmp_path, name, quoted):
    column = quoted[:-1] + '-seed1 - loss"'
    (tmp_path / "chart.csv").write_text(f'"Step",{column}\n0,1.5\n')
    frame = read_table(tmp_path / "chart.csv", runs="{placement}-seed{seed}")
    assert frame.rows() == [(0, 1.5, name, 1)]


@pytest.mark.parametrize(
    ("header", "pattern"),
    [
        ("step,loss", "{loss}-{seed}"),
        ("step,seed", "{placement}-{seed}"),
        ("Step,a-1 - loss", "{Step}-{seed}"),
        ("Step,a-1 - loss", "{loss}-{seed}"),
        ("Step,a-1 - Step", "{placement}-{seed}"),
        ("Step, Step", "{placement}-{seed}"),
    ],
)
def test_no_column_takes_the_place_of_another(tmp_path, header, pattern, golden):
    (tmp_path / "a-1.csv").write_text(f"{header}\n0,1\n")
    with golden.raises(LabError):
        read_table(tmp_path / "a-1.csv", runs=pattern)


@pytest.mark.parametrize(("write", "step"), [(chart_export, "Step"), (event_files, "step"), (mlflow_runs, "step")])
def test_a_spec_reads_them(tmp_path, monkeypatch, capsys, write, step):
    place = tmp_path / ("logs.csv" if write is chart_export else "logs")
    write(place)
    (tmp_path / "placements.yaml").write_text(SPEC.format(files=place.name, step=step))
    monkeypatch.chdir(tmp_path)
    assert main(["check", "placements.yaml"]) == 0
    assert main(["run", "placements.yaml"]) == 0
    printed = capsys.readouterr()
    assert "4 runs" in printed.out
    assert "post" in printed.out


@pytest.mark.parametrize(
    ("pattern", "name", "values"),
    [
        ("{placement}-seed{seed}", "pre-ln-seed3", {"placement": "pre-ln", "seed": 3}),
        ("{a}_lr{lr}", "x_lr1e-3", {"a": "x", "lr": 0.001}),
        ("run {train.lr}/{seed}", "run -.5/07", {"train.lr": -0.5, "seed": 7}),
        ("{a}-{seed}", "nan-1", {"a": "nan", "seed": 1}),
        ("s{seed}.*", "s4.*", {"seed": 4}),
        ("{a}-{seed}", "logs/x-9/pre-1", {"a": "pre", "seed": 1}),
        ("{a}-{seed}/version_*/metrics", "logs/pre-1/version_0/metrics", {"a": "pre", "seed": 1}),
    ],
)
def test_names_of_runs(pattern, name, values):
    assert RunNames(pattern).read(name) == values


@pytest.mark.parametrize(
    ("pattern", "name"), [("{a}-{seed}", "pre1"), ("{a}-{seed}/{b}", "pre1"), ("{a}-{b}", "pre-ln-1")]
)
def test_a_name_that_does_not_fit_or_fits_in_two_ways_is_refused(pattern, name, golden):
    with golden.raises(LabError):
        RunNames(pattern).read(name)


@pytest.mark.parametrize("pattern", ["", "pre", "{}-{seed}", "{a}{seed}", "{a}-{a}", "{a-{seed}", "a}-{seed}"])
def test_a_pattern_that_tells_nothing_apart_is_refused(pattern):
    with pytest.raises(LabError, match="the pattern"):
        RunNames(pattern)


@pytest.mark.parametrize("files", ["", "nothing*", None])
def test_nothing_is_no_table(tmp_path, files, golden):
    with golden.raises(LabError):
        read_table([] if files is None else tmp_path / files)


def test_pandas_frames_and_their_index(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [(p, s, 10 * i, v) for (p, s), values in LOSSES.items() for i, v in enumerate(values)]
    frame = pandas.DataFrame(rows, columns=["placement", "seed", "step", "val/loss"])
    plain = lnlab.from_frame(frame, axes=["placement"], step="step").frame("loss")
    assert sorted(plain["value"]) == sorted(v for *_, v in rows)
    indexed = frame.set_index(["placement", "seed", "step"])
    assert lnlab.from_frame(indexed, axes=["placement"], step="step").frame("loss").equals(plain)
    arrow = frame.convert_dtypes(dtype_backend="numpy_nullable")
    assert lnlab.from_frame(arrow, axes=["placement"], step="step").frame("loss").equals(plain)
