"""What ``lnlab watch`` says of runs that go on, have ended, and jump."""

import json

import pytest
import torch

import lnlab
from lnlab.app import watching_runs
from lnlab.app.watching_runs import Watch
from lnlab.cli import main
from lnlab.outside.foreign_runs.runs import run_label
from tests.support.golden import holding


@pytest.fixture
def runs(tmp_path, loop, small, some_batches):
    def huge(model, _opt):
        calls.append(1)
        if len(calls) == 8:
            model.wte.weight.grad.mul_(1e6)

    calls = []
    given = {"loss": small.token_loss, "batches": some_batches(9, 1), "probes": ["attention_logits"], "every": 2}
    rec = lnlab.Recorder(tmp_path / "runs" / "a", settings={"lr": 0.01}, seed=1, steps=20, hooks_every=1, **given)
    loop(rec, steps=8, after=huge, optimizer=lambda m: torch.optim.AdamW(m.parameters(), lr=1e-4))
    other = lnlab.Recorder(tmp_path / "runs" / "b", settings={"lr": 0.02}, seed=1)
    loop(other, steps=3)
    other.close()
    return tmp_path / "runs"


def test_lines_of_runs(runs, capsys):
    assert main(["watch", str(runs), "--once"]) == 0
    a, loss, norm, logit, b, *_ = capsys.readouterr().out.splitlines()
    assert a.endswith("runs/a: lr 0.01, seed 1: running, step 8 of 20")
    assert loss.startswith("  loss ")
    assert "jumps" not in loss
    assert norm.startswith("  gradient norm ")
    assert norm.endswith("! jumps at step 8")
    assert logit.startswith("  attention logit ")
    assert b.endswith("runs/b: lr 0.02, seed 1: finished, step 3")


def test_as_json_and_a_single_run(runs, capsys):
    assert main(["watch", str(runs / "b"), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["status"], run["done"], run["steps"]) == ("finished", 3, None)
    assert len(run["curves"][0]["values"]) == 3


def test_it_ends_where_all_runs_have_and_names_what_is_none(runs, tmp_path, capsys, golden):
    assert main(["watch", str(runs / "b")]) == 0
    assert main(["watch", str(tmp_path)]) == 2
    golden(holding(capsys.readouterr().err, "no run is"))


def test_recorded_and_computed_runs_below_one_folder_and_what_did_not_change_is_not_read_again(runs, monkeypatch):
    watch = Watch([runs, runs / "a"])
    assert [run_label(watched.run) for watched in watch.look()] == ["lr 0.01, seed 1", "lr 0.02, seed 1"]
    monkeypatch.setattr(watching_runs, "read_run", lambda path: pytest.fail(f"{path} is read again"))
    assert len(watch.look()) == 2
    monkeypatch.undo()
    with (runs / "a" / "tail.jsonl").open("a") as file:
        block = {"source": "s", "table": "curves", "columns": {"split": "train", "quantity": "loss", "value": [99.0]}}
        file.write(json.dumps({"number": 1000, "step": 9, "blocks": [block]}) + "\n")
    (a, _) = watch.look()
    assert (a.run.done, a.curves[0].spike) == (9, 9)
