"""Tasks on small corpora, and a model of fixed logits."""

import pytest
import torch
from torch import Tensor, nn

import lnlab.catalogue  # noqa: F401  so that every corpus can be named
from lnlab.corpora import toy_german_english
from lnlab.randomness import Draw
from lnlab.tasks import translation
from lnlab.tasks.task import tasks

torch.set_num_threads(1)
SMALL = {"kind": toy_german_english.__name__.rpartition(".")[2], "train": 1500, "validation": 60, "test": 60}


def make_task(seed=1, roots=(), **overrides) -> translation.Translation:
    """A translation task as a spec would name it."""
    choice = {"kind": "translation", "corpus": SMALL, "vocabulary": 300, "batch_tokens": 200} | overrides
    return tasks.builder(tasks.resolve(choice))(Draw(seed), roots)


@pytest.fixture
def task():
    return make_task


class ConstantLogits(nn.Module):
    """Gives the same logits for every batch."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, batch) -> Tensor:
        return self.logits


@pytest.fixture
def says():
    return ConstantLogits
