"""Changes of outputs against copies of the model moved by hand, closed forms, and an independent simulation."""

import copy
import math

import pytest
import torch
from torch import Generator
from torch.func import functional_call

from lnlab.errors import LabError
from lnlab.nn.sites import weights
from lnlab.probes.output_perturbation import (
    PerturbationSums,
    moving_tensors,
    output_perturbation,
    random_signs,
    rows_of_step,
)
from lnlab.probes.probe import probes
from lnlab.probes.support.float64_copy import StackOutputs, doubles, forward_differentiable, value_and_change

OFF = {"random": None, "random_relative": None, "gradient": None, "gradient_relative": None}
MATRICES = {"q", "k", "v", "o", "w1", "w2", "table"}


def outputs(model, batch) -> dict[str, torch.Tensor]:
    """What the stacks give on, tokens alone."""
    seen = {}
    handles = [
        getattr(model, stack).register_forward_hook(lambda _m, _x, y, stack=stack: seen.__setitem__(stack, y))
        for stack in ("encoder", "decoder")
    ]
    with torch.no_grad():
        model(batch)
    for handle in handles:
        handle.remove()
    return {"encoder": seen["encoder"][batch.source != 0], "decoder": seen["decoder"][batch.target_in != 0]}


def moved(model, signs, size):
    """A copy in which each tensor is moved once, by ``size(tensor)`` along its signs."""
    copied = copy.deepcopy(model)
    with torch.no_grad():
        for name, p in copied.named_parameters():
            if p.dim() > 1:
                p += size(p) * signs[name]
    return copied


def signs_of(made, exact, direction, number=0):
    """±1 from the address of a tensor's first use; or against the gradient of two batches together."""
    if direction == "gradient":
        for batch in made.batches(2):
            made.task.loss(exact, batch)[0].backward()
        return {name: -p.grad.sign() for name, p in exact.named_parameters()}
    names, signs = {id(p): name for name, p in exact.named_parameters()}, {}
    for site, p in reversed(weights(exact)):
        seed = made.draw("perturbation", number, site.stack, site.layer, site.sublayer, site.tensor)
        signs[names[id(p)]] = 2 * torch.randint(2, p.shape, generator=Generator().manual_seed(seed)) - 1
    return signs


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize(
    ("step", "size"),
    [("random", 1e-4), ("random_relative", 1e-3), ("gradient", 1e-6), ("gradient_relative", 1e-5)],
)
def test_values_are_those_of_copies_moved_by_hand(state, values, placement, step, size):
    """In float64, a tied table once; J δ by a central difference."""
    made = state(placement, tied="all")
    exact = copy.deepcopy(made.model).double()
    signs = signs_of(made, exact, step.partition("_")[0])

    def size_of(p):
        return size * (p.square().mean().sqrt() if step.endswith("relative") else 1)

    copies = [moved(exact, signs, lambda p, by=by: by * size_of(p)) for by in (1, 1 / 3, 1e-3, -1e-3)]
    found = list(output_perturbation(made, batches=2, draws=1, **OFF | {step: size}))
    sums = {"encoder": torch.zeros(4), "decoder": torch.zeros(4)}
    for batch in made.batches(2):
        before, (after, less, ahead, behind) = outputs(exact, batch), (outputs(c, batch) for c in copies)
        for stack, y in before.items():
            change, first = after[stack] - y, (ahead[stack] - behind[stack]) / 2e-3
            parts = (change, less[stack] - y, change - first)
            sums[stack] += torch.tensor([*(p.square().sum() for p in parts), len(y)])
    for stack, (change, less, error, tokens) in sums.items():
        where = (stack, None, None, "out")
        assert values(found, f"output_change_{step}")[where] == pytest.approx((change / tokens).item(), rel=1e-6)
        ratio = values(found, f"output_change_invariance_{step}")[where]
        assert ratio == pytest.approx((change / less / 9).item(), rel=1e-5)
        wrong = values(found, f"first_order_error_{step}")[where]
        assert wrong == pytest.approx((error / change).sqrt().item(), rel=0.02)


def test_the_forward_derivative_is_that_of_reverse_mode(state):
    """⟨v, J δ⟩ = ⟨Jᵀ v, δ⟩ for a random v, to ten digits."""
    made = state("post")
    (batch,) = made.batches(1)
    with forward_differentiable(made.model):
        f = StackOutputs(made.model)
        at, delta = doubles(f), random_signs(f, moving_tensors(f, tables=True), made.draw, 0)
        moving = {name: at[name].requires_grad_() for name in delta}
        _, change = value_and_change(lambda p: functional_call(f, at | dict(p), (batch,)), moving, delta)
        y = functional_call(f, at | moving, (batch,))["decoder"]
        v = torch.randn(y.shape, dtype=torch.float64, generator=Generator().manual_seed(0))
        back = torch.autograd.grad((y * v).sum(), list(moving.values()))
    expected = sum((g * delta[name]).sum() for name, g in zip(moving, back, strict=True))
    assert (change["decoder"] * v).sum().item() == pytest.approx(expected.item(), rel=1e-10)


def test_ratios_are_of_the_first_direction_and_none_where_the_output_did_not_change():
    one, two = (
        PerturbationSums({"encoder": 8.0}, {"encoder": 1.0}, {"encoder": 0.5}),
        PerturbationSums({"encoder": 4.0}, {}, {}),
    )
    rows = {row["quantity"]: row["value"] for row in rows_of_step("random", [one, two], {"encoder": 2.0})}
    assert rows == pytest.approx(
        {"output_change_random": 3.0, "output_change_invariance_random": 8 / 9, "first_order_error_random": 0.25}
    )
    still = PerturbationSums({"encoder": 0.0}, {"encoder": 0.0}, {"encoder": 0.0})
    rows = list(rows_of_step("random", [still], {"encoder": 5.0}))
    assert [(row["quantity"], row["value"]) for row in rows] == [("output_change_random", 0.0)]


def test_without_first_order_and_with_padding_the_other_numbers_are_the_same(state):
    rows = {row["quantity"]: row["value"] for row in output_perturbation(state(), stack="encoder")}
    fewer = {r["quantity"]: r["value"] for r in output_perturbation(state(), stack="encoder", first_order=False)}
    assert fewer == {name: value for name, value in rows.items() if not name.startswith("first_order_error")}
    plain, padded = (list(output_perturbation(state(pads=pads), gradient=None)) for pads in (0, 3))
    for one, two in zip(plain, padded, strict=True):
        assert one["value"] == pytest.approx(two["value"], rel=1e-4), one


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("tied", ["target", "all"])
def test_one_stack_alone_has_the_rows_that_it_has_among_others(state, stack, tied):
    every = list(output_perturbation(state(tied=tied)))
    alone = list(output_perturbation(state(tied=tied), stack=stack))
    assert sorted(alone, key=str) == sorted((row for row in every if row["stack"] == stack), key=str)


def test_the_encoder_alone_needs_no_decoder_and_a_stack_that_is_not_there_is_the_users_mistake(state, golden):
    """Forward steps end where the encoder does, and move its weights only."""
    made = state("post", tied="all")
    made.model.decoder.forward = None
    rows = list(output_perturbation(made, stack="encoder", gradient=None, gradient_relative=None))
    assert {row["stack"] for row in rows} == {"encoder"}
    moving = moving_tensors(StackOutputs(made.model, ["encoder"]), tables=True)
    assert all(name.startswith("model.encoder.") for name in moving)
    made = state()
    del made.model.decoder
    with golden.raises(LabError):
        list(output_perturbation(made, stack="decoder"))


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_matrices_move_and_tables_if_asked_and_nothing_else(state, tied, tables):
    made = state("pre", tied=tied)
    names = moving_tensors(StackOutputs(made.model), tables=tables)
    wanted = MATRICES - (set() if tables else {"table"})
    expected = {id(p) for site, p in weights(made.model) if site.tensor in wanted and site.stack}
    assert {id(made.model.get_parameter(name.removeprefix("model."))) for name in names} == expected
    assert len(names) == len(expected)


def test_directions_are_shared_by_variants_and_differ_between_seeds(state):
    draws = {}
    for key, made in {"post": state("post"), "deep": state("pre", layers=3), "other": state("post", seed=2)}.items():
        f = StackOutputs(made.model)
        draws[key] = random_signs(f, moving_tensors(f, tables=True), made.draw, 0)
    one = draws["post"]
    assert all(torch.equal(signs, draws["deep"][name]) for name, signs in one.items())
    assert not any(torch.equal(signs, draws["other"][name]) for name, signs in one.items())
    assert {value for signs in one.values() for value in signs.unique().tolist()} == {-1.0, 1.0}


def test_random_steps_are_averaged_over_directions(state, values):
    """Of the same sums: ratios of means, not means of ratios; and longer lists begin with shorter ones."""
    made = state("post")
    exact, found = copy.deepcopy(made.model).double(), []
    for number in range(3):
        signs, total, tokens = signs_of(made, exact, "random", number), 0.0, 0
        for batch in made.batches(1):
            y = outputs(exact, batch)["decoder"]
            total += (outputs(moved(exact, signs, lambda p: 1e-4), batch)["decoder"] - y).square().sum().item()
            tokens += len(y)
        found.append(total / tokens)
    for draws in (1, 3):
        rows = list(output_perturbation(made, draws=draws, **OFF | {"random": 1e-4}))
        change = values(rows, "output_change_random")["decoder", None, None, "out"]
        assert change == pytest.approx(sum(found[:draws]) / draws, rel=1e-6)
    assert max(found) > 1.1 * min(found)


REFERENCE = {"post": [28416, 58347, 120209], "pre": [18006, 34766, 56833]}
"""‖ΔF‖²/ε² of an encoder of 2, 4 and 8 sublayers, mean of 5 seeds, by an independent simulation without embeddings."""


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_changes_are_those_of_an_independent_simulation(state, values, placement):
    """Width 128, d_ff 256, ε = 1e-4, two seeds: within a quarter, the noise of the seeds."""
    shape = {"width": 128, "d_ff": 256, "heads": 4, "zipf": True, "size": 1000, "sentences": 16, "longest": 20}
    for layers, expected in zip((1, 2, 4), REFERENCE[placement], strict=True):
        found = []
        for seed in (1, 2):
            rows = list(output_perturbation(state(placement, layers=layers, seed=seed, **shape), **FIRST))
            found.append(values(rows, "output_change_random")["encoder", None, None, "out"] / 1e-8)
            ratio = values(rows, "output_change_invariance_random")["encoder", None, None, "out"]
            assert ratio == pytest.approx(1, abs=0.01)
        assert math.fsum(found) / 2 == pytest.approx(expected, rel=0.25)


FIRST = OFF | {"random": 1e-4, "tables": False, "draws": 3}


@pytest.mark.parametrize(
    ("given", "passes"),
    [({}, 42.0), ({"gradient": None, "gradient_relative": None, "draws": 2, "first_order": False}, 7.0), (OFF, 0.0)],
)
def test_passes_are_of_the_steps_asked_for(given, passes):
    entry = probes["output_perturbation"]
    assert entry.facts.passes(probes.resolve({"kind": "output_perturbation", **given})) == passes
