"""Panels beside each other: letters in their order, labels for all ticks, and no axis where there is no panel."""

import json
import re

import altair as alt
import numpy as np
import pytest

from lnlab.report.charts.axes import Axis
from lnlab.report.charts.histogram_over_steps import histogram_chart
from lnlab.report.charts.panels import side_by_side
from lnlab.report.rounding import rounded_json


def panels(names, columns=3):
    return side_by_side(alt.Chart(alt.NamedData("points")).mark_point(), names, columns).to_dict()


def test_panels_have_letters_and_their_names_cannot_leave_the_expression():
    names = ["Post-LN", 'it\'s "quoted"\n']
    header = panels(names)["facet"]["header"]
    labels = json.loads(re.fullmatch(r"\((\{.*\})\)\[datum\.value\]", header["labelExpr"])[1])
    assert labels == {"Post-LN": "(a) Post-LN", 'it\'s "quoted" ': '(b) it\'s "quoted" '}
    assert "labelExpr" not in panels([f"method {n}" for n in range(13)])["facet"]["header"]


@pytest.mark.parametrize("octaves", [1, 4])
def test_every_tick_of_a_drawing_has_its_label_though_numbers_of_files_are_rounded(octaves):
    spec = rounded_json(histogram_chart(["Adam"], "gradient entry", (-60 // octaves, 4), octaves, 0.5, {}))
    axis = spec["spec"]["layer"][0]["encoding"]["y"]["axis"]
    cases = dict(re.findall(r"datum\.value === (\S+) \? '([^']*)'", axis["labelExpr"]))
    assert len(axis["values"]) >= 3
    assert [float(place) for place in cases] == axis["values"]
    assert all(cases.values())
    values = tuple(np.geomspace(1e-12, 1e7, 7).tolist())
    far = rounded_json(Axis("x", (1e-12, 1e7), values, log=True).axis)
    (places,) = re.findall(r"indexof\(\[(.*)\],datum\.value\)", far["labelExpr"])
    assert [float(place) for place in places.split(",")] == far["values"]
