"""A toy task, and states of tiny models at initialization and in training."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Trajectory
from lnlab.execute.program import build
from lnlab.nn.attention import attentions
from lnlab.nn.inits import inits
from lnlab.nn.models import models, parts_of
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.probes.probe import State
from lnlab.randomness import Draw
from lnlab.tasks.task import Batch
from tests.support.trained import trained as updated


@dataclass(frozen=True)
class Noise:
    """Sentence pairs without meaning, of random lengths, as batches of unequal numbers of tokens."""

    draw: Draw
    size: int = 23
    labels: int = 23
    sentences: int = 4
    longest: int = 8
    label_smoothing: float = 0.1
    pads: int = 0
    unit: str = "tokens"

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        for number in range(4 if split == "test" else 100):
            generator = torch.Generator().manual_seed(self.draw(purpose, split, epoch, number))
            yield Batch(*(pad(tokens, (0, self.pads)) for tokens in self.drawn(generator)))

    def drawn(self, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        shape = (self.sentences, self.longest)
        source, target = (torch.randint(3, self.size, shape, generator=generator) for _ in range(2))
        for tokens in (source, target):
            lengths = torch.randint(2, self.longest + 1, (self.sentences, 1), generator=generator)
            tokens[torch.arange(self.longest) >= lengths] = 0
        late = torch.cat([torch.full((self.sentences, 1), 1), target[:, :-1]], 1)
        late[target == 0] = 0
        return source, late, target

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        return self._sum(model, batch, self.label_smoothing), batch.tokens

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        return self._sum(model, batch, 0.0), batch.tokens

    def _sum(self, model: nn.Module, batch: Batch, smoothing: float) -> Tensor:
        flat, targets = model(batch).flatten(0, 1), batch.target_out.flatten()
        return cross_entropy(flat, targets, ignore_index=0, label_smoothing=smoothing, reduction="sum")


@dataclass(frozen=True)
class Zipf(Noise):
    """Tokens with frequency 1 / rank, in full-length sentences; nothing connects the three of a batch."""

    def drawn(self, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        frequency = 1 / torch.arange(1.0, self.size)
        tokens = torch.multinomial(frequency, 3 * self.sentences * self.longest, True, generator=generator) + 1
        source, target_in, target_out = tokens.view(3, self.sentences, self.longest)
        return source, target_in, target_out


def make_state(
    placement: str = "post",
    *,
    layers: int = 2,
    width: int = 16,
    d_ff: int = 32,
    heads: int = 2,
    tied: str = "target",
    norm: str = "layer",
    cross_attention: bool = True,
    init: str = "xavier_normal",
    seed: int = 1,
    zipf: bool = False,
    **task: Any,
) -> State:
    """The state at initialization of a tiny encoder-decoder on the toy task."""
    draw = Draw(seed)
    toy = (Zipf if zipf else Noise)(draw, **task)
    stack = {
        "layers": layers,
        "norm": norms.resolve({"kind": norm} | ({"eps": 1e-5} if norm in ("layer", "rms") else {})),
        "placement": placements.resolve(placement),
        "attention": attentions.resolve("softmax"),
    }
    choice = models.resolve(
        {"kind": "encoder_decoder", "d_model": width, "heads": heads, "d_ff": d_ff, "dropout": 0.3, "tied": tied}
    )
    parts = {"encoder": parts_of(stack), "decoder": parts_of(stack | {"cross_attention": cross_attention})}
    model = models.builder(choice)(toy.size, parts)
    inits[init].build(model, draw)
    return State(model.eval(), toy, draw, 0)


@pytest.fixture(scope="session")
def state():
    return make_state


@pytest.fixture(scope="session")
def trained():
    """A state after three updates by Adam, or as many as requested."""
    return updated


@pytest.fixture(scope="session")
def values():
    """Rows of one quantity as {(stack, layer, sublayer, tensor): value}."""

    def select(rows, quantity: str) -> dict[tuple, float]:
        site = ("stack", "layer", "sublayer", "tensor")
        return {tuple(row[key] for key in site): row["value"] for row in rows if row["quantity"] == quantity}

    return select


def make_classifier(norm: Any = "batch", seed: int = 1, **overrides: Any) -> State:
    """The state at initialization of a tiny classifier of generated news, as a run makes it."""
    setting = {
        "task": {"kind": "classification", "corpus": {"kind": "toy_finance", "sentences": 120}, "vocabulary": 90}
        | {"batch_sentences": 8}
        | overrides.pop("task", {}),
        "model": {"kind": "classifier", "layers": 2, "d_model": 16, "heads": 2, "d_ff": 24, "dropout": 0.2},
        "norm": norm,
        "placement": "post",
        "init": "xavier_normal",
    }
    return build(Trajectory("tests", seed, resolve_setting(setting | overrides, REGISTRIES), 0, ()), REGISTRIES)


@pytest.fixture(scope="session")
def classifier():
    return make_classifier
