"""No command runs a Python file that lies in the working folder: ``torch.py`` beside a spec is a file of the user's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from lnlab.cli import app
from tests.support.toy_specs import UNTRAINED, toy_spec

CONSOLE = [str(Path(sys.executable).with_name("lnlab"))]
ONE_AFTER_ANOTHER = """
import os
import sys

from lnlab.cli import main

for words in {all_words!r}:
    sys.argv = ["lnlab", *words.split()]
    code = main()
    if code or os.path.exists({ran!r}):
        sys.exit(f"lnlab {{words}} ended with {{code}}")
"""
"""What the command ``lnlab`` does, for many commands: they import once what each of them would."""
NAMES = (
    *("lnlab", "torch", "numpy", "polars", "pydantic", "jinja2", "altair", "yaml"),
    *("abc", "json", "logging", "platform", "random", "re", "socket", "tempfile", "types"),
)
BEFORE_LNLAB = ("abc", "lnlab", "re", "types")
"""What Python imports for ``python -m`` before a line of lnlab runs; ``python -P -m`` looks elsewhere."""
RAN = "RAN"
SPEC = "specs/tiny.yaml"
ONE = toy_spec(
    UNTRAINED,
    """
seeds: 1
probes: [{kind: gradient_norm, at: init, batches: 1}]
report: [{kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}}]
""",
)
WORDS = {
    "data": ["data list"],
    "diff": [f"diff {SPEC} {SPEC}"],
    "gc": ["gc"],
    "index": ["index reports"],
    "init": ["init xiong_fig3"],
    "list": ["list norm"],
    "ls": ["ls"],
    "paper": ["paper reports/tiny"],
    "plan": [f"plan {SPEC}"],
    "pull": [f"pull {SPEC} there"],
    "push": [f"push {SPEC} there"],
    "status": ["status"],
    "verify": [f"verify {SPEC} --level 2 -w 2", "verify --all --level 1 -w 2"],
    "watch": [f"watch {SPEC} --once"],
    "why": ["why tiny:post_above_pre"],
}
"""How commands are called that want something else than a spec."""
FIRST = ("run", "report", "lock", "push")
"""What others need."""


@pytest.fixture
def planted(repository):
    """A repository with files that bear the names of modules. One that is run writes its name into the file RAN."""
    (repository / "one.yaml").write_text(ONE)
    for name in NAMES:
        (repository / f"{name}.py").write_text(f"open({str(repository / RAN)!r}, 'a').write('{name} ')\n")
    return repository


def require_nothing_ran(folder, *command):
    """Call a command in the folder, as from a shell that says nothing of modules. It ends well, and nothing ran."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    done = subprocess.run(command, capture_output=True, text=True, env=inherited, timeout=300)
    executed = (folder / RAN).read_text() if (folder / RAN).exists() else ""
    assert (executed, done.returncode) == ("", 0), done.stdout + done.stderr


@pytest.mark.nightly
def test_no_command_runs_a_file_of_the_working_folder(planted, tmp_path):
    require_nothing_ran(planted, *CONSOLE, "run", "one.yaml", "-q")
    commands = get_command(app).commands
    all_words = [
        words
        for name in [*FIRST, *sorted(commands.keys() - set(FIRST))]
        for words in WORDS.get(name, [f"{name} {SPEC}"])
    ]
    script = tmp_path / "commands.py"
    script.write_text(ONE_AFTER_ANOTHER.format(all_words=all_words, ran=RAN))
    require_nothing_ran(planted, sys.executable, str(script))


def test_python_m_runs_none_either(planted):
    for name in BEFORE_LNLAB:
        (planted / f"{name}.py").unlink()
    require_nothing_ran(planted, sys.executable, "-m", "lnlab", "run", "one.yaml", "-q")
