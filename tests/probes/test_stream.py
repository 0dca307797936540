"""What the probes of the stream share: sums over batches at every site, and what is kept on the way."""

import pytest
import torch

from lnlab.nn.sites import Site
from lnlab.probes.support.stream_sums import site_sums


def test_every_batch_is_passed_once_without_its_padding_in_float64_and_without_a_graph(state):
    made = state("pre", pads=2)
    batches = made.batches(3)
    sums = site_sums(made, 3, "train", lambda x, here: torch.stack((here.sum(), torch.tensor(x.shape[:2]).prod())))
    for stack, tokens in (("encoder", "source"), ("decoder", "target_in")):
        every = [getattr(batch, tokens) for batch in batches]
        expected = [sum(int((t != 0).sum()) for t in every), sum(t.numel() for t in every)]
        assert sums[Site(stack, 1, "feed_forward", "sum")].tolist() == expected
    assert len(sums) == 2 * (2 + 3) * 4 + 4

    def parts(x, _here):
        assert x.dtype == torch.float64
        assert not x.requires_grad
        return x.square().sum()

    assert all(total > 0 for total in site_sums(state("post"), 2, "test", parts).values())


def test_another_look_at_a_batch_gives_other_sites(state):
    def look(_state, batch, _seen):
        return {Site("encoder", None, None, "x"): batch.source[..., None].float()}

    made = state("pre")
    (found,) = site_sums(made, 2, "train", lambda x, here: x[here].sum(), look).values()
    assert found.item() == pytest.approx(sum(batch.source.sum().item() for batch in made.batches(2)))


def test_no_graph_outlives_its_batch(state):
    held = []

    def look(state, batch, seen):
        held.append(len(seen))
        state.model(batch)
        return seen

    site_sums(state("pre"), 3, "train", lambda x, _here: x.detach().sum(), look)
    assert held == [0, 0, 0]
