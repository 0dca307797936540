"""Training against use, with running statistics by hand: torch's own moments of the tokens that each norm is given."""

import pytest
import torch

from lnlab.nn.batch_norm import BatchNorm
from lnlab.nn.modes import in_mode
from lnlab.probes.norm_jacobian import norm_modules
from lnlab.probes.statistics_discrepancy import discrepancies, statistics_discrepancy
from lnlab.vocabulary.norms import STATISTICS_DISCREPANCY


def numbers(rows, quantity):
    keys = ("layer", "sublayer", "tensor")
    return {tuple(r.get(k) for k in keys): r["value"] for r in rows if r["quantity"] == quantity}


def remembering(state, seed=0):
    """The state with some running statistics at every batch norm."""
    generator = torch.Generator().manual_seed(seed)
    for norm in state.model.modules():
        if isinstance(norm, BatchNorm):
            norm.running_mean.normal_(generator=generator)
            norm.running_var.uniform_(0.5, 2, generator=generator)
    return state


def given_to(state, batch):
    """By site: the tokens (tokens, width) that each norm is given in training, and the norm."""
    seen = {}
    hooks = [
        n.register_forward_pre_hook(lambda n, x, s=s: seen.update({s: (n, x[0])})) for s, n in norm_modules(state.model)
    ]
    with torch.no_grad(), in_mode(state.model, training=False):
        state.model(batch)
    for hook in hooks:
        hook.remove()
    return seen


@pytest.mark.parametrize("naive", [False, True])
def test_both_are_means_over_batches_and_coordinates(classifier, naive):
    state = remembering(classifier({"kind": "batch", "naive": naive}))
    rows = list(statistics_discrepancy(state, batches=3))
    expected = {0: {}, 1: {}}
    for batch in state.batches(3):
        for site, (norm, x) in given_to(state, batch).items():
            tokens = (x.flatten(0, 1) if naive else x[batch.source != 0]).double()
            sigma = (tokens.var(0, correction=0) + norm.eps).sqrt()
            key = (site.layer, site.sublayer, site.tensor)
            off = ((norm.running_mean - tokens.mean(0)).abs() / sigma).mean().item() / 3
            wide = ((norm.running_var.double() + norm.eps).sqrt() / sigma - 1).abs().mean().item() / 3
            for which, value in enumerate((off, wide)):
                expected[which][key] = expected[which].get(key, 0.0) + value
    for which, values in expected.items():
        found = numbers(rows, tuple(STATISTICS_DISCREPANCY)[which])
        assert len(found) == 4
        assert found == pytest.approx(values, rel=1e-5)


def test_the_outputs_differ_by_what_the_two_modes_say(classifier):
    state = remembering(classifier("batch"))
    modes = []
    for remembered in (False, True):
        with torch.no_grad(), in_mode(state.model, training=False, remembered=remembered):
            modes.append(torch.cat([state.model(batch) for batch in state.batches(2)]).double())
    (value,) = numbers(statistics_discrepancy(state, batches=2), "output_discrepancy").values()
    assert value == pytest.approx(((modes[1] - modes[0]).norm() / modes[0].norm()).item(), rel=1e-6)
    assert value > 0.01


def test_a_norm_that_remembers_its_batch_and_other_norms_have_no_discrepancy(classifier):
    norm, x = BatchNorm(8), torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    norm.running_mean.copy_(x.flatten(0, 1).mean(0))
    norm.running_var.copy_(x.flatten(0, 1).var(0, correction=0))
    assert discrepancies(norm, x).max() < 1e-6
    norm.running_mean += 2 * (norm.running_var + norm.eps).sqrt()
    norm.running_var.copy_(9 * (norm.running_var + norm.eps) - norm.eps)
    assert discrepancies(norm, x).tolist() == pytest.approx([2.0, 2.0], rel=1e-5)
    rows = list(statistics_discrepancy(classifier("layer"), batches=2))
    assert rows == [{"quantity": "output_discrepancy", "value": 0.0}]
