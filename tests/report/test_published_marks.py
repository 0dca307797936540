"""What a source prints: rings where there is room for them, words where they would flatten our lines."""

import pytest

from lnlab.registry import Flawed
from lnlab.report.charts.render import to_svg
from lnlab.report.page.figures import spec_with_data
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.sections.plots import size_plot
from tests.report.test_series_panels import lines, svg_of

SIZES = {
    "quantity": "gradient_norm",
    "where": {"stack": "decoder", "tensor": "w2", "layer": "last", "decoder.cross_attention": True,
              "model.tied": "target", "placement": ["post", "pre"]},
}  # fmt: skip


def rings(figure):
    layers = figure.spec["layer"]
    datasets = figure.spec["datasets"]
    found = [layer for layer in layers if layer["encoding"].get("opacity", {}).get("field") == "source"]
    return [(row["series"], row["x"], row["y"]) for layer in found for row in datasets[layer["data"]["name"]]]


def test_a_printed_number_is_a_ring_at_its_place_with_an_entry_of_the_legend(results, golden):
    (figure,) = size_plot(results, **SIZES, published={"Post-LN": {"6": "1.60", "14": 1.5}}).charts
    assert rings(figure) == [("Post-LN", 6.0, 1.6), ("Post-LN", 14.0, 1.5)]
    assert figure.y.domain[0] < 1.5 < 1.6 < figure.y.domain[1]
    golden(figure.caption)
    assert to_svg(spec_with_data(figure)).count("printed by") >= 1
    (plain,) = size_plot(results, **SIZES).charts
    assert rings(plain) == []
    assert "printed" not in plain.caption + to_svg(spec_with_data(plain))


@pytest.mark.parametrize(
    "published",
    [{"Post-LN": {"6": 512}}, {"Post-LN": {"last": "0.000"}}, {"Nobody": {"6": 1}, "Post-LN": {"7": 1, "last": 1e9}}],
)
def test_what_has_no_place_is_said(results, published, golden):
    (figure,) = size_plot(results, **SIZES, published=published).charts
    golden(figure.caption)
    assert rings(figure) == []
    (plain,) = size_plot(results, **SIZES).charts
    assert figure.y == plain.y


def test_each_of_many_panels_has_the_rings_of_its_own_series():
    names = [f"variant {n}" for n in range(9)]
    published = [{"series": "variant 4", "x": 2.0, "y": 6.0, "source": "printed by the source"}]
    figure = lines(names, published=published)
    drawn = [
        (panel, layer["encoding"]["color"]["value"])
        for panel, of_panel in enumerate(figure.spec["concat"])
        for layer in of_panel["layer"]
        if layer["mark"].get("filled") is False
    ]
    assert drawn == [(4, figure.data.style.colours[4])]
    svg_of(figure.spec)


@pytest.mark.parametrize("place", ["six", "", "1e"])
def test_a_place_that_is_no_number_is_refused(place):
    section = {"kind": "size_plot", "quantity": "gradient_norm", "published": {"Post-LN": {place: 1}}}
    with pytest.raises(Flawed, match=r"published\.Post-LN"):
        FRAME_REGISTRIES["section"].resolve(section)
