"""``lnlab.toml``: what a project says once; the command line and the environment win."""

import shutil
from pathlib import Path

import pytest

import lnlab as package
from lnlab.corpora.files.fetch import data_roots


@pytest.fixture
def project(once, tmp_path, monkeypatch):
    """A folder with a project file and, in ``specs``, a spec; the working folder is another one."""
    (tmp_path / "home" / "specs").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(once / "tiny.yaml", tmp_path / "home" / "specs")
    (tmp_path / "home" / "lnlab.toml").write_text(
        'remote = "runs"\nstore = "kept"\ndata = ["texts", "/more"]\nprofile = "one"\n'
    )
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "home"


def test_store_profile_and_remote_are_the_projects_wherever_the_command_is_called(lnlab, project):
    spec = project / "specs" / "tiny.yaml"
    ran = lnlab("run", spec, "--json", "-w", 1).json
    assert (ran["computed"], ran["reused"]) == (2, 0)
    assert (project / "kept" / "plans").is_dir()
    assert lnlab("push", spec).out.startswith(f"2 units at {project / 'runs'}; 1 pack (")
    assert lnlab("pull", spec, "--store", "other").out.startswith("2 units pulled")
    assert package.run(spec, progress=False).computed == 0
    assert package.plan(spec).plan.profile == "one"
    assert not Path(".lnlab").exists()


def test_the_command_line_and_the_environment_win(lnlab, project, monkeypatch):
    spec = project / "specs" / "tiny.yaml"
    assert lnlab("run", spec, "--store", "mine", "-p", "one", "-q", "-w", 1).code == 0
    assert Path("mine/plans").is_dir()
    monkeypatch.setenv("LNLAB_STORE", "theirs")
    whole = lnlab("run", spec, "--json", "-w", 1, "-p", "").json
    assert whole["computed"] == 6
    assert Path("theirs/plans").is_dir()
    assert lnlab("push", spec, "there", "-p", "").out.startswith("6 units at there; ")
    assert not (project / "kept").exists()
    monkeypatch.setenv("LNLAB_DATA", "/given")
    assert data_roots(spec.parent)[1] == Path("/given")


def test_data_folders_are_searched_after_that_of_the_spec(project):
    spec_folder = project / "specs"
    assert data_roots(spec_folder)[:3] == (spec_folder, project / "texts", Path("/more"))


def test_a_profile_that_a_spec_does_not_have_is_not_asked_of_it(lnlab, project):
    spec = project / "specs" / "tiny.yaml"
    (project / "lnlab.toml").write_text('profile = "absent"\n')
    assert lnlab("run", spec, "--json", "-w", 1).json["computed"] == 6


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('sotre = "x"', ["sotre"]),
        ('[store]\npath = "x"', ["store"]),
        ("store = 3\nremot = 1", ["store", "remot"]),
        ('data = "x"', ["data"]),
        ("data = [1]", ["data"]),
        ('profile = ""', ["profile"]),
        ('store = "a\\u0000b"', ["store"]),
        ("store = ", [""]),
        ("x = " + "[" * 5_000, [""]),
        (b'store = "\xff"', [""]),
        ("#" * 70_000, [""]),
    ],
    ids=range(11),
)
def test_a_mistake_in_it_is_a_line_each(console, project, text, keys):
    (project / "lnlab.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused = console.refused("run", project / "specs" / "tiny.yaml", lines=len(keys)).splitlines()
    for line, key in zip(sorted(refused), sorted(keys), strict=True):
        assert f"lnlab.toml: {key}" in line
