"""One number for a grid of learning rates: by hand, against a loop, and in the series of a claim."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lnlab.errors import LabError
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.select.settings import NothingSelected

RATES = (1e-4, 1e-3, 1e-2, 1e-1)
H = 6.0
EVERY = ("best_lr", "best_lr_nll", "max_stable_lr", "lr_sensitivity", "basin_edge")


@pytest.fixture
def swept(setting, training, trained):
    """``swept(post={seed: finals along RATES})``; None diverged. The best run of all ends at 1.0."""

    def build(*, start=9.0, order=RATES, status=lambda arm, seed, rate: None, times=False, **arms):
        variants, runs = {}, {}
        for arm, seeds in arms.items():
            for rate in order:
                name = f"{arm}{rate:g}"
                variants[name] = setting(arm) | {"optimizer": {"kind": "adam", "lr": rate, "beta": 0.9}}
                for seed, finals in seeds.items():
                    final, word = finals[RATES.index(rate)], status(arm, seed, rate)
                    begin = {} if start is None else {0: start}
                    run = trained(begin | {100: final}) if final is not None else trained(begin, "diverged", 30)
                    if word == "stopped":
                        run = trained(begin | {40: final}, "finished", 40)
                    elif word is not None:
                        run = trained(begin, None if word == "pending" else word)
                    runs[name, seed] = run
        axes = [
            ("placement", lambda s: s["decoder"]["placement"]["kind"]),
            ("optimizer.lr", lambda s: s["optimizer"]["lr"]),
        ]
        multiples = [("times", lambda s: round(s["optimizer"]["lr"] / RATES[0]))] if times else []
        return training(variants, runs, axes=axes + multiples)

    return build


def number(results, quantity, arm="post", seed=1):
    found = select_measured_rows(results, {"quantity": quantity, "placement": arm, "seed": seed, "reference": "best"})
    assert len(found) == 1
    return found["value"][0]


POST, PRE = [3.0, 1.0, 1.1, None], [1.0, 1.2, 4.0, 5.0]


def test_the_largest_stable_rate_by_hand(swept):
    results = swept(post={1: POST}, pre={1: PRE})
    assert [number(results, q) for q in EVERY] == pytest.approx([1e-3, 1.0, 1e-2, (2 + 0 + 0.1 + 8) / 4, 0])
    assert [number(results, q, "pre") for q in EVERY] == pytest.approx([1e-4, 1.0, 1e-3, (0.2 + 3 + 4) / 4, 1])
    assert number(swept(post={1: [1.0, 5.0, 1.0, None]}, pre={1: PRE}), "max_stable_lr") == 1e-4
    results = swept(post={1: [1.0, 1.4, 3.4, 3.6]}, pre={1: PRE})
    assert [number(results, name) for name in ("max_stable_lr", "max_half_lr")] == [1e-3, 1e-2]
    assert number(swept(post={1: [5.9, 5.0, 1.0, 1.01]}, pre={1: PRE}), "max_stable_lr") == 1e-1
    results = swept(post={1: [5.0, 4.0, 5.0, None]}, pre={1: PRE})
    assert number(results, "max_stable_lr") == 0.0
    assert number(results, "best_lr") == 1e-3


def test_multiples_of_a_chosen_rate_are_a_grid_of_it(swept):
    results = swept(post={1: POST}, pre={1: PRE}, times=True)
    assert [number(results, q) for q in EVERY] == pytest.approx([1e-3, 1.0, 1e-2, (2 + 0 + 0.1 + 8) / 4, 0])


def test_where_every_run_diverged_the_seed_has_failed_and_one_that_did_is_an_answer(swept):
    results = swept(post={1: [None] * 4, 2: POST}, pre={1: PRE, 2: PRE})
    assert number(results, "max_stable_lr") == 0.0
    assert number(results, "best_lr_nll") == math.inf
    for quantity in ("best_lr", "best_lr_nll", "lr_sensitivity", "basin_edge"):
        found = select_series(results, {"quantity": quantity, "placement": "post"})
        assert (found.seeds, found.failed) == ([2], {1: "its number is not finite"}), quantity
    results = swept(post={1: POST, 2: POST}, pre={1: PRE, 2: PRE})
    found = select_series(results, {"quantity": "max_stable_lr", "reference": "best", "placement": "post"})
    assert found.numbers["value"].to_list() == [1e-2, 1e-2]
    assert (found.failed, found.excluded, found.pending, found.trained) == ({}, {}, (), True)
    over = select_series(results, {"quantity": "max_stable_lr", "reference": "best"}, "placement")
    assert (over.levels, over.matrix.tolist()) == (["post", "pre"], [[1e-2, 1e-3]] * 2)


@pytest.mark.parametrize(
    ("word", "fate", "why"),
    [
        ("pending", "pending", None),
        ("timed_out", "lost", "timed_out"),
        ("stopped", "lost", "stopped at step 40 by its rule"),
    ],
)
def test_a_grid_with_a_hole_has_no_number_yet(swept, word, fate, why):
    """Seed 1 lacks one rate of post. Where it has yet to run, no other number is judged either: the best may change."""
    gone = lambda arm, seed, rate: word if (arm, seed, rate) == ("post", 1, 1e-3) else None  # noqa: E731
    results = swept(post={1: POST, 2: POST}, pre={1: PRE, 2: PRE}, status=gone)
    found = select_series(results, {"quantity": "max_stable_lr", "reference": "best", "placement": "post"})
    if fate == "pending":
        assert (found.seeds, found.pending) == ([], (1, 2))
    else:
        assert (found.seeds, found.excluded) == ([2], {1: why})


def test_before_anything_has_run_nothing_is_ambiguous(swept):
    results = swept(post={1: POST}, pre={1: PRE}, status=lambda *_: "pending")
    assert select_series(results, {"quantity": "best_lr", "placement": "post"}).pending == (1,)
    assert select_series(results, {"quantity": "best_lr"}, "placement").pending == (1,)
    with pytest.raises(LabError, match=r"placement \(post, pre\)"):
        select_series(results, {"quantity": "best_lr"})


def test_the_loss_at_the_start_must_have_been_measured(swept, golden):
    results = swept(post={1: POST}, pre={1: PRE}, start=None)
    assert select_measured_rows(results, {"quantity": "lr_sensitivity"}).is_empty()
    with golden.raises(NothingSelected):
        select_series(results, {"quantity": "lr_sensitivity", "placement": "post"})


def test_what_it_is_taken_over_is_not_selected_and_must_vary(swept, setting, training, trained, golden):
    results = swept(post={1: POST}, pre={1: PRE})
    with golden.raises(LabError):
        select_measured_rows(results, {"quantity": "best_lr", "optimizer.lr": 1e-3})
    with golden.raises(LabError):
        select_series(results, {"quantity": "best_lr", "placement": "post"}, "optimizer.lr")
    alone = training({"a": setting()}, {("a", 1): trained({100: 1.0})})
    with golden.raises(NothingSelected):
        select_series(alone, {"quantity": "best_lr"})


finals = st.lists(st.one_of(st.none(), st.floats(1.0, 12.0)), min_size=4, max_size=4)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(finals, st.permutations(RATES))
def test_grids_agree_with_a_loop_whatever_the_order_of_the_sweep(swept, finals, order):
    results = swept(post={1: finals}, pre={1: PRE}, order=order)
    losses = [math.inf if x is None else x for x in finals]
    best = losses.index(min(losses))
    shares = [0.0 if x == math.inf else (H - x) / (H - 1.0) for x in losses]
    for name, above in (("max_stable_lr", 0.9), ("max_half_lr", 0.5)):
        largest = 0.0
        for rate, share in zip(RATES[best:], shares[best:], strict=True):
            if share <= above:
                break
            largest = rate
        assert number(results, name) == largest
    assert number(results, "best_lr_nll") == min(losses)
    if min(losses) < math.inf:
        assert number(results, "best_lr") == RATES[best]
        assert number(results, "basin_edge") == (best in (0, 3))
        expected = sum(min(x, 9.0) - min(losses) for x in losses) / 4
        assert number(results, "lr_sensitivity") == pytest.approx(expected)


def test_the_optimum_is_the_lowest_point_of_a_parabola_and_a_flat_bottom_has_its_first_rate(swept):
    """Against losses that are one: its vertex, wherever it lies between rates of the grid."""
    for vertex in (0.4e-3, 1e-3, 2e-2):
        losses = [1 + 0.3 * math.log(rate / vertex) ** 2 for rate in RATES]
        assert number(swept(post={1: losses}, pre={1: PRE}), "optimal_lr") == pytest.approx(vertex, rel=1e-9)
    assert number(swept(post={1: [2.0, 1.0, 1.0, 1.0]}, pre={1: PRE}), "optimal_lr") == pytest.approx(10**-2.5)


@pytest.mark.parametrize(("losses", "optimum"), [(PRE, 1e-4), ([3.0, 1.1, 1.0, None], 1e-2), ([2.0] * 4, 1e-4)])
def test_without_neighbours_on_both_sides_the_optimum_is_the_best_rate(swept, losses, optimum):
    assert number(swept(post={1: losses}, pre={1: PRE}), "optimal_lr") == optimum
