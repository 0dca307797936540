"""Tiny settings, models built from them, and batches of tokens."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import lnlab.catalogue  # noqa: F401 - registers everything
from lnlab.execute.program import initializer
from lnlab.nn.attention import attentions
from lnlab.nn.inits import inits
from lnlab.nn.models import models, parts_of
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.randomness import Draw
from lnlab.registry import Choice, supplied_parameters

CLASSES = 5


@dataclass(frozen=True)
class Batch:
    source: Tensor
    target_in: Tensor


def make_setting(
    placement: str | Choice = "post",
    *,
    layers: int = 2,
    width: int = 16,
    d_ff: int = 32,
    rows: int = 23,
    **overrides: Any,
) -> dict[str, Any]:
    """A resolved setting; keys of the model (or its ``kind``), ``norm``, ``attention``, ``cross_attention``, stacks."""
    stack = {
        "layers": layers,
        "norm": norms.resolve(overrides.pop("norm", "layer")),
        "placement": placements.resolve(placement),
        "attention": attentions.resolve(overrides.pop("attention", "softmax")),
    }
    cross = overrides.get("kind", "encoder_decoder") == "encoder_decoder"
    decoder = stack | {"cross_attention": overrides.pop("cross_attention", cross)}
    stacks = {"encoder": stack | overrides.pop("encoder", {}), "decoder": decoder | overrides.pop("decoder", {})}
    model = {"kind": "encoder_decoder", "d_model": width, "heads": 2, "d_ff": d_ff} | overrides
    return {"task": {"vocabulary": rows, "classes": CLASSES}, "model": models.resolve(model), **stacks}


def make_model(setting: dict[str, Any], *, seed: int = 1, init: str | Choice = "xavier_normal") -> nn.Module:
    """The model of a resolved setting, initialized, in evaluation mode."""
    entry = models[setting["model"]["kind"]]
    parts = {name: parts_of(setting[name]) for name in entry.facts.stacks}
    arguments = (setting["task"]["vocabulary"], parts, CLASSES)[: len(supplied_parameters(entry.build))]
    model = models.builder(setting["model"])(*arguments)
    initialize(model, init, seed)
    return model.eval()


def initialize(model: nn.Module, init: str | Choice = "xavier_normal", seed: int = 1) -> None:
    """An init by its name; one that looks at data is shown ``toy_batches``."""
    initializer(inits.resolve(init), inits, toy_batches)(model, Draw(seed))


def toy_batches(n: int | None, split: str = "train") -> list[Batch]:
    """An epoch of three batches of padded sentences, of tokens from 1 to 22."""
    assert split == "train"
    return [random_batch(seed) for seed in range(10, 13)][:n]


def random_batch(seed: int) -> Batch:
    """Three sentence pairs of different lengths, padded with 0."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(1, 23, (3, 7), generator=generator)
    target = torch.randint(1, 23, (3, 6), generator=generator)
    source[1, 5:] = source[2, 2:] = target[0, 4:] = target[2, 5:] = 0
    return Batch(source, target)


@pytest.fixture(scope="session")
def setting():
    return make_setting


@pytest.fixture(scope="session")
def build():
    return make_model


@pytest.fixture
def batch() -> Batch:
    """Three sentence pairs of different lengths, padded with 0."""
    return random_batch(5)


@pytest.fixture
def init():
    return initialize


@pytest.fixture
def data():
    return toy_batches
