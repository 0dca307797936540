"""The README is true: its first spec runs, its commands do what they say, and `make` does the rest."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_two_commands_are_targets_of_the_makefile_and_what_it_links_to_exists():
    targets = {line.split()[1] for line in blocks("sh")[0].splitlines()}
    makefile = (ROOT / "Makefile").read_text()
    assert targets == {"demo", "test"}
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")}
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert len(README.split()) <= 1000


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_its_python_runs_with_a_model_a_loss_and_a_loop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    batches = torch.randint(20, (6, 4, 9), generator=torch.Generator().manual_seed(0))

    def build(seed):
        return nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def update(model, optimizer, batch):
        value = loss(model, batch)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        return value

    model = build(0)
    names = {"build": build, "batches": batches, "loss": loss, "update": update, "loader": batches, "model": model}
    names["optimizer"] = torch.optim.SGD(model.parameters(), lr=1e-3)
    own_model, own_run = blocks("python")
    exec(own_model, names)
    exec(own_run, names)
    assert {"seed", "value"} <= set(names["m"].frame("gradient_norm").columns)
    assert (tmp_path / "my_model" / "index.html").is_file()
    assert (tmp_path / "my_runs" / "index.html").is_file()
