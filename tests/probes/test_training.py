"""Updates, displacement and Adam's rates against Adam written out in float64, and the statistics of noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from lnlab.errors import LabError
from lnlab.nn.sites import parameter_uses
from lnlab.optim.schedule_free import ScheduleFree
from lnlab.probes.adaptive_rate import adaptive_rate
from lnlab.probes.displacement import displacement
from lnlab.probes.gradient_norm import gradient_norm
from lnlab.probes.update_histogram import update_histogram
from lnlab.probes.update_size import update_size
from tests.support.trained import EPSILON, RATE, gradient

BETA1, BETA2 = 0.9, 0.999


class Adam:
    """Kingma and Ba's Algorithm 1, on numpy arrays."""

    def __init__(self, model):
        self.start = {name: p.detach().double().numpy().copy() for name, p in model.named_parameters()}
        self.theta = {name: p.copy() for name, p in self.start.items()}
        self.m, self.v = ({name: np.zeros_like(p) for name, p in self.start.items()} for _ in range(2))
        self.t, self.update = 0, {}

    def step(self, gradients) -> None:
        self.t += 1
        for name, g in ((name, g.double().numpy()) for name, g in gradients.items()):
            self.m[name] = BETA1 * self.m[name] + (1 - BETA1) * g
            self.v[name] = BETA2 * self.v[name] + (1 - BETA2) * g**2
            self.update[name] = -RATE * self.mean(name) / (self.root(name) + EPSILON)
            self.theta[name] += self.update[name]

    def mean(self, name: str):
        return self.m[name] / (1 - BETA1**self.t)

    def root(self, name: str):
        return np.sqrt(self.v[name] / (1 - BETA2**self.t))


@pytest.fixture(scope="module")
def both(state, trained):
    """A state after three updates, and the same three by hand on the gradients of another copy of its model."""
    made, other = trained(state("post", tied="all")), state("post", tied="all")
    adam = Adam(other.model)
    for number in range(3):
        adam.step(gradient(other, number))
        with torch.no_grad():
            for name, p in other.model.named_parameters():
                p.copy_(torch.from_numpy(adam.theta[name]))
    return made, adam


@pytest.fixture(scope="module")
def names(both):
    """The name of the parameter that is used at a site."""
    model = both[0].model
    known = {id(p): name for name, p in model.named_parameters()}
    return {tuple(site.row().values()): known[id(p)] for site, p in parameter_uses(model)}


def beyond_rounding(found: dict, names: dict) -> dict:
    """Without the biases of keys, whose gradient would be 0 but for rounding."""
    return {site: value for site, value in found.items() if not names[site].endswith("k.bias")}


def assert_left_out(shares: dict, names: dict) -> None:
    """All of the biases of keys, and nothing of any other bias or shift."""
    assert shares == {site: float(name.endswith("k.bias")) for site, name in names.items() if name.endswith("bias")}


def lower_median(x: np.ndarray) -> float:
    return float(np.sort(x, axis=None)[(x.size - 1) // 2])


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def test_updates_are_those_of_adam_by_hand(both, names, values):
    made, adam = both
    rows = list(update_size(made))
    resolved = beyond_rounding(names, names)
    assert values(rows, "update_rms").keys() == resolved.keys()
    assert_left_out(values(rows, "update_unresolved_share"), names)
    expected = {
        "update_rms": lambda name: rms(adam.update[name]),
        "update_over_rate_rms": lambda name: rms(adam.update[name]) / RATE,
        "update_to_weight": lambda name: rms(adam.update[name]) / rms(adam.theta[name] - adam.update[name]),
    }
    for quantity, of in expected.items():
        for site, value in values(rows, quantity).items():
            assert value == pytest.approx(of(names[site]), rel=2e-4), (quantity, site)
    assert len(values(rows, "update_to_weight")) == len(resolved)


def test_displacement_is_that_of_adam_by_hand(both, names, values):
    made, adam = both
    rows = list(displacement(made))
    at_sites = [row for row in rows if "tensor" in row]
    found = values(at_sites, "displacement")
    resolved = beyond_rounding(names, names)
    assert found.keys() == resolved.keys()
    assert_left_out(values(at_sites, "displacement_unresolved_share"), names)
    for site, value in found.items():
        name = names[site]
        assert value == pytest.approx(np.linalg.norm(adam.theta[name] - adam.start[name]), rel=2e-4), site
    relative = values(at_sites, "relative_displacement")
    assert relative.keys() == {site for site in resolved if adam.start[names[site]].any()} < resolved.keys()
    site = ("encoder", 1, "self_attention", "v")
    start = np.linalg.norm(adam.start[names[site]])
    assert relative[site] == pytest.approx(found[site] / start)
    every = [
        np.concatenate([part[name].ravel() for name in set(resolved.values())]) for part in (adam.theta, adam.start)
    ]
    total = float(np.linalg.norm(every[0] - every[1]))
    expected = {"total_displacement": total, "total_relative_displacement": total / np.linalg.norm(every[1])}
    assert {row["quantity"]: row["value"] for row in rows if "tensor" not in row} == pytest.approx(expected, rel=1e-4)


def test_adaptive_rates_are_those_of_adam_by_hand(both, names, values):
    made, adam = both
    rows = list(adaptive_rate(made))
    at_sites = [row for row in rows if "tensor" in row]
    resolved = beyond_rounding(names, names)
    assert values(at_sites, "adaptive_rate_median").keys() == resolved.keys()
    assert_left_out(values(at_sites, "adaptive_rate_unresolved_share"), names)
    for site, name in resolved.items():
        root, ratio = adam.root(name), np.abs(adam.mean(name)) / np.where(adam.v[name] > 0, adam.root(name), np.nan)
        rates = 1 / (root + EPSILON)
        expected = {
            "adaptive_rate_median": lower_median(rates),
            "adaptive_rate_min": rates.min(),
            "adaptive_rate_max": rates.max(),
            "near_epsilon_share": (root < 10 * EPSILON).mean(),
            "moment_ratio": lower_median(ratio[~np.isnan(ratio)]),
        }
        for quantity, value in expected.items():
            assert values(at_sites, quantity)[site] == pytest.approx(value, rel=2e-3), (quantity, site)
    near = values(at_sites, "near_epsilon_share")
    assert len(set(near.values())) > 5
    every = [(np.abs(adam.mean(n)) / adam.root(n))[adam.v[n] > 0] for n, p in adam.theta.items() if p.ndim > 1]
    (total,) = [row["value"] for row in rows if row["quantity"] == "total_moment_ratio"]
    assert total == pytest.approx(lower_median(np.concatenate(every)), rel=1e-3)


def stepped(made, optimizer, gradients, steps: int):
    """A state whose optimizer has seen so many gradients, made by a function of parameter and number."""
    for number in range(steps):
        for p in made.model.parameters():
            p.grad = gradients(p, number)
        optimizer.step()
    return replace(made, optimizer=optimizer, step=steps)


def ones(p, _):
    return torch.ones_like(p)


def test_noise_has_a_moment_ratio_of_its_own(state, values):
    """The median of |N(0, (1 - β1)/(1 + β1))|, 0.155; and 1 at the first update."""
    generator = torch.Generator().manual_seed(5)

    def noise(p, _):
        return torch.randn(p.shape, generator=generator)

    found = {}
    for steps in (1, 400):
        made = state("post", layers=1)
        optimizer = torch.optim.Adam(made.model.parameters(), lr=0.0, eps=1e-12)
        rows = list(adaptive_rate(stepped(made, optimizer, noise, steps)))
        found[steps] = next(row["value"] for row in rows if row["quantity"] == "total_moment_ratio")
    assert found[1] == pytest.approx(1, abs=1e-6)
    assert found[400] == pytest.approx(0.6745 * math.sqrt(0.1 / 1.9), rel=0.05)


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.RAdam, torch.optim.NAdam])
def test_every_optimizer_that_keeps_second_moments_is_measured(state, values, kind):
    made = state("post", layers=1)
    optimizer = kind(made.model.parameters(), lr=1e-3, eps=1e-8)
    rows = list(adaptive_rate(stepped(made, optimizer, lambda p, _: torch.full_like(p, -0.5), 3)))
    at_sites = [row for row in rows if "tensor" in row]
    for quantity, value in (("adaptive_rate_median", 2), ("adaptive_rate_max", 2), ("moment_ratio", 1)):
        found = list(values(at_sites, quantity).values())
        assert found == pytest.approx([value] * len(parameter_uses(made.model)), rel=1e-4)


def test_amsgrad_divides_by_the_largest_so_far(state, values):
    found = {}
    for amsgrad in (False, True):
        made = state("post", layers=1)
        optimizer = torch.optim.Adam(made.model.parameters(), lr=0.0, betas=(0.9, 0.5), amsgrad=amsgrad)
        after = stepped(made, optimizer, lambda p, number: torch.full_like(p, float(number == 0)), 5)
        rows = [row for row in adaptive_rate(after) if "tensor" in row]
        (found[amsgrad],) = set(values(rows, "adaptive_rate_median").values())
    assert found[True] == pytest.approx(math.sqrt((1 - 0.5**5) / 0.5), rel=1e-4)
    assert found[False] == pytest.approx(math.sqrt((1 - 0.5**5) / 0.5**5), rel=1e-4)


def test_what_has_no_second_moments_is_refused_and_what_was_never_updated_has_no_rate(state, golden, values):
    made = state()
    optimizer = torch.optim.SGD(made.model.parameters(), lr=0.1, momentum=0.9)
    with golden.raises(LabError):
        list(adaptive_rate(stepped(made, optimizer, ones, 2)))
    made = state("post")
    frozen = made.model.encoder.layers[0].feed_forward.w1.weight
    optimizer = torch.optim.Adam(p for p in made.model.parameters() if p is not frozen)
    rows = [row for row in adaptive_rate(stepped(made, optimizer, ones, 1)) if "tensor" in row]
    found = values(rows, "adaptive_rate_median")
    assert ("encoder", 1, "feed_forward", "w1") not in found
    assert len(found) == len(parameter_uses(made.model)) - 1


def test_adams_first_update_over_the_rate_is_one_wherever_there_is_a_gradient(state, trained):
    """In the bins on either side of 1, of every entry whose gradient is far above ε."""
    made = trained(state("pre", size=300), updates=1)
    rows = list(update_histogram(made, rate=True))
    over = {(row["left"], row["right"]): row["count"] for row in rows if row["quantity"] == "update_over_rate_size"}
    m = [kept["exp_avg"] for p, kept in made.optimizer.state.items() if p.dim() > 1]
    g = torch.cat([x.flatten() for x in m]) / (1 - BETA1)
    assert over[0.0, 0.0] == pytest.approx(int((g == 0).sum()), abs=2)
    at_one = over.get((0.875, 1.0), 0) + over.get((1.0, 1.25), 0)
    assert at_one >= int((g.abs() > 7.2 * EPSILON).sum()) > 0
    assert max(over) <= (1.0, 1.25)
    update = torch.cat([u.flatten() for u in made.last_update.values() if u.dim() > 1]).double().abs().numpy()
    for row in rows:
        x = update / RATE if row["quantity"] == "update_over_rate_size" else update
        inside = (x == 0) if row["right"] == 0 else (x >= row["left"]) & (x < row["right"])
        assert row["count"] == pytest.approx(inside.sum(), abs=3)
    assert {row["quantity"] for row in rows} == {"update_over_rate_size", "update_size"}
    assert {row["quantity"] for row in update_histogram(made)} == {"update_over_rate_size"}


def test_updates_by_site_are_the_sites_own_and_a_rate_of_zero_divides_nothing(state, trained):
    made = trained(state("pre"))
    rows = list(update_histogram(made, of="sites"))
    numbers: dict[tuple, int] = {}
    for row in rows:
        site = (row["stack"], row["layer"], row["sublayer"], row["tensor"])
        numbers[site] = numbers.get(site, 0) + row["count"]
    assert numbers == {tuple(s.row().values()): p.numel() for s, p in parameter_uses(made.model) if p.dim() > 1}
    made = replace(trained(state()), last_rate=0.0)
    assert {row["quantity"] for row in update_size(made)} == {
        *("update_rms", "update_to_weight", "update_unresolved_share")
    }
    assert list(update_histogram(made)) == []
    assert {row["quantity"] for row in update_histogram(made, rate=True)} == {"update_size"}


def test_the_next_updates_own_gradient_norm(state, trained, values):
    made = trained(state("pre", tied="all"))
    rows = list(gradient_norm(made, batches="step", biases=True))
    own, known = made.next_gradient(), {id(p): name for name, p in made.model.named_parameters()}
    assert {row["quantity"] for row in rows} == {"gradient_norm", "gradient_rms", "gradient_unresolved_share"}
    norms, sizes = values(rows, "gradient_norm"), values(rows, "gradient_rms")
    uses = [(site, p) for site, p in parameter_uses(made.model) if site.tensor != "bk"]
    assert len(norms) == len(uses)
    for site, p in uses:
        g = own[known[id(p)]].double().numpy()
        assert norms[tuple(site.row().values())] == pytest.approx(np.linalg.norm(g), rel=1e-6)
        assert sizes[tuple(site.row().values())] == pytest.approx(rms(g), rel=1e-6)
    plain = values(gradient_norm(made, batches="step"), "gradient_norm")
    assert plain.items() < norms.items()
    assert len(plain) == sum(p.dim() > 1 for _, p in parameter_uses(made.model))


def test_an_optimizer_without_a_first_moment_has_rates_and_no_ratios(state, values):
    made, other = state("post", layers=1), state("post", layers=1)
    free = ScheduleFree([*made.model.parameters()], lr=1e-3)
    adam = torch.optim.Adam(other.model.parameters(), lr=1e-3)

    def growing(p, number):
        return torch.full_like(p, 0.5 + number)

    found, expected = (list(adaptive_rate(stepped(m, o, growing, 3))) for m, o in ((made, free), (other, adam)))
    for quantity in ("adaptive_rate_median", "adaptive_rate_max", "near_epsilon_share"):
        of_sites = [[row for row in rows if "tensor" in row] for rows in (found, expected)]
        assert values(of_sites[0], quantity) == pytest.approx(values(of_sites[1], quantity), rel=1e-4)
    assert {row["quantity"] for row in expected} - {row["quantity"] for row in found} == {
        "moment_ratio",
        "total_moment_ratio",
    }
