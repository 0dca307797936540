"""Translations as a section: what is shown, of whom, and what is kept back."""

import json

import polars as pl
import pytest

from lnlab.errors import LabError
from lnlab.report.folder import read_folder
from lnlab.report.sections.translations import translations
from lnlab.report.write import write_report
from lnlab.tables import Results

SIX = {"model.layers": 6, "decoder.cross_attention": True, "model.tied": "target"}
REFERENCES = {1: "the dog sleeps .", 2: "she reads a book .", 5: "he sees it ."}
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def told(results, steps=(0, 40), shown=True, hypothesis=None, scored=True):
    """Every run says the references from the last step on, Post-LN but for the second one."""
    texts, scores = [], []
    for run, variant, seed in results.runs.select("run", "variant", "seed").iter_rows():
        for step in steps:
            at = {"run": run, "variant": variant, "seed": seed, "step": step, "measurement": f"{run}-{step}"}
            for index, reference in REFERENCES.items():
                right = step == steps[-1] and not (variant.startswith("post") and index == 2)
                said = hypothesis(variant, seed, index) if hypothesis else reference if right else "a dog ."
                words = {"source": f"Satz {index}", "reference": reference, "hypothesis": said}
                kept = {word: text if shown else None for word, text in words.items()}
                texts += [{**at, "quantity": word, "index": index, "text": text} for word, text in kept.items()]
                value = 100.0 if right else 10.0 * index + seed
                scores += [{**at, "quantity": "sentence_bleu", "index": index, "value": value}] * scored
            texts.append({**at, "quantity": "signature", "text": SIGNATURE})
    made = {
        name: pl.DataFrame(rows, schema=results.tables[name].schema, infer_schema_length=None)
        for name, rows in (("texts", texts), ("sites", scores))
    }
    sites = pl.concat([results.tables["sites"], made["sites"]])
    return Results(results.runs, results.axes, {**results.tables, "texts": made["texts"], "sites": sites})


def lines(section):
    return [[text for text, _ in row] for row in section.tables[0].grid.rows]


def test_source_and_reference_stand_above_what_each_variant_says(results, golden):
    section = translations(told(results), where=SIX)
    assert section.tables[0].grid.headings == ("sentence", "of", "text", "BLEU")
    assert lines(section)[:8] == [
        ["1", "source", "Satz 1", ""],
        ["", "reference", "the dog sleeps .", ""],
        ["", "Post-LN", "the dog sleeps .", "100"],
        ["", "Pre-LN", "the dog sleeps .", "100"],
        ["2", "source", "Satz 2", ""],
        ["", "reference", "she reads a book .", ""],
        ["", "Post-LN", "a dog .", "21.0"],
        ["", "Pre-LN", "she reads a book .", "100"],
    ]
    assert len(lines(section)) == 12
    golden(section.finding)
    assert section.missing == ""


def test_the_exact_table_says_which_seed_after_how_many_updates(results):
    rows = translations(told(results), where=SIX).tables[0].rows
    assert rows.columns == ["sentence", "line", "seed", "step", "text", "bleu"]
    assert rows.drop_nulls("seed").select("seed", "step").unique().rows() == [(1, 40)]
    assert rows.filter(sentence=2, line="Post-LN").row(0) == (2, "Post-LN", 1, 40, "a dog .", 21.0)
    assert rows.filter(line="source")["seed"].null_count() == 3


def test_where_picks_seeds_and_steps_and_sentences_are_counted(results):
    section = translations(told(results), where={**SIX, "seed": 3, "step": 0, "placement": "post"}, sentences=2)
    said = [row for row in lines(section) if row[2] == "a dog ."]
    assert said == [["", "translation", "a dog .", "13.0"], ["", "translation", "a dog .", "23.0"]]
    assert "after 0 updates, seed 3" in section.tables[0].caption


def test_text_that_may_not_be_shown_is_not_there_but_its_scores_are(results, golden):
    section = translations(told(results, shown=False), where=SIX)
    assert section.tables[0].grid.headings == ("sentence", "of", "BLEU")
    assert lines(section) == [
        ["1", "Post-LN", "100"],
        ["", "Pre-LN", "100"],
        ["2", "Post-LN", "21.0"],
        ["", "Pre-LN", "100"],
        ["5", "Post-LN", "100"],
        ["", "Pre-LN", "100"],
    ]
    assert section.tables[0].rows["text"].null_count() == 6
    assert section.finding == "Mean sentence BLEU over 3 sentences: 74 (Post-LN) and 100 (Pre-LN)"
    golden(section.tables[0].caption.rpartition(") ")[2])


def test_without_scores_there_are_texts_alone(results, golden):
    section = translations(told(results, scored=False), where=SIX, sentences=1)
    assert [row[-1] for row in lines(section)] == ["", "", "–", "–"]
    silent = translations(told(results, scored=False, shown=False), where=SIX)
    golden(silent.finding)


def test_without_translations_there_is_no_table(results, golden):
    section = translations(results, where=SIX)
    golden(section.finding)
    assert section.tables == ()


def test_only_the_rows_that_are_shown_are_kept(results):
    given = told(results)
    section = translations(given, where=SIX, sentences=2)
    assert section.rows["texts"].height == 2 * (2 * 3 + 1)
    assert section.rows["sites"].height == 2 * 2
    kept = Results(given.runs, given.axes, {**given.tables, **section.rows})
    assert lines(translations(kept, where=SIX, sentences=2)) == lines(section)


def test_variants_with_other_sentences_have_their_own_source(results):
    given = told(results)
    other = pl.col("variant").str.starts_with("pre") & (pl.col("quantity") == "source")
    text = pl.when(other).then(pl.lit("Etwas anderes")).otherwise("text").alias("text")
    changed = Results(given.runs, given.axes, {**given.tables, "texts": given.tables["texts"].with_columns(text)})
    assert [row[2] for row in lines(translations(changed, where=SIX, sentences=1))] == [
        *("Satz 1", "the dog sleeps .", "the dog sleeps ."),
        *("Etwas anderes", "the dog sleeps .", "the dog sleeps ."),
    ]


@pytest.mark.parametrize(("table", "probe"), [("texts", "translations"), ("sites", "bleu")])
def test_two_answers_for_one_state_are_refused(results, table, probe, golden):
    given = told(results)
    twice = given.tables[table].filter(pl.col("index").is_not_null()).with_columns(pl.lit("again").alias("measurement"))
    doubled = {**given.tables, table: pl.concat([given.tables[table], twice])}
    with golden.raises(LabError):
        translations(Results(given.runs, given.axes, doubled), where=SIX)


def test_texts_reach_page_notebook_and_files_as_text(results, facts, tmp_path):
    """A hypothesis that would be markup, a formula and a command, on two lines."""
    evil = "=1+1</script><img src=x onerror=alert(1)>\n\\input{x}\x00"
    given = told(results, hypothesis=lambda *_: evil)
    section = {"kind": "translations", "where": SIX, "sentences": 1}
    write_report(tmp_path, facts.__class__(**vars(facts) | {"sections": (section,)}), given, [])
    page = (tmp_path / "index.html").read_text()
    assert "=1+1&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; \\input{x}" in page
    assert "<img src=x" not in page
    assert "\x00" not in page
    assert "'=1+1</script>" in (tmp_path / "tables" / "table-1.csv").read_text()
    assert r"\textbackslash{}input\{x\}" in (tmp_path / "tables" / "table-1.tex").read_text()
    cells = json.loads((tmp_path / "notebook.ipynb").read_text())["cells"]
    assert not any("text/html" in output["data"] for cell in cells for output in cell.get("outputs", ()))
    assert read_folder(tmp_path)[1].tables["texts"].height == given.tables["texts"].height
