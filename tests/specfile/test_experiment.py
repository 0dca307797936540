"""The grammar knows every top-level key, and those that make a setting or can be replaced are among them."""

import pytest
from pydantic import ValidationError

from lnlab.specfile.columns import COLUMNS, VOCABULARY
from lnlab.specfile.experiment import REPLACEABLE, Experiment
from lnlab.tables import WRITTEN_BY_WORKERS


def test_the_top_level_keys_are_closed():
    other = {"lnlab", "title", "question", "source", "related", "differs", "dropped", "note", "answer", "claims"}
    assert set(Experiment.model_fields) == {*REPLACEABLE, *other, "looks", "profiles", "theme"}


def test_a_method_may_be_called_what_papers_call_it_but_in_one_line_that_an_order_can_tell():
    for name in ("T-Fixup", "Post-LN + QK-norm", "σReparam", "no norm (Xavier)", "a", "x" * 40):
        assert Experiment(lnlab=2, title="t", methods={name: {}}).methods == {name: {}}
    for name in ("", " a", "a ", "a < b", "a ~ b", "a <= b", "two\nlines", "x" * 41):
        with pytest.raises(ValidationError, match="a name has one line"):
            Experiment(lnlab=2, title="t", methods={name: {}})


def test_every_column_of_a_measured_row_may_be_selected():
    keys = {"measurement", "trajectory", "steps", "reason", "last_finite_loss", "parameters", "seconds"}
    written = {c for table in WRITTEN_BY_WORKERS.values() for c in table} - keys - {"device", "versions"}
    assert set(COLUMNS) == written | {"run", "variant", "seed", "step"} | {"statistics", "rule"}
    assert set(VOCABULARY) < set(COLUMNS)
