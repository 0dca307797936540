"""The estimates of claims as rows of marks: they are those of the verdicts, as an answer quotes them."""

from dataclasses import replace

import pytest

from lnlab.errors import ReportError
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.estimates import estimates
from lnlab.report.words.answer_text import fill_answer
from tests.report.test_dots import texts

CALLED = "growth over the layers"


def section(verdicts, rows, **more):
    return estimates(verdicts, estimates=rows, called=CALLED, **more)


def test_marks_are_the_estimates_and_intervals_of_the_verdicts_lowest_first(verdicts):
    ratios = [v for v in verdicts if v.measure == "ratio" and v.estimate is not None][:2]
    (chart,) = section(verdicts, {v.claim: v.claim for v in ratios}).charts
    ordered = sorted(ratios, key=lambda v: v.estimate)
    assert chart.data.names == tuple(v.claim for v in ordered)
    for row, verdict in zip(chart.points.iter_rows(named=True), ordered, strict=True):
        assert (row["estimate"], row["low"], row["high"]) == (verdict.estimate, verdict.low, verdict.high)
        drawn = chart.seeds.filter(series=verdict.claim)
        assert dict(drawn.select("seed", "value").iter_rows()) == verdict.seeds


def test_the_number_on_a_mark_is_that_of_the_answer(verdicts):
    (verdict, *_) = (v for v in verdicts if v.measure == "ratio" and v.estimate is not None)
    for estimate in (verdict.estimate, 3.6e-6):
        one = replace(verdict, estimate=estimate, low=estimate / 1.3, high=estimate * 1.3, seeds={})
        quoted = fill_answer(f"{{{one.claim}.estimate}}", [one]).replace("\u00a0", " ")
        assert texts(section([one], {"it": one.claim}).charts[0])[0].lstrip("×") == quoted


@pytest.mark.parametrize(("near", "side"), [(-0.08, "right"), (0.08, "left")])
def test_a_number_beside_the_line_without_effect_has_room_on_its_side(verdicts, near, side):
    numbers = {"near": near, "far": -25 * near}
    drawn = [replace(verdicts[0], claim=c, measure="exponent", estimate=x, low=x, high=x) for c, x in numbers.items()]
    spec = spec_with_data(section([replace(one, seeds={}) for one in drawn], {"a": "near", "b": "far"}).charts[0])
    rows = [row for name, part in spec["datasets"].items() if name.startswith("data") for row in part]
    (row,) = (row for row in rows if row.get("x") == near and "side" in row)
    across = (layer["encoding"]["x"] for layer in spec["layer"])
    low, high = next(x["scale"]["domain"] for x in across if "scale" in x)
    room = near - low if side == "right" else high - near
    assert row["side"] == side
    assert room / (high - low) > len(row["text"]) / 50, "of a phone a letter takes a fiftieth"


def test_a_claim_without_a_number_says_its_verdict_in_its_row(verdicts):
    (verdict, *_) = (v for v in verdicts if v.measure == "ratio" and v.estimate is not None)
    absent = replace(verdict, claim="absent", estimate=None, low=None, high=None, verdict="not testable here")
    (chart,) = section([verdict, absent], {"held": verdict.claim, "absent": "absent", "new": "new"}).charts
    assert texts(chart)[1:] == ["not testable here", "not judged"]
    assert section([absent], {"absent": "absent"}).charts == ()


def test_the_caption_says_how_often_intervals_cover_at_one_level_or_at_several(verdicts):
    one = replace(verdicts[0], measure="ratio", estimate=2.0, low=1.0, high=3.0, seeds={}, level=0.025)
    other = replace(one, claim="other", level=0.00625)
    assert "; bar: 97.5 % interval" in section([one], {"a": one.claim}).charts[0].caption
    both = section([one, other], {"a": one.claim, "b": "other"}).charts[0].caption
    assert "; bars: the intervals that decided, of 97.5 % to 99.375 %" in both


def test_shares_of_seeds_have_no_dots_of_seeds(verdicts):
    share = replace(verdicts[0], measure="share", estimate=0.5, low=0.2, high=0.8, seeds={1: -3.0})
    assert section([share], {"it": share.claim}).charts[0].seeds.is_empty()


def test_numbers_of_two_kinds_and_rows_that_are_not_there_are_refused(verdicts):
    one = replace(verdicts[0], measure="ratio", estimate=2.0, low=1.0, high=3.0)
    other = replace(one, claim="other", measure="difference")
    with pytest.raises(ReportError) as refused:
        section([one, other], {"a": one.claim, "b": "other"})
    assert [(issue.code, issue.where) for issue in refused.value.issues] == [("conflict", "estimates")]
    with pytest.raises(ReportError) as refused:
        section([one], {"a": one.claim}, ink=["c"])
    assert [(issue.code, issue.where) for issue in refused.value.issues] == [("unknown-name", "ink")]
