"""Batches."""

import pytest
import torch

from lnlab.tasks.task import Batch, declared_split_batches


def test_tokens_are_the_targets_without_padding():
    said = torch.tensor([[5, 6, 2], [7, 2, 0]])
    assert Batch(said, said, said).tokens == 5


@pytest.mark.parametrize(
    ("declared", "batches"), [({"validation": 64}, 16), ({"validation": ["a.de", "a.en"]}, 250), ({}, 250)]
)
def test_a_split_has_the_batches_of_its_declared_sentences_and_of_a_thousand_where_files_are_named(declared, batches):
    assert declared_split_batches({"corpus": declared, "batch_tokens": 64}, "validation") == batches
