"""The README is true: its first spec runs, its commands do what they say, and `make` does the rest."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_two_commands_are_targets_of_the_makefile():
    targets = {line.split()[1] for line in blocks("sh")[0].splitlines()}
    makefile = (ROOT / "Makefile").read_text()
    assert targets == {"demo", "test"}
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


@pytest.mark.slow
def test_the_first_spec_runs_in_an_empty_directory_as_written(tmp_path):
    (tmp_path / "first.yaml").write_text(blocks("yaml")[0])
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("LNLAB_STORE", None)
    outputs = []
    for line in blocks("sh")[1].splitlines():
        command = shlex.split(line, comments=True)
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        outputs.append(done.stdout)
    check, _, run, _, table = outputs
    assert "first.yaml" in check
    assert "supported" in run
    assert re.match(r"first\.parquet: [\d,]+ rows: model\.layers, seed, step, quantity", table)
    assert {"index.html", "notebook.ipynb", "figures", "tables", "data"} <= {
        p.name for p in (tmp_path / "reports/first").iterdir()
    }


def test_everything_the_readme_links_to_exists():
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")}
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
