"""Histograms of gradients against plain autograd and numpy's histogram."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from lnlab.errors import LabError
from lnlab.nn.sites import parameter_uses
from lnlab.probes.gradient_histogram import gradient_histogram

SITE = ("stack", "layer", "sublayer", "tensor")


def found(rows) -> dict[tuple, dict[tuple[float, float], int]]:
    """By site: the counts of the bins."""
    every: dict[tuple, dict] = {}
    for row in rows:
        every.setdefault(tuple(row.get(key) for key in SITE), {})[row["left"], row["right"]] = row["count"]
    return every


def by_numpy(x: torch.Tensor) -> dict[tuple[float, float], int]:
    """Counted in float64, zeros apart."""
    values = x.detach().double().abs().flatten().numpy()
    edges = np.array([2.0**e * quarter for e in range(-100, 20) for quarter in (1, 1.25, 1.5, 1.75)])
    numbers, _ = np.histogram(values, edges)
    bins = {pair: n for pair, n in zip(pairwise(edges), numbers.tolist(), strict=True) if n}
    zeros = int((values == 0).sum())
    assert sum(bins.values()) + zeros == len(values)
    return bins | ({(0.0, 0.0): zeros} if zeros else {})


def expected_gradients(made, n: int) -> dict[str, torch.Tensor]:
    """The gradient of the loss per token over all batches at once, by the name of a parameter."""
    batches = made.batches(n)
    total = sum(made.task.loss(made.model, batch)[0] for batch in batches) / sum(b.tokens for b in batches)
    leaves = dict(made.model.named_parameters())
    return dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))


def close(one: dict, two: dict) -> None:
    """Alike but for entries that rounding carries over an edge."""
    assert sum(one.values()) == sum(two.values())
    assert sum(abs(one.get(b, 0) - two.get(b, 0)) for b in one.keys() | two.keys()) <= 4


@pytest.mark.parametrize("tied", ["target", "all"])
def test_all_weights_together_are_those_of_autograd(state, tied):
    made = state("post", tied=tied)
    gradients = expected_gradients(made, 3)
    matrices = torch.cat([g.flatten() for g in gradients.values() if g.dim() > 1])
    rows = found(gradient_histogram(made, batches=3))
    assert rows.keys() == {(None, None, None, None)}
    close(rows[None, None, None, None], by_numpy(matrices))


def test_every_weight_has_its_site_and_a_tied_table_both_of_its_uses(state):
    made = state("pre")
    gradients = expected_gradients(made, 2)
    names = {id(p): name for name, p in made.model.named_parameters()}
    rows = found(gradient_histogram(made, of="sites", batches=2))
    matrices = [(site, p) for site, p in parameter_uses(made.model) if p.dim() > 1]
    assert rows.keys() == {tuple(site.row().values()) for site, _ in matrices}
    for site, p in matrices:
        close(rows[tuple(site.row().values())], by_numpy(gradients[names[id(p)]]))
    assert rows["decoder", None, "embedding", "table"] == rows[None, None, "output", "table"]


def test_rows_of_a_table_that_no_token_names_are_zeros_and_frozen_weights_have_none(state):
    made = state("pre", tied="none", size=400)
    rows = found(gradient_histogram(made, of="sites", batches=1))
    unused = 400 - made.batches(1)[0].source.unique().count_nonzero().item()
    assert rows["encoder", None, "embedding", "table"][0.0, 0.0] == 16 * unused
    made, frozen = state("post"), state("post")
    for module in (frozen.model.encoder.embedding, frozen.model.decoder.embedding):
        module.table.requires_grad_(False)
    assert list(gradient_histogram(frozen, of="input")) == list(gradient_histogram(made, of="input"))
    rows = found(gradient_histogram(frozen, of="sites"))
    assert ("encoder", None, "embedding", "table") not in rows
    assert ("encoder", 1, "feed_forward", "w1") in rows


def test_the_next_updates_own_gradient_is_the_one_that_it_will_use(state, trained):
    made = trained(state("post"))
    own = made.next_gradient()
    matrices = torch.cat([g.flatten() for g in own.values() if g.dim() > 1])
    together = found(gradient_histogram(made, batches="step"))
    assert together == {(None, None, None, None): by_numpy(matrices)}
    rows = found(gradient_histogram(made, of="sites", batches="step"))
    w2 = own["decoder.layers.1.feed_forward.w2.weight"]
    assert rows["decoder", 2, "feed_forward", "w2"] == by_numpy(w2)
    assert (
        rows["decoder", 2, "feed_forward", "w2"]
        != found(gradient_histogram(made, of="sites"))["decoder", 2, "feed_forward", "w2"]
    )


def test_by_the_input_it_is_the_gradient_of_what_the_embeddings_give_on(state):
    """Of each batch for itself, over its tokens and not its padding."""
    made = state("post", pads=2)
    expected: dict[str, list[torch.Tensor]] = {"encoder": [], "decoder": []}
    kept: dict[str, torch.Tensor] = {}
    for name in expected:
        embedding = getattr(made.model, name).embedding
        embedding.register_forward_hook(lambda _m, _x, y, name=name: kept.__setitem__(name, y))
    for batch in made.batches(2):
        loss, count = made.task.loss(made.model, batch)
        for name, tokens in (("encoder", batch.source), ("decoder", batch.target_in)):
            (gradient,) = torch.autograd.grad(loss / count, kept[name], retain_graph=True)
            expected[name].append(gradient[tokens != 0])
    rows = found(gradient_histogram(made, of="input", batches=2))
    assert rows.keys() == {("encoder", None, "embedding", "out"), ("decoder", None, "embedding", "out")}
    for name, gradients in expected.items():
        counted = rows[name, None, "embedding", "out"]
        assert (0.0, 0.0) not in counted
        close(counted, by_numpy(torch.cat(gradients)))


def test_the_next_updates_gradient_by_the_input_is_not_there(state, trained, golden):
    with golden.raises(LabError):
        list(gradient_histogram(trained(state()), of="input", batches="step"))
