from pathlib import Path

import pytest

from lnlab.app.request import Request, compile_request
from lnlab.committed.registries import load_registries
from lnlab.store.store import Store
from tests.support.toy_specs import toy_spec

SPEC = toy_spec(
    question="Does it run?",
    task={"corpus": {"kind": "toy_german_english", "train": 200, "validation": 20}},
    train={"steps": 2},
    seeds=4,
    sweep={"placements": {"placement": ["post", "pre"]}},
    probes=[{"kind": "gradient_norm", "at": "init", "batches": 1}],
    report=[],
)


@pytest.fixture(scope="session")
def known():
    return load_registries(())


@pytest.fixture
def request_of_spec(tmp_path) -> Request:
    path = tmp_path / "tiny.yaml"
    path.write_text(SPEC)
    return Request(path)


@pytest.fixture
def plan(request_of_spec, known):
    return compile_request(request_of_spec, known)[0]


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(Path(tmp_path) / "store")
