"""What Weights & Biases keeps offline of what was exported, decoded with its own messages."""

import struct
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
pytest.importorskip("wandb", reason="needs Weights & Biases: pip install 'lnlab[wandb]'")

from wandb.proto.wandb_internal_pb2 import Record  # noqa: E402

from lnlab.cli import main  # noqa: E402

BLOCK = 32_768


def records(path: Path) -> list[Record]:
    """The records of an offline run: a header of seven bytes, then fragments in blocks, as LevelDB logs them."""
    content, offset, parts, records = path.read_bytes(), 7, b"", []
    while offset + 7 <= len(content):
        if BLOCK - offset % BLOCK < 7:
            offset += BLOCK - offset % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", content[offset : offset + 7])
        parts += content[offset + 7 : offset + 7 + length]
        offset += 7 + length
        if kind in (1, 4):  # whole, or the last fragment
            record = Record()
            record.ParseFromString(parts)
            records.append(record)
            parts = b""
    return records


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    return tmp_path


def test_curves_settings_and_verdicts_are_kept_once(export, curves, offline):
    outcome = export("wandb:project")
    kept = {path.parent.name: path for path in offline.glob("wandb/offline-run-*/*.wandb")}
    assert len(kept) == len(curves) + 1
    for run, points in curves.items():
        (path,) = [path for folder, path in kept.items() if folder.endswith(run[:32])]
        read = records(path)
        (begun,) = [record.run for record in read if record.WhichOneof("record_type") == "run"]
        assert (begun.project, begun.run_group) == ("project", "tiny")
        shown = {}
        for record in read:
            items = {(item.key or ".".join(item.nested_key)): item.value_json for item in record.history.item}
            shown |= {(name, record.history.step.num): float(value) for name, value in items.items() if "/" in name}
        assert shown == points
        settings = {(item.key or ".".join(item.nested_key)): item.value_json for item in begun.config.update}
        assert settings["optimizer.lr"] == "0.01"
    (verdicts,) = [path for folder, path in kept.items() if not any(folder.endswith(run[:32]) for run in curves)]
    summary = {
        (item.key or ".".join(item.nested_key)): item.value_json
        for record in records(verdicts)
        for item in record.summary.update
    }
    assert summary["learns"] == f'"{outcome.verdicts[0].verdict}"'
    export("wandb:project")
    assert {path.parent.name for path in offline.glob("wandb/offline-run-*/*.wandb")} == kept.keys()


def test_without_a_key_the_run_does_not_begin(trained, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    assert main(["run", str(trained / "tiny.yaml"), "--store", str(tmp_path / "none"), "--export", "wandb"]) == 2
    assert "--export wandb: not logged in; wandb login first" in capfd.readouterr().err
    assert not (tmp_path / "none").exists()
