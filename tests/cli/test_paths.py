"""Paths are bytes, and no path is a pattern: every command works in any folder that the file system can hold."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import TINY

NAMES = [b"\xff\xfe[1] caf\xe9 \xc3\xa9\nx?{a}[!a]"]
NAMES += [
    pytest.param(name, marks=pytest.mark.torture)
    for name in (b"a*b", b"\xff\xfe[1]", b"a\nb", b"caf\xe9", b"x?", b"{a}", b"[!a]", "é σ".encode())
]


def clean(text):
    """Whether a text can be written and printed, and moves no cursor."""
    text.encode()
    return all(character.isprintable() or character in "\n\t\u00a0" for character in text)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_works_in_a_folder_of_any_name(lnlab, workdir, name):
    folder = os.fsdecode(name)
    Path(folder).mkdir()
    Path(folder, "tiny.yaml").write_text(TINY)
    Path("a1b").mkdir()  # what a pattern would find beside it
    spec, store, out = f"{folder}/tiny.yaml", f"{folder}/.lnlab", f"{folder}/reports/tiny"
    commands = [
        ("check", spec),
        ("check", spec, "--json"),
        ("plan", spec, "--store", store),
        ("run", spec, "-w", 1, "--store", store),
        ("run", spec, "-w", 1, "--store", store, "--json"),
        ("report", spec, "--store", store, "--out", out),
        ("report", spec, "--store", store, "--out", out, "--json"),
        ("report", "--from", out),
        ("lock", spec),
        ("verify", spec),
        ("index", f"{folder}/reports"),
        ("paper", out, "--out", f"{folder}/paper"),
        ("status", "--store", store),
        ("ls", "--store", store),
        ("diff", spec, out),
        ("why", f"{out}:far_above", "--store", store),
    ]
    for words in commands:
        if words[0] == "lock":
            Path("reports").symlink_to(Path(out).parent.absolute())
        said = lnlab(*words)
        assert said.code == 0, (words, said.err)
        assert clean(said.out + said.err), words
        if "--json" in words:
            json.loads(said.out)
    for path in (*Path(out).rglob("*.json"), *Path(out).rglob("*.html"), *Path(out).rglob("*.ipynb")):
        path.read_text(encoding="utf-8").encode()
    assert json.loads(Path(out, "data/experiment.json").read_text())["name"] == "tiny"


def test_a_spec_of_any_name_that_every_system_holds_runs_and_is_reported(lnlab, workdir):
    spec = "é σ {a} [x].yaml"
    Path(spec).write_text(TINY)
    for words in (("check", spec), ("run", spec, "-w", 1, "-q"), ("report", spec), ("index",)):
        said = lnlab(*words)
        assert said.code == 0, (words, said.err)
        assert clean(said.out + said.err)
    assert Path("reports", Path(spec).stem, "index.html").is_file()


def test_a_report_in_a_folder_that_is_a_pattern_of_another_is_drawn_from_its_own_tables(lnlab, workdir, tiny):
    """``report --from 'r[1]'`` once read the tables of ``r1``."""
    assert lnlab("run", tiny, "-w", 1, "-q").code == 0
    assert lnlab("run", tiny, "-w", 1, "-q", "-p", "one").code == 0
    assert lnlab("report", tiny, "--out", "r1").code == 0
    assert lnlab("report", tiny, "-p", "one", "--out", "r[1]").code == 0
    before = {path: path.read_bytes() for path in Path("r[1]/data").rglob("*.*") if path.is_file()}
    assert lnlab("report", "--from", "r[1]").code == 0
    assert {path: path.read_bytes() for path in Path("r[1]/data").rglob("*.*") if path.is_file()} == before


def test_two_runs_on_one_store_count_what_each_of_them_computed(workdir, tiny, forked):
    """Both begin at once, so that both plan all six units."""
    outputs = [workdir / "first", workdir / "second"]
    for output in outputs:
        output.mkdir()
    words = ["run", str(tiny), "-w", "1", "--json"]
    ended = forked("commands_at_once", words, str(workdir), dict(os.environ), list(map(str, outputs)))
    assert ended == (0, None)
    said = [json.loads((output / "stdout").read_text()) for output in outputs]
    assert sum(each["computed"] for each in said) == 6
    assert [each["computed"] + each["reused"] for each in said] == [6, 6]
