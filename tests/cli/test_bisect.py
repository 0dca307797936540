"""``lnlab bisect``: the change that moved a verdict is named, whatever else changed, and little is computed for it."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.bisection.judge import ClaimJudge
from lnlab.app.bisection.search import bisect_claim
from lnlab.app.comparison.sides import read_side
from lnlab.app.locks import lock_report
from lnlab.app.request import load_registries
from lnlab.app.rounds.units import RunOptions
from lnlab.cli import main
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.probes.probe import probes
from lnlab.store.store import Store

HARMLESS = [
    ("title: A tiny experiment", "title: Another"),
    ("question: Does it run?", "question: Does it still run?"),
    ("seeds: 3", "seeds: 4"),
    ("heads: 2", "heads: 4"),
    ("batches: 1", "batches: 2"),
]
CULPRITS = {
    "the declaration": (("at_least: 1.1\n", "at_least: 1000\n"), "claims.post_above_pre.at_least: 1.1 → 1000"),
    "a setting": (("layers: 2", "layers: 1"), "model.layers: 2 → 1"),
    "the sweep": (("{placement: [post, pre]}", "{placement: [post, pre], norm: [none]}"), "sweep: "),
}
"""Changes after which the tiny claim has another verdict; a single layer without a norm has no growth to find."""


@pytest.fixture(scope="module")
def good(once, tmp_path_factory):
    """A repository with a locked report that supports its claim."""
    root = tmp_path_factory.mktemp("good")
    shutil.copy(once / "tiny.yaml", root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(once)
        assert main(["report", "tiny.yaml", "-q", "--out", str(root / "reports/tiny")]) == 0
        patch.chdir(root)
        assert main(["lock", "tiny.yaml", "-q"]) == 0
    return root


def version(lnlab, good, folder, changes):
    """The same repository with these changes, run, drawn and locked; the store is that of the working folder."""
    text = (good / "tiny.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    folder.mkdir()
    (folder / "tiny.yaml").write_text(text)
    assert lnlab("run", folder / "tiny.yaml", "-q", "-w", 1).code == 0
    assert lnlab("report", folder / "tiny.yaml", "-q", "-o", folder / "reports/tiny").code == 0
    assert lnlab("lock", folder / "tiny.yaml", "-q").code == 0
    return folder / "tiny.lock"


@pytest.mark.parametrize("name", CULPRITS)
def test_the_change_that_moved_the_verdict_is_named_among_others(lnlab, good, workdir, name):
    culprit, label = CULPRITS[name]
    bad = version(lnlab, good, workdir / "bad", [*HARMLESS, culprit])
    result = lnlab("bisect", "post_above_pre", good / "tiny.lock", bad, "-w", 1, "--json")
    assert result.code == 0, result.err
    outcome = result.json
    assert outcome["good"] == "supported"
    assert outcome["bad"] != "supported"
    assert outcome["cause"] == "spec"
    (change,) = outcome["changes"]
    assert change.startswith(label), outcome
    assert len(outcome["trials"]) <= 4, "a binary search over five changes"


def test_a_changed_declaration_alone_is_judged_on_the_committed_rows(lnlab, good, workdir):
    bad = workdir / "bad"
    shutil.copytree(good, bad)
    text = (bad / "tiny.yaml").read_text().replace("at_least: 1.1\n", "at_least: 1000\n")
    (bad / "tiny.yaml").write_text(text)
    assert lnlab("report", "--from", bad / "reports/tiny", bad / "tiny.yaml", "-q").code == 0
    assert lnlab("lock", bad / "tiny.yaml", "-q").code == 0
    result = lnlab("bisect", "post_above_pre", good / "tiny.lock", bad / "tiny.lock")
    assert result.out.splitlines() == [
        "post_above_pre: supported → contradicted, moved by spec:",
        "  claims.post_above_pre.at_least: 1.1 → 1000",
    ]
    assert "0 units computed" in result.err
    assert not Path(".lnlab").exists(), "nothing was stored"


@pytest.mark.parametrize(("registry", "name"), [(probes, "gradient_norm"), (placements, "post"), (norms, "layer")])
def test_another_version_of_a_piece_is_named(good, workdir, monkeypatch, registry, name):
    """Today's code has the piece in another version, with which the good spec already has the bad verdict."""

    class Contradicting(ClaimJudge):
        def verdict(self, spec):
            return replace(last.verdicts[self.claim], verdict="contradicted")

    newer = replace(registry[name], version=registry[name].version + 1)
    monkeypatch.setattr(registry, "_entries", {**registry.entries, name: newer})
    with read_side(str(good / "tiny.lock"), None) as first:
        assert first.verdicts["post_above_pre"].verdict == "supported"
        contradicted = replace(first.verdicts["post_above_pre"], verdict="contradicted")
        last = replace(first, verdicts={**first.verdicts, "post_above_pre": contradicted})
        options = RunOptions(1, retry_failed=False, quiet=True, save_every=60.0, console=None)
        judge = Contradicting(
            "post_above_pre", None, load_registries(()), Store(workdir / "store"), (first, last), options, ()
        )
        outcome = bisect_claim(first, last, judge, lambda trial: None)
    assert outcome.cause == "code or corpus"
    assert outcome.changes == (f"{registry.kind} {name}: version {newer.version - 1} → {newer.version}",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["far_above"], "far_above: is contradicted in"),
        (["nothing"], "has no verdict on 'nothing'"),
    ],
)
def test_a_wrong_command_is_one_line(lnlab, good, workdir, arguments, message):
    refused = lnlab("bisect", *arguments, good / "tiny.lock", good / "reports/tiny")
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err


GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
PACKAGE = """\
import json, pathlib, sys
spec = json.loads(pathlib.Path(sys.argv[2]).read_text())
assert sys.argv[1] == "run" and [claim["id"] for claim in spec["claims"]] == ["post_above_pre"]
{extra}
print(json.dumps({{"verdicts": [{{"claim": "post_above_pre", "verdict": "{verdict}"}}]}}))
"""


@pytest.fixture
def history(good, tmp_path, monkeypatch):
    """A repository with a lock before and after eight commits of a package; the sixth moves the verdict.

    The locks differ in the verdict and in the code that they name. The package stands for lnlab: it prints a verdict.
    """
    root = tmp_path / "history"
    shutil.copytree(good, root)
    monkeypatch.chdir(root)
    subprocess.run([*GIT, "init", "-q", "-b", "main"], check=True)
    for number in range(9):
        code = PACKAGE.format(verdict="supported" if number < 6 else "contradicted", extra=f"# {number}")
        if number == 4:
            code = "raise SystemExit('this version is broken')"
        Path("lnlab").mkdir(exist_ok=True)
        Path("lnlab/__init__.py").touch()
        Path("lnlab/__main__.py").write_text(code)
        Path("notes.txt").write_text(f"{number}")
        if number == 8:
            edit_verdict_and_code()
        subprocess.run([*GIT, "add", "--all"], check=True)
        subprocess.run([*GIT, "commit", "-q", "-m", f"change {number}"], check=True)
        Path("notes.txt").write_text("a commit that changes no code")
        subprocess.run([*GIT, "commit", "-q", "-a", "-m", "notes"], check=True)
    return root


def edit_verdict_and_code():
    """The lock and the report as if another version of the code had judged."""
    table = Path("reports/tiny/data/verdicts.parquet")
    moved = pl.when(claim="post_above_pre").then(pl.lit("contradicted")).otherwise("verdict").alias("verdict")
    pl.read_parquet(table).with_columns(moved).write_parquet(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lock_report, "source_digest", lambda: "0" * 64)
        assert main(["lock", "tiny.yaml", "-q"]) == 0


def test_the_commit_whose_code_moved_the_verdict_is_named(lnlab, history):
    first = subprocess.run(["git", "rev-list", "HEAD"], capture_output=True, text=True, check=True).stdout.split()[-1]
    result = lnlab("bisect", "post_above_pre", f"{first}:tiny.lock", "tiny.lock", "-w", 1, "--json")
    assert result.code == 0, result.err
    outcome = result.json
    assert outcome["cause"] == "code"
    (label,) = outcome["changes"]
    assert label.endswith(": change 6")
    judged = [trial for trial in outcome["trials"] if trial["what"].startswith("commit ")]
    assert len(judged) <= 5, "a binary search over eight commits, one of them broken"
    assert outcome["units"] == 0
    assert not subprocess.run(["git", "status", "--porcelain"], capture_output=True, check=True).stdout


def test_without_the_history_of_the_code_that_is_said(lnlab, history):
    first = subprocess.run(["git", "rev-list", "HEAD"], capture_output=True, text=True, check=True).stdout.split()[-1]
    shutil.copytree(".", "../old")
    subprocess.run(["git", "-C", "../old", "checkout", "-q", first], check=True)
    shutil.rmtree("../old/.git")
    result = lnlab("bisect", "post_above_pre", "../old/tiny.lock", "tiny.lock", "-w", 1, "-q")
    assert result.code == 0, result.err
    assert "moved by code or rows" in result.out
    assert "no history of lnlab's code is at hand" in result.out
    assert "name both sides as REV:path in a clone of lnlab's repository" in result.out
