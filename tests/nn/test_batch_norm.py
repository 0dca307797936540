"""Batch norm against torch's, with and without padding, in training, in evaluation and when it is looked at."""

import pytest
import torch
from torch import nn

from lnlab.nn.batch_norm import BatchNorm, FrozenBatchNorm, batch_statistics
from lnlab.nn.pooled import token_mask

PRESENT = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(3, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3 + 1


def pair(**given) -> tuple[BatchNorm, nn.BatchNorm1d]:
    """Mine and torch's with the same random scale and shift."""
    mine, theirs = BatchNorm(8, **given).double(), nn.BatchNorm1d(8, momentum=given.get("momentum", 0.1)).double()
    for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
        nn.init.normal_(p)
        q.data.copy_(p.data)
    return mine, theirs


def agree(mine: BatchNorm, theirs: nn.BatchNorm1d) -> None:
    torch.testing.assert_close(mine.running_mean, theirs.running_mean)
    torch.testing.assert_close(mine.running_var, theirs.running_var)


@pytest.mark.parametrize("momentum", [0.1, 0.05])
def test_it_is_torchs_over_the_tokens_alone(x, momentum):
    """Output, biased; running variance, unbiased; and the gradient."""
    mine, theirs = pair(momentum=momentum)
    for step in range(3):
        given = (x * (1 + step)).requires_grad_()
        with token_mask([mine], PRESENT):
            found = mine(given)[PRESENT]
        expected = theirs(given[PRESENT])
        torch.testing.assert_close(found, expected)
        g = torch.randn(expected.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(step))
        one, two = (torch.autograd.grad((y * g).sum(), given)[0] for y in (found, expected))
        torch.testing.assert_close(one, two)
        assert not one[~PRESENT].any()
        agree(mine, theirs)
    mine.eval()
    theirs.eval()
    torch.testing.assert_close(mine(x), theirs(x.mT).mT)


def test_naive_counts_padding_as_torch_does(x):
    mine, theirs = pair(naive=True)
    with token_mask([mine], PRESENT):
        torch.testing.assert_close(mine(x), theirs(x.mT).mT)
    agree(mine, theirs)


def test_padding_moves_naive_statistics_only(setting, build, batch):
    outputs = {}
    for naive in (False, True):
        model = build(
            setting(encoder={"norm": {"kind": "batch", "eps": 1e-5, "momentum": 0.1, "naive": naive}})
        ).train()
        padded = type(batch)(torch.nn.functional.pad(batch.source, (0, 4)), batch.target_in)
        outputs[naive] = model(batch), model(padded)
    torch.testing.assert_close(*outputs[False])
    assert not torch.allclose(*outputs[True], atol=1e-3)


def test_evaluation_uses_what_was_remembered_and_remembers_nothing(x):
    norm = BatchNorm(8).double().eval()
    torch.testing.assert_close(norm(x), x / (1 + 1e-5) ** 0.5)
    assert norm.running_var.unique().tolist() == [1.0]


@pytest.mark.parametrize("training", [True, False])
def test_looked_at_it_is_as_in_training_and_remembers_nothing(x, training):
    norm = BatchNorm(8).double().train(training)
    buffers = [b.clone() for b in norm.buffers()]
    with batch_statistics(norm):
        found = norm(x)
    assert norm.training is training
    assert all(torch.equal(b, kept) for b, kept in zip(norm.buffers(), buffers, strict=True))
    torch.testing.assert_close(found, norm.train()(x))


def test_a_batch_of_one_token_is_finite():
    norm = BatchNorm(4)
    assert not norm(torch.randn(1, 1, 4)).any()
    torch.testing.assert_close(norm.running_var, torch.full((4,), 0.9))


@pytest.mark.parametrize("after", [0, 2])
def test_frozen_it_is_torchs_left_in_evaluation_mode(x, after):
    """Output, gradient and running statistics, before it is frozen and from then on, whoever looks at it in between."""
    theirs = nn.BatchNorm1d(8).double()
    mine = FrozenBatchNorm(8, after=after).double()
    for batch in range(4):
        inputs = (x * (1 + batch)).requires_grad_()
        theirs.train(batch < after)
        with batch_statistics(mine):
            mine(inputs)
        mine.eval()(inputs)
        output, expected = mine.train()(inputs), theirs(inputs.mT).mT
        torch.testing.assert_close(output, expected)
        weights = torch.randn(x.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(batch))
        one, two = (torch.autograd.grad((y * weights).sum(), inputs)[0] for y in (output, expected))
        torch.testing.assert_close(one, two)
        agree(mine, theirs)
    assert int(mine.training_batches) == after


def test_frozen_it_is_the_same_to_whoever_looks_and_a_resumed_run_is_frozen_at_the_same_batch(x):
    norm = FrozenBatchNorm(8, after=1).double()
    norm(x)
    with batch_statistics(norm):
        observed = norm(3 * x)
    torch.testing.assert_close(observed, norm.eval()(3 * x))
    first = FrozenBatchNorm(8, after=2).double()
    first(x)
    second = FrozenBatchNorm(8, after=2).double()
    second.load_state_dict(first.state_dict())
    for norm in (first, second):
        norm(2 * x)
    torch.testing.assert_close(first(3 * x), second(3 * x), rtol=0, atol=0)
    assert int(second.training_batches) == 2
