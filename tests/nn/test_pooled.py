"""Moments of the present elements alone, and norms that know the padding during a stack's forward pass only."""

import pytest
import torch

from lnlab.nn.pooled import masked_moments, pooled_norms, token_mask
from lnlab.nn.sequence_norms import GroupNorm

PRESENT = torch.tensor([[True, True, False], [True, False, False]])


@pytest.mark.parametrize("dims", [(0, 1), (1,), (1, 3)])
def test_moments_are_those_of_the_present_elements(dims):
    shape = (2, 3, 4) if 3 not in dims else (2, 3, 2, 2)
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = masked_moments(x, PRESENT, dims)
    held = torch.where(PRESENT[(...,) + (None,) * (x.dim() - 2)].expand_as(x), x, torch.nan)
    mean = held.nanmean(dims, keepdim=True)
    torch.testing.assert_close(found[0], mean)
    torch.testing.assert_close(found[1], (held - mean).square().nanmean(dims, keepdim=True))
    torch.testing.assert_close(found[2], (~held.isnan()).double().sum(dims, keepdim=True))


def test_without_a_mask_everything_is_present():
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    mean, variance, number = masked_moments(x, None, (0, 1))
    torch.testing.assert_close(mean.flatten(), x.flatten(0, 1).mean(0))
    torch.testing.assert_close(variance.flatten(), x.flatten(0, 1).var(0, correction=0))
    assert number.unique().tolist() == [6]


def test_norms_know_the_padding_inside_and_forget_it_even_after_an_error():
    norms = (GroupNorm(4, groups=2), GroupNorm(4, groups=2))

    def fail_inside():
        with token_mask(norms, PRESENT):
            assert all(norm.present is PRESENT for norm in norms)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_inside()
    assert all(norm.present is None for norm in norms)


@pytest.mark.parametrize("placement", ["post", "pre", "sandwich"])
def test_a_stack_tells_each_of_its_norms_and_no_other_stack(setting, build, batch, placement):
    model = build(setting(placement, norm="group"))
    seen = {}
    for stack in (model.encoder, model.decoder):
        for norm in pooled_norms(stack):
            norm.register_forward_hook(lambda m, x, y: seen.__setitem__(m, m.present))
    model(batch)
    for stack, tokens in ((model.encoder, batch.source), (model.decoder, batch.target_in)):
        norms = pooled_norms(stack)
        assert norms == stack.pooled
        assert all(torch.equal(seen[norm], tokens != 0) for norm in norms)
        assert all(norm.present is None for norm in norms)
    assert not pooled_norms(build(setting(placement)))
