"""What every registered probe owes: addressed batches, the columns of its table, and no trace."""

from dataclasses import replace
from functools import cache
from itertools import islice

import pytest
import torch

from lnlab.compile.work import Measurement
from lnlab.curvature.ranks import Ranks
from lnlab.errors import LabError
from lnlab.execute.measure import StateGuard, measure
from lnlab.facts import never
from lnlab.probes.probe import evaluating, probes
from tests.support.traces import changed, snapshot

APART = ("evaluation", "batch_evaluation", "statistics_discrepancy")
"""Probes over a whole split, and one of batch norms alone."""
UP_TO_THE_STACKS = ("update_effect",)
"""Probes whose passes end with the last stack."""
ENTRIES = [e for e in probes if not e.facts.translates and e.name not in APART]
"""All but those that need text, of which ``test_bleu`` asks the same."""
PASSING = [entry for entry in ENTRIES if entry.facts.passes(probes.resolve(entry.name))]
ASKED = {
    "update_histogram": {"rate": True},
    "psi_variance": {"trajectories": 40, "steps": 30},
    "hessian_spectrum": {"draws": 2, "steps": 4, "precision": "float64"},
}
"""What a probe is asked for so that it measures everything in a short time."""


def seen(state) -> dict:
    """Everything about a state that a probe could change."""
    return snapshot(state.model, state.optimizer, update=state.last_update)


def batches_of(entry, count: int) -> dict:
    """So many batches, if it asks for any."""
    return {"batches": count} if "batches" in entry.keywords else {}


def rows_of(entry, state, **choice) -> list:
    """The rows of a probe: from two batches, if it looks at any."""
    return list(entry.build(state, **batches_of(entry, 2), **ASKED.get(entry.name, {}), **choice))


def compared(rows) -> list[tuple]:
    """Quantity and value of each row; of a histogram how many there are, and its mean; of a spectrum nodes."""
    if rows and "node" in rows[0]:
        return [(row["operator"], row["node"]) for row in rows]
    if not rows or "count" not in rows[0]:
        return [(row["quantity"], row["value"]) for row in rows]
    found = {}
    for row in rows:
        number, total = found.get(row["quantity"], (0, 0.0))
        found[row["quantity"]] = number + row["count"], total + row["count"] * (row["left"] + row["right"]) / 2
    pairs = [[(q, number), (q, total / number)] for q, (number, total) in found.items()]
    return [pair for both in pairs for pair in both]


@pytest.fixture(scope="module")
def evaluated(state, trained):
    """``evaluated(name)``: the rows of a probe in Post-LN after three updates."""
    return cache(lambda name: rows_of(probes[name], trained(state())))


@pytest.fixture
def used(state, trained):
    """A state in the middle of things: three updates made, training mode but for one module, a weight frozen."""
    made = trained(state("pre", tied="all"))
    made.model.train()
    made.model.encoder.layers[1].eval()
    loss, _ = made.task.loss(made.model, made.batches(1)[0])
    loss.backward()
    made.model.decoder.layers[0].feed_forward.w1.weight.requires_grad_(False)
    assert all("exp_avg_sq" in kept for kept in made.optimizer.state.values())
    return made


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_no_probe_leaves_a_trace(used, entry):
    before = seen(used)
    assert rows_of(entry, used)
    assert changed(before, seen(used)) == []


@pytest.mark.parametrize("entry", PASSING, ids=lambda entry: entry.name)
@pytest.mark.parametrize("fails_at", [pytest.param(1, marks=pytest.mark.nightly), 3])
def test_no_probe_leaves_a_trace_when_it_fails(used, entry, fails_at):
    """Fails inside the forward pass of a batch: in the encoder, or after it."""
    calls = []
    reached = used.model.output if entry.name not in UP_TO_THE_STACKS else used.model.encoder.layers[0].feed_forward
    target = reached if fails_at == 1 else used.model.encoder.layers[0].feed_forward

    def stop(*_):
        calls.append(1)
        if len(calls) == fails_at:
            raise RuntimeError("stop")

    handle = target.register_forward_hook(stop)
    before = seen(used)
    with pytest.raises(RuntimeError, match="stop"):
        list(entry.build(used, **batches_of(entry, 3)))
    assert changed(before, seen(used)) == []
    handle.remove()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_dropout_is_off_and_repetition_is_exact(state, trained, evaluated, entry):
    training = trained(state())
    training.model.train()
    assert rows_of(entry, training) == evaluated(entry.name)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_appended_padding_changes_nothing(state, trained, evaluated, entry):
    """Neither source nor target padding enters a mean, a loss or a gradient."""
    plain = compared(evaluated(entry.name))
    padded = compared(rows_of(entry, replace(trained(state()), task=state(pads=3).task)))
    assert [quantity for quantity, _ in plain] == [quantity for quantity, _ in padded]
    for one, two in zip(plain, padded, strict=True):
        assert one[1] == pytest.approx(two[1], rel=1e-3, abs=1e-6), one


OWN = ["gradient_norm", "gradient_histogram"]


@pytest.mark.parametrize("name", OWN)
def test_the_next_updates_own_gradient_costs_no_pass_and_leaves_no_trace(used, name):
    assert probes[name].facts.passes(probes.resolve({"kind": name, "batches": "step"})) == 0.0
    before, calls = seen(used), []
    used.model.register_forward_pre_hook(lambda *_: calls.append(1))
    gradient = used.next_gradient()
    made, once = replace(used, next_gradient=lambda: gradient), len(calls)
    assert list(probes[name].build(made, batches="step"))
    used.model._forward_pre_hooks.clear()
    assert len(calls) == once
    assert changed(before, seen(used)) == []


OF_TRAINING = {"gradient_histogram": {"batches": "step"}, "update_histogram": {"rate": True}}


@pytest.mark.parametrize(("name", "asked"), OF_TRAINING.items())
def test_a_probe_of_training_alone_is_not_compared_as_it_touches_nothing(used, name, asked, monkeypatch):
    choice = probes.resolve({"kind": name, **asked})
    assert probes[name].facts.of_training(choice)
    gradient = used.next_gradient()
    made, before = replace(used, next_gradient=lambda: gradient), seen(used)
    own = [x.clone() for x in (*gradient.values(), *used.last_update.values())]
    monkeypatch.setattr(StateGuard, "no_trace", None)
    table, rows = measure(made, Measurement("m", made.step, choice), {"probe": probes})
    assert table == "histograms"
    assert rows
    assert changed(before, seen(used)) == []
    assert all(map(torch.equal, own, (*gradient.values(), *used.last_update.values())))


def test_every_other_probe_is_compared():
    assert {e.name for e in probes if e.facts.of_training is not never} == OF_TRAINING.keys()
    others = [("gradient_histogram", {"batches": 2}), ("gradient_histogram", {"of": "input"})]
    others += [("gradient_histogram", {"of": "sites", "batches": "step"}), ("update_histogram", {"of": "sites"})]
    for name, asked in others:
        assert not probes[name].facts.of_training(probes.resolve({"kind": name, **asked}))


@pytest.mark.parametrize("name", OWN)
def test_a_state_that_does_not_train_has_no_own_gradient(state, name, golden):
    with golden.raises(LabError):
        list(probes[name].build(state(), batches="step"))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.facts.trained], ids=lambda entry: entry.name)
def test_a_probe_of_training_refuses_a_state_at_rest(state, entry, golden):
    with golden.raises(LabError):
        list(entry.build(state()))


def test_batches_are_the_same_for_every_model_and_no_more_than_a_split_has(state, golden):
    one, two = state("post").batches(3), state("pre", layers=1).batches(5)
    assert all(torch.equal(a.source, b.source) for a, b in zip(one, two[:3], strict=True))
    other = list(islice(state(seed=2).task.batches("train", "probe"), 1))
    assert not torch.equal(one[0].source, other[0].source)
    with golden.raises(LabError):
        state().batches(5, split="test")
    second = replace(state(), ranks=Ranks(1, 2))  # whose four are batches 2, 4, 6 and 8 of all
    with golden.raises(LabError):
        second.batches(20, split="test")
    assert len(second.batches(9, split="test")) == 4


def test_evaluating_restores_each_modules_own_mode_after_an_error(used):
    before = [m.training for m in used.model.modules()]

    def fail_inside():
        with evaluating(used.model):
            assert not any(m.training for m in used.model.modules())
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_inside()
    assert [m.training for m in used.model.modules()] == before
    assert len(set(before)) == 2


@pytest.mark.parametrize("entry", [probes["gradient_norm"], probes["hidden_norm"]], ids=lambda entry: entry.name)
def test_under_batch_norm_a_probe_sees_the_batch_and_leaves_what_was_remembered(state, entry):
    """In evaluation a fresh batch norm is no norm at all; a probe looks at the model that would be trained."""
    used = state("post", norm="batch")
    before = {name: b.clone() for name, b in used.model.named_buffers()}
    rows = rows_of(entry, used)
    assert all(torch.equal(b, before[name]) for name, b in used.model.named_buffers())
    plain = list(entry.build(state("post", norm="none"), batches=2))
    assert sum(row["value"] for row in rows) < 0.5 * sum(row["value"] for row in plain)
    assert rows == rows_of(entry, used)


@pytest.mark.parametrize("placement", ["rezero", "layerscale", "admin"])
def test_gradients_of_gates_are_measured_with_the_vectors(state, values, placement):
    rows = list(probes["gradient_norm"].build(state(placement), batches=2, biases=True))
    word = {"rezero": "alpha", "layerscale": "gate", "admin": "omega"}[placement]
    found = [value for site, value in values(rows, "gradient_norm").items() if site[3] == word]
    assert len(found) == {"rezero": 4, "layerscale": 10, "admin": 10}[placement]
    assert all(value >= 0 for value in found)
    assert any(value > 0 for value in found)
