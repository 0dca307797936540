"""The training loop against a loop written out in plain PyTorch, and against itself cut in pieces."""

import json
import time
from dataclasses import replace
from itertools import islice, pairwise
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Measurement, Trajectory
from lnlab.execute.checkpoint import from_bytes, to_bytes
from lnlab.execute.program import build
from lnlab.execute.trainer import Trainer
from lnlab.execute.updates import training_stream
from lnlab.tables import Resumed

TEXT = {
    "task": {
        "kind": "translation",
        "corpus": {"kind": "toy_german_english", "train": 1000, "validation": 60, "test": 60},
        "vocabulary": 120,
        "batch_tokens": 96,
    },
    "model": {"kind": "encoder_decoder", "layers": 1, "d_model": 16, "heads": 2, "d_ff": 32},
    "placement": "post",
}
ADAM = {"kind": "adam", "lr": 3e-3, "beta2": 0.98}


def trajectory_of(steps=6, probes=(), seed=3, **given):
    setting = resolve_setting({**TEXT, "optimizer": ADAM, "train": {"steps": steps}, **given}, REGISTRIES)
    due = [Measurement(f"m{n}", at, REGISTRIES["probe"].resolve(probe)) for n, (at, probe) in enumerate(probes)]
    return Trajectory("a trajectory", seed, setting, steps, tuple(due))


class Notes:
    """A unit that keeps everything in memory."""

    def __init__(self):
        self.rows, self.states, self.stretches, self.shown = {}, {}, [], []

    def write(self, table, rows):
        self.rows.setdefault(table, []).extend(rows)

    def save(self, step, content, facts):
        self.states[step] = (content, json.loads(json.dumps(facts)))

    def show(self, point):
        self.shown.append(point)

    def go_on(self, measurements, outcome):
        self.stretches.append((list(measurements), outcome["steps"], {t: list(r) for t, r in self.rows.items()}))

    def curve(self, quantity, split="train"):
        kept = [r for r in self.rows.get("curves", ()) if (r["split"], r["quantity"]) == (split, quantity)]
        return {row["step"]: row["value"] for row in kept}


def due_of(trajectory):
    found = {}
    for each in trajectory.measurements:
        found.setdefault(each.step, []).append(each)
    return found


def explain(error):
    return "failed", f"{type(error).__name__}: {error}"


def partial(steps, loss):
    return {"steps": steps, "last_finite_loss": loss}


def walk(trajectory, unit, state=None, target=None, **more):
    state = build(trajectory, REGISTRIES) if state is None else state
    made = Trainer(
        state,
        trajectory,
        trajectory.steps if target is None else target,
        due_of(trajectory),
        unit,
        REGISTRIES,
        partial,
        explain,
        **more,
    )
    return made, state


def trained(trajectory, **more):
    unit = Notes()
    made, state = walk(trajectory, unit, **more)
    return unit, state, made.run(), made


def parameters(state):
    return {name: p.detach().clone() for name, p in state.model.named_parameters()}


def alike(one, other, **tolerance):
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], **(tolerance or {"rtol": 0, "atol": 0}))


def by_hand(trajectory, optimizer, rate, accumulate=1, clip=None, smoothing=0.1):
    """The same training in plain PyTorch: sums over all tokens of an update, one division, one step."""
    state = build(trajectory, REGISTRIES)
    model, losses = state.model, []
    made = optimizer(model.parameters())
    batches = training_stream(state.task, 0)
    for update in range(1, trajectory.steps + 1):
        several = list(islice(batches, accumulate))
        total = 0.0
        made.zero_grad()
        model.train()
        for number, batch in enumerate(several):
            torch.default_generator.manual_seed(state.draw("dropout", update, number))
            logits = model(batch)
            total = total + cross_entropy(
                logits.flatten(0, 1),
                batch.target_out.flatten(),
                ignore_index=0,
                reduction="sum",
                label_smoothing=smoothing,
            )
        mean = total / sum(int((b.target_out != 0).sum()) for b in several)
        mean.backward()
        losses.append(mean.item())
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        for group in made.param_groups:
            group["lr"] = rate(update)
        made.step()
    return parameters(state), losses


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize(("accumulate", "clip"), [(1, None), (3, None), (2, 0.5)])
def test_it_trains_as_a_loop_in_plain_pytorch_does(accumulate, clip, dropout):
    trajectory = trajectory_of(
        train={"steps": 6, "accumulate": accumulate, "clip": clip, "precision": "float64"},
        schedule={"kind": "inverse_sqrt", "warmup_steps": 4},
        model={**TEXT["model"], "dropout": dropout},
    )
    unit, state, ending, _ = trained(trajectory)

    def rate(t):
        return 3e-3 * min(t / 4, (4 / t) ** 0.5)

    expected, losses = by_hand(
        trajectory, lambda p: torch.optim.Adam(p, lr=1.0, betas=(0.9, 0.98)), rate, accumulate, clip
    )
    assert ending is None
    alike(parameters(state), expected, rtol=1e-9, atol=1e-9)
    assert list(unit.curve("loss").values()) == pytest.approx(losses, rel=1e-12)
    assert unit.curve("learning_rate") == pytest.approx({t: rate(t) for t in range(1, 7)}, rel=1e-12)


def test_losses_stand_at_the_state_before_their_update_and_rates_at_the_state_after_it():
    unit, _, _, _ = trained(trajectory_of(4))
    assert list(unit.curve("loss")) == list(unit.curve("global_gradient_norm")) == [0, 1, 2, 3]
    assert list(unit.curve("learning_rate")) == list(unit.curve("tokens")) == [1, 2, 3, 4]
    assert unit.curve("unigram_entropy")[0] == pytest.approx(
        build(trajectory_of(), REGISTRIES).task.unigram_entropy(), rel=1e-12
    )


@pytest.mark.parametrize("accumulate", [1, 4])
def test_where_an_epoch_ends_its_mean_training_loss_over_tokens_is_recorded(accumulate):
    small = {"kind": "toy_german_english", "train": 8, "validation": 20, "test": 20}
    task = {**TEXT["task"], "corpus": small}
    train = {"steps": 14, "accumulate": accumulate}
    unit, state, _, _ = trained(trajectory_of(14, task=task, train=train))
    epoch = state.task.epoch_batches / accumulate
    losses, tokens = unit.curve("loss"), unit.curve("tokens")
    expected, first = {}, 0
    for step in range(1, 15):
        if int(step / epoch) > int((step - 1) / epoch):
            at = range(first, step)
            expected[step] = sum(losses[t] * tokens[t + 1] for t in at) / sum(tokens[t + 1] for t in at)
            first = step
    assert unit.curve("epoch_loss") == pytest.approx(expected, rel=1e-12)
    assert len(expected) >= 2


def test_an_evaluation_is_the_mean_over_all_tokens_of_the_split_and_leaves_no_trace():
    probes = [(n, "evaluation") for n in (0, 2, 4)]
    unit, state, _, made = trained(trajectory_of(4, probes))
    plain, other, _, _ = trained(trajectory_of(4))
    alike(parameters(state), parameters(other))
    assert unit.curve("loss") == plain.curve("loss")
    assert list(unit.curve("nll", "validation")) == [0, 2, 4] == list(unit.curve("epoch"))
    logits = [(state.model(batch), batch) for batch in state.task.batches("validation", "evaluation")]
    sums = [cross_entropy(x.flatten(0, 1), b.target_out.flatten(), ignore_index=0, reduction="sum") for x, b in logits]
    mean = sum(float(s.detach()) for s in sums) / sum(b.tokens for _, b in logits)
    assert unit.curve("nll", "validation")[4] == pytest.approx(mean, rel=1e-6)
    assert made.measured == ["m0", "m1", "m2"]


OPTIMIZERS = sorted(REGISTRIES["optimizer"].entries.keys() - {"muon"})  # which by_group has in it


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("cut", [pytest.param(1, marks=pytest.mark.nightly), 4])
def test_cut_anywhere_and_resumed_it_ends_the_same_to_the_last_bit(kind, cut):
    given = {"kind": kind, "lr": 1e-2} | ({"freeze": 2} if kind == "adam_2k" else {})
    if kind == "by_group":
        given = {"kind": kind, "matrices_warmup_steps": 4}
    trajectory = trajectory_of(
        7,
        [(n, "evaluation") for n in (0, 3, 7)],
        task={**TEXT["task"], "corpus": {"kind": "toy_german_english", "train": 8, "validation": 20, "test": 20}},
        optimizer=given,
        schedule={"kind": "linear", "warmup_steps": 3},
        placement="admin",
        model={**TEXT["model"], "dropout": 0.1},
    )
    whole, state, _, _ = trained(trajectory)
    first = Notes()
    start, halfway = walk(trajectory, first, target=cut)
    start.run()
    content, facts = to_bytes(halfway)
    fresh = build(trajectory, REGISTRIES)
    from_bytes(fresh, content, json.loads(json.dumps(facts)))
    second = Notes()
    rest, _ = walk(trajectory, second, state=fresh)
    rest.due = {step: due for step, due in rest.due.items() if step > cut}
    rest.restore_curves(first.rows["curves"])
    rest.run()
    alike(parameters(fresh), parameters(state))
    rows = {(r["step"], r["split"], r["quantity"]): r["value"] for r in first.rows["curves"] + second.rows["curves"]}
    assert rows == {(r["step"], r["split"], r["quantity"]): r["value"] for r in whole.rows["curves"]}


def test_states_are_kept_on_the_way_and_each_leads_to_the_same_end():
    trajectory = trajectory_of(5, [(n, "evaluation") for n in (0, 2, 5)])
    unit, state, _, _ = trained(trajectory, save_every=0.0)
    assert sorted(unit.states) == [1, 2, 3, 4, 5]
    assert [(taken, steps) for taken, steps, _ in unit.stretches] == [(["m0"], 1), (["m1"], 2), ([], 3), ([], 4)]
    for step, (content, facts) in unit.states.items():
        fresh = build(trajectory, REGISTRIES)
        from_bytes(fresh, content, facts)
        assert fresh.step == step
        made, _ = walk(replace(trajectory, measurements=()), Notes(), state=fresh)
        made.run()
        alike(parameters(fresh), parameters(state))


def test_what_is_shown_on_the_way_is_what_is_recorded_once_a_second(monkeypatch):
    unit, *_ = trained(trajectory_of())
    assert len(unit.shown) <= 6  # it takes no longer than some seconds
    monkeypatch.setattr("lnlab.execute.trainer.SHOW_EVERY", -1.0)
    unit, *_ = trained(trajectory_of())
    assert {point.step: point.loss for point in unit.shown} == unit.curve("loss")
    assert {point.step: point.gradient_norm for point in unit.shown} == unit.curve("global_gradient_norm")
    now, later = iter(range(1000)), time.monotonic() + 1000
    monkeypatch.setattr("lnlab.execute.trainer.SHOW_EVERY", 1.5)
    monkeypatch.setattr("lnlab.execute.trainer.time", SimpleNamespace(monotonic=lambda: later + 0.4 * next(now)))
    few, *_ = trained(trajectory_of())
    assert 1 < len(few.shown) < 6
    assert all(b.step - a.step > 1 for a, b in pairwise(few.shown))  # a step takes 0.8 s by this clock, or 1.2


def test_buffers_are_part_of_a_state():
    trajectory = trajectory_of(3, encoder={"norm": "batch"}, decoder={"norm": "layer"})
    _, state, _, _ = trained(trajectory)
    fresh = build(trajectory, REGISTRIES)
    before = {name: b.clone() for name, b in fresh.model.named_buffers()}
    from_bytes(fresh, *to_bytes(state))
    moved = [name for name, b in fresh.model.named_buffers() if not torch.equal(b, before[name])]
    assert moved
    alike(dict(fresh.model.named_buffers()), dict(state.model.named_buffers()))


def test_a_run_that_breaks_ends_as_diverged_with_the_step_and_the_last_finite_loss():
    unit, state, ending, made = trained(trajectory_of(30, optimizer={"kind": "sgd", "lr": 1e30}, norm="none"))
    assert ending.status == "diverged"
    assert 0 < state.step < 30
    losses = [value for value in unit.curve("loss").values() if torch.isfinite(torch.tensor(value))]
    assert made.last_finite_loss == losses[-1]
    assert unit.curve("loss").keys() == set(range(state.step + 1))


def test_a_rule_may_end_a_run_that_is_well():
    stop = {"kind": "target", "split": "train", "quantity": "loss", "at_most": 4.5}
    faster = {"kind": "adam", "lr": 3e-2}
    unit, state, ending, _ = trained(trajectory_of(60, train={"steps": 60, "stop": stop}, optimizer=faster))
    assert ending.status == "finished"
    assert state.step < 60
    losses = list(unit.curve("loss").values())
    assert losses[-1] <= 4.5 < min(losses[:-1])


def test_a_rule_sees_of_the_evaluations_those_that_the_key_of_a_run_names():
    """Of a run that learns nothing the second evaluation is no better; what another probe looks at does not count."""
    train = {"steps": 6, "evaluate": {"every": 3}, "stop": {"kind": "plateau", "patience": 1}}
    for looks in (range(7), (0, 3, 6)):
        due = [(n, {"kind": "evaluation", "split": split}) for n in looks for split in ("validation", "test")]
        still = {"kind": "sgd", "lr": 1e-30}
        unit, state, ending, made = trained(trajectory_of(6, due, train=train, optimizer=still))
        assert (state.step, ending.status) == (3, "finished")
        assert list(unit.curve("nll", "test")) == [n for n in looks if n <= 3]
        assert made.curves["validation", "nll"] == [(n, unit.curve("nll", "validation")[n]) for n in (0, 3)]


def test_the_loss_on_the_training_split_is_that_of_training_batches():
    few = {"kind": "translation", "corpus": {"kind": "toy_german_english", "train": 200}, "vocabulary": 100}
    looks = [(n, {"kind": "evaluation", "split": "train"}) for n in (0, 3)]
    unit, _, _, _ = trained(trajectory_of(3, looks, task=few))
    plain, _, _, _ = trained(trajectory_of(3, task=few))
    assert unit.curve("loss") == plain.curve("loss")
    assert list(unit.curve("nll")) == [0, 3]


def test_the_next_gradient_is_the_one_that_the_update_uses_and_costs_no_second_pass():
    trajectory = trajectory_of(3, [(1, {"kind": "gradient_norm", "batches": "step"})])
    unit, state, _, _ = trained(trajectory)
    _, plain, _, _ = trained(trajectory_of(3))
    alike(parameters(state), parameters(plain))
    norms = [r["value"] for r in unit.rows["sites"] if r["quantity"] == "gradient_norm"]
    assert len(norms) > 10
    assert sum(n**2 for n in norms) ** 0.5 <= unit.curve("global_gradient_norm")[1] * (1 + 2**0.5)
    calls = []
    real = build(trajectory, REGISTRIES)
    real.model.register_forward_hook(lambda *_: calls.append(1))
    made, _ = walk(trajectory, Notes(), state=real)
    made.run()
    assert len(calls) == 3


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("probe", [{"kind": "along_step", "points": 2}, {"kind": "gradient_norm", "batches": "step"}])
def test_what_the_next_update_will_do_is_seen_where_a_walk_ends_before_its_run(probe, at):
    run = trajectory_of(4, probes=[(at, probe)])
    whole, _, _, made = trained(run)
    short, state, ending, again = trained(run, target=at)
    table = REGISTRIES["probe"][probe["kind"]].facts.table
    assert (made.failures, again.failures, ending, state.step) == ([], [], None, at)
    assert short.rows[table] == whole.rows[table] != []


def test_what_an_update_added_is_what_the_parameters_moved_by():
    trajectory = trajectory_of(3, [(2, "update_size"), (3, "displacement")])
    unit, state, _, _ = trained(trajectory)
    before = trained(replace(trajectory_of(3), steps=1))[1]
    after = trained(replace(trajectory_of(3), steps=2))[1]
    moved = {n: p - parameters(before)[n] for n, p in parameters(after).items()}
    rms = moved["encoder.layers.0.feed_forward.w1.weight"].square().mean().sqrt()
    rows = [r for r in unit.rows["sites"] if r["quantity"] == "update_rms"]
    (mine,) = [r for r in rows if (r["stack"], r["layer"], r["tensor"]) == ("encoder", 1, "w1")]
    assert mine["value"] == pytest.approx(float(rms), rel=1e-5)
    start = parameters(build(trajectory, REGISTRIES))
    steps = {
        n: p - start[n] for n, p in parameters(state).items() if not n.endswith(".k.bias")
    }  # zero but for rounding
    total = sum(float(step.double().square().sum()) for step in steps.values()) ** 0.5
    (found,) = [r["value"] for r in unit.rows["sites"] if r["quantity"] == "total_displacement"]
    assert found == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize(
    ("placement", "norm", "word"),
    [
        ("rezero", "none", "alpha"),
        ("layerscale", "layer", "gate"),
        ("admin", "layer", "omega"),
        ("pre", "dyt", "alpha"),
    ],
)
def test_weight_decay_leaves_gates_alone(placement, norm, word):
    optimizer = {"kind": "adamw", "weight_decay": 0.5}
    trajectory = trajectory_of(1, placement=placement, norm=norm, optimizer=optimizer)
    state = build(trajectory, REGISTRIES)
    decayed, gates = state.optimizer.param_groups
    assert (decayed["weight_decay"], gates["weight_decay"]) == (0.5, 0.0)
    named = {id(p): name for name, p in state.model.named_parameters()}
    kept = {named[id(p)] for p in gates["params"]}
    assert kept == {name for name in named.values() if f".{word}" in name}
    assert kept


def test_decay_of_matrices_is_torchs_adamw_with_two_groups():
    """As GPT is trained: what has two dimensions or more decays, biases and gains do not."""
    choice = {"kind": "adamw", "lr": 0.01, "weight_decay": 0.5, "decays": "matrices"}
    state = build(trajectory_of(1, placement="pre", norm="layer", optimizer=choice), REGISTRIES)
    ours = dict(state.model.named_parameters())
    theirs = {name: p.detach().clone().requires_grad_() for name, p in ours.items()}
    matrices = [p for p in theirs.values() if p.dim() > 1]
    vectors = [p for name, p in theirs.items() if name.endswith((".bias", ".weight")) and p.dim() == 1]
    assert len(matrices) + len(vectors) == len(theirs)
    groups = [{"params": matrices, "weight_decay": 0.5}, {"params": vectors, "weight_decay": 0.0}]
    torchs = torch.optim.AdamW(groups, lr=0.01)
    for step in range(3):
        for name, p in ours.items():
            theirs[name].grad = torch.sin(p.detach() * 7 + step)
            p.grad = theirs[name].grad.clone()
        state.optimizer.step()
        torchs.step()
    assert all(torch.equal(p, theirs[name]) for name, p in ours.items())
    every = build(trajectory_of(1, placement="pre", norm="layer", optimizer=choice | {"decays": "all"}), REGISTRIES)
    assert [group["weight_decay"] for group in every.optimizer.param_groups] == [0.5]


def test_batches_come_in_epochs_and_resumed_curves_end_before_the_next_update():
    task = build(trajectory_of(), REGISTRIES).task
    n = task.epoch_batches
    assert n == sum(1 for _ in task.batches("train", "train", 0)) == sum(1 for _ in task.batches("train", "train", 5))
    whole = [b.source for b in islice(training_stream(task, 0), n + 3)]
    assert all(torch.equal(a, b.source) for a, b in zip(whole[n - 1 :], training_stream(task, n - 1), strict=False))
    made, state = walk(trajectory_of(5), Notes())
    state.step = 2
    rows = [{"step": s, "split": "train", "quantity": "loss", "value": 1.0 + s} for s in range(4)]
    rows += [{"step": 2, "split": "validation", "quantity": "nll", "value": 7.0}]
    made.restore_curves(rows)
    assert made.curves == {("train", "loss"): [(0, 1.0), (1, 2.0)]}  # its rule sees no evaluations
    assert made.last_finite_loss == 2.0
    assert isinstance(Resumed(1, b"", {}, rows).curves, list)
