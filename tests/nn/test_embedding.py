"""Embeddings, positions and the output projection."""

import math

import pytest
import torch

from lnlab.nn.embedding import Embedding, Output, sinusoids


@pytest.mark.parametrize("width", [8, 7])
def test_positions_are_the_sinusoids_of_the_paper(width):
    found = sinusoids(5, width)
    for t in range(5):
        for c in range(width):
            angle = t / 10_000 ** (2 * (c // 2) / width)
            assert found[t, c].item() == pytest.approx(math.cos(angle) if c % 2 else math.sin(angle), abs=1e-12)


def test_embedding_is_the_scaled_row_plus_the_position():
    embedding = Embedding(11, 4).double()
    torch.nn.init.normal_(embedding.table)
    tokens = torch.tensor([[3, 0, 10]])
    expected = torch.stack([embedding.table[t] * 2 for t in (3, 0, 10)]) + sinusoids(3, 4)
    torch.testing.assert_close(embedding(tokens)[0], expected)


def test_input_variance_is_one_and_a_half():
    """Entries N(0, 1/d) scaled by sqrt(d) give 1, sinusoids 1/2."""
    embedding = Embedding(500, 64)
    torch.nn.init.normal_(embedding.table, std=64**-0.5, generator=torch.Generator().manual_seed(0))
    tokens = torch.randint(1, 500, (50, 20), generator=torch.Generator().manual_seed(1))
    assert embedding(tokens).square().mean().item() == pytest.approx(1.5, rel=0.02)


def test_the_padding_row_has_a_gradient_like_any_other():
    """With ``padding_idx`` it would not, and second derivatives would be wrong."""
    embedding = Embedding(5, 4)
    (gradient,) = torch.autograd.grad(embedding(torch.tensor([[0, 2]])).sum(), embedding.table)
    assert gradient.ne(0).any(1).tolist() == [True, False, True, False, False]


def test_output_has_a_logit_for_each_row():
    output = Output(9, 4)
    torch.nn.init.normal_(output.table)
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(output(x), x @ output.table.T)
