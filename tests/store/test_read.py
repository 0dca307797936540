"""``lnlab.results`` finds the last run of a spec as it is now, without torch."""

from dataclasses import replace

import pytest

import lnlab
from lnlab.errors import LabError, SpecError
from tests.support.store_toys import record_all


@pytest.fixture
def spec(full, tmp_path):
    return tmp_path / "toy.yaml"


def test_results_of_a_spec(full, root, spec, plan, monkeypatch):
    assert lnlab.results(spec, store=root).results.runs.height == 4
    assert lnlab.results(str(spec), store=str(root)).results.tables["sites"].height == 24
    monkeypatch.setenv("LNLAB_STORE", str(root))
    monkeypatch.chdir(spec.parent)
    assert lnlab.results("toy.yaml").results.runs.height == 4


def test_a_spec_never_run_one_changed_since_and_one_that_is_not_there(root, spec, golden):
    with golden.raises(LabError):
        lnlab.results(spec, store=root, profile="real")
    spec.write_text("title: another\n")
    with golden.raises(SpecError):
        lnlab.results(spec, store=root)
    with pytest.raises(LabError, match="no such file"):
        lnlab.results(spec.with_name("none.yaml"), store=root)


def test_a_spec_is_what_it_says_wherever_it_lies(full, root, spec, tmp_path, golden):
    elsewhere = tmp_path / "clone" / "renamed.yaml"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(spec.read_bytes())
    assert lnlab.results(elsewhere, store=root).results.runs.height == 4
    elsewhere.write_text("title: another\n")
    with golden.raises(SpecError):
        lnlab.results(elsewhere, store=root)


def test_a_run_without_overrides_comes_before_one_with_them(full, root, spec, plan):
    other = replace(plan, digest="f" * 64, overrides=("seeds=1",), runs=plan.runs[:1], needs=plan.needs[:2])
    full.save_plan(other, spec)
    assert lnlab.results(spec, store=root).results.runs.height == 4
    (root / "plans" / plan.digest / "plan.json").unlink()
    assert lnlab.results(spec, store=root).results.runs.height == 1
    record_all(full, plan)
