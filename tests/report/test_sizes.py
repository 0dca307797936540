"""What sizes are called."""

import pytest

from lnlab.report.words.path_names import size_names


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("model.layers", ("the number of layers", "number of layers of each stack", "L")),
        ("encoder.layers", ("the number of layers", "number of layers of the encoder", "L")),
        ("encoder.sublayers", ("the number of sublayers", "number of sublayers of the encoder", "N")),
        ("model.sublayers", ("the number of sublayers", "number of sublayers of all stacks", "N")),
        ("model.d_model", ("the width", "width", "d")),
        ("task.length", ("the number of tokens", "number of tokens", "n")),
        ("task.batch_tokens", ("batch tokens", "batch tokens", "x")),
        ("layer", ("layer", "layer", "x")),
    ],
)
def test_a_size_in_a_sentence_on_an_axis_and_in_a_law(path, told):
    assert size_names(path) == told


def test_the_abscissa_of_a_curve_has_the_name_that_its_quantity_gives_it():
    assert size_names("x", "psi_variance") == ("the training step", "training step t", "t")
    assert size_names("x", "loss").axis == "x"
