"""Small experiments by hand: settings, runs with chosen ends, and rows as a function of variant and seed."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

import lnlab.report.registries  # noqa: F401 - registers every quantity
from tests.support.results import evaluated, results_of


def make_setting(placement="post", encoder=2, decoder=2, cross=True, norm=None, d_model=32):
    stack = {"norm": norm or {"kind": "layer", "eps": 1e-05}, "placement": {"kind": placement}}
    return {
        "task": {"kind": "translation", "corpus": {"kind": "toy"}, "vocabulary": 100},
        "model": {"kind": "encoder_decoder", "d_model": d_model, "tied": "target"},
        "encoder": {"layers": encoder, **stack},
        "decoder": {"layers": decoder, **stack, "cross_attention": cross},
        "optimizer": None,
        "train": {"steps": 0},
    }


def make_experiment(
    variants, seeds, rows, *, axes=(), status=lambda variant, seed: "finished", curves=(), needs=(), steps=0
):
    """``rows(variant, seed)`` yields rows of ``sites`` without run, variant and seed; ``axes``: (path, of setting).

    ``needs``: (step, probe, measurement) of every run.
    """
    needed = [dict(zip(("step", "probe", "measurement"), need, strict=True)) for need in needs]
    return results_of(
        {"variant": v, "seed": s, "setting": variants[v], "steps": steps, "status": status(v, s), "needs": needed}
        | {"axes": {path: read(variants[v]) for path, read in axes}, "sites": rows(v, s), "curves": curves}
        for v in variants
        for s in seeds
    )


@dataclass(frozen=True)
class TrainedRun:
    """A run by hand: its validation nll by step, how it ended, and its seed's unigram entropy."""

    nll: Mapping[int, float]
    status: str | None = "finished"
    done: int | None = None
    entropy: float | None = 6.0


def make_trained_experiment(variants, runs, *, steps=100, axes=(), epoch=10):
    """``runs``: (variant, seed) -> ``Trained``; ``epoch`` is the number of updates an epoch."""

    def curves(run):
        epochs = [{"step": t, "split": "train", "quantity": "epoch", "value": t / epoch} for t in run.nll]
        return evaluated(run.nll, run.entropy) + epochs

    return results_of(
        {"variant": v, "seed": s, "setting": variants[v], "steps": steps, "status": run.status, "curves": curves(run)}
        | {"axes": {path: read(variants[v]) for path, read in axes}}
        | ({} if run.done is None else {"done": run.done})
        for (v, s), run in runs.items()
    )


@pytest.fixture(scope="session")
def trained():
    return TrainedRun


@pytest.fixture(scope="session")
def training():
    return make_trained_experiment


@pytest.fixture(scope="session")
def setting():
    return make_setting


@pytest.fixture(scope="session")
def experiment():
    return make_experiment


@pytest.fixture(scope="session")
def profiles():
    """Post and Pre with 2 and 3 layers a stack, two seeds, w1 and w2 of every layer, an embedding outside layers."""
    variants = {f"{p}{n}": make_setting(p, n, n) for p in ("post", "pre") for n in (2, 3)}
    variants["mixed"] = make_setting("post", 2, 3, cross=False)

    def rows(variant, seed):
        layers = {stack: variants[variant][stack]["layers"] for stack in ("encoder", "decoder")}
        for stack, count in layers.items():
            for layer in range(1, count + 1):
                for tensor in ("w1", "w2"):
                    value = 10 * layer + seed + (100 if stack == "decoder" else 0) + (0.5 if tensor == "w2" else 0)
                    at = {"stack": stack, "layer": layer, "sublayer": "feed_forward", "tensor": tensor}
                    yield {"measurement": "g", "quantity": "gradient_norm", "value": value, **at}
        yield {"quantity": "gradient_norm", "sublayer": "embedding", "tensor": "table", "value": 1.0}

    axes = [
        ("placement", lambda s: s["decoder"]["placement"]["kind"]),
        ("decoder.layers", lambda s: s["decoder"]["layers"]),
        ("decoder.cross_attention", lambda s: s["decoder"]["cross_attention"]),
    ]
    return make_experiment(variants, (1, 2), rows, axes=axes)
