"""The commands as functions: the same keys, verdicts and errors as on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import lnlab
from lnlab.cli import main
from lnlab.errors import LabError, SpecError, StoreError
from lnlab.specfile.load import load_spec
from tests.support.toy_specs import UNTRAINED, toy_spec

REST = """\
seeds: 3
sweep:
  - {placement: [post, pre]}
probes:
  - {kind: gradient_norm, at: init, batches: 1}
report:
  - {kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}}
claims:
  - id: post_above_pre
    says: The gradient of the last layer is larger in Post-LN.
    kind: ratio
    of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
    to: {placement: pre}
    at_least: 1.1
profiles:
  one: {seeds: 1}
"""
SPEC = toy_spec(UNTRAINED, REST, title="A tiny experiment: does it run?")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder with the spec, and neither data nor a store from elsewhere."""
    monkeypatch.chdir(tmp_path)
    for name in ("LNLAB_DATA", "LNLAB_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "tiny.yaml").write_text(SPEC)
    return tmp_path


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A folder in which the command line has run the spec."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "tiny.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("LNLAB_STORE", raising=False)
        assert main(["run", "tiny.yaml", "-w", "1", "-q"]) == 0
    return folder


@pytest.fixture
def data():
    return load_spec(Path("tiny.yaml")).data


def test_what_the_command_line_computed_is_there_for_a_dict_and_a_path(once, data, capsys):
    store = once / ".lnlab"
    assert main(["run", str(once / "tiny.yaml"), "--store", str(store), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    from_path = lnlab.run(once / "tiny.yaml", store=store, progress=False)
    from_dict = lnlab.run(data, store=store, progress=False)
    assert from_path.plan == printed["plan"]
    for outcome in (from_path, from_dict):
        assert (outcome.computed, outcome.reused, outcome.failures) == (0, 6, [])
        assert [(v.claim, v.verdict, v.estimate) for v in outcome.verdicts] == [
            (v["claim"], v["verdict"], v["estimate"]) for v in printed["verdicts"]
        ]
    assert from_path.verdicts == from_dict.verdicts == lnlab.judge(data, store=store)
    for key in ("run", "trajectory", "variant"):
        assert set(from_path.results.runs[key]) == set(from_dict.results.runs[key])
    assert lnlab.results(data, store=store).results.tables["sites"].equals(from_path.results.tables["sites"])


def test_what_python_computed_is_there_for_the_command_line(data, capsys):
    computed = lnlab.run(data, workers=1)
    assert (computed.computed, computed.reused) == (6, 0)
    assert capsys.readouterr().out == ""
    assert main(["run", "tiny.yaml", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["computed"], printed["reused"]) == (0, 6)
    assert printed["verdicts"][0]["estimate"] == computed.verdicts[0].estimate


def test_overrides_are_a_dict_or_what_the_command_line_takes(once, data):
    store = once / ".lnlab"
    for overrides in ({"seeds": [1, 2], "placement": "post"}, ["seeds=[1, 2]", "placement=post"]):
        summary = lnlab.plan(data, store=store, overrides=overrides)
        assert (summary.runs, summary.units.missing, summary.seeds) == (2, 0, (1, 2))
    assert lnlab.plan(data, profile="one", store=store).runs == 2
    assert lnlab.plan(data, store=store, overrides="seeds=5").measurements.missing == 4


def test_a_plan_is_that_of_the_command_line(once, capsys):
    assert main(["plan", "tiny.yaml", "--store", str(once / ".lnlab"), "-w", "2", "--json"]) == 0
    summary = lnlab.plan("tiny.yaml", store=once / ".lnlab", workers=2)
    assert json.loads(json.dumps(summary.as_plain())) == json.loads(capsys.readouterr().out)


def test_check_summarizes_every_profile(data):
    first, second = lnlab.check(data)
    assert (first.profile, first.runs, first.models, first.claims) == (None, 6, 2, 1)
    assert (second.profile, second.runs) == ("one", 2)


def test_a_report_of_a_dict_is_that_of_the_file_but_for_its_name(once, data):
    store = once / ".lnlab"
    lnlab.run(data, store=store, progress=False)
    of_dict = lnlab.report(data, store=store)
    of_file = lnlab.report(once / "tiny.yaml", store=store, out="there")
    assert of_dict.files[0] == Path("reports/a_tiny_experiment_does_it_run/index.html")
    assert of_file.files[0] == Path("there/index.html")
    assert (of_dict.failed, of_file.failed) == ([], [])
    for pattern in ("data/packs/*/sites.parquet", "data/verdicts.parquet", "data/plans/*/runs.parquet"):
        (one,), (other,) = (report.files[0].parent.glob(pattern) for report in (of_dict, of_file))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda data: lnlab.check(data | {"placment": "pre"}), SpecError),
        (lambda data: lnlab.plan(data, overrides={"model.heads": 3}), SpecError),
        (lambda data: lnlab.plan(data, profile="real"), SpecError),
        (lambda data: lnlab.run(data | {"seeds": float("inf")}), SpecError),
        (lambda data: lnlab.judge(data), StoreError),
        (lambda data: lnlab.report("none.yaml"), SpecError),
        (lambda data: lnlab.results(data), StoreError),
        (lambda data: lnlab.check(data, plugins="absent.py"), LabError),
    ],
)
def test_an_error_is_of_lnlab_and_one_line_a_problem(call, kind, data, golden):
    with pytest.raises(kind) as caught:
        call(data)
    golden(str(caught.value))
    assert len(str(caught.value).splitlines()) == len(caught.value.issues)


def test_all_problems_of_a_dict_come_at_once(data):
    with pytest.raises(SpecError) as caught:
        lnlab.check(data | {"norm": "leyer", "sed": 3})
    assert len(caught.value.issues) == 2
    assert all("leyer" in str(problem) or "sed" in str(problem) for problem in caught.value.issues)


@pytest.mark.nightly
def test_a_script_needs_no_main_guard():
    Path("script.py").write_text(
        "import lnlab\nprint(lnlab.run('tiny.yaml', overrides={'seeds': 1}, workers=2, progress=False).computed)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_rerun_keeps_verdicts_on_derived_quantities_under_the_digest_of_their_rows():
    """A process with nothing to compute has not imported these quantities, and their rows are part of the digest."""
    Path("derived.yaml").write_text(
        SPEC.replace("gradient_norm, stack: decoder, tensor: w2, layer: last", "total_gradient_norm")
    )
    program = "import lnlab; lnlab.run('derived.yaml', overrides={'seeds': 1}, workers=1, progress=False)"
    rows = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
        (path,) = Path(".lnlab").glob("plans/*/verdicts.parquet")
        rows.append(pl.read_parquet(path)["rows"].to_list())
        path.unlink()
    assert len(rows[0]) == 1
    assert rows[0] == rows[1]


def test_public_names_cost_nothing_until_they_are_used():
    program = (
        "import sys, lnlab, lnlab.report.words\n"
        "assert callable(lnlab.report)\n"
        "assert all(callable(getattr(lnlab, name)) for name in ('check', 'plan', 'run', 'judge', 'results'))\n"
        "print({'torch', 'polars', 'altair', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.stdout) == ("", "set()\n")
