"""A store in a temporary folder, plans without a compiler, and units without a model."""

from threading import get_ident

import pytest

from lnlab.store import files
from lnlab.store.store import Store
from tests.support.store_toys import plan_of, record_all


@pytest.fixture
def root(tmp_path):
    return tmp_path / "a störe with spaces"


@pytest.fixture
def store(root):
    return Store(root)


@pytest.fixture
def plan():
    """Two variants with two seeds, two probes each: four trajectories, eight measurements."""
    return plan_of(variants=2, seeds=2)


@pytest.fixture
def full(store, plan, tmp_path):
    """A store that holds everything that ``plan`` asks for, and the plan itself."""
    spec = tmp_path / "toy.yaml"
    spec.write_text("title: toy\n")
    store.save_plan(plan, spec)
    record_all(store, plan)
    return store


@pytest.fixture
def failing(monkeypatch):
    """``failing(error, n)``: the n-th operation of this thread on the file system from now on raises this error.

    Leases that earlier tests left are refreshed by threads of their own, now and then.
    """

    def arm(error, n=1, only=None):
        done = []
        thread = get_ident()

        def before(operation, path):
            if get_ident() == thread and (only is None or operation == only):
                done.append((operation, path))
                if len(done) == n:
                    raise error

        monkeypatch.setattr(files, "before", before)
        return done

    return arm
