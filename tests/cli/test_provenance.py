"""A run keeps where it was started: commit, patch, packages and command; a repository of others runs nothing for it."""

import subprocess
from pathlib import Path

import pytest

from lnlab.app import provenance
from lnlab.report.folder import read_folder

HOSTILE = {
    "filter.evil.clean": "touch {ran}; cat",
    "filter.evil.process": "touch {ran}",
    "diff.evil.textconv": "touch {ran}; cat",
    "diff.evil.command": "touch {ran}",
    "diff.external": "touch {ran}; true",
    "core.fsmonitor": "touch {ran}; true",
    "core.pager": "touch {ran}; cat",
    "core.hooksPath": "hooks",
}


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tiny, monkeypatch):
    """The working folder as a repository with one commit, and a line in a file that was added since."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "somebody@example.org")
    Path("notes.txt").write_text("one\n")
    Path(".gitignore").write_text(".lnlab\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    Path("notes.txt").write_text("one\ntwo\n")
    return tiny.parent


NOWHERE = "no commit of a repository"  # docs/committing.md, and a line of the page


def said(lnlab, *words):
    assert lnlab("report", "tiny.yaml", *words, "--out", "page", "-q", "--replace").code == 0
    return read_folder(Path("page"))[0].provenance


def test_a_page_says_where_its_runs_were_started(lnlab, repository):
    assert lnlab("run", "tiny.yaml", "-q", "-w", 1).code == 0
    stated = said(lnlab)
    assert stated["commit"] == git("rev-parse", "HEAD")
    assert [line for line in stated["patch"].splitlines() if line[0] in "+-"] == [
        "--- a/notes.txt",
        "+++ b/notes.txt",
        "+two",
    ]
    assert stated["packages"]["polars"]
    assert "note" not in stated
    page = Path("page/index.html").read_text()
    assert f"commit {stated['commit'][:12]}; 1 line changed since" in page
    assert "<dt>To cite</dt>" in page


def test_what_is_judged_again_was_started_where_its_runs_were(lnlab, repository):
    assert lnlab("run", "tiny.yaml", "-q", "-w", 1).code == 0
    first = git("rev-parse", "HEAD")
    text = Path("tiny.yaml").read_text()
    Path("tiny.yaml").write_text(text.replace("at_least: 1.1\n", "at_least: 1.05\n"))
    git("commit", "-qam", "another margin")
    assert lnlab("run", "tiny.yaml", "-q", "-w", 1).code == 0
    assert said(lnlab)["commit"] == first
    assert lnlab("pull", "tiny.yaml", "page", "--store", "other").code == 0
    assert said(lnlab, "--store", "other")["commit"] == first


def test_without_a_repository_the_page_says_so(lnlab, tiny):
    assert lnlab("run", "tiny.yaml", "-q", "-w", 1).code == 0
    assert said(lnlab)["note"] == NOWHERE


def test_a_long_patch_is_cut_and_says_so(repository, monkeypatch):
    monkeypatch.setattr(provenance, "LARGEST_PATCH", 1000)
    Path("notes.txt").write_text("two\n" * 2000)
    stated = provenance.provenance_of_run(())
    assert len(stated["patch"]) == 1000
    assert "cut after 1,000 characters" in stated["note"]


def test_nothing_that_a_repository_configures_runs(repository):
    ran = repository / "RAN"
    Path(".gitattributes").write_text("* filter=evil diff=evil\n")
    hook = Path("hooks/post-index-change")
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for name, value in HOSTILE.items():
        git("config", name, value.format(ran=ran))
    stated = provenance.provenance_of_run(())
    assert "+two" in stated["patch"].splitlines()
    assert not ran.exists()
    subprocess.run(["git", "diff", "HEAD"], check=False, capture_output=True)
    assert ran.exists()  # git itself does run it


def test_files_of_another_folder_are_in_no_patch(repository, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "notes.txt").write_text("secret\n")
    git("config", "core.worktree", str(other))
    assert provenance.provenance_of_run(())["note"] == NOWHERE
