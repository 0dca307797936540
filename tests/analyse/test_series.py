"""One number per seed and x, or a refusal; and what becomes of seeds that have none."""

import math

import pytest

from lnlab.errors import LabError
from lnlab.select.series import select_series, series_quotient
from lnlab.select.settings import NothingSelected

W2 = {"quantity": "gradient_norm", "stack": "decoder", "tensor": "w2"}


def test_over_a_column(profiles):
    found = select_series(profiles, {**W2, "variant": "pre3"}, "layer")
    assert found.seeds == [1, 2]
    assert found.levels == [1.0, 2.0, 3.0]
    assert found.matrix.tolist() == [[111.5, 121.5, 131.5], [112.5, 122.5, 132.5]]
    assert not found.trained


def test_over_a_path_drops_runs_whose_stacks_disagree(profiles):
    found = select_series(profiles, {**W2, "layer": "last", "placement": "post"}, "model.layers")
    assert found.matrix.tolist() == [[121.5, 131.5], [122.5, 132.5]]


def test_over_words(profiles):
    found = select_series(profiles, {**W2, "layer": "last", "model.layers": 2}, "placement")
    assert found.levels == ["post", "pre"]


def test_rows_outside_layers_drop_out_over_layer(profiles):
    found = select_series(
        profiles,
        {"quantity": "gradient_norm", "variant": "pre2", "tensor": ["w2", "table"], "stack": ["decoder", None]},
        "layer",
    )
    assert found.levels == [1.0, 2.0]


def test_a_reduction_leaves_one_number_per_seed(profiles):
    found = select_series(profiles, {**W2, "variant": "pre3"}, "layer", "last/first")
    assert found.numbers["value"].to_list() == [131.5 / 111.5, 132.5 / 112.5]
    assert found.matrix.shape == (2, 1)


def test_a_reduction_of_nothing_is_refused(profiles):
    with pytest.raises(LabError, match="'max' of what"):
        select_series(profiles, W2, reduce="max")


def test_what_still_varies_is_named(profiles, golden):
    with pytest.raises(LabError, match=r"seed 1 has 2 numbers at layer 1\.0: placement \(post, pre\)"):
        select_series(profiles, {**W2, "model.layers": 2}, "layer")
    with golden.raises(LabError):
        select_series(profiles, {**W2, "variant": "pre2"})
    with pytest.raises(LabError, match=r"tensor \(w1, w2\)"):
        select_series(profiles, {"quantity": "gradient_norm", "stack": "decoder", "variant": "pre2"}, "layer")


def test_the_same_number_twice_is_refused(setting, experiment, golden):
    rows = [{"quantity": "q", "measurement": m, "value": 1.0} for m in "ab"]
    told = experiment({"a": setting()}, (1,), lambda v, s: rows)
    with golden.raises(LabError):
        select_series(told, {"quantity": "q"})


def test_nothing_to_select_is_refused_once_everything_has_run(profiles, golden):
    with golden.raises(NothingSelected):
        select_series(profiles, {**W2, "tensor": "w9"})
    with golden.raises(NothingSelected):
        select_series(profiles, {**W2, "variant": "pre2"}, "index")


def test_what_varies_is_named_before_anything_has_run(setting, experiment):
    variants = {"a": setting("post"), "b": setting("pre")}
    axes = [("placement", lambda s: s["decoder"]["placement"]["kind"])]
    told = experiment(variants, (1,), lambda v, s: [], axes=axes, status=lambda v, s: None)
    with pytest.raises(LabError, match=r"placement \(post, pre\)"):
        select_series(told, {"quantity": "q"})


def fates(setting, experiment, value, status):
    rows = lambda v, s: [] if value(s) == "none" else [{"quantity": "q", "value": value(s)}]  # noqa: E731
    return select_series(
        experiment({"a": setting()}, (1, 2, 3), rows, status=lambda v, s: status(s)), {"quantity": "q"}
    )


def test_nan_and_infinity_have_failed(setting, experiment):
    found = fates(setting, experiment, {1: math.nan, 2: math.inf, 3: 1.0}.get, lambda s: "finished")
    assert found.seeds == [3]
    assert found.failed == {1: "its number is not finite", 2: "its number is not finite"}


def test_a_seed_that_diverged_before_it_was_measured_has_failed(setting, experiment):
    found = fates(
        setting, experiment, {1: "none", 2: 1.0, 3: 1.0}.get, {1: "diverged", 2: "finished", 3: "diverged"}.get
    )
    assert found.failed == {1: "loss is not finite"}
    assert found.seeds == [2, 3]


def test_other_ends_are_lost_and_runs_to_come_are_pending(setting, experiment):
    found = fates(
        setting, experiment, {1: "none", 2: "none", 3: "none"}.get, {1: "out_of_memory", 2: None, 3: "interrupted"}.get
    )
    assert (found.excluded, found.pending, found.total) == ({1: "out_of_memory"}, (2, 3), 3)
    assert found.matrix.shape == (0, 0)


def test_a_finished_seed_without_a_number_is_lost(setting, experiment):
    found = fates(setting, experiment, {1: None, 2: 1.0, 3: 1.0}.get, lambda s: "finished")
    assert found.excluded == {1: "not measured"}


def test_a_seed_is_complete_only_with_every_level_of_the_plan(setting, experiment):
    variants = {f"v{n}": setting(encoder=n, decoder=n) for n in (2, 3)}
    rows = lambda v, s: [{"quantity": "q", "value": 1.0}] if v == "v2" else []  # noqa: E731
    told = experiment(variants, (1, 2), rows, status=lambda v, s: "finished" if v == "v2" else None)
    assert select_series(told, {"quantity": "q"}, "model.layers").pending == (1, 2)


def test_trained_means_measured_after_step_0(setting, experiment):
    told = experiment({"a": setting()}, (1,), lambda v, s: [{"quantity": "q", "step": 7, "value": 1.0}])
    assert select_series(told, {"quantity": "q"}).trained


def test_a_zero_below_leaves_null(setting, experiment):
    rows = lambda v, s: [{"quantity": "q", "layer": n, "value": float(n - 1)} for n in (1, 2)]  # noqa: E731
    told = experiment({"a": setting()}, (1, 2), rows)
    assert select_series(told, {"quantity": "q"}, "layer", "spread").numbers["value"].to_list() == [None, None]


def test_a_quotient_is_taken_at_every_seed_and_x(profiles):
    over = [select_series(profiles, {**W2, "variant": v}, "layer") for v in ("pre3", "post3")]
    assert series_quotient(*over).matrix.tolist() == [[1, 1, 1], [1, 1, 1]]
    one = [select_series(profiles, {**W2, "variant": v, "layer": 2}) for v in ("pre3", "post2")]
    assert series_quotient(*one).matrix.tolist() == [[1], [1]]
    w1 = select_series(profiles, {**W2, "tensor": "w1", "variant": "pre3"}, "layer")
    assert series_quotient(w1, over[0]).matrix[1].tolist() == [112 / 112.5, 122 / 122.5, 132 / 132.5]


def test_a_quotient_stands_at_the_x_that_both_have(profiles):
    two, three = (select_series(profiles, {**W2, "variant": v}, "layer") for v in ("pre2", "pre3"))
    assert series_quotient(two, three).levels == series_quotient(three, two).levels == [1.0, 2.0]
    assert series_quotient(two, three).seeds == [1, 2]


def test_a_quotient_keeps_what_became_of_the_seeds_of_either_side(setting, experiment):
    """Seed 1 has both, 2 diverged on one side, 3 has yet to run on the other, 4 divides by zero."""
    ended = {("a", 2): "diverged", ("b", 3): None}

    def rows(variant, seed):
        if (variant, seed) not in ended:
            value = 0.0 if (variant, seed) == ("b", 4) else 6.0 if variant == "a" else 2.0
            yield {"quantity": "q", "value": value}

    told = experiment(
        {"a": setting("post"), "b": setting("pre")},
        (1, 2, 3, 4),
        rows,
        status=lambda variant, seed: ended.get((variant, seed), "finished"),
    )
    found = series_quotient(*(select_series(told, {"quantity": "q", "variant": v}) for v in ("a", "b")))
    assert found.numbers["value"].to_list() == [3.0, None]
    assert (dict(found.failed), found.pending, found.total) == ({2: "loss is not finite"}, (3,), 4)
