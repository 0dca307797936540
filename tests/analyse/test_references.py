"""What a learned fraction and a target are measured against: by hand, with two placements and a stronger third one."""

import math

import pytest

from lnlab.select.references import reference_variants
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.select.settings import NothingSelected

H = 6.0
PHI = "learned_fraction"


@pytest.fixture
def placements(setting, training, trained):
    """Post-LN at two widths, Pre-LN at two; final nlls 5 and 4, 3 and 2 (by width), two seeds."""

    def build(extra=(), start=9.0):
        variants = {f"{p}{d}": setting(p, d_model=d) for p in ("post", "pre") for d in (32, 64)}
        ends = {"post32": 5.0, "post64": 4.0, "pre32": 3.0, "pre64": 2.0} | dict(extra)
        variants |= {name: setting("rezero") for name in dict(extra)}
        runs = {(v, s): trained({0: start, 50: (H + x) / 2, 100: x}) for v, x in ends.items() for s in (1, 2)}
        return training(variants, runs)

    return build


def phi(results, reference, **where):
    rows = select_measured_rows(results, {"quantity": PHI, "reference": reference, "seed": 1, **where})
    return dict(zip(rows["variant"], rows["value"], strict=True))


def test_a_named_reference_sets_the_scale_and_several_stand_side_by_side(placements):
    before, after = placements(), placements({"strong": 0.5})
    assert phi(before, {"placement": "post"}, placement="post") == {"post32": 0.5, "post64": 1.0}
    assert phi(after, {"placement": "post"}, placement="post") == {"post32": 0.5, "post64": 1.0}
    assert phi(before, "best", placement="post") == {"post32": 0.25, "post64": 0.5}
    assert phi(after, "best", placement="post")["post64"] == pytest.approx(2 / 5.5)
    results = placements()
    assert phi(results, {"placement": "pre"})["post64"] == 0.5
    assert phi(results, {"placement": "post"})["post64"] == 1.0
    assert phi(results, [{"placement": "pre", "model.d_model": 32}, {"placement": "post"}])["post64"] == pytest.approx(
        2 / 3
    )
    assert phi(results, {"placement": "pre"})["post64"] == 0.5
    found = phi(placements(), {"model.d_model": 32, "same": "placement"})
    assert found == {"post32": 1.0, "post64": 2.0, "pre32": 1.0, "pre64": pytest.approx(4 / 3)}


def test_nothing_is_assumed_where_placements_or_inits_differ(placements, golden, setting, training, trained):
    with golden.raises(NothingSelected):
        select_measured_rows(placements(), {"quantity": PHI})
    # As T-Fixup beside Xavier: a strong initialization would move the numbers of all others.
    variants = {kind: setting() | {"init": {"kind": kind}} for kind in ("xavier", "t_fixup")}
    results = training(variants, {(v, 1): trained({0: 9.0, 100: 3.0}) for v in variants})
    with golden.raises(NothingSelected):
        select_measured_rows(results, {"quantity": PHI})
    assert phi(results, {"init": "xavier"}) == {"xavier": 1.0, "t_fixup": 1.0}


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ({"placement": "sandwich"}, "no run has placement = sandwich"),
        ({"placment": "pre"}, "did you mean 'placement'"),
        ({"same": 3}, "'same' is a path"),
        ([], "a reference is 'best'"),
        ("worst", "a reference is 'best'"),
    ],
)
def test_a_reference_that_is_not_there_is_named(placements, reference, what):
    with pytest.raises(NothingSelected, match=what):
        phi(placements(), reference)


def test_a_run_that_explodes_while_finite_counts_as_diverged(setting, training, trained):
    variants = {"a": setting(), "b": setting(d_model=64)}
    runs = {("a", 1): trained({0: 9.0, 100: 2.0}), ("b", 1): trained({0: 9.0, 50: 1.0, 100: 18.1})}
    results = training(variants, runs)
    final = select_measured_rows(results, {"quantity": ["final_nll", "best_nll_of_run"], "variant": "b"})
    assert final["value"].to_list() == [math.inf, math.inf]
    assert select_series(results, {"quantity": "final_nll", "variant": "b"}).failed == {1: "its number is not finite"}
    assert phi(results, "best") == {"a": 1.0, "b": 0.0}
    runs["b", 1] = trained({0: 9.0, 50: 1.0, 100: 17.9})
    assert (
        select_measured_rows(training(variants, runs), {"quantity": "final_nll", "variant": "b"})["value"].item()
        == 17.9
    )


def test_a_target_is_that_of_the_selected_variants(placements):
    """Pre-LN alone has 1.02 x 3 as its target, all four 1.02 x 5 (of the best of all post32 learns a quarter)."""
    results = placements()
    times = select_measured_rows(results, {"quantity": "time_to_target", "placement": "pre", "seed": 1})["value"]
    assert times.to_list() == pytest.approx([50 + 50 * (4.5 - 3.06) / 1.5, 50 + 50 * (4.0 - 3.06) / 2.0])
    every = {"quantity": "time_to_target", "reference": "best", "variant": "pre32", "seed": 1}
    assert select_measured_rows(results, every)["value"].item() == pytest.approx(50 * (9.0 - 5.1) / (9.0 - 4.5))
    by_width = {"quantity": "time_to_target", "reference": {"placement": ["post", "pre"], "same": "model.d_model"}}
    found = select_measured_rows(results, {**by_width, "variant": "pre64", "seed": 1})["value"].item()
    assert found == pytest.approx(50 * (9.0 - 4.08) / (9.0 - 4.0))


def test_references_are_of_the_same_task(setting, training, trained):
    variants = {"a": setting(), "b": setting() | {"task": {"kind": "translation", "corpus": {"kind": "other"}}}}
    results = training(variants, {(v, 1): trained({100: 3.0}) for v in variants})
    assert reference_variants(results) == {"a": ("a",), "b": ("b",)}


def test_numbers_of_a_variant_that_trains_and_fails_are_bimodal(setting, training, trained):
    variants = {"a": setting(), "b": setting(d_model=64)}
    losses = {"a": [2.0] * 5, "b": [2.0, 5.9, 5.8, 5.9, 2.1]}
    runs = {(v, s): trained({0: 9.0, 100: x}) for v, xs in losses.items() for s, x in enumerate(xs, 1)}
    results = training(variants, runs)
    assert select_series(results, {"quantity": PHI, "variant": "a"}).bimodal is None
    assert select_series(results, {"quantity": PHI, "variant": "b"}).bimodal == pytest.approx(3.9 / 4)
    assert select_series(results, {"quantity": "final_nll", "variant": "b"}).bimodal is None
