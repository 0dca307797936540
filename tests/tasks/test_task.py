"""Batches."""

import torch

from lnlab.tasks.task import Batch


def test_tokens_are_the_targets_without_padding():
    said = torch.tensor([[5, 6, 2], [7, 2, 0]])
    assert Batch(said, said, said).tokens == 5
