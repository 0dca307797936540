"""A drawing is laid out alike with whatever fonts a machine has."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import altair as alt
import polars as pl

from lnlab.report.charts.render import to_svg
from lnlab.report.charts.stand_ins import NARROW_MARKS, WIDE_MARKS, with_stand_ins
from lnlab.report.figures.drawing import diagram_data
from lnlab.report.page.figures import spec_with_data
from lnlab.report.section import Figure

MARKS = NARROW_MARKS + WIDE_MARKS
LIBERATION = (
    *range(0x20, 0x7F),
    *(code for code in range(0xA0, 0x180) if code != ord("·")),
    *range(0x384, 0x3CF),
    *map(ord, "–—‘’“”‹›…−×∂√∞∑≈≠≤≥←→"),
)
"""Characters that Liberation Sans 1.07 and 2.1 hold with equal widths."""
DRAW = "import json, sys; from lnlab.report.charts.render import to_svg; print(to_svg(json.load(sys.stdin)), end='')"


def labelled(*texts):
    rows = [{"text": text, "x": 1} for text in texts]
    encoding = {
        "y": {"field": "text", "type": "nominal", "axis": {"labelLimit": 9999}},
        "x": {"field": "x", "type": "quantitative"},
    }
    config = {"font": "Liberation Sans"}
    return {"mark": "bar", "width": 50, "data": {"values": rows}, "encoding": encoding, "config": config}


def test_a_drawing_with_every_mark_is_the_same_without_a_font_of_the_system(tmp_path):
    (tmp_path / "fonts.conf").write_text(f"<?xml version='1.0'?><fontconfig><dir>{tmp_path}</dir></fontconfig>")
    environment = os.environ | {"FONTCONFIG_FILE": str(tmp_path / "fonts.conf")}
    drawing = labelled(*(f"a {mark}{mark} claim" for mark in MARKS), "β ≤ 10")
    bare = subprocess.run(
        [sys.executable, "-c", DRAW],
        input=json.dumps(drawing).encode(),
        env=environment,
        capture_output=True,
        check=True,
    )
    assert bare.stdout.decode() == to_svg(drawing)


def test_texts_are_what_they_were():
    drawing = labelled("✓ ok", "5 · 10⁻⁶", "Řeka ŌŎ ✗", "m\u0302")
    replaced, back = with_stand_ins(drawing)
    assert not set(MARKS) & set(json.dumps(replaced, ensure_ascii=False))
    assert json.loads(json.dumps(replaced, ensure_ascii=False).translate(back)) == drawing
    svg = to_svg(drawing)
    assert all(text in svg for text in ("✓ ok", "5 · 10⁻⁶", "Řeka ŌŎ ✗", "m\u0302"))


def test_committed_drawings_hold_no_character_whose_width_is_the_machine_s():
    drawings = sorted(Path("reports").glob("*/real/figures/*.svg"))
    assert drawings
    for path in drawings:
        texts = path.read_text(encoding="utf-8").partition("</desc>")[2] or path.read_text(encoding="utf-8")
        unknown = {c for c in texts if ord(c) not in LIBERATION and c not in MARKS and c != "\n"}
        assert not unknown, (path, [unicodedata.name(c, c) for c in unknown])


def test_data_inside_a_drawing_are_named_by_their_order_and_not_by_their_last_bits():
    def chart(value):
        layers = [alt.Chart(alt.InlineData([{"y": y}])).mark_rule().encode(y="y:Q") for y in (value, 0.5, value)]

        class Rules(Figure):
            def drawing(self):
                return alt.layer(*layers).to_dict()

        rows = diagram_data(pl.DataFrame())
        return Rules(data=rows, subject="", shows="", finding="", headings={}, statistic=None)

    drawings = [spec_with_data(chart(value)) for value in (0.3, 0.1 + 0.2)]
    assert drawings[0] == drawings[1]
    assert list(drawings[0]["datasets"]) == ["data-1", "data-2"]
    assert [layer["data"]["name"] for layer in drawings[0]["layer"]] == ["data-1", "data-2", "data-1"]
    assert drawings[0]["datasets"]["data-1"] == [{"y": 0.3}]
