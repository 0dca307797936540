"""``lnlab --version --verbose``: what is installed and what is missing, held against what this environment says."""

import platform
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lnlab import __version__
from lnlab.app import installation


def test_versions_are_those_of_this_environment_and_nothing_is_written(lnlab, workdir):
    lines = lnlab("--verbose", "--version").out.splitlines()
    assert lnlab("--version").out == f"{lines[0]}\n" == f"lnlab {__version__}\n"
    assert lines[1].startswith(f"python {platform.python_version()} ")
    assert {f"torch {version('torch')}", f"polars {version('polars')}"} <= set(lines)
    assert list(workdir.iterdir()) == []


def test_verbose_alone_is_refused(console):
    console.refused("--verbose")


def test_a_missing_package_is_named_with_what_installs_it(lnlab, golden, monkeypatch):
    extras = {"far": ["polars", "no-such-package"], "near": ["polars"]}
    monkeypatch.setattr(installation, "wanted_extras", lambda: extras)
    golden(lnlab("--version", "--verbose").out.splitlines()[-2:])


def test_what_only_developers_want_is_not_offered(monkeypatch):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    stated = [
        f'{package}; extra == "{extra}"'
        for extra, packages in project["optional-dependencies"].items()
        for package in packages
    ]
    monkeypatch.setattr(installation, "requires", lambda _: stated)
    assert set(installation.wanted_extras()) == {"train", "tensorboard", "ray", "slurm"}


def test_lnlab_on_the_path_alone_offers_no_extras(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installation, "requires", absent)
    assert installation.wanted_extras() == {}
