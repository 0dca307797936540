"""One number per seed and x, or a refusal; and what becomes of seeds that have none."""

import math

import pytest

from lnlab.errors import LabError
from lnlab.select.series import select_series, series_quotient
from lnlab.select.settings import NothingSelected

W2 = {"quantity": "gradient_norm", "stack": "decoder", "tensor": "w2"}


def test_over_a_column_a_path_or_words(profiles):
    found = select_series(profiles, {**W2, "variant": "pre3"}, "layer")
    assert (found.seeds, found.levels, found.trained) == ([1, 2], [1.0, 2.0, 3.0], False)
    assert found.matrix.tolist() == [[111.5, 121.5, 131.5], [112.5, 122.5, 132.5]]
    found = select_series(profiles, {**W2, "layer": "last", "placement": "post"}, "model.layers")
    assert found.matrix.tolist() == [[121.5, 131.5], [122.5, 132.5]], "without runs whose stacks disagree"
    assert select_series(profiles, {**W2, "layer": "last", "model.layers": 2}, "placement").levels == ["post", "pre"]
    of = {"quantity": "gradient_norm", "variant": "pre2", "tensor": ["w2", "table"], "stack": ["decoder", None]}
    assert select_series(profiles, of, "layer").levels == [1.0, 2.0], "rows outside layers drop out"


def test_a_reduction_leaves_one_number_per_seed(profiles, setting, experiment):
    found = select_series(profiles, {**W2, "variant": "pre3"}, "layer", "last/first")
    assert found.numbers["value"].to_list() == [131.5 / 111.5, 132.5 / 112.5]
    assert found.matrix.shape == (2, 1)
    with pytest.raises(LabError, match="'max' of what"):
        select_series(profiles, W2, reduce="max")
    rows = [{"quantity": "q", "layer": n, "value": float(n - 1)} for n in (1, 2)]
    told = experiment({"a": setting()}, (1, 2), lambda v, s: rows)
    assert select_series(told, {"quantity": "q"}, "layer", "spread").numbers["value"].to_list() == [None, None]


def test_what_still_varies_is_named_also_before_anything_has_run(profiles, setting, experiment, golden):
    with golden.raises(LabError):
        select_series(profiles, {**W2, "model.layers": 2}, "layer")
    with golden.raises(LabError):
        select_series(profiles, {**W2, "variant": "pre2"})
    with pytest.raises(LabError, match=r"tensor \(w1, w2\)"):
        select_series(profiles, {"quantity": "gradient_norm", "stack": "decoder", "variant": "pre2"}, "layer")
    rows = [{"quantity": "q", "measurement": m, "value": 1.0} for m in "ab"]
    with golden.raises(LabError):
        select_series(experiment({"a": setting()}, (1,), lambda v, s: rows), {"quantity": "q"})
    axes = [("placement", lambda s: s["decoder"]["placement"]["kind"])]
    variants = {"a": setting("post"), "b": setting("pre")}
    told = experiment(variants, (1,), lambda v, s: [], axes=axes, status=lambda v, s: None)
    with pytest.raises(LabError, match=r"placement \(post, pre\)"):
        select_series(told, {"quantity": "q"})


def test_nothing_to_select_is_refused_once_everything_has_run(profiles, golden):
    with golden.raises(NothingSelected):
        select_series(profiles, {**W2, "tensor": "w9"})
    with golden.raises(NothingSelected):
        select_series(profiles, {**W2, "variant": "pre2"}, "index")


NOT_FINITE = "its number is not finite"


@pytest.mark.parametrize(
    ("values", "ends", "seeds", "failed", "excluded", "pending"),
    [
        ([math.nan, math.inf, 1.0], ["finished"] * 3, [3], {1: NOT_FINITE, 2: NOT_FINITE}, {}, ()),
        (["none", 1.0, 1.0], ["diverged", "finished", "diverged"], [2, 3], {1: "loss is not finite"}, {}, ()),
        (["none"] * 3, ["out_of_memory", None, "interrupted"], [], {}, {1: "out_of_memory"}, (2, 3)),
        ([None, 1.0, 1.0], ["finished"] * 3, [2, 3], {}, {1: "not measured"}, ()),
    ],
)
def test_a_seed_has_a_number_or_has_failed_or_is_lost_or_pending(
    setting, experiment, values, ends, seeds, failed, excluded, pending
):
    """A number that is not finite has failed, as has a run that diverged before it was measured; others are lost."""
    rows = lambda v, s: [] if values[s - 1] == "none" else [{"quantity": "q", "value": values[s - 1]}]  # noqa: E731
    told = experiment({"a": setting()}, (1, 2, 3), rows, status=lambda v, s: ends[s - 1])
    found = select_series(told, {"quantity": "q"})
    assert (found.seeds, found.failed, found.excluded, found.pending) == (seeds, failed, excluded, pending)
    assert (found.total, found.matrix.shape[0]) == (3, len(seeds))


def test_a_seed_is_complete_only_with_every_level_of_the_plan(setting, experiment):
    variants = {f"v{n}": setting(encoder=n, decoder=n) for n in (2, 3)}
    rows = lambda v, s: [{"quantity": "q", "step": 7, "value": 1.0}] if v == "v2" else []  # noqa: E731
    told = experiment(variants, (1, 2), rows, status=lambda v, s: "finished" if v == "v2" else None)
    assert select_series(told, {"quantity": "q"}, "model.layers").pending == (1, 2)
    assert select_series(told, {"quantity": "q", "variant": "v2"}).trained, "measured after step 0"


def test_a_quotient_is_taken_at_every_seed_and_at_the_x_that_both_have(profiles):
    over = [select_series(profiles, {**W2, "variant": v}, "layer") for v in ("pre3", "post3")]
    assert series_quotient(*over).matrix.tolist() == [[1, 1, 1], [1, 1, 1]]
    one = [select_series(profiles, {**W2, "variant": v, "layer": 2}) for v in ("pre3", "post2")]
    assert series_quotient(*one).matrix.tolist() == [[1], [1]]
    w1 = select_series(profiles, {**W2, "tensor": "w1", "variant": "pre3"}, "layer")
    assert series_quotient(w1, over[0]).matrix[1].tolist() == [112 / 112.5, 122 / 122.5, 132 / 132.5]
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
