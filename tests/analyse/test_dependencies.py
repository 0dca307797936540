"""What follows from dependencies, against closed forms: 1/β_ii² = a + b i, with another line for each type."""

import pytest

from lnlab.select.select import select_measured_rows

TYPES = ("self_attention", "feed_forward")
LINES = {"self_attention": (3.0, 0.8), "feed_forward": (2.0, 1.2)}


def inverse(sublayer, i, seed):
    a, b = LINES[sublayer]
    return a + seed * b * i


@pytest.fixture(scope="module")
def measured(setting, experiment):
    """Three layers of an encoder, and the change of its output by random steps; a decoder that nobody asks about."""
    variants = {
        "post": setting("post", 3, 3) | {"init": {"kind": "xavier_normal"}},
        "fairseq": setting("post", 3, 3) | {"init": {"kind": "t_fixup"}},
        "pre": setting("pre", 3, 3) | {"init": {"kind": "xavier_normal"}},
    }
    for each in variants.values():
        each["model"]["d_ff"] = 2 * each["model"]["d_model"]

    def rows(variant, seed):
        yield {"quantity": "output_change_random", "stack": "encoder", "tensor": "out", "value": 6.0}
        for layer in (3, 1, 2):
            for k, sublayer in enumerate(TYPES, 1):
                at = {"layer": layer, "sublayer": sublayer, "tensor": "out"}
                y = inverse(sublayer, 2 * (layer - 1) + k, seed)
                yield {**at, "stack": "encoder", "quantity": "own_dependency", "value": y**-0.5}
                yield {**at, "stack": "encoder", "quantity": "own_dependency_inverse_sq", "value": y}
                yield {**at, "stack": "decoder", "quantity": "own_dependency", "value": 1.0}

    return experiment(variants, (1, 2), rows)


def value(measured, quantity, **where):
    found = select_measured_rows(measured, {"quantity": quantity, "stack": "encoder", **where})
    assert found.height == 1
    return found["value"][0]


SQUARES = {seed: [1 / inverse(TYPES[(i - 1) % 2], i, seed) for i in range(1, 7)] for seed in (1, 2)}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_sum_and_the_change_over_it(measured, seed):
    total = sum(SQUARES[seed])
    assert value(measured, "dependency_sum", variant="pre", seed=seed) == pytest.approx(total)
    assert value(measured, "output_change_per_dependency", variant="pre", seed=seed) == pytest.approx(6 / total)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_last_third_over_the_first(measured, seed):
    found = SQUARES[seed]
    expected = sum(found[4:]) / sum(found[:2])
    assert value(measured, "dependency_thirds", variant="pre", seed=seed) == pytest.approx(expected)


@pytest.mark.parametrize("sublayer", TYPES)
def test_each_type_has_its_own_line(measured, sublayer):
    """Together the two would be no line."""
    for seed in (1, 2):
        where = {"variant": "pre", "seed": seed, "sublayer": sublayer}
        slope = value(measured, "inverse_dependency_slope", **where)
        assert slope == pytest.approx(seed * LINES[sublayer][1])
        assert value(measured, "inverse_dependency_r2", **where) == pytest.approx(1)


def test_a_bend_lowers_r2(setting, experiment):
    def rows(variant, seed):
        for layer in (1, 2, 3, 4):
            at = {"stack": "encoder", "layer": layer, "sublayer": "feed_forward"}
            yield {**at, "quantity": "own_dependency_inverse_sq", "value": float(layer**2)}

    bent = experiment({"pre": setting("pre", 4, 4)}, (1,), rows)
    assert value(bent, "inverse_dependency_r2") == pytest.approx(25**2 / (5 * 129))
