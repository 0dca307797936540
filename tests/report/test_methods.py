"""Methods and provenance are read from the settings and nothing else."""

import json
from dataclasses import replace

import polars as pl

from lnlab.report.page import provenance
from lnlab.report.page.methods import (
    _differing_by_method,
    methods_paragraphs,
    setting_leaves,
    settings_of_variants,
    values_by_path,
)
from lnlab.select.scope import scope_sentence
from lnlab.tables import Results


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


def test_training_is_described_where_there_is_some(facts, results, golden):
    told = {"train": {"steps": 800}, "optimizer": {"kind": "adam", "lr": 0.001}}
    text = described(facts, changed_settings(results, told))
    golden(text)
    assert "Nothing is trained" not in text


def test_numbers_rise_and_what_is_not_trained_is_said_apart(facts, results, golden):
    changes = [
        {"train": {"steps": steps}, "optimizer": {"kind": "adam", "lr": lr} if steps else None}
        | {"model.kind": "classifier"}
        | {f"{stack}.layers": 1 for stack in ("encoder", "decoder")}
        | {f"{stack}.norm": {"kind": norm} for stack in ("encoder", "decoder")}
        for steps, norm, lr in zip((45, 0, 678) * 2, ("layer", "none", "rms") * 2, (0.004, 0.002) * 3, strict=True)
    ]
    golden(described(facts, changed_settings(results, *changes)))


def test_a_loss_is_a_mean_over_tokens_or_over_sentences(facts, results, golden):
    golden(described(facts, results))
    golden(described(facts, changed_settings(results, {"task.classes": 3})))


def test_interventions_are_described_once_with_all_that_they_take(facts, results, golden):
    assert "intervention" not in described(facts, results)
    where = {"stack": None, "layer": None, "sublayer": None, "tensor": ["sum"]}
    cuts = [
        [{"kind": "rescale", "where": where, "factor": factor}, {"kind": "clamp", "where": where}]
        for factor in (2, 0.1)
    ]
    golden(described(facts, changed_settings(results, *({"interventions": each} for each in cuts))))


def test_a_precision_other_than_single_is_said(facts, results, golden):
    assert "computed in" not in described(facts, results)
    golden(described(facts, changed_settings(results, {"train": {"steps": 0, "precision": "float64"}})))


def test_the_provenance_says_where_the_numbers_come_from(facts, results, golden):
    told = dict(provenance.provenance_pairs(replace(facts, profile="real", overrides=("model.layers=12",)), results))
    assert "Paper" not in told
    assert provenance.cited_source(facts).endswith("(arXiv 2002.04745), Figure 3")
    assert provenance.cited_source(replace(facts, source={"figure": "3"})) == ""
    described = {"cite": "Yu", "figure": "the two panels", "table": "1 to 6"}
    golden(provenance.cited_source(replace(facts, source=described)))
    assert provenance.cited_source(replace(facts, source={"cite": "X", "figure": "4 (a, b)"})) == "X, Figure 4 (a, b)"
    assert told["Profile"] == "real"
    assert told["Overrides"] == "model.layers=12"
    assert told["Runs"] == "140 of 140 finished"
    golden(told["Measured by"])


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


def test_runs_that_did_not_finish_are_listed_with_their_reason(facts, results, golden):
    told = pl.when(pl.col("seed") == 3)
    runs = results.runs.with_columns(
        told.then(pl.lit("out_of_memory")).otherwise("status").alias("status"),
        told.then(pl.lit("needed 9 GiB")).otherwise("reason").alias("reason"),
    )
    partial = Results(runs, results.axes, results.tables)
    golden(provenance.partial_report_sentence(partial))
    listed = provenance.unfinished_runs_grid(partial)
    assert len(listed.rows) == 14
    assert [text for text, _ in listed.rows[0]][1:] == ["3", "out of memory", "needed 9 GiB"]
    assert dict(provenance.provenance_pairs(facts, partial))["Runs"] == "126 of 140 finished"
    assert provenance.unfinished_runs_grid(results) is None
    assert provenance.partial_report_sentence(results) == ""


def changed_settings(results, *changes):
    """The results with each variant's setting changed by one of ``changes``, in turn, at dotted paths."""
    numbers = {v: n for n, v in enumerate(results.runs["variant"].unique(maintain_order=True))}

    def changed(text, number):
        setting = json.loads(text)
        for path, value in changes[number % len(changes)].items():
            *owners, last = path.split(".")
            part = setting
            for owner in owners:
                part = part[owner]
            part[last] = value
        return json.dumps(setting)

    rows = results.runs.select("setting", "variant").rows()
    given = [changed(text, numbers[variant]) for text, variant in rows]
    return replace(results, runs=results.runs.with_columns(setting=pl.Series(given)))


def named_methods(results, *names):
    """The results with a method for each variant, the names in turn."""
    numbers = {v: n for n, v in enumerate(results.runs["variant"].unique(maintain_order=True))}
    told = [names[numbers[variant] % len(names)] for variant in results.runs["variant"]]
    rows = {"run": results.runs["run"].to_list(), "axis": ["method"] * len(told), "label": told}
    axes = pl.DataFrame({**rows, "value": [json.dumps(name) for name in told]})
    return replace(results, axes=pl.concat([results.axes, axes], how="diagonal_relaxed"))


def described(facts, results):
    return " ".join(methods_paragraphs(facts, results))


ADAM = {"kind": "adam", "beta1": 0.9, "lr": 0.003}
SGD = {"kind": "sgd", "lr": 0.1, "momentum": 0.9}
ALIKE = {
    "train": {"steps": 50},
    "optimizer": ADAM,
    "schedule": {"kind": "constant", "warmup_steps": 5},
    "model": {"kind": "encoder_decoder", "d_model": 128},
    **{f"{stack}.layers": 6 for stack in ("encoder", "decoder")},
    **{f"{stack}.placement": {"kind": "post"} for stack in ("encoder", "decoder")},
    "decoder.cross_attention": True,
}


def test_each_kind_of_a_choice_has_its_own_parameters(facts, results, golden):
    norms = [{"kind": "layer", "eps": 1e-5}, {"kind": "rms", "eps": 1e-6}]
    changes = [
        ALIKE | {"encoder.norm": norm, "decoder.norm": norm, "optimizer": rule}
        for norm, rule in zip(norms, (ADAM, SGD), strict=True)
    ]
    both = changed_settings(results, *changes)
    text = described(facts, both)
    golden(text)
    listed = {row[0][0]: row[1][0] for row in provenance.settings_grid(both).rows}
    assert listed["decoder.norm"] == "layer or rms"
    assert listed["decoder.norm.eps"] == "1e−05 (layer) or 1e−06 (rms)"
    assert listed["optimizer.lr"] == "0.003 (adam) or 0.1 (sgd)"
    assert listed["optimizer.momentum"] == "0.9 (sgd)"
    assert listed["schedule.warmup_steps"] == "5"


def test_the_prose_says_what_differs_by_method_and_what_all_share(facts, results, golden):
    rules = [ALIKE | {"optimizer": rule} for rule in (ADAM, SGD)]
    text = described(facts, named_methods(changed_settings(results, *rules), "A", "B"))
    golden(text)
    warm = [ALIKE | {"schedule": {"kind": "constant", "warmup_steps": steps}} for steps in (0, 20)]
    text = described(facts, named_methods(changed_settings(results, *warm), "A", "B"))
    golden(text)
    pairs = [
        ALIKE
        | {"init": {"kind": f"from_{kind}"}}
        | {f"{stack}.norm": {"kind": kind} for stack in ("encoder", "decoder")}
        for kind in ("layer", "rms")
    ]
    text = described(facts, named_methods(changed_settings(results, *pairs), "A", "B"))
    golden(text)
    assert "Weights start" not in text
    swept = [ALIKE | {"optimizer": {**ADAM, "lr": lr}} for lr in (0.1, 0.2, 0.3)]
    assert "Methods differ" not in described(facts, named_methods(changed_settings(results, *swept), "A", "B", "A"))
    assert "Methods differ" not in described(facts, named_methods(changed_settings(results, ALIKE), "A", "B"))


def test_a_text_or_table_of_ones_own_is_called_by_its_file(facts, results, golden):
    table = {"kind": "labelled_table", "file": "mine/reviews.csv", "label": "label", "encoding": None}
    own = changed_settings(results, {"task.corpus": table})
    golden(described(facts, own))
    assert dict(provenance.provenance_pairs(facts, own))["Corpus"] == "reviews.csv"
    texts = {"kind": "text", "files": ["a.txt", "b.txt"], "held_out": 0.1}
    own = changed_settings(results, ALIKE | {"task.corpus": texts, "model": {"kind": "language_model", "d_model": 8}})
    golden(described(facts, own))
    golden(scope_sentence(own, own.runs["variant"], [0], 10))


def test_what_differs_between_methods_stands_in_the_order_of_the_methods(facts, results):
    setting = json.loads(results.runs["setting"][0])
    chosen = results.runs.head(12)
    settings = [json.dumps({**setting, f"piece_{n}": {"kind": "own"}}) for n in range(12)]
    axes = pl.DataFrame({"run": chosen["run"], "axis": "method", "value": [f"method {n}" for n in range(12)]})
    named = Results(chosen.with_columns(setting=pl.Series(settings)), axes, results.tables)
    for _ in range(5):
        assert _differing_by_method(named) == [f"piece_{n}" for n in range(12)]
