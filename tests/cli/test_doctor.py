"""``lnlab doctor``: what is there and what is missing, held against what the machine says otherwise."""

import platform
import shutil
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from lnlab.app import doctor as examined


def findings(lnlab, *more):
    done = lnlab("doctor", "--json", *more)
    assert done.code == 0, done.err
    return done.json


def one(found, what):
    (finding,) = [entry for entry in found if entry["what"] == what]
    return finding


def test_versions_and_the_store_are_those_of_this_machine(lnlab, workdir):
    found = findings(lnlab)
    assert one(found, "torch")["found"] == version("torch")
    assert one(found, "polars")["found"] == version("polars")
    assert one(found, "python")["found"].startswith(platform.python_version())
    assert one(found, "store") == {"what": "store", "found": f"{workdir / '.lnlab'}: none yet", "remedy": ""}
    assert list(workdir.iterdir()) == []


def test_a_line_each_in_words(lnlab, ran):
    before = sorted(path.name for path in (ran / ".lnlab").iterdir())
    done = lnlab("doctor")
    assert done.code == 0
    (line,) = [line for line in done.out.splitlines() if line.startswith("store ")]
    assert line.endswith("/.lnlab: can be written")
    assert sorted(path.name for path in (ran / ".lnlab").iterdir()) == before


def test_a_store_that_cannot_be_written_is_told(lnlab, workdir, monkeypatch):
    (workdir / "kept").mkdir()

    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(examined, "TemporaryFile", refuse)
    store = one(findings(lnlab, "--store", "kept"), "store")
    assert store["found"].endswith("kept: cannot be written: permission denied")
    assert store["remedy"] == "give another folder with --store"


def test_a_missing_package_is_named_with_what_installs_it(lnlab, workdir, monkeypatch):
    monkeypatch.setattr(examined, "wanted_extras", lambda: {"far": ["polars", "no-such-package"], "near": ["polars"]})
    found = findings(lnlab)
    far = one(found, "lnlab[far]")
    assert (far["found"], far["remedy"]) == ("lacks no-such-package", "pip install 'lnlab[far]'")
    assert one(found, "lnlab[near]") == {"what": "lnlab[near]", "found": "is installed", "remedy": ""}


@pytest.mark.parametrize(("found_at", "remedy"), [("/opt/chromium", ""), (None, "pages are files")])
def test_a_browser_is_looked_for_on_the_path(lnlab, workdir, monkeypatch, found_at, remedy):
    monkeypatch.setattr(shutil, "which", lambda name: found_at)
    browser = one(findings(lnlab), "browser")
    assert browser["found"] == (found_at or "none on PATH")
    assert browser["remedy"].startswith(remedy)


def test_folders_of_data_are_told_with_what_lies_there(lnlab, workdir, monkeypatch):
    monkeypatch.setenv("LNLAB_DATA", str(workdir / "texts"))
    data = [entry["found"] for entry in findings(lnlab) if entry["what"] == "data"]
    assert data[0] == f"{workdir / 'texts'}: is not there"
    (workdir / "texts").mkdir()
    data = [entry["found"] for entry in findings(lnlab) if entry["what"] == "data"]
    assert data[0] == f"{workdir / 'texts'}: no corpus that lnlab knows"


def test_what_only_developers_want_is_not_offered(monkeypatch):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    stated = [
        f'{package}; extra == "{extra}"'
        for extra, packages in project["optional-dependencies"].items()
        for package in packages
    ]
    monkeypatch.setattr(examined, "requires", lambda _: stated)
    trackers, clusters = {"tensorboard", "mlflow", "wandb", "trackio"}, {"ray", "slurm"}
    assert set(examined.wanted_extras()) == {"train", *trackers, *clusters}


def test_lnlab_on_the_path_alone_offers_no_extras(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(examined, "requires", absent)
    assert examined.wanted_extras() == {}
