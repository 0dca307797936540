"""Standard streams that are closed, full or left: no traceback, the exit code says so, and nothing of a run is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lnlab.cli.codes import BROKEN_PIPE, NOT_PRINTED
from lnlab.store.store import Store

LNLAB = f"{sys.executable} -m lnlab"
REFUSED = "report --profile smoke"
"""A command that is refused before much is imported."""


def shell(command):
    """A command line in bash; its exit code is that of the first command of a pipe."""
    script = f"{command}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, env=os.environ)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--help >/dev/full", NOT_PRINTED),
        (f"{REFUSED} >&- 2>&-", 2),
        ("ls --json <&- >&- 2>&-", NOT_PRINTED),
        *(
            pytest.param(command, code, marks=pytest.mark.nightly)
            for command, code in (
                ("list norm >/dev/full", NOT_PRINTED),
                ("ls --json >&-", NOT_PRINTED),
                ("--version >&-", NOT_PRINTED),
                ("ls >/dev/null 2>/dev/full", 0),
                (f"{REFUSED} 2>/dev/full", 2),
            )
        ),
    ],
)
def test_a_command_ends_with_a_code_and_no_traceback(command, code, workdir):
    done = shell(f"{LNLAB} {command}")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == code
    if code == NOT_PRINTED and "2>" not in command:
        assert done.stderr.count("\n") == 1
        assert "standard output" in done.stderr


def test_a_reader_that_goes_away_ends_a_command_quietly(workdir):
    done = shell(f"{LNLAB} list --json | true")
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, "")


WITHOUT_WORKERS = f"""\
import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from tests.support.this_process import NO_WORKERS
for place, name, instead in NO_WORKERS:
    setattr(place, name, instead)
from lnlab.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("streams", "code"),
    [
        (">&-", NOT_PRINTED),
        *(
            pytest.param(*streams, marks=pytest.mark.nightly)
            for streams in ((">/dev/full", NOT_PRINTED), ("2>/dev/full", 0), ("2> >(exec 0<&-) >/dev/null", 0))
        ),
    ],
)
def test_nothing_of_a_run_is_lost_with_its_output(streams, code, tiny, lnlab_process):
    Path("here.py").write_text(WITHOUT_WORKERS)
    done = shell(f"{sys.executable} here.py run {tiny} -p one -w 1 {streams}")
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    again = lnlab_process(["run", str(tiny), "-p", "one", "--json"], tiny.parent, workers=False)
    assert '"computed": 0' in again.stdout
    assert '"reused": 2' in again.stdout
    assert Store(tiny.parent / ".lnlab").damage() == []
