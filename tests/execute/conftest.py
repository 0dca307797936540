"""Units without a plan, and a store for them."""

import pytest

from lnlab.compile.work import Measurement, Trajectory
from lnlab.keys import digest
from lnlab.store.store import Store
from tests.support import toy_pieces


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "a störe with spaces")


@pytest.fixture
def unit_of():
    """``unit_of(seed, probe, ..., task={...})``: a trajectory with these measurements due, everything resolved."""

    def make(seed, *probes, steps=0, **setting):
        defaults = {"task": {"kind": "toy"}, "model": {"kind": "linear"}, "init": {"kind": "normal"}}
        whole = {
            key: toy_pieces.REGISTRIES[key].resolve(value | setting.get(key, {})) for key, value in defaults.items()
        }
        cuts = [toy_pieces.INTERVENTIONS.resolve(choice) for choice in setting.get("interventions", [])]
        whole |= {"train": {"steps": steps}, "optimizer": setting.get("optimizer"), "interventions": cuts}
        key = digest(["toy", seed, whole])
        chosen = [toy_pieces.PROBES.resolve(probe) for probe in probes]
        return Trajectory(key, seed, whole, steps, tuple(Measurement(digest([key, 0, p]), 0, p) for p in chosen))

    return make
