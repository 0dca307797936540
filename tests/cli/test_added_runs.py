"""``lnlab report --from --add-runs``: further seeds from another store give the report that one store would give."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.locks.lock_report import write_lock
from lnlab.app.request import load_registries
from lnlab.cli import main
from lnlab.tables import ENDED_STATUSES

pytestmark = pytest.mark.usefixtures("without_workers")

TASK = """\
lnlab: 2
title: Gradients while training
question: Do they grow?
task: {kind: translation, corpus: {kind: toy_german_english, train: 60, validation: 10, test: 10}, vocabulary: 90,
  batch_tokens: 96}
model: {kind: encoder_decoder, layers: 1, d_model: 8, heads: 1, d_ff: 16}
placement: post
seeds: SEEDS
"""
INITIAL = (
    TASK
    + """\
sweep: [{placement: [post, pre]}]
probes: [{kind: gradient_norm, batches: 1}, {kind: hidden_norm}]
report: [{kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}}]
claims:
  - {id: first, says: It is larger in Post-LN., kind: ratio, at_least: 1.01, to: {placement: pre},
     of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: 1, placement: post}}
  - {id: unshown, says: It is no larger than 9., kind: bound, at_most: 9,
     of: {quantity: gradient_norm, stack: encoder, tensor: w1, placement: post}}
"""
)
TRAINED = (
    TASK
    + """\
optimizer: {kind: adam, lr: 1e-2}
train: {steps: 104, evaluate: {every: 52}}
sweep: [{optimizer.lr: [0.01, 1e30]}]
probes: [{kind: gradient_norm, at: {every: 52}, batches: 1}, {kind: update_effect, at: [3]}]
report:
  - {kind: curves, quantity: loss, where: {split: train}, inset: true}
  - {kind: curves, quantity: nll, where: {split: validation}, x: epoch}
  - {kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2, optimizer.lr: 0.01}, x: step}
claims:
  - {id: stays, says: It stays., kind: bound, at_most: 9,
     of: {quantity: gradient_norm, stack: decoder, tensor: w2, step: last, placement: post, optimizer.lr: 0.01}}
  - {id: learns, says: It learns., kind: bound, at_most: 4.4,
     of: {quantity: nll, split: validation, step: last, placement: post, optimizer.lr: 0.01}}
"""
)
TUNED = (
    TRAINED.replace("probes:", "select: {optimizer.lr: best, seeds: 101-102}\nprobes:")
    .replace("optimizer.lr: [0.01, 1e30]", "placement: [post, pre], optimizer.lr: [0.001, 0.01]")
    .replace(", optimizer.lr: 0.01", "")
    .replace("steps: 104, evaluate: {every: 52}", "steps: 6, evaluate: {every: 3}")
    .replace("every: 52", "every: 3")
)
REPORT = Path("reports/more")


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def command(*words):
    assert main([*words, "-q"]) == 0


def make_reports(root, spec):
    """A report of two seeds, far from its store, with a store of two others; and one report of all, from one store."""
    for name, seeds in (("whole", "1-4"), ("first", "1-2")):
        (root / name).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root / name)
            Path("more.yaml").write_text(spec.replace("SEEDS", seeds))
            command("run", "more.yaml", "-w", "1")
            command("report", "more.yaml")
            shutil.rmtree(".lnlab")
            if name == "first":
                Path("more.yaml").write_text(spec.replace("SEEDS", "1-4"))
                command("run", "more.yaml", "-w", "1", "-s", "seeds=3-4", "--store", "second")
    return root


@pytest.fixture(scope="module")
def initial(tmp_path_factory, without_workers):
    return make_reports(tmp_path_factory.mktemp("initial"), INITIAL)


@pytest.fixture(scope="module")
def training(tmp_path_factory, without_workers):
    return make_reports(tmp_path_factory.mktemp("training"), TRAINED)


@pytest.fixture(scope="module")
def tuning(tmp_path_factory, without_workers):
    return make_reports(tmp_path_factory.mktemp("tuning"), TUNED)


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """What copies the report of two seeds and the store of two others, and makes them the working folder."""

    def copy(root):
        shutil.copytree(root / "first", tmp_path / "first")
        monkeypatch.chdir(tmp_path / "first")
        return root / "whole" / REPORT

    return copy


@pytest.fixture
def whole(initial, copied):
    """The report of all seeds from one store; the working folder is that of the others."""
    return copied(initial)


def add_runs(lnlab, *words):
    return lnlab("report", "--from", REPORT, "--add-runs", "--store", "second", *words)


def refused(lnlab):
    """The one line of a refusal that leaves the report as it was."""
    before = contents(REPORT)
    said = add_runs(lnlab)
    assert said.code == 2
    assert contents(REPORT) == before
    (line,) = said.err.strip().splitlines()
    return line


def test_the_report_is_that_of_one_store_to_the_last_byte(lnlab, whole):
    said = add_runs(lnlab)
    assert said.err.endswith("more.yaml: 2 claims judged, 4 runs added\n"), said.err
    assert contents(REPORT) == contents(whole)
    again = add_runs(lnlab)
    assert again.err.endswith("more.yaml: 2 claims judged, 0 runs added\n"), again.err
    assert contents(REPORT) == contents(whole), "once more changes nothing"


def test_so_is_one_of_runs_that_train_and_diverge(lnlab, training, copied):
    whole = copied(training)
    said = add_runs(lnlab)
    assert said.err.endswith("more.yaml: 2 claims judged, 4 runs added\n"), said.err
    assert contents(REPORT) == contents(whole)
    rows = pl.read_parquet(REPORT / "data" / "curves.parquet").filter(quantity="loss", split="train", seed=3)
    assert rows["run"].n_unique() == 2
    assert 50 < rows["step"].n_unique() < 100, "what a line has no place for is not there"


def test_so_is_one_with_a_rate_that_its_tuning_runs_chose(lnlab, tuning, copied):
    whole = copied(tuning)
    for stray in Path("second").glob("plans/*"):  # what the second store chose is not asked
        shutil.rmtree(stray)
    said = add_runs(lnlab)
    assert said.err.endswith("more.yaml: 2 claims judged, 4 runs added\n"), said.err
    assert contents(REPORT) == contents(whole)


@pytest.mark.parametrize("kind", ["initial", "tuning"])
def test_runs_that_a_report_lacks_are_computed_alone(lnlab, request, copied, kind):
    whole = copied(request.getfixturevalue(kind))
    shutil.rmtree("second")
    said = lnlab("run", "more.yaml", "--beyond", REPORT, "--store", "second", "-w", "1")
    assert "4 runs: 4 finished; 4 units computed" in said.out
    assert said.err.endswith("next: lnlab report --from reports/more --add-runs\n")
    add_runs(lnlab)
    assert contents(REPORT) == contents(whole)
    said = lnlab("run", "more.yaml", "--beyond", REPORT, "--store", "second", "-w", "1")
    assert "0 runs: ; 0 units computed" in said.out, said.out


def test_no_run_is_computed_that_could_not_stand_beside_those_of_the_report(lnlab, whole):
    spec = Path("more.yaml")
    spec.write_text(spec.read_text().replace("{kind: hidden_norm}", "{kind: hidden_norm, batches: 3}"))
    said = lnlab("run", "more.yaml", "--beyond", REPORT, "--store", "third")
    assert said.code == 2
    assert said.err.startswith("reports/more: was measured by other probes than more.yaml has today; ")
    assert not Path("third/plans").exists()


@pytest.mark.parametrize("option", [["--profile", "smoke"], ["-s", "seeds=9"], ["--max-minutes", "1"]])
def test_a_report_has_its_own_profile_and_overrides(lnlab, whole, option):
    said = lnlab("run", "more.yaml", "--beyond", REPORT, *option)
    assert said.code == 2
    assert said.err.startswith(f"--beyond: {option[0]} goes with a whole experiment")


def test_runs_that_the_store_lacks_are_absent(lnlab, whole):
    shutil.rmtree("second")
    command("run", "more.yaml", "-w", "1", "-s", "seeds=3", "--store", "second")
    said = add_runs(lnlab)
    assert said.err.endswith(
        "2 claims judged, 2 runs added, 2 claims no longer testable, 2 runs not in the tables\n"
    ), said.err
    assert "2 not run yet" in (REPORT / "index.html").read_text()
    command("run", "more.yaml", "-w", "1", "-s", "seeds=4", "--store", "second")
    said = add_runs(lnlab)
    assert said.err.endswith("2 claims judged, 2 runs added\n"), said.err
    assert contents(REPORT) == contents(whole), "an absent run leaves nothing behind"


def test_a_claim_whose_rows_the_report_did_not_keep_says_so(lnlab, whole):
    """Its rows are those of the added runs alone, so nothing follows from them, and the command counts it."""
    path = REPORT / "data" / "experiment.json"
    facts = json.loads(path.read_text())
    facts["kept"] = [entry for entry in facts["kept"] if entry.get("selection", {}).get("tensor") != "w1"]
    path.write_text(json.dumps(facts))
    said = add_runs(lnlab)
    assert said.err.endswith("2 claims judged, 4 runs added, 1 claim no longer testable\n"), said.err
    row = pl.read_parquet(REPORT / "data" / "verdicts.parquet").row(1, named=True)
    assert row["verdict"] == "not testable here"
    assert row["reason"].endswith("are not in this report's data")


def test_an_empty_store_adds_nothing(lnlab, whole):
    shutil.rmtree("second")
    said = add_runs(lnlab)
    assert said.err.endswith(
        "2 claims judged, 0 runs added, 2 claims no longer testable, 4 runs not in the tables\n"
    ), said.err


def test_another_variant_may_be_added_too(lnlab, whole):
    spec = Path("more.yaml")
    spec.write_text(INITIAL.replace("[post, pre]", "[post, pre, mix]").replace("SEEDS", "1-2"))
    command("run", "more.yaml", "-w", "1", "--store", "third")
    before = pl.read_parquet(REPORT / "data" / "runs.parquet")
    assert lnlab("report", "--from", REPORT, "--add-runs", "--store", "third").code == 0
    after = pl.read_parquet(REPORT / "data" / "runs.parquet")
    assert after.height == 6
    assert after.filter(pl.col("status").is_in(ENDED_STATUSES)).height == 6
    assert after.head(4).equals(before), "the rows of the report stay"


def test_what_another_version_computed_is_refused(lnlab, whole):
    for name in ("runs", "axes", "sites"):
        path = REPORT / "data" / f"{name}.parquet"
        table = pl.read_parquet(path)
        other = pl.when(pl.col("run") == table["run"][0]).then(pl.lit("0" * 64)).otherwise("run")
        table.with_columns(other.alias("run")).write_parquet(path)
    line = refused(lnlab)
    assert line.startswith("reports/more: 1 of its 4 runs would have other keys today: ")
    assert line.endswith("versions of pieces or a corpus changed; compute all runs again: lnlab run, then lnlab report")


def test_what_another_version_of_a_probe_measured_is_refused(lnlab, whole):
    path = REPORT / "data" / "sites.parquet"
    pl.read_parquet(path).with_columns(measurement=pl.lit("0" * 64)).write_parquet(path)
    assert refused(lnlab).startswith("reports/more: measurements of gradient_norm would have other keys today: ")


def test_what_is_measured_in_another_way_today_is_refused(lnlab, whole):
    spec = Path("more.yaml")
    spec.write_text(spec.read_text().replace("{kind: hidden_norm}", "{kind: hidden_norm, batches: 3}"))
    assert refused(lnlab).startswith("reports/more: was measured by other probes than more.yaml has today; ")


def test_choices_that_other_tuning_runs_decided_are_refused(lnlab, tuning, copied):
    copied(tuning)
    path = REPORT / "data" / "experiment.json"
    facts = json.loads(path.read_text())
    for decision in facts["decisions"]:
        decision["key"] = "0" * 64
    path.write_text(json.dumps(facts))
    assert refused(lnlab).startswith("reports/more: the tuning runs behind its choices would have other keys today: ")


def test_lines_with_other_places_are_refused(lnlab, training, copied):
    """Rows of odd steps do not lie on lines that have the even ones: a mean there would be over some seeds."""
    copied(training)
    path = REPORT / "data" / "curves.parquet"
    rows = pl.read_parquet(path)
    odd = pl.when((pl.col("quantity") == "loss") & (pl.col("step") == 4)).then(5).otherwise("step").cast(pl.Int64)
    rows.with_columns(odd.alias("step")).write_parquet(path)
    assert "its lines would have points at other steps" in refused(lnlab)


def test_machines_and_versions_of_all_runs_are_named(lnlab, whole):
    path = REPORT / "data" / "runs.parquet"
    runs = pl.read_parquet(path)
    versions = json.loads(runs["versions"][0]) | {"torch": "1.2.3"}
    runs.with_columns(device=pl.lit("another machine"), versions=pl.lit(json.dumps(versions))).write_parquet(path)
    assert add_runs(lnlab).code == 0
    page = (REPORT / "index.html").read_text()
    assert "another machine and " in page or " and another machine" in page
    assert "torch 1.2.3" in page
    both = pl.read_parquet(path)
    assert both["device"].n_unique() == 2
    lock = write_lock(Path("more.yaml"), None, load_registries(())).lock
    assert "another machine" in str(lock.tables["machines"])


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--from", REPORT, "--add-runs", "--as-judged"], "--as-judged keeps the verdicts, and --add-runs judges anew"),
        (["more.yaml", "--add-runs"], "--add-runs goes with --from"),
    ],
)
def test_what_does_not_go_together_is_refused(lnlab, whole, words, what):
    said = lnlab("report", *words)
    assert said.code == 2
    assert what in said.err
