"""What cannot be built is found without memory and without a corpus."""

import pytest
from toy_pieces import REGISTRIES

from lnlab.errors import LabError
from lnlab.execute.meta import build_on_meta


def test_a_model_far_larger_than_memory_is_built(unit_of):
    build_on_meta(unit_of(1, task={"width": 10_000_000, "absent": True}).setting, REGISTRIES)


def test_what_cannot_be_built_is_named_in_one_line(unit_of):
    with pytest.raises(LabError, match=r"^model: 'linear' cannot be built: 3 heads of 2; change the setting$"):
        build_on_meta(unit_of(1, model={"flaw": "3 heads\nof 2"}).setting, REGISTRIES)


def test_an_init_that_looks_at_data_is_left_out(unit_of):
    build_on_meta(unit_of(1, init={"kind": "looks"}).setting, REGISTRIES)
    build_on_meta(unit_of(1, init={"kind": "doubles", "of": "looks"}).setting, REGISTRIES)


def test_interventions_are_entered_with_an_optimizer_where_there_is_one(unit_of):
    with pytest.raises(LabError, match=r"^interventions\.where: no activation there; there is one elsewhere$"):
        build_on_meta(unit_of(1, interventions=[{"kind": "times", "reaches": False}]).setting, REGISTRIES)
    optimizer = {"kind": "sgd", "lr": 0.1}
    build_on_meta(unit_of(1, optimizer=optimizer, interventions=["halve"]).setting, REGISTRIES)
