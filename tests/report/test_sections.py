"""Sections: what a figure says is what the numbers say, for whole, partial, spoiled and ambiguous results."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.errors import LabError
from lnlab.report.charts.render import to_svg
from lnlab.report.compose import build_parts
from lnlab.report.data.theory import TheoryLine
from lnlab.report.figures.findings import change_in_words, exponent_in_words, exponent_range, size_exponents
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.heatmap import heatmap
from lnlab.report.sections.plots import depth_profile, size_plot
from lnlab.report.sections.small_multiples import small_multiples
from lnlab.report.words.answer_text import fill_answer
from lnlab.tables import Results
from tests.report.conftest import changed

FULL = {"decoder.cross_attention": True, "model.tied": "target"}
W2 = {"stack": "decoder", "tensor": "w2", **FULL}
SIX = {**W2, "model.layers": 6}
CONSTANT, FALLING = (TheoryLine(law=law, through="first") for law in (1, "1 / sqrt(x)"))
SLOPED = TheoryLine(law="1 + 3 * x / 2")
BOUND = TheoryLine(law="x * sqrt(log(x))", called="L√ln L", through="first", source="Theorem 1")


def rows(results, variant, **conditions):
    return results.tables["sites"].filter(quantity="gradient_norm", variant=variant, **conditions)


def test_means_and_bands_are_geometric_student_intervals_over_seeds(results):
    (chart,) = depth_profile(results, quantity="gradient_norm", where=SIX).charts
    of = rows(results, "post-6-True-target", stack="decoder", tensor="w2", layer=4)
    logs = np.log(of["value"].to_numpy())
    low, high = stats.t.interval(0.95, len(logs) - 1, logs.mean(), stats.sem(logs))
    point = chart.points.filter(series="Post-LN", x=4).row(0, named=True)
    assert point["n"] == 10
    assert [math.log(point[k]) for k in ("estimate", "low", "high")] == pytest.approx([logs.mean(), low, high])


def test_the_estimate_of_a_claim_stands_below_the_name_of_its_line_or_in_the_caption(results, verdicts):
    (grows,) = (v for v in verdicts if v.claim == "post_grows")
    absent = replace(grows, claim="absent", estimate=None)
    of = {"verdicts": [grows, absent], "quantity": "gradient_norm", "called": "from first to last"}
    said = fill_answer("×{post_grows.estimate} from first to last", [grows])
    (chart,) = depth_profile(results, where=SIX, estimates={"Post-LN": "post_grows", "Pre-LN": "absent"}, **of).charts
    assert [row["label"] for row in chart.names.rows] == ["Pre-LN", "Post-LN↵" + said.replace("from ", "from↵")]
    assert said not in chart.caption
    (chart,) = depth_profile(results, where=SIX, estimates={"Post-LN, late": "post_grows"}, **of).charts
    assert chart.caption.endswith(f"Post-LN, late: {said}.")
    (chart,) = depth_profile(
        results, where={**SIX, "placement": "post"}, estimates={"Post-LN": "post_grows"}, **of
    ).charts
    assert chart.names is None
    assert chart.caption.endswith(f"Post-LN: {said}.")


def test_the_heading_is_computed_from_the_numbers(results, golden):
    section = depth_profile(results, quantity="gradient_norm", where=SIX)
    ends = {}
    for placement in ("post", "pre"):
        of = rows(results, f"{placement}-6-True-target", stack="decoder", tensor="w2").sort("seed")
        pair = (of.filter(layer=6)["value"] / of.filter(layer=1)["value"]).to_numpy()
        ends[placement] = f"{float(stats.gmean(pair)):.2g}"
    said = f"Post-LN grows {ends['post']}× from the first to the last decoder layer; Pre-LN falls to {ends['pre']}×"
    assert section.finding == said
    even = (pl.col("layer") == 6) & pl.col("run").str.starts_with("pre")
    level = changed(results, pl.col("value") / 0.654, even)
    golden(depth_profile(level, quantity="gradient_norm", where=SIX).finding)
    turned = changed(results, 1 / pl.col("value"))
    golden(depth_profile(turned, quantity="gradient_norm", where=SIX).finding)


def test_on_a_linear_axis_the_heading_says_from_where_to_where(results):
    where = {**SIX, "placement": "pre"}
    of = rows(results, "pre-6-True-target", stack="decoder", tensor="w2")
    first, last = (f"{of.filter(layer=n)['value'].mean():.3f}" for n in (1, 6))
    said = f"The gradient norm falls from {first} to {last} between the first and the last decoder layer"
    assert depth_profile(results, quantity="gradient_norm", where=where, scale="linear").finding == said
    same = changed(results, pl.lit(3.0))
    assert "stays level (3.00)" in depth_profile(same, quantity="gradient_norm", where=where, scale="linear").finding


def after_warmup(results):
    """The same with rows of the Post-LN runs after 400 steps, twice as large, whose last step that is."""
    post = pl.col("run").str.starts_with("post")
    later = results.tables["sites"].filter(post).with_columns(pl.lit(400, pl.Int64).alias("step"), pl.col("value") * 2)
    sites = pl.concat([results.tables["sites"], later])
    runs = results.runs.with_columns(steps=pl.when(post).then(400).otherwise("steps"))
    return Results(runs, results.axes, {**results.tables, "sites": sites})


def test_steps_that_are_asked_for_are_series(results, golden):
    (chart,) = depth_profile(after_warmup(results), quantity="gradient_norm", where={**SIX, "step": [0, 400]}).charts
    post, pre = ("Post-LN, at initialization", "Post-LN, after 400 steps"), "Pre-LN, at initialization"
    assert chart.data.names == (*post, pre)
    first, later = (chart.points.filter(series=name).sort("x")["estimate"] for name in post)
    assert later.to_list() == pytest.approx((2 * first).to_list())
    assert len({*chart.data.style.colours}) == 3
    with golden.raises(LabError):
        depth_profile(
            after_warmup(results), quantity="gradient_norm", where={"model.layers": 6, **FULL, "step": [0, 400]}
        )


def test_series_at_different_last_steps_are_named_by_them(results):
    (chart,) = depth_profile(after_warmup(results), quantity="gradient_norm", where={**SIX, "step": "last"}).charts
    assert chart.data.names == ("Post-LN, after 400 steps", "Pre-LN, at initialization")
    (one,) = depth_profile(results, quantity="gradient_norm", where={**SIX, "step": "last"}).charts
    assert one.data.names == ("Post-LN", "Pre-LN")


@pytest.mark.parametrize("power", [9, -9])
def test_factors_beyond_all_digits_are_told_in_words(results, power, golden):
    far = changed(results, pl.lit(10.0) ** (power * (pl.col("layer") - 1) / 5))
    golden(depth_profile(far, quantity="gradient_norm", where={**SIX, "placement": "pre"}).finding)


def test_stacks_that_are_not_chosen_stand_side_by_side(results):
    where = {"tensor": "w2", "model.layers": 6, **FULL}
    (chart,) = depth_profile(results, quantity="gradient_norm", where=where).charts
    assert set(chart.points["panel"]) == {"decoder", "encoder"}
    assert "facet" in chart.spec
    assert to_svg(spec_with_data(chart)).count("decoder") >= 1


def test_two_numbers_of_a_seed_at_one_place_are_refused_not_averaged(results, golden):
    with golden.raises(LabError):
        depth_profile(results, quantity="gradient_norm", where={"model.layers": 6, **FULL})


def test_variants_share_the_hue_of_their_family_and_differ_in_shade_and_shape(results):
    where = {"stack": "decoder", "tensor": "w2", "model.layers": 6, "model.tied": "target"}
    (chart,) = depth_profile(results, quantity="gradient_norm", where=where).charts
    names = [f"{p}-LN {w} cross-attention" for p in ("Post", "Pre") for w in ("with", "without")]
    assert chart.points["series"].unique(maintain_order=True).to_list() == names
    marks = chart.spec["layer"][-1]["encoding"]
    assert marks["color"]["scale"]["range"] == ["#D55E00", "#7A3300", "#0072B2", "#003250"]
    assert len({case["value"] for case in marks["shape"]["condition"]}) == 4


def test_missing_runs_are_counted_and_named(results, golden):
    half = pl.col("seed") > 4
    runs = results.runs.with_columns(
        status=pl.when(half & (pl.col("seed") < 8)).then(None).when(half).then(pl.lit("timed_out")).otherwise("status")
    )
    sites = results.tables["sites"].filter(~half)
    partial = Results(runs, results.axes, {**results.tables, "sites": sites})
    section = depth_profile(partial, quantity="gradient_norm", where=SIX)
    golden(section.missing)
    assert "over 4 seeds" in section.charts[0].caption


def test_a_variant_without_any_run_is_said_to_have_none(results, golden):
    sites = results.tables["sites"].filter(~pl.col("variant").str.starts_with("post"))
    partial = Results(results.runs, results.axes, {**results.tables, "sites": sites})
    section = depth_profile(partial, quantity="gradient_norm", where=SIX)
    golden(section.finding)
    without = "; Post-LN was measured at fewer than two positions"
    assert section.finding.endswith(without)


@pytest.mark.parametrize(
    "ratios", [(0.05, 0.3, 0.9), (0.9, 1.0, 1.1, 1.01), (0.6, 1.0, 1.5, 1.2), (0.2, 0.21, 0.19), (1.05, 1.06, 1.055)]
)
def test_a_curve_is_level_only_where_its_whole_interval_is(ratios, golden):
    pairs = [(2.0, 2.0 * ratio) for ratio in ratios]
    golden(change_in_words(pairs, "A", " over layers", log=True))


@pytest.mark.parametrize("ends", [(1.0, 2.9, 3.2), (1.99, 2.02, 2.0), (0.0, 6.0, 3.0), (2.5, 2.6, 2.55)])
def test_a_difference_is_level_only_where_its_whole_interval_is(ends, golden):
    start = 2.0
    golden(change_in_words([(start, end) for end in ends], "A", "", log=False))


def test_one_seed_has_no_band_and_says_so(results, golden):
    one = {**results.tables, "sites": results.tables["sites"].filter(seed=1)}
    section = depth_profile(Results(results.runs, results.axes, one), quantity="gradient_norm", where=SIX)
    assert section.charts[0].points["low"].null_count() == 12
    golden(section.charts[0].caption)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_counted_and_not_drawn(results, value, golden):
    spoiled = changed(results, pl.lit(value), (pl.col("seed") == 3) & (pl.col("layer") == 2))
    section = depth_profile(spoiled, quantity="gradient_norm", where=SIX)
    golden(section.charts[0].caption)
    assert "over 9 to 10 seeds" in section.charts[0].caption
    to_svg(spec_with_data(section.charts[0]))


def test_zeros_and_negative_numbers_are_counted_on_a_logarithmic_axis(results, golden):
    spoiled = changed(results, -pl.col("value"), pl.col("seed") == 3)
    section = depth_profile(spoiled, quantity="gradient_norm", where=SIX)
    golden(section.charts[0].caption)
    straight = depth_profile(spoiled, quantity="gradient_norm", where=SIX, scale="linear")
    assert "not drawn" not in straight.charts[0].caption
    to_svg(spec_with_data(straight.charts[0]))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("section", [depth_profile, size_plot])
def test_extreme_numbers_are_drawn(results, scale, section):
    where = SIX if section is depth_profile else {**W2, "layer": "last"}
    made = section(changed(results, pl.col("value") * scale), quantity="gradient_norm", where=where)
    drawn = to_svg(spec_with_data(made.charts[0]))
    assert "NaN" not in drawn
    assert "Infinity" not in drawn


def test_nothing_measured_is_a_sentence_and_not_an_error(results, golden):
    bare = Results(results.runs, results.axes, {n: t.clear() for n, t in results.tables.items()})
    for section in (depth_profile, size_plot, heatmap, partial(small_multiples, panels="placement")):
        made = section(bare, quantity="gradient_norm", where={"tensor": "w2"})
        golden(made.finding)
        assert made.charts == ()


def test_the_exponent_is_the_least_squares_slope_within_each_seed(results):
    where = {**W2, "layer": "last"}
    (chart,) = size_plot(results, quantity="gradient_norm", where=where, theory=[CONSTANT, FALLING]).charts
    of = chart.seeds.filter(series="Pre-LN")
    slopes = [
        np.polyfit(np.log(one["x"].to_numpy()), np.log(one["value"].to_numpy()), 1)[0] for _, one in of.group_by("seed")
    ]
    assert sorted(size_exponents(of)) == pytest.approx(sorted(slopes))


def test_a_table_has_the_exponent_of_each_line_with_its_interval_over_seeds(results, golden):
    layers = pl.col("run").str.extract(r"-(\d+)-").cast(pl.Float64)
    slope = pl.when(pl.col("run").str.starts_with("pre")).then(-0.5 + 0.01 * pl.col("seed")).otherwise(0.25)
    where = {**W2, "layer": "last"}
    section = size_plot(changed(results, layers.pow(slope)), quantity="gradient_norm", where=where, exponents=True)
    (table,) = section.tables
    slopes = -0.5 + 0.01 * np.arange(1, 11)
    low, high = stats.t.interval(0.95, 9, slopes.mean(), stats.sem(slopes))
    (post, pre) = table.rows.rows()
    assert post[0] == "Post-LN"
    assert post[1:4] == pytest.approx((0.25, 0.25, 0.25))
    assert pre[1:] == pytest.approx((slopes.mean(), low, high, 10))
    assert [row[0][0] for row in table.grid.rows] == ["Post-LN", "Pre-LN"]
    assert table.grid.rows[1][1][0].replace("\u00a0", " ") == "−0.445 [−0.467, −0.423]"
    golden(table.caption)
    assert size_plot(results, quantity="gradient_norm", where=where).tables == ()


def test_a_planted_power_law_is_found_and_named(results):
    layers = pl.col("run").str.extract(r"-(\d+)-").cast(pl.Float64)
    planted = changed(results, layers.pow(-0.5) * (1 + 1e-3 * pl.col("seed")))
    section = size_plot(planted, quantity="gradient_norm", where={**W2, "layer": "last"}, theory=[FALLING])
    law = "falls (exponent −0.5000, all seeds agree)"
    assert section.finding.endswith(f"Post-LN {law}; Pre-LN {law}")


def test_a_section_read_again_from_its_own_rows_is_the_same(facts, results):
    for part in build_parts(facts, results):
        kept = Results(results.runs, results.axes, {**results.tables, **part.section.rows})
        (again,) = build_parts(replace(facts, sections=(facts.sections[part.number - 1],)), kept)
        assert again.section.finding == part.section.finding
        assert again.section.charts[0].seeds.equals(part.section.charts[0].seeds)


def test_a_derived_quantity_keeps_the_rows_it_is_made_of(results):
    where = {**W2, "layer": "last"}
    made = size_plot(results, quantity="scaled_gradient_norm", where=where)
    kept = Results(results.runs, results.axes, {**results.tables, **made.rows})
    assert size_plot(kept, quantity="scaled_gradient_norm", where=where).charts[0].points.equals(made.charts[0].points)
    assert made.rows["sites"].height < results.tables["sites"].height


def test_a_named_law_is_drawn_by_its_formula(results, golden):
    """The bound's form, d sqrt(ln d), which is no power."""
    section = size_plot(results, quantity="gradient_norm", where={**W2, "layer": "last"}, theory=[BOUND])
    (chart,) = section.charts
    start = chart.points.filter(series="Post-LN", x=6)["estimate"][0]
    (law,) = (d for d in chart.spec["datasets"].values())
    last = next(r for r in law if r["law"].startswith("Post-LN") and r["x"] == 14)
    assert last["y"] == pytest.approx(start * 14 * math.sqrt(math.log(14)) / (6 * math.sqrt(math.log(6))))
    assert last["label"] == "L√ln L"
    assert "L√ln L (Theorem 1)" in chart.caption
    golden(chart.caption)


def test_straight_lines_are_drawn_at_every_layer_and_fit_into_the_picture(results, golden):
    (chart,) = depth_profile(results, quantity="gradient_norm", where=SIX, theory=[SLOPED, TheoryLine(law=50)]).charts
    (rows,) = (d for d in chart.spec["datasets"].values())
    assert [r["y"] for r in rows] == [2.5, 4, 5.5, 7, 8.5, 10] + [50] * 6
    assert chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1] > 50
    golden(chart.caption)
    assert ">1 + 3l/2<" in to_svg(spec_with_data(chart))


def test_a_number_that_moves_with_the_size_makes_no_series_of_its_own(results):
    """d_ff = d_model: one line, not one a width. A word that moves with it still does."""
    where = {**W2, "layer": "last", "placement": "post"}
    layers = results.axes.filter(axis="model.layers")
    led = layers.with_columns(axis=pl.lit("model.d_ff"), number=2 * pl.col("number"))
    tied = Results(results.runs, pl.concat([results.axes, led]), results.tables)
    (chart,) = size_plot(tied, quantity="gradient_norm", where=where).charts
    assert chart.points["series"].unique().to_list() == ["all runs"]
    word = led.with_columns(axis=pl.lit("norm"), number=pl.lit(None, pl.Float64))
    told = Results(results.runs, pl.concat([results.axes, word]), results.tables)
    (chart,) = size_plot(told, quantity="gradient_norm", where=where).charts
    assert chart.points["series"].n_unique() == 5


def test_exponents_that_read_alike_are_no_range():
    assert exponent_range({"a": -0.5, "b": -0.499, "c": -0.501}) == "all 3 exponents are −0.5"
    assert exponent_range({"a": -0.5, "b": 0.25}) == "2 exponents from −0.5 (a) to 0.25 (b)"


def test_a_closed_form_is_a_thin_line_through_its_own_numbers(results, golden):
    """The gradient norm drawn against twice itself: the line is not moved to the data."""
    sites = results.tables["sites"]
    law = sites.filter(quantity="gradient_norm").with_columns(quantity=pl.lit("planted_law"), value=2 * pl.col("value"))
    both = Results(results.runs, results.axes, {**results.tables, "sites": pl.concat([sites, law])})
    where = {**W2, "layer": "last"}
    section = size_plot(both, quantity="gradient_norm", where=where, closed_form="planted_law")
    (chart,) = section.charts
    (rows,) = chart.spec["datasets"].values()
    means = {(s, x): y for s, x, y in chart.points.select("series", "x", "estimate").iter_rows()}
    assert {(row["law"].removeprefix("closed form "), row["x"]): row["y"] / 2 for row in rows} == pytest.approx(means)
    assert set(section.rows["sites"]["quantity"]) == {"gradient_norm", "planted_law"}
    (alone,) = size_plot(results, quantity="gradient_norm", where=where, closed_form="planted_law").charts
    golden(alone.caption)


@pytest.mark.parametrize(
    ("slopes", "text"),
    [
        ((-0.02, 0.03, 0.01, 0.0), "stays level"),
        ((-1.0, 0.5, 0.2), "shows no clear direction over 3 seeds"),
        ((0.5, 0.55, 0.6), "rises"),
        ((-0.5, -0.55, -0.6), "falls"),
    ],
)
def test_an_exponent_is_level_only_where_its_interval_moves_little_over_the_sizes(slopes, text):
    assert exponent_in_words(slopes, 4.0).startswith(f"{text} (exponent ")
