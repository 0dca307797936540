"""A run within gigabytes: what no worker has room for is refused before anything runs."""

import io

import pytest
from rich.console import Console

import lnlab
from lnlab.compile.cost.memory import LIBRARIES
from lnlab.errors import LabError


def test_a_memory_that_no_unit_fits_is_refused_before_anything_runs(store, request_of_spec, golden):
    with pytest.raises(LabError) as refused:
        lnlab.run(request_of_spec.spec, store=store.root, max_memory=0.2, progress=False)
    golden(str(refused.value))
    assert "allow at least 0.4" in str(refused.value)
    assert not list(store.root.glob("trajectories/*"))


def test_a_memory_for_one_worker_takes_one(store, request_of_spec, monkeypatch, golden):
    console = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr("lnlab.consoles.stderr_console", lambda: console)
    outcome = lnlab.run(
        request_of_spec.spec,
        overrides={"seeds": 1},
        store=store.root,
        workers=2,
        max_memory=1.5 * LIBRARIES / 1e9,
        progress=False,
    )
    assert outcome.computed == 2
    golden(console.file.getvalue())


def test_what_gpus_have_no_room_for_is_not_put_down_to_max_memory(store, request_of_spec, monkeypatch, golden):
    console = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr("lnlab.consoles.stderr_console", lambda: console)
    memories = [2**28]
    monkeypatch.setattr("lnlab.execute.machine.ThisMachine.gpus", lambda *_: memories)
    given = {"store": store.root, "overrides": {"seeds": 1}, "workers": 2, "max_memory": 12, "progress": False}
    with pytest.raises(LabError) as refused:
        lnlab.run(request_of_spec.spec, **given)
    golden(str(refused.value))
    assert "and the largest GPU has 268 MB" in str(refused.value)
    memories[:] = [2 * LIBRARIES]
    assert lnlab.run(request_of_spec.spec, **given).computed == 2
    assert "--max-memory" not in console.file.getvalue()
