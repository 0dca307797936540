"""``lnlab run SPEC --rows-from REPORT``: a report gets further seeds without the store that it was drawn from."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

from lnlab.cli import main
from lnlab.errors import LabError
from lnlab.record.measured_probes import refuse_changed_probes
from lnlab.record.registries import load_registries

SPEC = """\
lnlab: 2
title: Further seeds
question: Is the gradient of the last layer larger in Post-LN, and does training lower the loss?
task: {kind: translation, corpus: {kind: toy_german_english, train: 100, validation: 20, test: 20}, vocabulary: 100,
       batch_tokens: 64}
model: {kind: encoder_decoder, layers: 2, d_model: 16, heads: 2, d_ff: 32}
optimizer: adam
train: {steps: 2, evaluate: [0, 2]}
seeds: 1-3
sweep:
  - placement: [post, pre]
    optimizer.lr: [1e-3, 1e-2]
select: {optimizer.lr: best, seeds: [101]}
probes: [{kind: gradient_norm, at: init, batches: 1}]
report:
  - {kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}}
  - {kind: curves, quantity: nll, where: {split: validation}}
claims:
  - {id: larger, says: The gradient of the last layer is larger in Post-LN., kind: ratio, at_least: 1.1,
     of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}, to: {placement: pre}}
"""
MORE = SPEC.replace("seeds: 1-3", "seeds: 1-3\nclaim_seeds: {larger: 1-5}")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The report of three seeds, and the one that a store with all seeds gives."""
    root = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for text, folder in ((SPEC, "few"), (MORE, "whole")):
            Path("question.yaml").write_text(text)
            assert main(["run", "question.yaml", "-q", "--workers", "1"]) == 0
            assert main(["report", "question.yaml", "-q", "--lean", "--replace", "--out", folder]) == 0
    return root


@pytest.fixture
def few(measured, tmp_path, monkeypatch):
    """A working folder without a store: the report of three seeds, and the spec that asks for five."""
    shutil.copytree(measured / "few", tmp_path / "few")
    (tmp_path / "question.yaml").write_text(MORE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "few"


def rows(folder, name):
    return pl.read_parquet(folder / "data" / f"{name}.parquet")


def as_set(table):
    """Its rows in any order. Numbers are rounded, as another process may have other last digits."""
    stable = table.drop("seconds", "trajectory", strict=False).sort(pl.all())
    return stable.with_columns(pl.selectors.float().round_sig_figs(6)).rows()


def test_only_the_runs_that_the_report_lacks_are_computed_and_none_is_tuned_again(lnlab, few, measured):
    said = lnlab("run", "question.yaml", "--rows-from", "few", "--workers", "1")
    assert said.code == 0, said.err
    summary = said.out.splitlines()[-1]
    assert summary.startswith("4 runs: 4 finished; 4 units computed in ")
    assert summary.endswith(", 0 reused; 6 units in reports")
    assert "supported" not in said.out
    assert "next, to judge all of them: lnlab report question.yaml --rows-from few" in said.err
    again = json.loads(lnlab("run", "question.yaml", "--rows-from", "few", "--json", "-q").out)
    assert (again["computed"], again["reused"], again["reported"], again["tuned"]) == (0, 4, 6, 0)

    said = lnlab("report", "question.yaml", "--rows-from", "few", "--lean")
    assert said.code == 0, said.err
    drawn, whole = Path("reports/question"), measured / "whole"
    for name in ("runs", "axes", "sites"):
        assert as_set(rows(drawn, name)) == as_set(rows(whole, name)), name
    # Sections draw three seeds: of the others the report keeps no more curves than they name.
    losses, all_losses = (rows(folder, "curves").filter(quantity="nll") for folder in (drawn, whole))
    assert as_set(losses) == as_set(all_losses)
    mine, oracle = (rows(folder, "verdicts") for folder in (drawn, whole))
    numbers = ("verdict", "n", "look", "level")
    assert mine.select(numbers).rows() == oracle.select(numbers).rows()
    assert mine["estimate"].to_list() == pytest.approx(oracle["estimate"].to_list(), rel=1e-5)
    facts = json.loads(Path("reports/question/data/experiment.json").read_text())
    assert [(look["look"], look["n"]) for look in facts["looks"]["larger"]] == [(1, 3), (2, 5)]

    # A report may say of single selections that it has their rows, with the seeds that it has.
    path = few / "data/experiment.json"
    kept = json.loads(path.read_text())
    of = {"quantity": "gradient_norm", "stack": "decoder", "tensor": "w2", "layer": "last", "seed": [1, 2, 3]}
    kept["kept"] = [{"selection": {**of, "placement": placement}} for placement in ("post", "pre")]
    path.write_text(json.dumps(kept))
    lnlab("report", "question.yaml", "--rows-from", "few", "--lean", "--out", "again")  # without its sections
    assert rows(Path("again"), "verdicts").select(numbers).rows() == oracle.select(numbers).rows()


def test_a_choice_that_the_report_does_not_have_is_made_and_then_drawn_with_the_others(lnlab, few):
    Path("question.yaml").write_text(SPEC.replace("[post, pre]", "[post, pre, admin]"))
    said = lnlab("report", "question.yaml", "--rows-from", "few")
    assert said.code == 2
    assert "the choice of 'optimizer.lr' for placement = admin was not made in these runs; run the spec" in said.err
    summary = json.loads(lnlab("run", "question.yaml", "--rows-from", "few", "--workers", "1", "--json", "-q").out)
    assert (summary["computed"], summary["reported"], summary["tuned"]) == (3, 6, 2)
    said = lnlab("report", "question.yaml", "--rows-from", "few", "--lean")
    assert said.code == 0, said.err
    drawn = Path("reports/question")
    assert sorted(rows(drawn, "axes").filter(axis="placement")["label"].unique()) == ["admin", "post", "pre"]
    decisions = json.loads((drawn / "data/experiment.json").read_text())["decisions"]
    assert len(decisions) == 3


def test_a_report_of_another_profile_is_refused_before_anything_is_computed(lnlab, few):
    said = lnlab("run", "question.yaml", "--rows-from", "few", "-s", "seeds=2")
    assert said.code == 2
    assert "few: is of no profile, and this run of no profile -s seeds=2" in said.err
    assert not Path(".lnlab").exists()


ONE_BATCH = "kind: gradient_norm, at: init, batches: 1"


@pytest.mark.parametrize(
    ("probe", "was"),
    [
        ("kind: gradient_norm, at: init, batches: 2", "batches = 1 (in the spec 2)"),
        ("kind: gradient_norm, at: end, batches: 1", "at = init (in the spec end)"),
        ("kind: gradient_norm, at: end, batches: 2", "at = init (in the spec end) and batches = 1 (in the spec 2)"),
    ],
)
def test_runs_that_another_probe_measured_are_refused_at_every_door(lnlab, few, probe, was):
    """Their rows would stand on the page as those of the spec's probe, and seeds of both be judged as one sample."""
    before = {file: file.read_bytes() for file in few.rglob("*") if file.is_file()}
    refusal = f"few: its probe gradient_norm had {was}; run the spec without this report, or measure as it did\n"
    Path("question.yaml").write_text(MORE.replace(ONE_BATCH, probe))
    said = lnlab("run", "question.yaml", "--rows-from", "few", "-q")
    assert (said.code, said.err) == (2, refusal)
    assert not list(Path(".lnlab").rglob("*.parquet"))
    for command in (("question.yaml", "--rows-from", "few"), ("--from", "few", "question.yaml")):
        said = lnlab("report", *command)
        assert (said.code, said.err) == (2, refusal), command
    assert {file: file.read_bytes() for file in few.rglob("*") if file.is_file()} == before


ANOTHER = f"{{{ONE_BATCH}}}, {{kind: gradient_norm, at: end, batches: 1}}"


def test_a_further_moment_of_a_quantity_and_one_less_are_refused(lnlab, few):
    """What was measured at initialization would pass as ``step: last``; rows that nobody asks for would be read."""
    Path("question.yaml").write_text(
        MORE.replace(f"{{{ONE_BATCH}}}", ANOTHER).replace("layer: last,", "layer: last, step: last,")
    )
    for command in (("run", "question.yaml", "-q", "--rows-from", "few"), ("report", "--from", "few", "question.yaml")):
        said = lnlab(*command)
        assert said.code == 2
        assert said.err.startswith("few: lacks a probe of the spec: gradient_norm with at = end; ")
    path = few / "data/experiment.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"probes": [*facts["probes"], {**facts["probes"][0], "at": "end"}]}))
    Path("question.yaml").write_text(MORE)
    said = lnlab("report", "question.yaml", "--rows-from", "few")
    assert said.err.startswith("few: has a probe that the spec lacks: gradient_norm with at = end; ")


def test_an_evaluation_beside_those_of_training_is_refused_and_one_of_another_split_is_not(lnlab, few):
    """Runs that train are evaluated on the validation split without a probe."""
    Path("question.yaml").write_text(
        MORE.replace(f"{{{ONE_BATCH}}}", f"{{{ONE_BATCH}}}, {{kind: evaluation, at: [1]}}")
    )
    said = lnlab("report", "--from", "few", "question.yaml")
    assert said.err.startswith("few: lacks a probe of the spec: evaluation on validation; "), said.err
    test = "{kind: evaluation, at: [1], split: test}"
    Path("question.yaml").write_text(MORE.replace(f"{{{ONE_BATCH}}}", f"{{{ONE_BATCH}}}, {test}"))
    assert lnlab("report", "--from", "few", "question.yaml", "--lean", "--out", "again").code == 0


def test_runs_are_taken_where_a_kind_of_probe_is_added_or_left_out_and_where_a_default_is_written_out(lnlab, few):
    written = MORE.replace(ONE_BATCH, f"{ONE_BATCH}, biases: false, split: train")
    added = MORE.replace(f"{{{ONE_BATCH}}}", f"{{{ONE_BATCH}}}, {{kind: hidden_norm, batches: 2}}")
    for text in (written, added):
        Path("question.yaml").write_text(text)
        summary = json.loads(lnlab("run", "question.yaml", "--rows-from", "few", "--json", "-q").out)
        assert summary["reported"] == 6
    path = few / "data/experiment.json"
    facts = json.loads(path.read_text())
    # As an lnlab wrote it that did not know a parameter, of a report with a kind of probe that the spec has no more.
    (probe,) = facts["probes"]
    gone = {"kind": "hidden_norm", "batches": 1, "split": "train", "at": "init"}
    facts["probes"] = [{name: probe[name] for name in probe if name != "biases"}, gone]
    path.write_text(json.dumps(facts))
    Path("question.yaml").write_text(written)
    assert lnlab("report", "question.yaml", "--rows-from", "few", "--lean").code == 0


@pytest.mark.parametrize(
    ("measured", "asked", "refused"),
    [
        (None, ["deep"], False),
        (["deep", "wide"], ["wide"], False),
        (["deep"], ["deep", "wide"], True),
        (["deep"], None, True),
    ],
)
def test_a_probe_of_a_report_is_the_same_for_the_grids_that_it_measured(measured, asked, refused):
    def probe(grid):
        return {"kind": "hidden_norm", "batches": 1, "split": "train", "at": "init", **({"grid": grid} if grid else {})}

    expected = pytest.raises(LabError, match="its probe hidden_norm had grid = ") if refused else nullcontext()
    with expected:
        refuse_changed_probes([probe(asked)], Path("report"), [probe(measured)], load_registries(()))


@pytest.mark.parametrize("option", [("--executor", "slurm"), ("--max-minutes", "5")])
def test_what_goes_without_reports_says_so(lnlab, few, option):
    said = lnlab("run", "question.yaml", "--rows-from", "few", *option)
    assert said.code == 2
    named = " ".join(option) if option[0] == "--executor" else option[0]
    assert said.err == f"--rows-from: goes without {named}; leave one of them out\n"


def test_runs_that_nobody_has_are_named_with_the_command_that_computes_them(lnlab, few):
    said = lnlab("report", "question.yaml", "--rows-from", "few")
    assert said.code == 2
    assert "none of these reports has 4 runs of the spec" in said.err
    assert "or compute them with lnlab run question.yaml --rows-from few" in said.err


def test_a_table_of_results_has_no_runs_to_take_from_a_report(lnlab, few):
    Path("table.yaml").write_text("lnlab: 2\ntitle: A table\nquestion: Is it?\nresults: {files: [losses.csv]}\n")
    said = lnlab("run", "table.yaml", "--rows-from", "few")
    assert said.code == 2
    assert said.err.startswith("--rows-from few: its results are a table")


NOTES = """\
lnlab: 2
title: Notes
question: Is the loss small?
task: {kind: language_modeling, corpus: {kind: text, files: [notes.txt], held_out: 0.2}, vocabulary: 50, length: 8,
       windows: 4}
model: {kind: language_model, layers: 1, d_model: 16, heads: 2, d_ff: 32}
placement: pre
optimizer: {kind: adam, lr: 0.01}
train: {steps: 2, evaluate: [0, 2]}
seeds: 1-2
claims: [{id: small, says: It is small., kind: bound, of: {quantity: nll, split: validation, step: last}, at_most: 3}]
"""


def test_runs_on_a_corpus_that_has_changed_are_no_seeds_of_the_same_sample(lnlab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"word{n % 7} and word{n % 5} again\n" for n in range(200))

    def report_of(seeds: str, folder: str) -> None:
        Path("q.yaml").write_text(NOTES.replace("seeds: 1-2", f"seeds: {seeds}"))
        assert lnlab("run", "q.yaml", "-q", "--workers", "1").code == 0
        said = lnlab("report", "q.yaml", "--lean", "--out", folder)
        assert (said.code, "note:" in said.err) == (0, False)

    Path("notes.txt").write_text(text)
    report_of("1-2", "first")
    Path("notes.txt").write_text(text.replace("word1", "another"))
    stale = lnlab("report", "q.yaml", "--lean", "--out", "first")
    assert "notes.txt has changed since this was run; lnlab run q.yaml computes it again" in stale.err
    report_of("3-4", "second")
    shutil.rmtree(".lnlab")
    Path("q.yaml").write_text(NOTES.replace("seeds: 1-2", "seeds: 1-4"))
    refusal = (
        "computed 2 runs with another corpus, another plugin or another version of a piece; "
        "run the spec without this report\n"
    )
    said = lnlab("run", "q.yaml", "-q", "--rows-from", "first")
    assert (said.code, said.err) == (2, f"first: {refusal}")
    both = ("report", "q.yaml", "--rows-from", "first", "--rows-from", "second", "--out", "both")
    said = lnlab(*both)
    assert (said.code, said.err) == (2, f"first: {refusal}")
    Path("notes.txt").write_text(text)
    said = lnlab(*both)
    assert (said.code, said.err) == (2, f"second: {refusal}")
    Path("notes.txt").unlink()  # then nobody can tell
    assert lnlab(*both).code == 0
