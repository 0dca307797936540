"""The commands as functions: the same keys, verdicts and errors as on the command line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import lnlab as package
from lnlab.errors import LabError, SpecError, StoreError
from lnlab.specfile.load import load_spec
from tests.cli.conftest import TINY


@pytest.fixture
def store(once, tmp_path):
    """A copy of a store in which the command line has run the spec."""
    shutil.copytree(once / ".lnlab", tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture(autouse=True)
def data(tiny):
    """The spec of the working folder as a dict."""
    return load_spec(tiny).data


def test_what_the_command_line_computed_is_there_for_a_dict_and_a_path(store, data, lnlab):
    printed = lnlab("run", "tiny.yaml", "--store", store, "--json").json
    from_path = package.run("tiny.yaml", store=store, progress=False)
    from_dict = package.run(data, store=store, progress=False)
    assert from_path.plan == printed["plan"]
    for outcome in (from_path, from_dict):
        assert (outcome.computed, outcome.reused, outcome.failures) == (0, 6, [])
        assert [(v.claim, v.verdict, v.estimate) for v in outcome.verdicts] == [
            (v["claim"], v["verdict"], v["estimate"]) for v in printed["verdicts"]
        ]
    assert from_path.verdicts == from_dict.verdicts == package.judge(data, store=store)
    for key in ("run", "trajectory", "variant"):
        assert set(from_path.results.runs[key]) == set(from_dict.results.runs[key])
    assert package.results(data, store=store).results.tables["sites"].equals(from_path.results.tables["sites"])


def test_what_python_computed_is_there_for_the_command_line(data, capsys, lnlab):
    computed = package.run(data, workers=1)
    assert (computed.computed, computed.reused) == (6, 0)
    assert capsys.readouterr().out == ""
    printed = lnlab("run", "tiny.yaml", "--json").json
    assert (printed["computed"], printed["reused"]) == (0, 6)
    assert printed["verdicts"][0]["estimate"] == computed.verdicts[0].estimate


def test_overrides_are_a_dict_or_what_the_command_line_takes(store, data):
    for overrides in ({"seeds": [1, 2], "placement": "post"}, ["seeds=[1, 2]", "placement=post"]):
        summary = package.plan(data, store=store, overrides=overrides)
        assert (summary.runs, summary.units.missing, summary.seeds) == (2, 0, (1, 2))
    assert package.plan(data, profile="one", store=store).runs == 2
    assert package.plan(data, store=store, overrides="seeds=5").measurements.missing == 4


def test_a_plan_is_that_of_the_command_line(store, lnlab):
    summary = package.plan("tiny.yaml", store=store, workers=2)
    assert (
        json.loads(json.dumps(summary.as_plain()))
        == lnlab("plan", "tiny.yaml", "--store", store, "-w", 2, "--json").json
    )


def test_check_summarizes_every_profile(data):
    first, second, _ = package.check(data)
    assert (first.profile, first.runs, first.models, first.claims) == (None, 6, 2, 2)
    assert (second.profile, second.runs) == ("one", 2)


def test_a_report_of_a_dict_is_that_of_the_file_but_for_its_name(store, data):
    package.run(data, store=store, progress=False)
    of_dict = package.report(data, store=store)
    of_file = package.report("tiny.yaml", store=store, out="there")
    assert of_dict.files[0] == Path("reports/a_tiny_experiment/index.html")
    assert of_file.files[0] == Path("there/index.html")
    assert (of_dict.failed, of_file.failed) == ([], [])
    for pattern in ("data/packs/*/sites.parquet", "data/verdicts.parquet", "data/plans/*/runs.parquet"):
        (one,), (other,) = (report.files[0].parent.glob(pattern) for report in (of_dict, of_file))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        pytest.param(lambda data: package.check(data | {"placment": "pre"}), SpecError, id="key"),
        pytest.param(lambda data: package.plan(data, overrides={"model.heads": 3}), SpecError, id="heads"),
        pytest.param(lambda data: package.plan(data, profile="reel"), SpecError, id="profile"),
        pytest.param(lambda data: package.run(data | {"seeds": float("inf")}), SpecError, id="infinity"),
        pytest.param(lambda data: package.judge(data), StoreError, id="judge"),
        pytest.param(lambda data: package.report("none.yaml"), SpecError, id="report"),
        pytest.param(lambda data: package.results(data), StoreError, id="results"),
        pytest.param(lambda data: package.check(data, plugins="absent.py"), LabError, id="plugin"),
    ],
)
def test_an_error_is_of_lnlab_and_one_line_a_problem(call, kind, data, golden):
    with pytest.raises(kind) as caught:
        call(data)
    golden(str(caught.value))
    assert len(str(caught.value).splitlines()) == len(caught.value.issues)


@pytest.mark.nightly
def test_a_script_needs_no_main_guard():
    Path("script.py").write_text(
        "import lnlab\nprint(lnlab.run('tiny.yaml', overrides={'seeds': 1}, workers=2, progress=False).computed)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_rerun_keeps_verdicts_on_derived_quantities_under_the_digest_of_their_rows():
    """A process with nothing to compute has not imported these quantities, and their rows are part of the digest."""
    text = TINY.replace("gradient_norm, stack: decoder, tensor: w2, layer: last", "total_gradient_norm")
    Path("derived.yaml").write_text(text)
    program = "import lnlab; lnlab.run('derived.yaml', overrides={'seeds': 1}, workers=1, progress=False)"
    rows = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
        (path,) = Path(".lnlab").glob("plans/*/verdicts.parquet")
        rows.append(pl.read_parquet(path)["rows"].to_list())
        path.unlink()
    assert len(rows[0]) == 2
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
