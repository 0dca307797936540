"""What a stranger's folder makes lnlab run, and unpickle: nothing. A row of the table in SECURITY.md each."""

import pickle
import sys
from pathlib import Path

import pytest
import torch

import lnlab as library
from lnlab.errors import LabError

SPEC = "specs/tiny.yaml"
RAN = "RAN"
NAMES = ("conftest", "setup", "sitecustomize", "tiny", "specs", "curves", "probes", "lnlab_plugin")
seen: list[str] = []
watched: list[Path] = []


def watch(event, arguments):
    """An audit hook, which lasts as long as Python: code of a watched folder, and classes that pickles name."""
    if watched and event == "pickle.find_class":
        seen.append(f"unpickled {arguments[0]}.{arguments[1]}")
    if watched and event == "exec" and Path(arguments[0].co_filename).is_relative_to(watched[0]):
        seen.append(f"ran {arguments[0].co_filename}")


sys.addaudithook(watch)


class Obeyed:
    """A pickle that writes a file when it is read."""

    def __reduce__(self):
        return exec, (f"open({RAN!r}, 'w').write('unpickled')",)


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """Watch a folder into which Python files and pickles were put beside all that it had."""
    places = []

    def plant(root, *, pickles=True):
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
        for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
            for name in NAMES:
                (folder / f"{name}.py").write_text(f"open({str(root / RAN)!r}, 'a').write('{name} ')\n")
            for ending in ("pkl", "pt", "pickle") if pickles else ():
                (folder / f"step-1.{ending}").write_bytes(pickle.dumps(Obeyed()))
        places.append(root)
        seen.clear()
        watched.append(root)

    yield plant
    watched.clear()
    assert (seen, [root for root in places if (root / RAN).exists()]) == ([], [])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", SPEC), 0),
        (("plan", SPEC), 0),
        (("report", "--from", "reports/tiny"), 0),
        (("verify", SPEC, "--level", "1"), 1),  # the files are not in the lock
        (("pull", SPEC, "there", "--store", "new"), 0),
    ],
    ids=["check", "plan", "report", "verify", "pull"],
)
def test_a_command_runs_nothing_of_a_folder_and_unpickles_nothing(foreign, repository, lnlab, words, code):
    if words[0] == "pull":
        assert [lnlab(*first, SPEC, *more).code for first, more in ((("run", "-q"), ()), (("push",), ("there",)))] == [
            0,
            0,
        ]
    foreign(repository)
    assert lnlab(*words).code == code


def test_open_runs_runs_nothing_and_unpickles_nothing(foreign, tmp_path):
    model = torch.nn.Linear(2, 1)
    rec = library.Recorder(tmp_path / "runs/one", seed=1, probes=[])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rec.attach(model, optimizer)
    for step in (1, 2):
        loss = model(torch.ones(3, 2)).square().mean()
        loss.backward()
        optimizer.step()
        rec(model, step, loss=loss)
    rec.close()
    foreign(tmp_path)
    assert library.open_runs(tmp_path / "runs/one").frame("loss").height == 2


def test_measure_checkpoints_runs_nothing_and_refuses_a_pickle_of_code(foreign, tmp_path):
    foreign(tmp_path)
    with pytest.raises(LabError, match=r"step-1\.pt"):
        library.measure_checkpoints(
            lambda: torch.nn.Linear(2, 1), tmp_path / "*.pt", [torch.ones(3, 2)], lambda model, batch: (model(batch), 3)
        )
