"""Entries that are nothing but rounding, against gradients in float64; and what is small without being noise."""

from dataclasses import replace

import pytest
import torch

from lnlab.probes.rounding import last_noise_masks, noise_masks, second_moment_roots
from lnlab.probes.update_size import update_size
from tests.support.trained import RATE, gradient


def zeros(model, exact) -> dict[str, torch.Tensor]:
    """Of biases and shifts, entries whose gradient in float64 is 0 beside that of their row or of their scale."""
    found = {}
    for name, g in exact.items():
        partner = exact.get(f"{name.removesuffix('bias')}weight") if name.endswith("bias") else None
        if partner is not None:
            size = partner.square().mean(-1).sqrt().expand_as(g)
            found[name] = g.abs() < 1e-9 * size
    assert found.keys() <= dict(model.named_parameters()).keys()
    return found


def both(made) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """What is noise by the magnitudes in float32, and which gradients are 0 in float64."""
    masks = noise_masks(made.model, {name: g.abs() for name, g in gradient(made, 0).items()})
    made.model.double()
    return masks, zeros(made.model, gradient(made, 0))


@pytest.mark.parametrize("updates", [0, 3])
@pytest.mark.parametrize("placement", ["post", "pre"])
def test_noise_is_what_is_zero_in_float64(state, trained, placement, updates):
    masks, expected = both(trained(state(placement, layers=3), updates))
    assert {name for name, mask in masks.items() if mask.any()} == {n for n in masks if n.endswith("k.bias")}
    assert all(torch.equal(mask, expected[name]) for name, mask in masks.items())


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("attention", ["softmax", "qk_norm", "qk_layer_norm"])
def test_a_batch_norm_and_norms_of_keys_have_their_own_zeros(classifier, norm, attention):
    """Below a batch norm and without dropout a constant is not seen; a key of length 1 depends on its bias."""
    model = {"kind": "classifier", "layers": 2, "d_model": 16, "heads": 2, "d_ff": 24, "dropout": 0.0}
    masks, expected = both(classifier(norm, attention=attention, model=model))
    zero = {name.partition("layers.")[2][2:] for name, mask in masks.items() if mask.any()}
    keys = {"softmax": {"self_attention.k.bias"}, "qk_norm": set(), "qk_layer_norm": {"self_attention.norms.k.bias"}}
    below = {"self_attention.v.bias", "self_attention.o.bias", "feed_forward.w2.bias"} if norm == "batch" else set()
    assert zero == keys[attention] | below
    assert all(torch.equal(mask, expected[name]) for name, mask in masks.items())


def test_a_unit_without_activity_and_a_small_bias_are_no_noise(state):
    model = state().model
    ones = {name: torch.ones_like(p) for name, p in model.named_parameters()}
    w1, b1 = (f"encoder.layers.0.feed_forward.w1.{word}" for word in ("weight", "bias"))
    ones[w1][3], ones[b1][3] = 1e-9, 1e-9
    ones[w1][5], ones[b1][5] = 0.0, 0.0
    ones[b1][7] = 1e-4
    ones[b1][9] = 1e-5
    assert noise_masks(model, ones)[b1].nonzero().flatten().tolist() == [9]
    ones["encoder.embedding.table"][4] = 1e-9
    assert {name for name in noise_masks(model, ones) if not name.endswith("bias")} == set()


def test_the_unit_of_gradients_does_not_matter(state):
    made = state()
    sizes = {name: g.abs().double() for name, g in gradient(made, 0).items()}
    one, other = (
        noise_masks(made.model, sizes),
        noise_masks(made.model, {name: 1e-30 * size for name, size in sizes.items()}),
    )
    assert all(torch.equal(mask, other[name]) for name, mask in one.items())


def test_without_second_moments_updates_say_it(state, trained):
    """Under gradient descent an update is proportional to the gradient."""
    made = state()
    update = {name: -RATE * g for name, g in gradient(made, 0).items()}
    descent = torch.optim.SGD(made.model.parameters(), lr=RATE)
    after = replace(made, optimizer=descent, last_update=update, last_rate=RATE)
    assert second_moment_roots(after) == {}
    masks = last_noise_masks(after, lambda: update)
    assert {name for name, mask in masks.items() if mask.all()} == {n for n in masks if n.endswith("k.bias")}
    rows = [row for row in update_size(after) if row["quantity"] == "update_rms"]
    assert "bk" not in {row["tensor"] for row in rows}
    by_adam = last_noise_masks(trained(state()), lambda: pytest.fail("Adam has second moments"))
    assert {name for name, mask in by_adam.items() if mask.all()} == {n for n in masks if n.endswith("k.bias")}


def test_the_second_moments_of_adagrad_are_a_sum(state):
    made = state()
    optimizer = torch.optim.Adagrad(made.model.parameters(), lr=RATE)
    for name, g in gradient(made, 0).items():
        made.model.get_parameter(name).grad = g
    optimizer.step()
    roots = second_moment_roots(replace(made, optimizer=optimizer))
    for name, g in gradient(replace(made, model=made.model), 0).items():
        assert roots[name].shape == g.shape
    assert roots["encoder.layers.0.self_attention.q.weight"].any()
