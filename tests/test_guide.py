"""The guide is true: its examples are the files beside it, its specs are right, its commands run as written."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import lnlab
from lnlab.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.stem: path.read_text() for path in sorted(DOCS.glob("*.md"))}
FROM_THE_GUIDE = sorted((Path(__file__).parent / "fixtures" / "guide").glob("*.yaml"))
"""Specs that were written with the guide and the reference alone."""


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_examples_are_the_files_that_they_name(page):
    for name, text in re.findall(r"<!-- (examples/[\w./]+) -->\n```\w+\n(.*?)```", PAGES[page], flags=re.DOTALL):
        assert text == (DOCS / name).read_text(), name


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", PAGES[page])}
    assert [link for link in links if not link.startswith("https://") and not (DOCS / link).exists()] == []


def test_the_readme_leads_to_every_guide():
    reached = set(re.findall(r"\(docs/(\w+)\.md\)", (ROOT / "README.md").read_text()))
    waiting = list(reached)
    while waiting:
        further = set(re.findall(r"\]\((\w+)\.md", PAGES[waiting.pop()])) - reached
        reached |= further
        waiting += further
    assert reached == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_guide_says_first_what_one_has_at_its_end_and_is_short(page):
    """Code and generated tables are not counted."""
    _, first, *_ = PAGES[page].split("\n\n")
    assert first.startswith("At the end of this page ")
    text = re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- (?:faults|error rates|forgeries).*?<!-- end of .*? -->", "", text, flags=re.DOTALL)
    assert len(text.split()) <= 900


def test_the_site_has_every_guide_and_every_public_name():
    names = re.findall(r"^\.\. auto\w+:: lnlab\.(\w+)$", (DOCS / "site" / "api.md").read_text(), flags=re.MULTILINE)
    assert sorted(names) == sorted(lnlab.__all__)
    guides = re.search(r"^GUIDES = \((.*?)^\)", (DOCS / "site" / "build.py").read_text(), re.DOTALL | re.MULTILINE)[1]
    assert sorted(re.findall(r'"(\w+)"', guides)) == sorted(PAGES)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path",
    [DOCS / "examples" / "tokens.yaml", DOCS / "examples" / "scaled.yaml", *FROM_THE_GUIDE],
    ids=lambda path: path.stem,
)
def test_its_specs_are_right_in_every_profile(path, capsys):
    assert main(["check", str(path)]) == 0, capsys.readouterr().err


def test_its_fragments_make_a_spec(tmp_path, capsys):
    yaml = YAML()
    (first,) = (yaml.load(text) for text in blocks("first_question", "yaml"))
    fragments = [yaml.load(text) for text in blocks("training_question", "yaml")]
    base = {key: first[key] for key in ("lnlab", "title", "task", "model", "placement", "seeds")}
    training, candidates, methods, section, continued = fragments
    probed = {"probes": [{"kind": "hidden_norm"}]}
    more = {"chosen": [candidates, probed], "methods": [candidates, methods, section]}
    for name, parts in (more | {"pretrain": [probed], "continued": [probed, continued]}).items():
        path = tmp_path / f"{name}.yaml"
        with path.open("w") as file:
            yaml.dump({k: v for part in (base, training, *parts) for k, v in part.items()}, file)
        assert main(["check", str(path)]) == 0, capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.parametrize("page", ["first_question", "extending", "committing", "verifying", "tables_from_elsewhere"])
def test_its_commands_run_as_written(page, lnlab_process, tmp_path):
    shutil.copytree(DOCS / "examples", tmp_path, dirs_exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "LNLAB_STORE"}
    outputs = {}
    for line in "".join(blocks(page, "sh")).splitlines():
        name, *words = shlex.split(line, comments=True)
        if name != "lnlab":
            subprocess.run([name, *words], cwd=tmp_path, check=True)
            continue
        done = lnlab_process(words, tmp_path, environment, workers=False)
        expected = int("exit code 1" in line.partition("#")[2])
        assert done.returncode == expected, f"{line}\n{done.stdout}\n{done.stderr}"
        outputs[line.partition("#")[0].strip()] = done.stdout
    if page == "extending":
        assert "floor" in outputs["lnlab --with mine.py list norm largest"]
        assert "peak" in (tmp_path / "reports" / "mine" / "index.html").read_text()
        assert "2 claims: 2 supported" in outputs["lnlab run scaled.yaml"]
        page = (tmp_path / "reports" / "scaled" / "index.html").read_text()
        assert "Scaled gradient (gradient norm · hidden norm (tensor sum), nats per token) by layer" in page
        assert len((tmp_path / "scaled.csv").read_text().splitlines()) == 961
    elif page == "committing":
        differences = outputs["lnlab diff reports/tokens/smoke four"]
        assert "placement=post: seeds 1-3 → seeds 1-4" in differences
        assert "3 seeds → supported" in differences
        by_id, by_link = (text for line, text in outputs.items() if line.startswith("lnlab why"))
        assert "computed by  probe token_cosine" in by_id
        assert "number 1 of tokens, profile smoke" in by_link
        assert "nothing to remove" in outputs["lnlab gc"]
        again = "lnlab run tokens.yaml -p smoke -q --store colleague"
        assert "6 units at runs; 1 pack (" in outputs["lnlab push tokens.yaml runs -p smoke"]
        pulled = outputs["lnlab pull tokens.yaml runs -p smoke --store colleague"]
        assert pulled == "6 units pulled, 0 in the store already\n"
        assert "0 units computed, 6 reused" in outputs[again]
    elif page == "tables_from_elsewhere":
        assert "1 supported" in outputs["lnlab run optimizers.yaml"]
    elif page == "verifying":
        assert "have the same rows to the last bit" in outputs["lnlab verify tokens.yaml --level 2"]
    else:
        assert "2 claims: 2 supported" in outputs["lnlab run tokens.yaml"]


@pytest.mark.nightly
def test_the_example_of_an_own_model_runs_and_measures_both():
    names = runpy.run_path(str(DOCS / "examples" / "own_model.py"))
    assert set(names["rows"]["model"]) == {"post", "pre"}
    assert names["rows"].filter(tensor="w2")["layer"].unique().sort().to_list() == [1, 2, 3, 4]
    assert "layer" in str(names["chart"].to_dict()["layer"])
    assert names["verdicts"][0].n == 5


def test_what_is_copied_to_a_cluster_is_a_job_that_runs_the_command(tmp_path):
    """As far as a machine without SLURM and Kubernetes can tell: it parses, and its commands take these options."""
    script = DOCS / "examples" / "cluster" / "slurm.sh"
    subprocess.run(["bash", "-n", script], check=True)
    job = YAML(typ="safe").load(DOCS / "examples" / "cluster" / "kuberay.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    groups = job["spec"]["rayClusterSpec"]
    workers = groups["workerGroupSpecs"][0]
    head, worker = (group["template"]["spec"] for group in (groups["headGroupSpec"], workers))
    for pod in (head, worker):
        assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == [pod["volumes"][0]["name"]]
    command = shlex.split(job["spec"]["entrypoint"])
    limits = worker["containers"][0]["resources"]["limits"]
    assert command[command.index("--workers") + 1] == str(workers["replicas"] * int(limits["cpu"]))
    spec = tmp_path / "first.yaml"
    spec.write_text(re.search(r"```yaml\n(lnlab: 2.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[1])
    words = [word.replace("/shared", str(tmp_path)) for word in command[1:]]
    parsed = subprocess.run([sys.executable, "-m", "lnlab", *words, "--help"], capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr
    options = set(re.findall(r"--[\w-]+", " ".join(command)))
    assert options <= set(re.findall(r"--[\w-]+", parsed.stdout))
