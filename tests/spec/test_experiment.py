"""The grammar knows every top-level key, and those that make a setting or can be replaced are among them."""

from lnlab.spec.experiment import REPLACEABLE, SETTING, Experiment


def test_the_top_level_keys_are_closed():
    other = {"lnlab", "title", "question", "source", "differs", "note", "select", "claims", "profiles"}
    assert set(Experiment.model_fields) == {*SETTING, *REPLACEABLE, *other}
