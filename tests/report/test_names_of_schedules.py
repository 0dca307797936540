"""How a reader is told a schedule's numbers."""

import pytest

from lnlab.report.words.wording import axis_value_name


@pytest.mark.parametrize(
    ("axis", "value", "said"),
    [
        ("schedule.warmup_steps", 0, "no warm-up"),
        ("schedule.warmup_steps", 300, "warm-up 300"),
        ("schedule.anchor", 300, "decay from 300"),
        ("schedule.anchor", None, "literal decay"),
        ("optimizer.lr", 0.002, "learning rate 0.002"),
        ("model.layers", 6, "6 layers"),
    ],
)
def test_a_number_that_counts_nothing_stands_behind_its_name(axis, value, said):
    label = "null" if value is None else str(value)
    assert axis_value_name(axis, value, label) == said
