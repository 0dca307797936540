"""Batches: all of a split once, nearly equal, nearly free of padding, and random only where they say so."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnlab.tasks.batching import batch_numbers, batches_of, sorted_by_length

LENGTHS = st.lists(st.tuples(st.integers(2, 40), st.integers(2, 40)), min_size=1, max_size=200)


def tensors(pairs):
    return tuple(torch.tensor(side) for side in zip(*pairs, strict=True))


@given(LENGTHS, st.integers(40, 400), st.integers(0, 5))
def test_every_row_is_in_one_batch_and_no_batch_exceeds_the_budget(pairs, budget, seed):
    source, target = tensors(pairs)
    made = batches_of(source, target, budget, seed)
    assert sorted(torch.cat(made).tolist()) == list(range(len(pairs)))
    assert all(0 < int(target[rows].sum()) <= budget for rows in made)


@given(LENGTHS, st.integers(0, 5))
def test_rows_are_sorted_by_target_and_sources_rise_and_fall_in_turn(pairs, seed):
    source, target = tensors(pairs)
    rows = sorted_by_length(source, target, torch.Generator().manual_seed(seed)).tolist()
    expected = sorted((t, s if t % 2 == 0 else -s) for s, t in pairs)
    assert [(int(target[i]), int(source[i]) * (1 if target[i] % 2 == 0 else -1)) for i in rows] == expected


def realistic(n=5000):
    """Log-normal lengths of about 13 tokens, source and target correlated."""
    generator = torch.Generator().manual_seed(7)
    base = torch.randn(n, generator=generator)
    noise = torch.randn(n, generator=generator)
    target = (12 * torch.exp(0.35 * base)).long() + 2
    source = (11 * torch.exp(0.33 * base + 0.12 * noise)).long() + 2
    return source, target


@pytest.mark.parametrize("budget", [256, 512, 1024, 4096])
def test_batches_have_nearly_equal_numbers_of_tokens(budget):
    """A batch is off the mean by at most its longest sentence, and the mean is near the budget."""
    source, target = realistic()
    made = batches_of(source, target, budget, 1)
    sums = torch.tensor([int(target[rows].sum()) for rows in made])
    longest = torch.tensor([int(target[rows].max()) for rows in made])
    mean = target.sum() / len(made)
    assert ((sums - mean).abs() <= longest).all()
    assert mean > 0.82 * budget
    assert sums.double().std() / mean < 0.05


def test_equal_seeds_give_equal_batches_whose_order_does_not_follow_their_lengths_and_others_are_mixed_anew():
    source, target = realistic(500)
    first, again, other = (batches_of(source, target, 300, seed) for seed in (1, 1, 2))
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in again]
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in other]
    source, target = realistic()
    longest = [int(target[rows].max()) for rows in batches_of(source, target, 512, 1)]
    assert longest != sorted(longest)
    half = len(longest) // 2
    assert abs(sum(longest[:half]) / half - sum(longest[half:]) / (len(longest) - half)) < 3
    source, target = realistic(500)
    first, other = ({frozenset(rows.tolist()) for rows in batches_of(source, target, 300, seed)} for seed in (1, 2))
    assert len(first & other) < len(first) / 2


@pytest.mark.parametrize(
    "lengths",
    [[5] * 100, [16] * 7, [2] * 50 + [16], [1] * 300 + [15, 16], list(range(1, 17)) * 3, [9, 9, 9]],
    ids=["equal", "each fills a batch", "one long", "two long", "uniform", "more than half"],
)
def test_odd_distributions_are_cut_within_the_budget(lengths):
    given = torch.tensor(sorted(lengths))
    batch = batch_numbers(given, 16)
    assert bool((batch.diff() >= 0).all())
    assert int(torch.bincount(batch, given.double()).max()) <= 16


def test_no_rows_make_no_batch_and_a_target_longer_than_the_budget_is_an_error(golden):
    none = torch.tensor([], dtype=torch.int64)
    assert batches_of(none, none, 100, 1) == []
    with golden.raises(ValueError):
        batches_of(torch.tensor([3, 3]), torch.tensor([12, 3]), 10, 1)
