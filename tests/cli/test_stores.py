"""``lnlab ls`` and ``lnlab gc``: what a store holds by experiment, and what no spec and no lock leads to."""

import shutil
from pathlib import Path

import pytest

from lnlab.store.plans import find_plan
from lnlab.store.store import Store
from tests.support.results_digest import results_digest


@pytest.fixture
def stored(once, tiny, lnlab):
    """A store with two profiles of one spec, the default used last, in the working folder."""
    shutil.copytree(once / ".lnlab", ".lnlab")
    assert [lnlab("run", tiny.name, "-q", *more).code for more in (["-p", "one"], [])] == [0, 0]
    return Store(Path(".lnlab").absolute())


def test_experiments_are_listed_with_size_and_runs_the_last_one_first(lnlab, stored):
    default, one = lnlab("ls", "--json").json
    assert (default["profile"], default["runs"]) == (None, {"complete": 6})
    assert (one["profile"], one["runs"]) == ("one", {"complete": 2})
    total = sum(path.stat().st_size for path in Path(".lnlab").rglob("*") if path.is_file())
    assert 0 < one["size"] < default["size"] < total
    assert default["used"] >= one["used"]
    printed = lnlab("ls").out
    assert "tiny --profile one" in printed
    assert "6 complete" in printed


def test_runs_that_failed_or_are_missing_are_counted(lnlab, tiny):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    store = Store(Path(".lnlab").absolute())
    trajectory = store.results(find_plan(store.root, tiny, "one").digest).runs["trajectory"][0]
    shutil.rmtree(Path(".lnlab/trajectories") / trajectory[:2])
    (experiment,) = lnlab("ls", "--json").json
    assert experiment["runs"] == {"complete": 1, "missing": 1}
    assert experiment["spec_now"] == "as it is"


def test_a_spec_at_hand_keeps_what_was_run_from_its_text(console, stored):
    console("gc")
    Path("specs").mkdir()
    shutil.move("tiny.yaml", "specs/renamed.yaml")
    console("gc")
    console("gc", "specs/renamed.yaml")


def test_what_a_changed_spec_no_longer_needs_is_listed_and_goes_only_when_asked(lnlab, console, stored):
    text = Path("tiny.yaml").read_text()
    Path("tiny.yaml").write_text(text.replace("seeds: 3", "seeds: 2"))
    assert lnlab("run", "tiny.yaml", "-q", "-w", 1).code == 0
    before = results_digest(stored.results(find_plan(stored.root, Path("tiny.yaml")).digest))
    files = sorted(path for path in Path(".lnlab").rglob("*") if path.is_file())
    assert console("gc").code == 0
    assert sorted(path for path in Path(".lnlab").rglob("*") if path.is_file()) == files
    console("gc", "--delete")
    assert results_digest(stored.results(find_plan(stored.root, Path("tiny.yaml")).digest)) == before
    console("gc")
    Path("tiny.yaml").write_text(text)
    assert lnlab("run", "tiny.yaml", "--json", "-w", 1).json["computed"] == 2, "the third seed of both variants went"


def test_a_lock_keeps_the_runs_that_it_names(lnlab, console, stored):
    assert lnlab("report", "tiny.yaml", "-q", "-o", "reports/tiny").code == 0
    assert lnlab("lock", "tiny.yaml", "-q").code == 0
    Path("other").mkdir()
    shutil.move("tiny.lock", "other/tiny.lock")
    Path("tiny.yaml").write_text(Path("tiny.yaml").read_text().replace("d_ff: 32", "d_ff: 64"))
    console("gc")
    console("gc", ".", "other")


def test_without_any_spec_nothing_is_removed(lnlab, console, stored):
    Path("tiny.yaml").unlink()
    assert {experiment["spec_now"] for experiment in lnlab("ls", "--json").json} == {"gone"}
    console.refused("gc", "--delete")


def test_a_damaged_plan_keeps_everything(console, stored):
    plan = next(Path(".lnlab/plans").iterdir()) / "plan.json"
    plan.write_bytes(plan.read_bytes()[:-9])
    console.refused("gc", "--delete")
