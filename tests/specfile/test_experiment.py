"""The grammar knows every top-level key, and those that make a setting or can be replaced are among them."""

import pytest
from pydantic import ValidationError

from lnlab.specfile.experiment import REPLACEABLE, Experiment


def test_the_top_level_keys_are_closed():
    other = {"lnlab", "title", "question", "source", "related", "differs", "dropped", "note", "answer", "claims"}
    assert set(Experiment.model_fields) == {*REPLACEABLE, *other, "looks", "profiles", "theme"}


@pytest.mark.parametrize("name", ["T-Fixup", "Post-LN + QK-norm", "σReparam", "no norm (Xavier)", "a", "x" * 40])
def test_a_method_may_be_called_what_papers_call_it(name):
    assert Experiment(lnlab=2, title="t", methods={name: {}}).methods == {name: {}}


@pytest.mark.parametrize("name", ["", " a", "a ", "a < b", "a ~ b", "a <= b", "two\nlines", "x" * 41])
def test_a_name_that_an_order_could_not_tell_or_a_chart_not_show_is_refused(name):
    with pytest.raises(ValidationError, match="a name has one line"):
        Experiment(lnlab=2, title="t", methods={name: {}})
