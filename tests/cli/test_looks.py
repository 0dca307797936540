"""Looks are remembered by the store, by the folder of a report and by the lock, and each has its level."""

import json
import re
import shutil
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from lnlab.cli import main
from tests.cli.conftest import TINY

FOLDER = Path("reports/tiny")


def verdicts(folder=FOLDER):
    table = pl.read_parquet(folder / "data/verdicts.parquet")
    return {row["claim"]: (row["look"], row["level"]) for row in table.iter_rows(named=True)}


def looks(folder=FOLDER):
    facts = json.loads((folder / "data/experiment.json").read_text())
    return {claim: [(look["look"], look["seeds"]) for look in entries] for claim, entries in facts["looks"].items()}


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """A spec that ran with three seeds and then with five, reported each time."""
    root = tmp_path_factory.mktemp("looked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        Path("tiny.yaml").write_text(TINY)
        for seeds in (3, 5):
            Path("tiny.yaml").write_text(TINY.replace("seeds: 3", f"seeds: {seeds}"))
            assert main(["run", "tiny.yaml", "-q"]) == 0
            if seeds == 3:
                continue
            assert main(["report", "tiny.yaml", "-q"]) == 0
        assert main(["lock", "tiny.yaml", "-q"]) == 0
    return root


@pytest.fixture
def root(looked, tmp_path, monkeypatch):
    shutil.copytree(looked, tmp_path / "root")
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


@pytest.mark.usefixtures("root")
def test_the_store_remembers_a_look_that_was_never_reported():
    assert verdicts() == dict.fromkeys(("post_above_pre", "far_above"), (2, 0.0125))
    assert looks()["far_above"] == [(1, [1, 2, 3]), (2, [1, 2, 3, 4, 5])]


@pytest.mark.usefixtures("root")
def test_judging_the_same_seeds_again_is_no_new_look(capsys):
    before = Path(FOLDER, "data/experiment.json").read_bytes()
    for command in (["run", "tiny.yaml", "-q"], ["report", "tiny.yaml", "-q"], ["report", "--from", str(FOLDER), "-q"]):
        assert main(command) == 0
    assert Path(FOLDER, "data/experiment.json").read_bytes() == before


@pytest.mark.usefixtures("root")
def test_the_folder_or_the_lock_is_enough():
    shutil.rmtree(".lnlab/looks")
    shutil.rmtree(".lnlab/plans")
    lock = Path("tiny.lock").read_text()
    assert main(["run", "tiny.yaml", "-q"]) == 0  # this store knows of one look alone
    assert main(["report", "tiny.yaml", "-q"]) == 0
    assert verdicts()["far_above"] == (2, 0.0125)
    shutil.rmtree("reports")
    assert main(["report", "tiny.yaml", "-q"]) == 0
    assert verdicts()["far_above"] == (2, 0.0125)
    assert main(["lock", "tiny.yaml", "-q"]) == 0
    assert [line for line in Path("tiny.lock").read_text().splitlines() if "alpha" in line] == [
        line for line in lock.splitlines() if "alpha" in line
    ]
    assert main(["verify", "tiny.lock", "-q"]) == 0


@pytest.mark.usefixtures("root")
def test_a_claim_that_leaves_the_spec_keeps_its_looks_and_those_of_the_others():
    spec = Path("tiny.yaml").read_text()
    start, end = spec.index("  - id: far_above"), spec.index("profiles:")
    Path("tiny.yaml").write_text(spec[:start] + spec[end:])
    assert main(["report", "--from", str(FOLDER), "tiny.yaml", "-q"]) == 0
    assert verdicts() == {"post_above_pre": (2, 0.0125)}
    assert {claim: len(entries) for claim, entries in looks().items()} == {"post_above_pre": 2, "far_above": 2}
    assert main(["lock", "tiny.yaml", "-q"]) == 0
    assert main(["verify", "tiny.lock", "-q"]) == 0
    Path("tiny.yaml").write_text(spec)
    shutil.rmtree(".lnlab/looks")
    shutil.rmtree("reports")  # the lock alone remembers the claim that comes back
    assert main(["run", "tiny.yaml", "-q"]) == 0
    assert main(["report", "tiny.yaml", "-q"]) == 0
    assert verdicts()["far_above"] == (2, 0.0125)


@pytest.mark.usefixtures("root")
def test_a_store_that_cannot_be_written_still_judges_at_the_level_of_the_look(monkeypatch):
    shutil.rmtree("reports")
    Path("tiny.lock").unlink()
    monkeypatch.setattr("lnlab.store.looks._path", lambda root, name: Path("/proc/nowhere/looks"))
    assert main(["report", "tiny.yaml", "-q"]) == 0
    assert set(verdicts()) == {"post_above_pre", "far_above"}


@pytest.mark.usefixtures("root")
def test_a_run_says_what_further_seeds_would_decide_and_how_long_they_take(capsys):
    Path("tiny.yaml").write_text(TINY.replace("seeds: 3", "seeds: 2"))
    assert main(["run", "tiny.yaml"]) == 0
    captured = capsys.readouterr()
    assert "that takes 2 runs" in captured.out
    lines = [line for line in captured.err.splitlines() if line.startswith("to decide")]
    assert {claim for line in lines for claim in re.findall(r"post_above_pre|far_above", line)} == {
        "post_above_pre",
        "far_above",
    }, captured.err
    for line in lines:
        seeds, runs = map(
            int, re.search(r": (\d+) more seeds?, (\d+) runs, about \d.* s on one worker$", line).groups()
        )
        assert runs == 2 * seeds


def dated(folder=FOLDER):
    """The sentence of each claim that says how its criterion stands to its looks in time."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    return re.findall(r'<p class="dated">(.*?)</p>', page)


@pytest.mark.nightly
def test_a_range_that_was_changed_after_its_look_says_so_on_the_page(tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    moved = TINY.replace("at_least: 1.1", "at_least: 1.3")
    for spec in (TINY, moved):
        Path("tiny.yaml").write_text(spec)
        assert main(["run", "tiny.yaml", "-q"]) == 0
        assert main(["report", "tiny.yaml", "-q"]) == 0
    golden([sentence.replace(date.today().isoformat(), "TODAY") for sentence in dated()])
    assert verdicts() == {"post_above_pre": (2, 0.0125), "far_above": (1, 0.05)}
    before = Path(FOLDER, "index.html").read_bytes()
    assert main(["report", "--from", str(FOLDER), "-q"]) == 0
    assert Path(FOLDER, "index.html").read_bytes() == before
    Path("tiny.yaml").write_text(TINY.replace("at_least: 1.1", "at_least: 1.1\n    margin: ours"))
    assert main(["report", "--from", str(FOLDER), "-q"]) == 0  # a change that can only take a word back
    assert (dated(), verdicts()) == ([], {"post_above_pre": (1, 0.05), "far_above": (1, 0.05)})
    shutil.rmtree("reports")
    Path("tiny.yaml").write_text(TINY.replace("at_least: 1.1", "at_least: 1.2").replace("seeds: 3", "seeds: 11-13"))
    assert main(["run", "tiny.yaml", "-q"]) == 0
    assert main(["report", "tiny.yaml", "-q"]) == 0
    assert dated() == []  # fresh seeds for the changed range; the other claim has its second look
    assert verdicts() == {"post_above_pre": (1, 0.05), "far_above": (2, 0.0125)}


@pytest.mark.nightly
def test_profiles_and_other_settings_have_looks_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(f"{TINY}  deep: {{model.layers: 3}}\n")
    for options in ([], ["-p", "deep"], ["-s", "model.layers=1"]):
        assert main(["run", "tiny.yaml", "-q", *options]) == 0
        assert main(["report", "tiny.yaml", "-q", *options, "-o", "out", "--replace"]) == 0
        assert verdicts(Path("out")) == dict.fromkeys(("post_above_pre", "far_above"), (1, 0.05))
    assert main(["run", "tiny.yaml", "-q", "-s", "seeds=4"]) == 0
    assert main(["report", "tiny.yaml", "-q", "-s", "seeds=4", "-o", "four"]) == 0
    assert verdicts(Path("four")) == dict.fromkeys(("post_above_pre", "far_above"), (2, 0.0125))
