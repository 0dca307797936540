"""A basin of a value that was chosen on tuning seeds shows the tuning runs, a grid for each decision."""

import math
from statistics import median

import polars as pl
import pytest

from lnlab.errors import ReportError
from lnlab.report.charts.render import to_svg
from lnlab.report.compose import build_parts
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.basin import basin
from lnlab.report.sections.curves import curves

LOSSES = {
    "post": {1e-3: (5.4, 5.6), 3e-3: (5.2, 5.3), 1e-2: (None, 6.0)},
    "pre": {3e-2: (4.9, 5.0), 1e-1: (4.6, 4.5), 1.0: (4.1, 4.2)},
}


def decision(placement, *, path="optimizer.lr"):
    tried = LOSSES[placement]
    score = {value: None if None in losses else median(losses) for value, losses in tried.items()}
    value = min((v for v in score if score[v] is not None), key=lambda v: score[v])
    return {
        "key": placement,
        "path": path,
        "about": {"placement": placement},
        "rule": {"kind": "best"},
        "seeds": [101, 102],
        "value": value,
        "met": True,
        "statistic": "median",
        "reason": f"the best of {len(tried)} candidates",
        "candidates": [{"value": v, "score": score[v], "losses": list(losses)} for v, losses in tried.items()],
        "rows": "digest",
        "look": 1,
    }


DECISIONS = tuple(decision(placement) for placement in LOSSES)


@pytest.fixture
def judged(trained):
    """Runs at one rate for each placement, as after a choice: 0.001 of Post-LN joined to 0.002 of Pre-LN is no grid."""
    return trained(rates=(1e-3, 2e-3))


def test_each_decision_has_its_own_grid_and_the_sentence_is_of_that(judged, golden):
    section = basin(judged, DECISIONS)
    golden(section.finding)
    (chart,) = section.charts
    drawn = {name: sorted(chart.points.filter(series=name)["x"]) for name in ("Post-LN", "Pre-LN")}
    assert drawn == {"Post-LN": [1e-3, 3e-3, 1e-2], "Pre-LN": [3e-2, 1e-1, 1.0]}
    assert chart.points.filter(series="Post-LN", x=3e-3)["estimate"].item() == pytest.approx(5.25)
    seeds = chart.seeds.filter(series="Post-LN", x=1e-2).sort("seed")
    assert seeds.select("seed", "value").rows() == [(101, math.inf), (102, 6.0)]
    assert "Dots: tuning runs (seeds 101–102, not judged); rings: chosen values" in chart.caption
    assert "1/2" in str(chart.spec)


def test_the_chosen_candidates_have_a_ring(judged):
    (chart,) = basin(judged, DECISIONS).charts
    data = [row for rows in chart.spec["datasets"].values() for row in rows if "label" not in row]
    rings = {(row["series"], row["x"]): row["y"] for row in data}
    assert rings == {("Post-LN", 3e-3): pytest.approx(5.25), ("Pre-LN", 1.0): pytest.approx(4.15)}
    assert "NaN" not in to_svg(spec_with_data(chart))


def test_a_selection_takes_the_decisions_of_its_runs(judged):
    (chart,) = basin(judged, DECISIONS, where={"placement": "pre"}).charts
    assert chart.points["x"].to_list() == [3e-2, 1e-1, 1.0]


def test_what_tuning_runs_are_not_known_by_is_refused(judged, golden):
    with golden.raises(ReportError):
        basin(judged, DECISIONS, quantity="nll")


def test_a_page_supplies_the_decisions(judged, facts_with, golden):
    (part,) = build_parts(facts_with({"kind": "basin"}, DECISIONS), judged)
    assert part.error == ""
    golden(part.section.finding)
    (other,) = build_parts(facts_with({"kind": "outcomes"}, DECISIONS), judged)
    assert other.error == ""


def test_without_a_decision_on_the_path_the_judged_runs_are_drawn(judged):
    other = tuple(decision(placement, path="schedule.warmup_steps") for placement in LOSSES)
    (chart,) = basin(judged, other, quantity="final_nll").charts
    assert set(chart.points["x"]) == {1e-3, 2e-3}
    assert isinstance(chart.points, pl.DataFrame)


@pytest.fixture
def facts_with():
    from lnlab.report.facts import ReportFacts

    def made(section, decisions):
        given = {"name": "q", "title": "Q", "spec": "", "path": "q.yaml", "digest": "0", "version": "0"}
        return ReportFacts(**given, sections=({**section, "title": "", "claims": []},), decisions=decisions)

    return made


def test_the_captions_of_curves_and_basins_say_what_was_chosen_and_that_it_lies_at_the_edge(judged, golden):
    grids = "0.003 in Post-LN (of 0.001, 0.003 and 0.01) and 1 in Pre-LN (of 0.03, 0.1 and 1)"
    said = f"Chosen learning rates, on tuning seeds 101–102: {grids}. The best lies at the edge of the grid (Pre-LN);"
    (basin_chart,) = basin(judged, DECISIONS).charts
    where = {"split": "validation", "optimizer.lr": 1e-3}
    (curve_chart,) = curves(judged, DECISIONS, quantity="nll", where=where).charts
    assert said in basin_chart.caption
    assert said in curve_chart.caption
    (alone,) = curves(judged, DECISIONS, quantity="nll", where={**where, "placement": "post"}).charts
    golden(alone.caption)
    assert "edge" not in alone.caption
    (nothing,) = curves(judged, quantity="nll", where=where).charts
    assert "hosen" not in nothing.caption


def test_a_rate_that_was_chosen_because_it_fails_is_not_called_the_best(judged, golden):
    failing = [{**each, "rule": {"kind": "failing", "below": 0.25}} for each in DECISIONS]
    where = {"split": "validation", "optimizer.lr": 1e-3}
    (chart,) = curves(judged, failing, quantity="nll", where=where).charts
    golden(chart.caption)
    assert "edge" not in chart.caption
