"""What TensorBoard itself reads from what was exported."""

from pathlib import Path

import numpy as np
import pytest

import lnlab

pytest.importorskip("tensorboard", reason="needs TensorBoard: pip install 'lnlab[tensorboard]'")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata


def read(folder: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(folder), {"tensors": 0, "scalars": 0})
    accumulator.Reload()
    return accumulator


def files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_every_point_of_every_curve_is_read_back(export, curves, tmp_path):
    export(f"tensorboard:{tmp_path}")
    folders = {folder.name.rpartition(" ")[2]: folder for folder in (tmp_path / "tiny").glob("placement*")}
    assert folders.keys() == {run[:8] for run in curves}
    for run, points in curves.items():
        events = read(folders[run[:8]])
        shown = {
            (tag, point.step): point.tensor_proto.float_val[0]
            for tag in events.Tags()["tensors"]
            if "/" in tag
            for point in events.Tensors(tag)
            if point.tensor_proto.float_val
        }
        expected = {key: np.float32(value) for key, value in points.items()}
        assert shown == expected


def test_settings_are_hyperparameters(export, trained, tmp_path):
    export(f"tensorboard:{tmp_path}")
    folder = next((tmp_path / "tiny").glob("placement=pre, seed 2*"))
    content = read(folder).summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
    settings = metadata.parse_session_start_info_plugin_data(content).hparams
    assert settings["seed"].number_value == 2
    assert settings["optimizer.lr"].number_value == 0.01
    assert settings["encoder.placement.kind"].string_value == "pre"


def test_verdicts_are_texts_one_a_claim(export, trained, tmp_path):
    outcome = export(f"tensorboard:{tmp_path}")
    (point,) = read(tmp_path / "tiny/verdicts").Tensors("verdicts/learns")
    assert point.tensor_proto.string_val[0].decode().startswith(f"{outcome.verdicts[0].verdict}: The training loss")


def test_a_second_export_writes_nothing_and_a_damaged_folder_is_made_whole(export, tmp_path):
    export(f"tensorboard:{tmp_path}")
    before = files(tmp_path)
    export(f"tensorboard:{tmp_path}")
    assert files(tmp_path) == before
    gone = Path(min(before))
    gone.unlink()
    export(f"tensorboard:{tmp_path}")
    assert files(tmp_path).keys() == before.keys()


def test_a_run_of_which_more_is_known_takes_the_place_of_what_was_shown(export, trained, curves, tmp_path):
    from dataclasses import replace

    from lnlab.app.exports import tracked_runs
    from lnlab.trackers.event_files import open_event_files

    (run, *_) = tracked_runs(lnlab.results(trained / "tiny.yaml", trained / "store"))
    tracker = open_event_files(str(tmp_path), "tiny")
    tracker.show(replace(run, curves=run.curves[:2]))
    tracker.show(run)
    (folder,) = (tmp_path / "tiny").iterdir()
    assert len(list(folder.iterdir())) == 1
    assert len(read(folder).Tensors("train/loss")) == sum(tag == "train/loss" for tag, _ in curves[run.key])
