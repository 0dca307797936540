"""What sizes are called."""

import pytest

from lnlab.report.words.path_names import size_names


@pytest.mark.parametrize(
    "path",
    [
        "model.layers",
        "encoder.layers",
        "encoder.sublayers",
        "model.sublayers",
        "model.d_model",
        "task.length",
        "task.batch_tokens",
        "layer",
    ],
)
def test_a_size_in_a_sentence_on_an_axis_and_in_a_law(path, golden):
    golden(size_names(path))


def test_the_abscissa_of_a_curve_has_the_name_that_its_quantity_gives_it():
    assert size_names("x", "psi_variance") == ("the training step", "training step t", "t")
    assert size_names("x", "loss").axis == "x"
