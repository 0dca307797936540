"""Seeds whose models are copies of one another are one replicate, and that is said."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import lnlab
from tests.support.golden import holding

X, Y = torch.randn(16, 5, generator=torch.Generator().manual_seed(2)), torch.arange(16) % 3
CLAIM = {
    "id": "r",
    "kind": "ratio",
    "of": {"quantity": "gradient_norm", "model": "a"},
    "to": {"model": "b"},
    "at_least": 0.1,
}


def loss(model, batch):
    return cross_entropy(model(batch[0]), batch[1])


def linear(seed):
    torch.manual_seed(seed)
    return nn.Linear(5, 3)


def test_a_build_that_ignores_its_seed_is_one_replicate(tmp_path, golden):
    a, b = linear(1), linear(2)
    with pytest.warns(UserWarning, match="counted once") as warned:
        m = lnlab.measure({"a": lambda _: a, "b": lambda _: b}, [(X, Y)], loss)
    said = "measure: of 'a', the seeds 2, 3, 4 and 5 have the parameters of an earlier one, counted once; let build"
    assert said in str(warned[0].message)
    assert len(warned) == 2
    assert m.frame("gradient_norm")["seed"].to_list() == [1, 1]
    (verdict,) = m.judge(CLAIM)
    assert (verdict.verdict, verdict.n) == ("undecided", 1)
    m.report(CLAIM, out=tmp_path / "page")
    text = (tmp_path / "page" / "index.html").read_text()
    golden(holding(text, "The seeds 2–5"))


def test_models_of_several_sizes_are_no_seeds_of_one():
    """As where a class stands for ``build`` whose first argument is its depth."""
    said = "measure: 'model' has 6 parameters with seed 1 and 9 parameters with seed 2, which are no repetitions"
    with pytest.warns(UserWarning, match=said):
        lnlab.measure(lambda seed: nn.Linear(seed, 3), [torch.ones(2, 1)], lambda m, x: m.weight.sum(), seeds=2)


def test_a_checkpoint_given_twice_is_one_replicate_and_others_stay():
    checkpoints = [linear(7), linear(7), linear(8), linear(8), linear(9)]
    with pytest.warns(UserWarning, match="the seeds 2 and 4 have"):
        m = lnlab.measure(lambda seed: checkpoints[seed - 1], [(X, Y)], loss)
    assert m.frame("gradient_norm")["seed"].to_list() == [1, 3, 5]


def test_pairs_are_of_the_seeds_that_both_have():
    a = linear(1)
    with pytest.warns(UserWarning, match="of 'a'"):
        m = lnlab.measure({"a": lambda _: a, "b": linear}, [(X, Y)], loss)
    (verdict,) = m.judge(CLAIM)
    assert (verdict.verdict, verdict.n) == ("undecided", 1)


def test_equal_parameters_with_other_buffers_or_another_function_are_no_copies(recwarn):
    class Masked(nn.Module):
        def __init__(self, mask, *, kept):
            super().__init__()
            self.l = linear(1)
            self.kept = kept
            self.register_buffer("mask", mask if kept else torch.zeros(0))
            self.hidden = [mask]

        def forward(self, x):
            return self.l(x * (self.mask if self.kept else self.hidden[0]))

    for kept in (True, False):
        build = lambda seed, kept=kept: Masked((torch.arange(5) != seed).float(), kept=kept)  # noqa: E731
        m = lnlab.measure(build, [(X, Y)], loss, seeds=3)
        assert m.frame("gradient_norm")["seed"].to_list() == [1, 2, 3]
    assert not recwarn.list


def test_models_of_two_names_may_have_the_same_parameters(recwarn):
    m = lnlab.measure({"a": linear, "b": lambda seed: nn.Sequential(linear(seed), nn.Tanh())}, [(X, Y)], loss, seeds=3)
    assert m.frame("gradient_norm").height == 6
    assert not recwarn.list
