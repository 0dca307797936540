"""Methods and provenance are read from the settings and nothing else."""

import json
from dataclasses import replace

import polars as pl

from lnlab.report.page import provenance
from lnlab.report.page.methods import (
    methods_paragraphs,
    number_ranges,
    setting_leaves,
    settings_of_variants,
    values_by_path,
)
from lnlab.tables import Results


def test_the_prose_names_every_size_choice_and_seed(facts, results):
    text = " ".join(methods_paragraphs(facts, results))
    for words in (
        "encoder-decoder (d_model 128, heads 4, d_ff 256, dropout 0, tied target or none)",
        "Each stack has 6, 8, 10, 12 or 14 layers, softmax attention (dropout 0) and layer norm (eps 1e−05)",
        "placed as Post-LN or Pre-LN",
        "with cross-attention or without cross-attention",
        "corpus toy_german_english",
        "vocabulary 1000, batch_tokens 512, label_smoothing 0.1",
        "xavier_normal (gain 1)",
        "Nothing is trained",
        "gradient_norm at end (batches 6) and hidden_norm at init (batches 1)",
        "14 variants with 10 seeds each (1–10), 140 runs in all",
    ):
        assert words in text


def test_every_leaf_of_a_setting_is_listed_once(results):
    taken = values_by_path(settings_of_variants(results))
    assert taken["model.tied"] == ["target", "none"]
    assert taken["decoder.placement"] == ["post", "pre"]
    assert taken["decoder.norm.eps"] == [1e-05]
    grid = provenance.settings_grid(results)
    assert [row[0][0] for row in grid.rows] == sorted(taken)
    assert dict(setting_leaves({"kind": "a", "b": {"kind": "c", "d": 1}, "e": None})) == {
        "kind": "a",
        "b": "c",
        "b.d": 1,
        "e": None,
    }


def test_training_is_described_where_there_is_some(facts, results):
    trained = results.runs.with_columns(
        pl.col("setting")
        .str.replace('"train": {"steps": 0}', '"train": {"steps": 800}', literal=True)
        .str.replace('"optimizer": null', '"optimizer": {"kind": "adam", "lr": 0.001}', literal=True)
    )
    text = " ".join(methods_paragraphs(facts, Results(trained, results.axes, results.tables)))
    assert "Training takes 800 updates by adam (lr 0.001), at a constant learning rate." in text
    assert "Nothing is trained" not in text


def test_numbers_rise_and_what_is_not_trained_is_said_apart(facts, results):
    def changed(text, number):
        setting = json.loads(text)
        steps = (45, 0, 678)[number % 3]
        setting["train"] = {"steps": steps}
        setting["optimizer"] = {"kind": "adam", "lr": 0.004 / (1 + number % 2)} if steps else None
        setting["model"]["kind"] = "classifier"
        for stack in ("encoder", "decoder"):
            setting[stack] |= {"layers": 1, "norm": {"kind": ("layer", "none", "rms")[number % 3]}}
        return json.dumps(setting)

    given = [changed(text, n) for n, text in enumerate(results.runs["setting"])]
    runs = results.runs.with_columns(setting=pl.Series(given))
    text = " ".join(methods_paragraphs(facts, Results(runs, results.axes, results.tables)))
    assert "Training takes 45 or 678 updates by adam (lr 0.002 or 0.004), at a constant learning rate." in text
    assert "Other variants are measured at initialization and not trained." in text
    assert "The model is a classifier" in text
    assert "has 1 layer, softmax attention" in text
    assert "layer or rms norm or no norm" in text


def test_a_loss_is_a_mean_over_tokens_or_over_sentences(facts, results):
    assert "a mean over tokens, in nats" in " ".join(methods_paragraphs(facts, results))
    runs = [json.loads(setting) for setting in results.runs["setting"].to_list()]
    told = [json.dumps(setting | {"task": setting["task"] | {"classes": 3}}) for setting in runs]
    labelled = replace(results, runs=results.runs.with_columns(pl.Series("setting", told)))
    assert "a mean over sentences, in nats" in " ".join(methods_paragraphs(facts, labelled))


def test_interventions_are_described_once_with_all_that_they_take(facts, results):
    assert "intervention" not in " ".join(methods_paragraphs(facts, results))
    where = {"stack": None, "layer": None, "sublayer": None, "tensor": ["sum"]}

    def with_factor(setting, factor):
        cuts = [{"kind": "rescale", "where": where, "factor": factor}, {"kind": "clamp", "where": where}]
        return json.dumps(json.loads(setting) | {"interventions": cuts})

    given = [with_factor(text, 0.1 if n % 2 else 2) for n, text in enumerate(results.runs["setting"])]
    runs = results.runs.with_columns(setting=pl.Series(given))
    text = " ".join(methods_paragraphs(facts, Results(runs, results.axes, results.tables)))
    assert "Interventions in some variants: rescale at sum (factor 0.1 or 2); clamp at sum." in text


def test_a_precision_other_than_single_is_said(facts, results):
    assert "computed in" not in " ".join(methods_paragraphs(facts, results))
    long = pl.col("setting").str.replace('"steps": 0', '"steps": 0, "precision": "float64"', literal=True)
    text = " ".join(methods_paragraphs(facts, Results(results.runs.with_columns(long), results.axes, results.tables)))
    assert "Everything is computed in float64. Nothing is trained" in text


def test_runs_of_seeds_are_shortened():
    assert number_ranges([3, 1, 2, 7, 9, 10]) == "1–3, 7, 9–10"
    assert number_ranges([]) == ""


def test_the_provenance_says_where_the_numbers_come_from(facts, results):
    told = dict(provenance.provenance_pairs(replace(facts, profile="real", overrides=("model.layers=12",)), results))
    assert "Paper" not in told
    assert provenance.cited_source(facts).endswith("(arXiv 2002.04745), Figure 3")
    assert provenance.cited_source(replace(facts, source={"figure": "3"})) == ""
    described = {"cite": "Yu", "figure": "the two panels", "table": "1 to 6"}
    assert provenance.cited_source(replace(facts, source=described)) == "Yu, the two panels, Tables 1 to 6"
    assert provenance.cited_source(replace(facts, source={"cite": "X", "figure": "4 (a, b)"})) == "X, Figure 4 (a, b)"
    assert told["Profile"] == "real"
    assert told["Overrides"] == "model.layers=12"
    assert told["Runs"] == "140 of 140 finished"
    assert told["Measured by"] == "lnlab 0.1.0, torch 2.13.0 on cpu"


def test_the_command_can_be_pasted_into_a_shell(facts):
    given = replace(facts, path="my specs/a'b.yaml", profile="real", overrides=("x=[1, 2]",), plugins=("mine.py",))
    quoted = "--with mine.py 'my specs/a'\\''b.yaml' --profile real -s 'x=[1, 2]'"
    assert provenance.command_lines(given) == f"lnlab run {quoted}\nlnlab report {quoted}"


def test_to_diverge_is_a_result_and_lacks_nothing(facts, results):
    runs = results.runs.with_columns(
        pl.when(pl.col("seed") == 3).then(pl.lit("diverged")).otherwise("status").alias("status")
    )
    found = Results(runs, results.axes, results.tables)
    assert provenance.partial_report_sentence(found) == ""
    assert dict(provenance.provenance_pairs(facts, found))["Runs"] == "126 of 140 finished, 14 diverged"
    assert len(provenance.unfinished_runs_grid(found).rows) == 14


def test_runs_that_did_not_finish_are_listed_with_their_reason(facts, results):
    told = pl.when(pl.col("seed") == 3)
    runs = results.runs.with_columns(
        told.then(pl.lit("out_of_memory")).otherwise("status").alias("status"),
        told.then(pl.lit("needed 9 GiB")).otherwise("reason").alias("reason"),
    )
    partial = Results(runs, results.axes, results.tables)
    assert provenance.partial_report_sentence(partial) == "This report is partial. Of 140 runs, 14 out of memory."
    listed = provenance.unfinished_runs_grid(partial)
    assert len(listed.rows) == 14
    assert [text for text, _ in listed.rows[0]][1:] == ["3", "out of memory", "needed 9 GiB"]
    assert dict(provenance.provenance_pairs(facts, partial))["Runs"] == "126 of 140 finished"
    assert provenance.unfinished_runs_grid(results) is None
    assert provenance.partial_report_sentence(results) == ""
