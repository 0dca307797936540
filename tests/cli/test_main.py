import os
import re
import subprocess
import sys

import pytest

from lnlab.cli import app

COMMANDS = [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]
PAGES = [[], *([name] for name in COMMANDS), ["data", "list"], ["data", "fetch"]]
HEAVY = {"torch", "polars", "pydantic", "lnlab.compile", "scipy", "altair", "numpy", "tokenizers"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: " ".join(page) or "lnlab")
def test_every_help_page_shows_an_example(lnlab, page):
    said = lnlab(*page, "--help")
    assert said.code == 0
    assert re.search(r"Example: +lnlab " + " ".join(page), " ".join(said.out.split()))


def test_the_help_has_its_commands_in_three_groups(lnlab):
    panels = re.split(r"╭─ (\w+) ─+╮", lnlab("--help").out)[1:]
    rows = [set(re.findall(r"^│ (\w+) ", text, re.MULTILINE)) for text in panels[1::2]]
    groups = dict(zip(panels[::2], rows, strict=True))
    assert list(groups) == ["Options", "Everyday", "Sharing", "Provenance"]
    assert set().union(*(groups[name] for name in list(groups)[1:])) == set(COMMANDS)
    assert groups["Provenance"] == {"lock", "verify", "diff", "why"}


def test_a_shell_is_told_the_commands_that_begin_so():
    asked = os.environ | {"_LNLAB_COMPLETE": "complete_bash", "COMP_WORDS": "lnlab re", "COMP_CWORD": "1"}
    told = subprocess.run(
        [sys.executable, "-c", "from lnlab.cli import main; main()"], env=asked, capture_output=True, text=True
    )
    assert sorted(told.stdout.split()) == ["report", "results", "review"]


def test_help_and_a_list_load_nothing_that_computes_or_draws(python):
    """The budget of the help is 0.3 s; what is loaded decides it and does not depend on how busy the machine is."""
    probe = (
        "import sys\nfrom lnlab.cli import main\nassert main(['--help']) == 0\n"
        f"print({HEAVY!r} & set(sys.modules), file=sys.stderr)\ncode = main(['list', 'norm'])\n"
        "print({'altair', 'scipy.special', 'scipy.stats'} & set(sys.modules), file=sys.stderr)\nsys.exit(code)"
    )
    done = python(probe)
    assert (done.code, done.err.split()) == (0, ["set()", "set()"])


def test_without_a_command_the_help_is_shown(lnlab):
    said = lnlab()
    assert said.code == 0
    assert "Usage: lnlab" in said.out


def test_a_wrong_command_is_one_line_that_names_the_remedy(console):
    for arguments in (
        ["rnu"],
        ["run", "x.yaml", "--profil", "smoke"],
        ["run"],
        ["run", "x.yaml", "--workers", "many"],
        ["run", "x.yaml", "--workers", "0"],
        ["run", "x.yaml", "--fail-on", "anything"],
        ["data", "ftch"],
    ):
        console.refused(*arguments)


def test_a_traceback_is_shown_when_asked(lnlab):
    with pytest.raises(Exception, match="rnu"):
        lnlab("rnu", "--traceback")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals: os.openpty is missing")
@pytest.mark.parametrize(("variable", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_is_respected(variable, coloured):
    master, slave = os.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color"} | variable
    subprocess.run([sys.executable, "-m", "lnlab", "--help"], stdout=slave, check=True, env=environment)
    os.close(slave)
    shown = b""
    while chunk := _read(master):
        shown += chunk
    assert bool(re.search(rb"\x1b\[[0-9;]*3[0-9]m", shown)) == coloured


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # a pseudo-terminal whose other end is closed
        return b""
