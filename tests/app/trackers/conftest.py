from pathlib import Path

import pytest

import lnlab
from tests.support.toy_specs import toy_spec

TRAINING = toy_spec(
    question="Does it learn?",
    train={"steps": 6, "evaluate": {"every": 3}},
    seeds=2,
    sweep=[{"placement": ["post", "pre"]}],
    report=[],
    claims=[
        {
            "id": "learns",
            "says": "The training loss falls.",
            "role": "prediction",
            "kind": "trend",
            "of": {"quantity": "loss", "split": "train", "placement": "post"},
            "over": "step",
            "direction": "down",
        }
    ],
)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with a spec, ``tiny.yaml``, and a store in which it was run."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tiny.yaml").write_text(TRAINING)
    lnlab.run(folder / "tiny.yaml", store=folder / "store", workers=1, progress=False)
    return folder


@pytest.fixture(scope="session")
def curves(trained):
    """Run -> (``split/quantity``, step) -> value, as the store has them."""
    stored = lnlab.results(trained / "tiny.yaml", trained / "store").tables["curves"]
    points: dict[str, dict[tuple[str, int], float]] = {}
    for run, step, split, quantity, value in stored.select("run", "step", "split", "quantity", "value").iter_rows():
        points.setdefault(run, {})[f"{split}/{quantity}", step] = value
    assert len(points) == 4
    return points


@pytest.fixture
def export(trained):
    """Runs the spec, of which nothing is left to compute, with one tracker."""

    def run(tracker: str, **options: object) -> "lnlab.app.running.RunResult":
        return lnlab.run(trained / "tiny.yaml", store=trained / "store", export=[tracker], progress=False, **options)

    return run
