"""Jacobians of stacks against torch's own, the identity, Hutchinson's mean, and what rounding hides."""

import copy

import pytest
import torch

import lnlab.probes.io_jacobian
from lnlab.nn.masks import causal, padding
from lnlab.probes.io_jacobian import io_jacobian, singular_values


def by_torch(made, stack, batch, tokens, *, final):
    """∂F/∂x_0 of the first sentence, the layers called one by one in float64."""
    model = copy.deepcopy(made.model).double()
    source, target = (t[:1][:, : int(t[0].count_nonzero())][:, :tokens] for t in (batch.source, batch.target_in))
    memory = model.encoder(source, padding(source)).detach()
    mine = getattr(model, stack)
    given = (padding(source),) if stack == "encoder" else (causal(target), memory, padding(source))

    def f(x):
        for layer in mine.layers:
            x = layer(x, *given)
        return mine.final_norm(x) if final else x

    start = mine.embedding(source if stack == "encoder" else target).detach()
    return torch.autograd.functional.jacobian(f, start).reshape(start.numel(), start.numel())


def singular(rows, stack, sublayer=None) -> list[float]:
    found = [r for r in rows if (r["stack"], r["sublayer"]) == (stack, sublayer) and "index" in r]
    assert [r["index"] for r in found] == list(range(1, len(found) + 1))
    return [r["value"] for r in found]


@pytest.mark.parametrize("tokens", [3, None])
@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_singular_values_are_those_of_torchs_jacobian(state, values, stack, placement, tokens):
    """Of two sentences together, before and after the final norm."""
    made = state(placement)
    rows = list(io_jacobian(made, batches=2, tokens=tokens))
    for sublayer in (None, "final_norm") if placement == "pre" else (None,):
        exact = [by_torch(made, stack, b, tokens, final=sublayer is not None) for b in made.batches(2)]
        expected = torch.cat([torch.linalg.svdvals(j) for j in exact]).sort(descending=True).values
        assert singular(rows, stack, sublayer) == pytest.approx(expected.tolist(), rel=1e-8, abs=1e-10)
        mean = values(rows, "jacobian_mean_square")[stack, None, sublayer, "out"]
        assert mean == pytest.approx(expected.square().mean().item())
    assert {row["sublayer"] for row in rows} == ({None, "final_norm"} if placement == "pre" else {None})


def test_hutchinsons_estimate_has_the_exact_mean(state, values):
    made = state("post")
    exact = values(io_jacobian(made, batches=2), "jacobian_mean_square")
    rows = list(io_jacobian(made, batches=2, draws=2000))
    assert {row["quantity"] for row in rows} == {"jacobian_mean_square"}
    assert values(rows, "jacobian_mean_square") == pytest.approx(exact, rel=0.05)
    few = values(io_jacobian(made, batches=2, draws=3), "jacobian_mean_square")
    assert few == values(io_jacobian(made, batches=2, draws=3), "jacobian_mean_square")
    assert few == pytest.approx(exact, rel=0.6)
    assert few != pytest.approx(exact, rel=0.01)


def test_rows_in_blocks_are_the_same_and_a_sentence_is_cut_with_its_padding(state, monkeypatch):
    made = state("pre")
    whole = list(io_jacobian(made))
    monkeypatch.setattr(lnlab.probes.io_jacobian, "_AT_ONCE", 5)
    for one, two in zip(whole, list(io_jacobian(made)), strict=True):
        assert one["value"] == pytest.approx(two["value"], abs=1e-12)
    made = state("post", pads=5)
    lengths = [int(batch.source[0].count_nonzero()) for batch in made.batches(3)]
    for tokens in (1, 4, None):
        rows = list(io_jacobian(made, batches=3, tokens=tokens))
        assert len(singular(rows, "encoder")) == 16 * sum(min(n, tokens or n) for n in lengths)


def test_a_layer_norm_takes_two_directions_from_every_token(state):
    """What rounding makes of them, 1e-16 or so, is 0; a direction of length 1e-9 is not."""
    found = singular(list(io_jacobian(state("post"), tokens=3)), "encoder")
    assert found.count(0.0) == 2 * 3
    assert min(x for x in found if x) > 1e-6
    small = torch.diag(torch.tensor([1.0, 1e-9, 0.0], dtype=torch.float64))
    assert singular_values(small).tolist() == [1.0, 1e-9, 0.0]
