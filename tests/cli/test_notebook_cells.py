"""What a notebook shows of a plan, results, verdicts and measurements: small, safe, readable on any ground."""

import re
from xml.etree import ElementTree

import polars as pl
import pytest

import lnlab as package
from lnlab.claims.claim import Verdict
from lnlab.claims.verdicts import Verdicts
from lnlab.html_tables import MOST_SHOWN, html_table

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&amp; \"quoted\" 'q'"


def cells(html):
    """The text of every cell, as a browser would show it; what is not well-formed is an error."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    assert {element.tag for element in root.iter()} <= {"div", "table", "caption", "tr", "th", "td", "b", "a"}
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def lines(html):
    """The lines of a card, as a browser would show them."""
    return ["".join(line.itertext()) for line in ElementTree.fromstring(html)]


def readable_on_any_ground(html):
    styles = re.findall(r'style="([^"]*)"', html)
    values = dict(part.split(":") for style in styles for part in style.split(";"))
    colours = {name.strip(): value.strip() for name, value in values.items() if re.search("color|background", name)}
    return set(colours.values()) <= {"inherit", "none"}


@pytest.fixture
def measurements():
    rows = [
        {"optimizer": f"{name}{HOSTILE}", "seed": seed, "loss": level + seed / 100}
        for name, level in (("adam", 1.0), ("sgd", 2.0))
        for seed in range(1, 7)
    ]
    return package.from_frame(pl.DataFrame(rows), axes=["optimizer"])


def claim(names):
    of, to = ({"quantity": "loss", "optimizer": name} for name in names)
    return {"id": "a", "says": HOSTILE, "kind": "ratio", "of": of, "to": to, "at_least": 1.2}


def test_text_of_a_user_is_text(measurements):
    shown = measurements._repr_html_()
    assert cells(shown)[0] == ["quantity", "table", "rows"]
    assert cells(shown)[1][0] == "loss"
    verdicts = measurements.judge([claim([f"sgd{HOSTILE}", f"adam{HOSTILE}"])])
    shown = verdicts._repr_html_()
    (_, row) = cells(shown)
    assert row[0] == "✓ supported"
    assert row[1].startswith("<script>alert(1)</script>")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert row[4] == "6"
    assert "1 claim: 1 supported" in shown
    assert cells(verdicts[0]._repr_html_()) == cells(shown)
    assert readable_on_any_ground(shown)


def test_spec_check_plan_and_report_are_cards(ran):
    spec, checked, plan = package.Spec.from_yaml("tiny.yaml"), package.check("tiny.yaml"), package.plan("tiny.yaml")
    report = package.report("tiny.yaml", out="page")
    assert lines(plan._repr_html_())[2:] == [" ".join(line.split()) for line in plan.lines][: MOST_SHOWN - 1]
    assert lines(spec._repr_html_())[0] == spec.title
    assert len(lines(checked._repr_html_())) >= len(checked) + 1
    assert '<a href="page/index.html"' in report._repr_html_()
    assert report.page.is_file()
    for one in (spec, checked, plan, report):
        assert max(len(one._repr_html_()), len(repr(one))) < 4_000
        assert readable_on_any_ground(one._repr_html_())


def test_a_mistake_is_told_in_a_line_each():
    with pytest.raises(package.LabError) as caught:
        package.check({"lnlab": 2, "title": "t", "normm": "rms", "seed": 2})
    assert len(caught.value._render_traceback_()) == len(caught.value.issues) > 1


def test_results_and_a_run_are_tables(ran):
    results = package.results("tiny.yaml")
    shown = results._repr_html_()
    assert "6 runs: 6 finished; placement" in shown
    assert {row[0] for row in cells(shown)[1:]} == set(results.results.tables["sites"]["quantity"])
    run = package.run("tiny.yaml")
    assert isinstance(run.verdicts, Verdicts)
    assert cells(run._repr_html_())[-1][1] == run.verdicts[-1].says
    assert package.judge("tiny.yaml") == run.verdicts == tuple(run.verdicts)
    assert all(readable_on_any_ground(x._repr_html_()) and len(x._repr_html_()) < 20_000 for x in (results, run))


def test_a_long_table_says_how_much_it_leaves_out():
    shown = html_table("c", ["n"], [[n] for n in range(1_000)])
    assert len(cells(shown)) == MOST_SHOWN + 1
    assert f"and {1_000 - MOST_SHOWN:,} more" in shown
    assert cells(html_table("", ["a"], [])) == [["a"]]
    assert cells(html_table("", ["a"], [[None]]))[1] == [""]


def test_many_verdicts_are_at_most_a_screen_as_text(measurements):
    (one,) = measurements.judge([claim([f"sgd{HOSTILE}", f"adam{HOSTILE}"])])
    many = Verdicts((one,) * 120)
    assert len(str(many).splitlines()) == 120, "print(verdicts) shows all"
    assert repr(many).splitlines() == [*str(many).splitlines()[:MOST_SHOWN], "and 100 more; all: 120 supported"]
    assert repr(Verdicts(many[:MOST_SHOWN])) == "\n".join([repr(one)] * MOST_SHOWN)


def test_no_verdict_is_no_error():
    assert "0 claims" in Verdicts()._repr_html_()
    assert issubclass(Verdicts, tuple)
    assert Verdict.__dataclass_fields__["says"]
