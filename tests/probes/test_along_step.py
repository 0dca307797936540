"""Loss and gradient along the next step: closed forms on a quadratic, the update's own loss, and no trace."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from lnlab.compile.work import Trajectory
from lnlab.errors import LabError
from lnlab.execute.measure import StateGuard
from lnlab.execute.program import build
from lnlab.execute.updates import Updates
from lnlab.probes.along_step import along_step, geometric_multiples, linear_multiples
from lnlab.probes.probe import State
from lnlab.probes.support.next_update_loss import NextUpdateLoss
from lnlab.randomness import Draw
from lnlab.vocabulary.curvature import ALONG_STEP
from tests.support.pieces import REGISTRIES, resolve_setting

A = torch.tensor([[3.0, 1.0, 0.0], [1.0, 2.0, -0.5], [0.0, -0.5, -1.0]], dtype=torch.float64)
W = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)


class Bowl(nn.Module):
    """A point of the plane, in two parameters and one that nothing depends on."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Parameter(W[:1].clone()), nn.Parameter(W[1:].clone())
        self.unused = nn.Parameter(torch.ones(2, dtype=torch.float64))

    def forward(self, batch):
        return torch.cat([self.left, self.right])


class Quadratic:
    """``wᵀ A w / 2`` for every unit of a batch; a batch is its number of units."""

    @staticmethod
    def loss(model, batch):
        w = model(batch)
        return batch * (w @ A @ w) / 2, batch


def quadratic(rate=0.1, batches=(4,)):
    model = Bowl()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    return State(model, Quadratic(), Draw(1), 0, optimizer=optimizer, next_batches=lambda: list(batches))


def one(rows):
    """By quantity its number, and by quantity its numbers along x."""
    rows = list(rows)
    assert {row["quantity"] for row in rows} == set(ALONG_STEP)
    numbers = {row["quantity"]: row["value"] for row in rows if "x" not in row}
    lines: dict[str, dict[float, float]] = {}
    for row in rows:
        if "x" in row:
            lines.setdefault(row["quantity"], {})[row["x"]] = row["value"]
    return numbers, lines


@pytest.mark.parametrize("rate", [0.05, 0.9])
@pytest.mark.parametrize("batches", [(4,), (1, 5)])
def test_a_quadratic_has_its_closed_forms(rate, batches):
    numbers, lines = one(along_step(quadratic(rate, batches), points=5, reach=(0.5, 4.0)))
    g = A @ W
    start = float(W @ g / 2)

    def loss(x):
        return start - x * rate * float(g @ g) + (x * rate) ** 2 * float(g @ A @ g) / 2

    near, far = linear_multiples(5), geometric_multiples(5, (0.5, 4.0))
    assert near == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert far == pytest.approx([0.5, 2**-0.25, 2**0.5, 2**1.25, 4.0])
    assert lines["loss_along_step"] == pytest.approx({x: loss(x) for x in (0.0, *sorted({*near, *far}))})
    bend = float((A @ g).norm())
    assert lines["gradient_change_along_step"] == pytest.approx({x: x * rate * bend for x in sorted({*near, *far})})
    assert numbers == pytest.approx(
        {
            "loss_deviation": max(abs(loss(x) - start) for x in near),
            "gradient_deviation": rate * bend,
            "loss_band_low": min(map(loss, far)),
            "loss_band_high": max(map(loss, far)),
            "gradient_predictiveness_low": 0.5 * rate * bend,
            "gradient_predictiveness_high": 4 * rate * bend,
            "effective_lipschitz": max(abs(loss(x) - start) / (x * rate * float(g.norm())) for x in far),
            "effective_smoothness": bend / float(g.norm()),
        }
    )


def test_the_effective_smoothness_follows_the_schedule_and_not_the_rate_and_a_stationary_point_has_no_ratios():
    small, large = (one(along_step(quadratic(rate)))[0] for rate in (0.01, 0.1))
    assert large["effective_smoothness"] == pytest.approx(small["effective_smoothness"])
    assert large["gradient_deviation"] == pytest.approx(10 * small["gradient_deviation"])
    made = quadratic(0.1)
    halved = replace(made, step=3, schedule=lambda t: {4: 0.5}[t])
    assert one(along_step(halved))[0] == pytest.approx(one(along_step(quadratic(0.05)))[0])
    assert list(along_step(replace(made, schedule=lambda _: 0.0))) == []
    made = quadratic()
    with torch.no_grad():
        made.model.left.zero_(), made.model.right.zero_()
    names = {row["quantity"] for row in along_step(made)}
    assert names == set(ALONG_STEP) - {"effective_lipschitz", "effective_smoothness"}


def test_a_loss_that_is_not_finite_on_the_way_is_a_nan_and_no_maximum():
    class Cliff(Quadratic):
        @staticmethod
        def loss(model, batch):
            total, count = Quadratic.loss(model, batch)
            return (total if model.left.item() > 0.9 else total * torch.nan), count

    numbers, _ = one(along_step(replace(quadratic(0.1), task=Cliff())))
    assert torch.tensor(numbers["loss_deviation"]).isnan()
    assert torch.tensor(numbers["effective_smoothness"]).isnan()


def training(norm, *, accumulate=2):
    """A run with dropout after two updates, and its updates."""
    given = {
        "task": {"kind": "random_tokens", "vocabulary": 20, "sentences": 3, "length": 4, "classes": 3},
        "model": {"kind": "classifier", "layers": 1, "d_model": 8, "heads": 2, "d_ff": 8, "dropout": 0.3},
        "norm": norm,
        "placement": "post",
        "optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
        "train": {"steps": 5, "accumulate": accumulate},
    }
    setting = resolve_setting(given, REGISTRIES)
    state = build(Trajectory("tests", 1, setting, 5, ()), REGISTRIES)
    updates = Updates(state, setting)
    for _ in range(2):
        updates.apply_update()
    return state, updates


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_it_starts_at_the_loss_and_the_gradient_that_the_update_uses(norm):
    """Dropout and micro-batches included; and plain descent then arrives where the line has x = 1."""
    state, updates = training(norm)
    loss = NextUpdateLoss(state)
    start, again = loss.at(loss.start), loss.at(loss.start)
    assert len(state.next_batches()) == 2
    lines = one(along_step(state))[1]
    used = updates.gradient()
    assert start.loss == pytest.approx(used.loss, rel=1e-6)
    assert again.loss == start.loss
    for mine, other, own in zip(start.gradient, again.gradient, used.parts, strict=True):
        assert torch.equal(mine, other)
        torch.testing.assert_close(mine, own, rtol=1e-5, atol=1e-8)
    assert lines["loss_along_step"][0.0] == start.loss
    with torch.no_grad():
        for p, g in zip(state.model.parameters(), used.parts, strict=True):
            p.sub_(0.1 * g)
    moved = NextUpdateLoss(state)
    assert moved.at(moved.start).loss == pytest.approx(lines["loss_along_step"][1.0], rel=1e-5)


def test_looking_ahead_moves_no_update():
    (plain, updates), (looked, others) = training("batch"), training("batch")
    first = looked.next_batches()[0]
    list(along_step(looked))
    looked.next_gradient()
    assert updates.apply_update() == others.apply_update()
    for a, b in zip(plain.model.state_dict().values(), looked.model.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(plain.next_batches()[0].source, looked.next_batches()[0].source)
    assert not torch.equal(first.source, looked.next_batches()[0].source)


def test_the_next_gradient_waits_with_what_a_norm_will_remember_of_it():
    """Until the update is made, so that a look ahead leaves no trace and the update does."""
    state, updates = training("batch")
    norms = [m for m in state.model.modules() if hasattr(m, "running_mean")]
    before = [m.running_mean.clone() for m in norms]
    with StateGuard(state.model).no_trace("gradient_norm"):
        state.next_gradient()
    updates.gradient()
    assert all(torch.equal(m.running_mean, old) for m, old in zip(norms, before, strict=True))
    updates.apply_update()
    assert not any(torch.equal(m.running_mean, old) for m, old in zip(norms, before, strict=True))


def test_where_there_is_no_next_update_it_says_so(state, trained, golden):
    with golden.raises(LabError):
        list(along_step(state("post")))
    with golden.raises(LabError):
        list(along_step(replace(trained(state("post")), next_batches=None)))
