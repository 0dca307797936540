"""An installation without ``lnlab[train]`` reads, judges and draws; what it cannot do names the command that helps."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lnlab.cli import main
from lnlab.committed.registries import load_registries
from tests.cli.described_registries import described
from tests.support.folders import contents

ROOT = Path(__file__).parents[2]
WITHOUT = """
import contextlib, io, json, os, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {root!r})
"""
PACKAGES = ("torch", "tokenizers", "safetensors", "sacrebleu")
INSTALL = 'pip install "lnlab[train]"'
COMMANDS = """
from lnlab.cli import main

answers = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    answers.append([code, out.getvalue(), err.getvalue()])
assert not {packages!r} & {{name.partition(".")[0] for name in sys.modules}}
print(json.dumps(answers))
"""


def without(program, folder, stdin=""):
    text = (WITHOUT + program).format(packages=set(PACKAGES), root=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, input=stdin, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(folder, *lines, then=""):
    """Exit code, output and errors of each command, all in one process that has no torch, and runs a program then."""
    return json.loads(without(COMMANDS + then, folder, json.dumps([line.split() for line in lines])))


@pytest.fixture(scope="module")
def reported(once, tmp_path_factory):
    """A folder with a spec that was run, its report and its lock."""
    folder = tmp_path_factory.mktemp("reported") / "work"
    shutil.copytree(once, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["report", "tiny.yaml", "-q", "--out", "reports/tiny/default"]) == 0
        assert main(["report", "tiny.yaml", "-q", "--profile", "one", "--out", "reports/tiny/one"]) == 0
        assert main(["lock", "tiny.yaml", "-q", "--report", "reports/tiny/default"]) == 0
        assert main(["run", "tiny.yaml", "-q"]) == 0  # the plan is remembered with the folder, which is a copy
    return folder


def test_everything_that_is_stored_is_read_judged_and_drawn(reported):
    before = contents(reported / "reports" / "tiny" / "default")
    lines = {
        "report --from reports/tiny/default --out again": "claims judged",
        "report tiny.yaml --out from_store": "from_store",
        "verify tiny.yaml": "verified",
        "verify tiny.yaml --level 1": "verified",
        "index reports": "index.html",
        "paper reports/tiny/default --out paper": "paper",
        "why tiny:post_above_pre": "computed by  probe gradient_norm",
        "diff reports/tiny/default reports/tiny/one": "seeds",
        "results tiny.yaml --out t.parquet": "rows",
        "results reports/tiny/default --out u.csv": "rows",
        "check tiny.yaml": "6 runs, 2 models, 2 claims",
        "list norm": "layer",
        "status": "",
    }
    answers = dict(zip(lines, commands(reported, *lines), strict=True))
    assert {line: code for line, (code, *_) in answers.items() if code} in (
        {},
        {"diff reports/tiny/default reports/tiny/one": 1},
    )
    assert not [line for line, words in lines.items() if words not in " ".join(answers[line][1:])]
    assert answers["check tiny.yaml"][2].count(INSTALL) == 1
    drawn = contents(reported / "again")
    others = {name for name in before if not name.endswith(".pdf") and drawn.get(name) != before[name]}
    assert others <= {"data/experiment.json", "index.html", "notebook.ipynb"}  # which name the folder
    assert {Path(name).suffix for name in contents(reported / "paper")} >= {".pdf", ".tex"}


NEEDS_TORCH = ("run tiny.yaml -s seeds=9 --store new", "plan tiny.yaml", "verify tiny.yaml --level 2")


def test_what_needs_torch_says_in_one_line_what_to_install_and_a_run_with_nothing_to_do_needs_none(reported, golden):
    *refused, (code, out, _) = commands(reported, *NEEDS_TORCH, "run tiny.yaml")
    assert [[code, out, err.count("\n")] for code, out, err in refused] == [[2, "", 1]] * len(NEEDS_TORCH)
    golden([err.strip() for _, _, err in refused])
    assert code == 0
    assert "0 units computed, 6 reused" in out


@pytest.mark.nightly
def test_tables_of_other_tools_are_judged(workdir):
    rows = [f"{opt},{seed},{1 + (opt == 'sgd') + seed / 100}" for opt in ("adam", "sgd") for seed in range(1, 7)]
    (workdir / "runs.csv").write_text("optimizer,seed,loss\n" + "\n".join(rows) + "\n")
    (workdir / "table.yaml").write_text(
        "lnlab: 2\ntitle: t\nresults: {kind: table, files: [runs.csv], axes: [optimizer]}\nclaims:\n"
        "  - {id: a, says: Adam is lower., kind: ratio, of: {quantity: loss, optimizer: sgd}, to: {optimizer: adam},"
        " at_least: 1.2}\n"
    )
    check, run, page, table = commands(
        workdir,
        "check table.yaml",
        "run table.yaml --json",
        "report table.yaml",
        "results table.yaml --out t.json",
        then="import lnlab, polars; lnlab.from_frame(polars.read_csv('runs.csv'), axes=['optimizer']).frame('loss')",
    )
    assert (check[0], run[0], page[0], table[0]) == (0, 0, 0, 0), (check, run, page, table)
    assert [verdict["verdict"] for verdict in json.loads(run[1])["verdicts"]] == ["supported"]
    assert len(json.loads((workdir / "t.json").read_text())) == 12


REGISTRIES = """
from tests.cli.described_registries import described
from tests.support.folders import contents
from lnlab.committed.registries import load_registries
print(json.dumps(described(load_registries(()))))
"""


@pytest.mark.nightly
def test_every_piece_is_registered_as_it_is_with_torch(tmp_path):
    """Names, versions, parameters with their defaults and schemas, nested choices, facts: all that a spec reads."""
    expected = json.loads(json.dumps(described(load_registries(()))))
    found = json.loads(without(REGISTRIES, tmp_path))
    assert len(expected) > 120
    assert found == expected


@pytest.mark.nightly
def test_a_piece_is_known_and_cannot_be_built_and_torch_stays_absent(tmp_path, golden):
    program = """
from lnlab.catalogue import REGISTRIES
from lnlab.errors import LabError

for kind, choice in (("norm", "layer"), ("norm", "none")):
    build = REGISTRIES[kind].builder(REGISTRIES[kind].resolve(choice))
    try:
        print(build(16))
    except LabError as error:
        print(error)
try:
    import torch
except ModuleNotFoundError as error:
    print(error.name)
import lnlab
for name in ("measure", "Recorder"):
    try:
        getattr(lnlab, name)
    except LabError as error:
        print(error)
"""
    golden(without(program, tmp_path))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "line",
    [
        "raise OSError('libtorch_cpu.so: cannot open shared object file')",
        "from torch._C import Tensor",
        "raise RuntimeError('built for another\\nnumpy')",
    ],
)
def test_a_torch_that_is_installed_and_broken_is_told_in_one_line(workdir, golden, python, line):
    (workdir / "torch").mkdir()
    (workdir / "torch" / "__init__.py").write_text(line)  # found before the one that works, below the working folder
    program = f"import sys; sys.path.append({str(ROOT)!r}); from lnlab.cli import main"
    done = python(f"{program}; sys.exit(str([main(['plan', 'tiny.yaml']) for _ in range(2)]))")
    *told, codes = done.err.splitlines()
    assert (codes, len(told), done.out) == ("[2, 2]", 2, "")
    golden(told)


@pytest.mark.nightly
def test_a_folder_that_an_uninstalled_torch_left_behind_is_no_torch(tmp_path):
    (tmp_path / "torch" / "__pycache__").mkdir(parents=True)
    program = "from lnlab.training_extra import absent_packages; print(*absent_packages())"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],  # -S: nothing of what is installed is found
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.split() == list(PACKAGES), done.stderr


@pytest.mark.nightly
def test_a_page_with_whole_models_is_verified_from_the_boxes_that_it_holds():
    """Where torch is installed they are built again, and are the same."""
    ((code, out, err),) = commands(ROOT, "verify specs/xiong_fig3.yaml --level 1")
    assert code == 0, err
    assert "verified: every page" in out


OTHER_RUNS = (
    ("d_model: 128, heads", "d_model: 96, heads"),
    ("d_ff: 256", "d_ff: 256, dropout: 0.5"),
    ("11-20", "11-22"),
)


def test_boxes_are_not_kept_where_the_spec_asks_for_runs_that_the_report_lacks(tmp_path):
    """Its settings may be those of another model, which only torch can build."""
    shutil.copytree(ROOT / "reports/xiong_fig3", tmp_path / "xiong_fig3")
    text = (ROOT / "specs/xiong_fig3.yaml").read_text()
    for number, (now, then) in enumerate(OTHER_RUNS):
        assert now in text
        (tmp_path / f"changed{number}.yaml").write_text(text.replace(now, then, 1))
    lines = [f"report --from xiong_fig3/real changed{n}.yaml --replace -q" for n in range(len(OTHER_RUNS))]
    for code, _, err in commands(tmp_path, *lines):
        assert (code, err.startswith("lnlab report: "), err.endswith(f"{INSTALL}\n")) == (2, True, True)
