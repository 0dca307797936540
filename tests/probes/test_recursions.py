"""The recursions, against products and sums of explicit Jacobian matrices, on a stream of one token."""

import pytest
import torch
from torch import nn
from torch.autograd.functional import jacobian

from lnlab.probes.support.recursions import (
    ResidualBlock,
    product_form,
    separated_form,
    sum_form,
    times_jacobian,
    without_attention,
)

WIDTH = 6
ATTENTION = (True, False, True, False)


@pytest.fixture(scope="module")
def blocks():
    """Four blocks with branches of their own and norms with scales of their own, each at a stream of its own."""
    generator = torch.Generator().manual_seed(3)
    made = []
    for number, attention in enumerate(ATTENTION):
        matrix, x = (torch.randn(shape, generator=generator).double() for shape in ((WIDTH, WIDTH), (WIDTH,)))
        norm = nn.LayerNorm(WIDTH).double()
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 1.5, WIDTH) + 0.1 * number)
        made.append(ResidualBlock(1 + number // 2, x, lambda x, matrix=matrix: torch.tanh(x @ matrix), norm, attention))
    return made


@pytest.fixture(scope="module")
def g():
    return torch.linspace(-1, 2, WIDTH).double()


def matrices(block):
    """F'(x), LN'(x + F(x)) and d F(LN(x))/dx, as matrices that a row is multiplied with."""
    y = block.x + block.f(block.x)
    return (
        jacobian(block.f, block.x),
        jacobian(block.norm, y.detach()),
        jacobian(lambda x: block.f(block.norm(x)), block.x),
    )


def close(found, expected):
    torch.testing.assert_close(torch.stack(found), torch.stack(expected), rtol=1e-12, atol=1e-12)


def test_a_row_times_a_jacobian_is_the_matrix_product_and_without_attention_that_of_feed_forward_networks(blocks, g):
    branch, norm, normed = matrices(blocks[0])
    close([times_jacobian(g, blocks[0].f, blocks[0].x)], [g @ branch])
    close([blocks[0].through_sum(g)], [g + g @ branch])
    close([blocks[0].through_norm(g)], [g @ norm])
    close([blocks[0].through_branch(g)], [g @ normed])
    kept = without_attention(blocks)
    assert [bool(times_jacobian(g, block.f, block.x).any()) for block in kept] == [False, True, False, True]
    assert all(torch.equal(a.f(a.x), b.f(b.x)) for a, b in zip(kept, blocks, strict=True))


def test_the_product_alternates_norms_and_blocks_from_the_top_down(blocks, g):
    one = torch.eye(WIDTH).double()
    expected = []
    for first in range(4):
        row = g
        for block in reversed(blocks[first:]):
            branch, norm, _ = matrices(block)
            row = row @ norm @ (one + branch)
        expected.append(row)
    close(product_form(blocks, g), expected)


def test_the_sum_has_a_term_for_each_block_above_through_all_blocks_between(blocks, g):
    """∂F(LN(x_k))/∂x_l = (∂F(LN(x_k))/∂x_k) (∂x_k/∂x_l), the last as a product of matrices."""
    one = torch.eye(WIDTH).double()
    branches = [matrices(block)[2] for block in blocks]
    expected = []
    for first in range(4):
        whole = one
        for k in range(first, 4):
            between = one
            for j in range(k - 1, first - 1, -1):
                between = between @ (one + branches[j])
            whole = whole + branches[k] @ between
        expected.append(g @ whole)
    close(sum_form(blocks, g), expected)


def test_the_two_products_apart_are_another_matrix(blocks, g):
    one = torch.eye(WIDTH).double()
    expected = []
    for first in range(4):
        norms = blocksums = one
        for block in reversed(blocks[first:]):
            branch, norm, _ = matrices(block)
            norms, blocksums = norms @ norm, blocksums @ (one + branch)
        expected.append(g @ norms @ blocksums)
    found = separated_form(blocks, g)
    close(found, expected)
    right = product_form(blocks, g)
    close(found[3:], right[3:])  # one block alone has nothing to commute
    assert (found[0] - right[0]).norm() > 0.1 * right[0].norm()


def test_streams_go_on_by_the_formula_of_the_placement(blocks):
    block = blocks[1]
    assert torch.equal(block.after_post(), block.norm(block.x + block.f(block.x)))
    assert torch.equal(block.after_pre(), block.x + block.f(block.norm(block.x)))
