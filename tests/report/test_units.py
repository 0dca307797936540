"""The loss of a classifier is a mean over sentences, and its pages say so wherever a unit stands."""

import json

import polars as pl

from lnlab.report.methods import prose
from lnlab.report.sections.depth_profile import depth_profile
from lnlab.report.sections.table import table
from lnlab.report.units import in_its_unit
from lnlab.tables import Results

SIX = {"stack": "decoder", "tensor": "w2", "decoder.cross_attention": True, "model.tied": "target", "model.layers": 6}


def classifying(results, classes=lambda _: 3):
    """The same runs, as if their tasks had so many classes."""

    def changed(setting):
        found = json.loads(setting)
        return json.dumps({**found, "task": {**found["task"], "classes": classes(found)}})

    settings = pl.col("setting").map_elements(changed, pl.String)
    return Results(results.runs.with_columns(settings), results.axes, results.tables)


def test_a_drawing_says_what_its_numbers_are_of(results):
    section = depth_profile(results, quantity="gradient_norm", where=SIX)
    (before,), (after,) = section.charts, in_its_unit(section, classifying(results)).charts
    assert "nats per token" in before.caption
    assert after.caption == before.caption.replace("per token", "per sentence")
    assert after.alt == before.alt.replace("per token", "per sentence")
    assert json.dumps(after.spec) == json.dumps(before.spec).replace("per token", "per sentence")
    assert after.points.equals(before.points)


def test_so_does_a_table(results):
    where = {k: v for k, v in SIX.items() if k != "model.layers"} | {"layer": "last"}
    section = table(results, quantity="gradient_norm", rows="placement", columns="model.layers", where=where)
    (found,) = in_its_unit(section, classifying(results)).tables
    assert "nats per sentence" in found.caption
    assert found.rows.equals(section.tables[0].rows)


def test_tokens_stay_tokens_also_beside_a_classifier(facts, results):
    section = depth_profile(results, quantity="gradient_norm", where=SIX)
    assert in_its_unit(section, results) is section
    some = classifying(results, lambda setting: 3 if setting["encoder"]["placement"]["kind"] == "post" else None)
    assert in_its_unit(section, some) is section
    assert "a mean over tokens, in nats" in " ".join(prose(facts, some))
