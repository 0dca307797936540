"""The loss of a classifier is a mean over sentences, and its pages say so wherever a unit stands."""

import json

import polars as pl

from lnlab.catalogue import REGISTRIES
from lnlab.report.compose import build_parts
from lnlab.report.loss_units import loss_item, mean_over
from lnlab.report.page.methods import methods_paragraphs
from lnlab.report.sections.plots import depth_profile
from lnlab.report.words.quantity_words import quantity_definition, quantity_with_unit
from lnlab.select.quantity import quantities
from lnlab.specfile.columns import RECORDED
from lnlab.tables import Results
from lnlab.vocabulary.quantities import MEASURED
from lnlab.vocabulary.training import OF_ANOTHER_LOOP, RECORDED_CURVES
from lnlab.vocabulary.updates import RECORDED_UPDATES

SIX = {"stack": "decoder", "tensor": "w2", "decoder.cross_attention": True, "model.tied": "target", "model.layers": 6}


def classifying(results, classes=lambda _: 3):
    """The same runs, as if their tasks had so many classes."""

    def changed(setting):
        found = json.loads(setting)
        return json.dumps({**found, "task": {**found["task"], "classes": classes(found)}})

    settings = pl.col("setting").map_elements(changed, pl.String)
    return Results(results.runs.with_columns(settings), results.axes, results.tables)


def test_a_drawing_says_what_its_numbers_are_of(results):
    before, after = both(lambda: depth_profile(results, quantity="gradient_norm", where=SIX).charts[0])
    assert "nats per token" in before.caption
    assert "nats per sentence" in after.caption
    assert "nats per sentence" in after.alt
    assert "nats per sentence" in json.dumps(after.spec)
    assert "per token" not in "".join((after.caption, after.alt, json.dumps(after.spec)))
    assert after.points.equals(before.points)


def both(build):
    with mean_over("token"):
        before = build()
    with mean_over("sentence"):
        return before, build()


def test_a_page_takes_the_unit_of_its_own_runs(facts, results):
    (of_sentences, *_), (of_tokens, *_) = (build_parts(facts, each) for each in (classifying(results), results))
    assert "nats per sentence" in of_sentences.section.charts[0].caption
    assert "nats per token" in of_tokens.section.charts[0].caption


def test_tokens_stay_tokens_also_beside_a_classifier(facts, results, golden):
    some = classifying(results, lambda setting: 3 if setting["encoder"]["placement"]["kind"] == "post" else None)
    assert [loss_item(each) for each in (results, some, classifying(results))] == ["token", "token", "sentence"]
    golden(" ".join(methods_paragraphs(facts, some)))


def test_every_unit_can_be_filled_in():
    with mean_over("sentence"):
        names = [*MEASURED, *quantities.entries]
        texts = [text for n in names for text in (quantity_with_unit(n), quantity_definition(n))]
    assert not [text for text in texts if "{" in text or "per token" in text]


def test_a_derived_quantity_has_its_words_where_it_is_registered_and_nowhere_else():
    assert [entry.name for entry in quantities if entry.facts.words is None] == []
    assert quantities.entries.keys() & MEASURED.keys() == set()


def test_a_measured_quantity_has_the_words_that_its_probe_is_registered_with():
    measured = [entry.facts.quantities for entry in REGISTRIES["probe"] if entry.facts.table != "texts"]
    words = {name: stated[name] for stated in measured for name in stated}
    assert words == {name: MEASURED[name] for name in words}
    assert MEASURED.keys() == words.keys() | set(RECORDED) | set(RECORDED_UPDATES)
    assert not words.keys() & RECORDED_UPDATES.keys()  # a recorder reads these in hooks, and no probe does
    assert RECORDED_CURVES.keys() == set(RECORDED)


def test_nothing_is_said_of_how_another_loop_made_its_numbers(golden):
    with mean_over("item"):
        of_others = [quantity_definition(name) for name in OF_ANOTHER_LOOP]
        golden(quantity_definition("loss"))
        golden(quantity_definition("accuracy"))
        golden(quantity_definition("learning_rate"))
        every = [t for n in [*MEASURED, *quantities.entries] for t in (quantity_with_unit(n), quantity_definition(n))]
        assert [
            text for text in every if "item" in text or "nats per" in text or text.endswith((",", ", )", " "))
        ] == []
        golden(quantity_with_unit("largest_eigenvalue"))
    assert [words for words in of_others if "as it was" not in words or "nats" in words] == []
    assert "label smoothing" in quantity_definition("loss"), "of lnlab's own loop all is known"
