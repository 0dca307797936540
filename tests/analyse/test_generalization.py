"""What is lost on the validation split, and in evaluation mode: differences, wherever both are known."""

import pytest

from lnlab.analyse.quantities.evaluation_modes import evaluation_gap
from lnlab.analyse.quantities.generalization import generalization_gap
from tests.support.results import with_rows


@pytest.mark.parametrize(
    ("gap", "split", "quantity"), [(generalization_gap, "train", "nll"), (evaluation_gap, "validation", "batch_nll")]
)
def test_it_is_the_difference_where_both_were_taken(setting, training, trained, gap, split, quantity):
    made = training({"a": setting()}, {("a", 1): trained({0: 3.0, 50: 2.0, 100: 5.0}), ("a", 2): trained({0: 1.0})})
    known = {"a-1": {0: 2.5, 100: 6.0}, "a-2": {50: 1.0}}
    rows = {
        run: [
            {"step": step, "split": of, "quantity": quantity, "value": value + (of != split)}
            for step, value in values.items()
            for of in (split, "test")
        ]
        for run, values in known.items()
    }
    found = gap(with_rows(made, "curves", rows))
    assert found.select("seed", "step").rows() == [(1, 0), (1, 100)]
    assert found["value"].to_list() == pytest.approx([0.5, -1.0])
