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


def test_embedding_is_the_scaled_row_plus_the_position_and_output_has_a_logit_for_each_row():
    embedding = Embedding(11, 4).double()
    torch.nn.init.normal_(embedding.table)
    tokens = torch.tensor([[3, 0, 10]])
    expected = torch.stack([embedding.table[t] * 2 for t in (3, 0, 10)]) + sinusoids(3, 4)
    torch.testing.assert_close(embedding(tokens)[0], expected)
    # Entries N(0, 1/d) scaled by sqrt(d) give 1, sinusoids 1/2.
    embedding = Embedding(500, 64)
    torch.nn.init.normal_(embedding.table, std=64**-0.5, generator=torch.Generator().manual_seed(0))
    tokens = torch.randint(1, 500, (50, 20), generator=torch.Generator().manual_seed(1))
    assert embedding(tokens).square().mean().item() == pytest.approx(1.5, rel=0.02)
    # With ``padding_idx`` it would not, and second derivatives would be wrong.
    embedding = Embedding(5, 4)
    (gradient,) = torch.autograd.grad(embedding(torch.tensor([[0, 2]])).sum(), embedding.table)
    assert gradient.ne(0).any(1).tolist() == [True, False, True, False, False]
    output = Output(9, 4)
    torch.nn.init.normal_(output.table)
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(output(x), x @ output.table.T)


@pytest.fixture
def fixed():
    """A table of random rows of many lengths, padding's zero, behind an embedding and an output with FixNorm."""
    embedding, output = Embedding(9, 4, "none", fix_norm=True).double(), Output(9, 4, fix_norm=True).double()
    torch.manual_seed(0)
    with torch.no_grad():
        embedding.table.copy_(torch.randn(9, 4) * torch.arange(9.0)[:, None])
    output.table = embedding.table
    return embedding, output


def test_fix_norm_uses_the_direction_of_every_row_alone(fixed):
    embedding, output = fixed
    tokens, x = torch.tensor([[3, 8, 0]]), torch.randn(2, 4, dtype=torch.float64)
    vectors, logits = embedding(tokens), output(x)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.tensor([[2.0, 2.0, 0.0]], dtype=torch.float64))
    cosines = torch.nn.functional.cosine_similarity(x[:, None], output.table[None, 1:], dim=-1)
    torch.testing.assert_close(logits[:, 1:] / x.norm(dim=-1, keepdim=True), cosines)
    with torch.no_grad():
        embedding.table.mul_(7.0)
    torch.testing.assert_close(embedding(tokens), vectors)
    torch.testing.assert_close(output(x), logits)


def test_fix_norms_gradient_is_orthogonal_to_a_row_and_it_has_second_derivatives(fixed):
    """A row of zeros divided by its length would have a gradient of 1e12."""
    embedding, output = fixed
    x = torch.randn(5, 4, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(output(x).square().sum() + output(x).sum(), embedding.table)
    along = (gradient * embedding.table).sum(1)
    torch.testing.assert_close(along, torch.zeros_like(along), atol=1e-9, rtol=0)
    torch.testing.assert_close(gradient[0], x.sum(0))
    _, output = fixed
    x = torch.randn(3, 4, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(
        lambda table: torch.func.functional_call(output, {"table": table}, (x,)), output.table.detach().requires_grad_()
    )


@pytest.mark.parametrize("kind", ["encoder_decoder", "language_model", "encoder"])
def test_fix_norm_holds_for_every_table_of_a_model(setting, build, batch, kind):
    model = build(setting(kind=kind, fix_norm=True, tied="none"))
    before = model(batch)
    with torch.no_grad():
        for p in (p for name, p in model.named_parameters() if name.endswith("table")):
            p.mul_(3.0)
    torch.testing.assert_close(model(batch), before)


@pytest.mark.parametrize(("scale", "factor"), [("fixed", 4.0), ("learned", 4.0), ("one", 1.0)])
def test_the_factor_of_a_row_is_the_root_of_the_width_or_one_and_may_be_learned(setting, build, scale, factor):
    model = build(setting(kind="language_model", positions="none", embedding_scale=scale))
    tokens = torch.tensor([[3, 5]])
    embedding = model.decoder.embedding
    torch.testing.assert_close(embedding(tokens), factor * embedding.table[tokens])
    assert ("decoder.embedding.gain" in dict(model.named_parameters())) is (scale == "learned")
