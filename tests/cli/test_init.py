"""A stranger in an empty folder gets a spec to start from, and never loses one."""

import json
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lnlab.app.repository import installed_from
from lnlab.cli import main
from lnlab.specfile.citations import shipped_specs
from tests.cli.conftest import TINY


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_name_the_shipped_specs_are_listed_and_nothing_is_written(empty, capsys):
    assert main(["init"]) == 0
    assert capsys.readouterr().out.split() == list(shipped_specs())
    assert "xiong_fig3" in shipped_specs()
    assert list(empty.iterdir()) == []


def test_a_spec_is_copied_byte_for_byte_with_its_schema(empty, capsys):
    assert main(["init", "xiong_fig3"]) == 0
    shipped = shipped_specs()["xiong_fig3"]
    assert (empty / "xiong_fig3.yaml").read_bytes() == shipped.read_bytes()
    assert (empty / "experiment.schema.json").is_file()
    assert "lnlab run xiong_fig3.yaml" in capsys.readouterr().err
    assert main(["check", "xiong_fig3.yaml", "--profile", "smoke"]) == 0


def test_what_is_there_already_is_never_overwritten(empty, capsys):
    (empty / "xiong_fig3.yaml").write_text("mine")
    assert main(["init", "xiong_fig3"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (empty / "xiong_fig3.yaml").read_text() == "mine"


def test_a_name_that_is_not_shipped_gets_the_nearest_one(empty, capsys):
    assert main(["init", "xiong_fig33"]) == 2
    assert "did you mean 'xiong_fig3'?" in capsys.readouterr().err


def test_a_repository_stands_in_a_new_folder_and_never_in_another(empty, capsys):
    assert main(["init", "--repository", "figures"]) == 0
    written = set(capsys.readouterr().out.split())
    folder = empty / "figures"
    assert written == {path.relative_to(empty).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert (folder / "specs/xiong_fig3.yaml").read_bytes() == shipped_specs()["xiong_fig3"].read_bytes()
    assert len((folder / "README.md").read_text().splitlines()) <= 14
    assert not [path for path in folder.rglob("*") if path.is_file() and "@" in path.name]
    texts = [
        (folder / name).read_text()
        for name in ("Makefile", "README.md", "requirements.txt", "constraints.txt", ".github/workflows/figures.yml")
    ]
    assert not [text for text in texts if re.search("@[A-Z_]+@", text)]
    assert main(["init", "--repository", "figures"]) == 2
    assert "figures: is there already, and not empty" in capsys.readouterr().err
    assert main(["init", "nothing", "--repository", "other"]) == 2
    assert not (empty / "other").exists()


def test_its_workflow_verifies_on_every_push_and_publishes_the_index(empty):
    assert main(["init", "--repository", "figures"]) == 0
    workflow = YAML(typ="safe").load((empty / "figures/.github/workflows/figures.yml").read_text())
    steps = [step.get("run") for step in workflow["jobs"]["verify"]["steps"]]
    assert "push" in workflow["on"]
    assert "lnlab verify --all --level 1" in steps
    assert workflow["jobs"]["publish"]["needs"] == "verify"
    (upload,) = [s for s in workflow["jobs"]["verify"]["steps"] if "upload-pages-artifact" in s.get("uses", "")]
    assert upload["with"]["path"] == "reports"


def requirements(folder):
    return [line for line in (folder / "requirements.txt").read_text().splitlines() if not line.startswith("#")]


def test_its_requirements_name_where_everything_comes_from(empty):
    assert main(["init", "--repository", "figures", "--lnlab-from", "git+https://example.org/lnlab@v1"]) == 0
    assert requirements(empty / "figures") == [
        "--extra-index-url https://download.pytorch.org/whl/cpu",
        "--constraint constraints.txt",
        "lnlab[train] @ git+https://example.org/lnlab@v1",
    ]
    options = ["--torch-index", "https://example.org/simple", "--lnlab-from", "https://example.org/a.whl"]
    assert main(["init", "--repository", "others", *options]) == 0
    assert requirements(empty / "others")[0] == "--extra-index-url https://example.org/simple"
    assert main(["init", "--repository", "wrong", "--lnlab-from", "two words"]) == 2
    assert not (empty / "wrong").exists()


def test_its_constraints_are_the_versions_of_this_environment_all_the_way_down(empty):
    assert main(["init", "--repository", "figures"]) == 0
    lines = (empty / "figures/constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name in (
        "altair",
        "vl-convert-python",
        "polars",
        "torch",
        "scipy",
        "tokenizers",
        "safetensors",
        "sacrebleu",
        "numpy",
        "pydantic-core",
    ):
        assert pinned[name] == version(name).partition("+")[0]
    assert "lnlab" not in pinned
    assert "pytest" not in pinned


@pytest.mark.parametrize(
    ("source", "requirement"),
    [
        (None, "lnlab[train]=="),
        (
            {"url": "https://example.org/lnlab.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "lnlab[train] @ git+https://example.org/lnlab.git@ab12",
        ),
        (
            {"url": "https://example.org/lnlab-1.whl", "archive_info": {}},
            "lnlab[train] @ https://example.org/lnlab-1.whl",
        ),
        ({"url": "file:///home/me/lnlab", "dir_info": {"editable": True}}, "lnlab[train] @ file:///home/me/lnlab"),
        (
            {"url": "file:///home/me/gone-1-py3-none-any.whl", "archive_info": {}},
            "lnlab[train] @ file:///home/me/gone-1",
        ),
    ],
)
def test_lnlab_comes_from_where_it_was_installed(source, requirement):
    wheel, found = installed_from(source and json.dumps(source))
    assert wheel is None
    assert found.splitlines()[-1].startswith(requirement)


def test_a_wheel_of_this_machine_is_taken_along(empty, monkeypatch):
    wheel = empty / "a b" / "lnlab-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"a wheel")
    source = json.dumps({"url": wheel.as_uri(), "archive_info": {}})
    monkeypatch.setattr("lnlab.app.repository.direct_url", lambda: source)
    assert main(["init", "--repository", "figures"]) == 0
    assert requirements(empty / "figures")[-1] == f"./wheels/{wheel.name}[train]"
    assert (empty / "figures/wheels" / wheel.name).read_bytes() == b"a wheel"


@pytest.mark.slow
def test_its_makefile_makes_a_figure_that_is_verified_until_a_byte_of_it_changes(empty, client):
    """A tiny spec stands for the shipped one."""
    assert main(["init", "--repository", "figures"]) == 0
    Path("figures/specs/xiong_fig3.yaml").write_text(TINY.replace("one: {seeds: 1}", "smoke: {seeds: 3}"))

    lnlab = client(empty / "figures")

    def make(target):
        command = ["make", target, f"LNLAB={lnlab}"]
        return subprocess.run(command, cwd=empty / "figures", capture_output=True, text=True, timeout=500)

    made = make("figure")
    assert made.returncode == 0, made.stdout + made.stderr
    assert (empty / "figures/reports/index.html").is_file()
    assert (empty / "figures/specs/xiong_fig3.lock").is_file()
    verified = make("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "level 1: 1 report" in verified.stdout
    (page,) = (empty / "figures/reports/xiong_fig3").rglob("index.html")
    page.write_text(page.read_text().replace("supported", "Supported", 1))
    assert make("verify").returncode != 0
