"""A model from a user's file in a spec: swept, trained on a text file, with a page that names its own layers."""

import importlib.util
import json
import re
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.cli import main
from lnlab.committed.registries import load_registries
from lnlab.compile.work import Trajectory
from lnlab.execute import registry_loader
from lnlab.execute.program import build
from lnlab.outside.own_model import registered
from lnlab.randomness import Draw
from lnlab.report.folder import read_folder
from tests.cli.conftest import CommandResult

BOOK = "".join(f"the {a} {b} saw a {c} near the {a} river .\n" for a in "abc" for b in "defg" for c in "hijklm")


@pytest.fixture(scope="module")
def lnlab(lnlab_process):
    """``lnlab(folder, *words)`` in a process of its own, as what a file registers stays registered."""
    return lambda folder, *words: lnlab_process(["--with", "mine.py", *words], folder, workers=False)


@contextmanager
def registered_for_now():
    """What a file registers inside is forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for registry in load_registries(()).values():
            patch.setattr(registry, "_entries", dict(registry.entries))
        registry_loader._load_once.cache_clear()
        registered._counted.cache_clear()
        yield patch


@pytest.fixture
def here(capsys):
    """``here(folder, *words)``: a command with the model of a folder in this process."""

    def run(folder, *words):
        capsys.readouterr()
        with registered_for_now() as patch:
            patch.chdir(folder)
            code = main(["--with", "mine.py", *words])
        printed = capsys.readouterr()
        return CommandResult(code, printed.out, printed.err)

    return run


@pytest.fixture
def mine(folder):
    """The file of the model as a module, its pieces registered."""
    spec = importlib.util.spec_from_file_location("mine", folder / "mine.py")
    module = importlib.util.module_from_spec(spec)
    with registered_for_now():
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request) -> Path:
    """What ``lnlab init --plugin`` writes, with a book to train on and a small spec about it."""
    place = tmp_path_factory.mktemp("mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["init", "--plugin"]) == 0
    (place / "book.txt").write_text(BOOK)
    spec = (place / "mine.yaml").read_text()
    small = {
        "corpus: toy_english, vocabulary: 500, length: 32": "corpus: {kind: text, files: [book.txt], held_out: 0.2}, "
        "vocabulary: 60, length: 8",
        "seeds: 5": "seeds: 2",
        "[2, 4, 6]": "[1, 2]",
        "model.depth: 6": "model.depth: 2",
    }
    for there, instead in small.items():
        assert there in spec
        spec = spec.replace(there, instead)
    (place / "small.yaml").write_text(spec)
    return place


@pytest.fixture(scope="module")
def page(folder, lnlab) -> str:
    ran = lnlab(folder, "run", "small.yaml", "--workers", "1")
    assert ran.returncode == 0, ran.stderr
    drawn = lnlab(folder, "report", "small.yaml")
    assert drawn.returncode == 0, drawn.stderr
    return (folder / "reports/small/index.html").read_text()


def rows(folder: Path, table: str) -> pl.DataFrame:
    results = read_folder(folder / "reports/small")[1]
    return results.runs if table == "runs" else results.tables[table]


def test_the_spec_sweeps_depth_and_placement_of_that_model(folder, page):
    runs = rows(folder, "runs").filter(pl.col("status") == "finished")
    settings = [json.loads(text)["model"] for text in runs["setting"]]
    assert sorted((s["depth"], s["placement"]) for s in settings) == sorted(
        2 * [(depth, placement) for depth in (1, 2) for placement in ("post", "pre")]
    )
    block = 4 * 32 * 32 + 4 * 32 + 2 * 4 * 32 * 32 + 5 * 32 + 2 * 32
    outside = 60 * 32 + 256 * 32 + 60 * 32 + 60
    assert {(s["depth"], n) for s, n in zip(settings, runs["parameters"], strict=True)} == {
        (depth, depth * block + outside) for depth in (1, 2)
    }


def test_its_page_names_its_own_layers(page):
    text = re.sub(r"<[^>]+>", " ", page)
    assert {"blocks.0.attn.out_proj", "blocks.1.attn.out_proj"} <= set(text.split())
    assert " a mine (depth 1 or 2" in " ".join(text.split())


def test_patterns_give_addresses_and_parts_of_a_fused_matrix_their_own(folder, page):
    sites = rows(folder, "sites").filter(pl.col("quantity") == "gradient_norm")
    assert set(sites.filter(pl.col("sublayer") == "feed_forward")["layer"]) == {1, 2}
    store = [pl.read_parquet(path) for path in (folder / ".lnlab").rglob("sites.parquet")]
    tensors = {t for frame in store for t in frame.filter(pl.col("sublayer") == "self_attention")["tensor"]}
    assert {"q", "k", "v"} <= tensors


def test_it_learns_the_text_file(folder, page):
    nll = rows(folder, "curves").filter((pl.col("quantity") == "nll") & (pl.col("split") == "validation"))
    assert nll.filter(pl.col("step") == 20)["value"].max() < nll.filter(pl.col("step") == 0)["value"].min() - 0.3


def test_first_values_are_those_that_the_module_gives_itself_under_the_runs_seed(folder, page, mine):
    values = []
    for seed in (1, 2):
        with torch.random.fork_rng():
            torch.manual_seed(Draw(seed)("build"))
            weight = mine.Mine(60, depth=2, width=32).output.weight
        values.append((weight.abs().max() / weight.square().mean().sqrt()).item())
    runs = rows(folder, "runs").select("run", "setting", "seed")
    measured = rows(folder, "sites").filter((pl.col("quantity") == "largest_weight") & (pl.col("sublayer") == "output"))
    joined = measured.join(runs, on="run").filter(pl.col("setting").str.contains('"depth":2.*"placement":"pre"'))
    by_seed = dict(zip(joined["seed"], joined["value"], strict=True))
    assert [by_seed[seed] for seed in (1, 2)] == pytest.approx(values, rel=1e-6)


WRONG = {
    "model.widht: model 'mine' has no parameter 'widht'; did you mean 'width'?": ("mine, width", "mine, widht"),
    "placement: 'mine' is a model of your own; give it a parameter, as model.placement": (
        "init: own",
        "init: own\nplacement: post",
    ),
    "init: 'mine' is a model of your own, and 'xavier_normal' does not know its parts; write init: own": (
        "init: own",
        "",
    ),
    "it reads parts of lnlab's models, and 'mine' is a model of your own; choose from": (
        "largest_weight, at",
        "token_cosine, at",
    ),
}


def test_what_does_not_suit_a_model_of_ones_own_is_refused(folder, here):
    spec = (folder / "small.yaml").read_text()
    for number, (there, instead) in enumerate(WRONG.values()):
        assert there in spec
        (folder / f"wrong{number}.yaml").write_text(spec.replace(there, instead))
    problems = here(folder, "check", *(f"wrong{number}.yaml" for number in range(len(WRONG)))).err.splitlines()
    for number, message in enumerate(WRONG):
        assert [line for line in problems if line.startswith(f"wrong{number}.yaml:") and message in line], problems


def test_its_stream_is_measured_where_it_says_that_it_passes(folder, page, mine):
    """Against hooks by hand on the model as the run's seed builds it, padding left out."""
    runs = rows(folder, "runs").filter(
        pl.col("seed") == 1, pl.col("setting").str.contains('"depth":2.*"placement":"post"')
    )
    state = build(Trajectory("t", 1, json.loads(runs["setting"][0]), 0, ()), REGISTRIES, (folder,))
    kept, masks = [], []
    for block in state.model.module.blocks:
        block.register_forward_hook(lambda _m, _x, y: kept.append(y))
    for batch in state.batches(2):
        state.model.module(batch.target_in)
        masks.append(batch.target_in != 0)
    norms = [torch.cat([kept[n + 2 * b][m].norm(dim=-1) for b, m in enumerate(masks)]).mean().item() for n in (0, 1)]
    sites = rows(folder, "sites").filter(pl.col("quantity") == "hidden_norm", pl.col("run") == runs["run"][0])
    assert sites.sort("layer").select("layer", "sublayer", "tensor").rows() == [
        (n, "feed_forward", "out") for n in (1, 2)
    ]
    assert sites.sort("layer")["value"].to_list() == pytest.approx(norms, rel=1e-6)


def test_a_stream_of_which_nothing_is_known_is_refused_with_how_to_name_it(folder, here, golden, tmp_path):
    source = (folder / "mine.py").read_text()
    named = '    stream={"blocks.{layer}": "feed_forward.out"},\n'
    assert named in source
    (tmp_path / "mine.py").write_text(source.replace(named, ""))
    (tmp_path / "mine.yaml").write_text((folder / "mine.yaml").read_text())
    (line,) = here(tmp_path, "check", "mine.yaml").err.splitlines()
    assert line.startswith("mine.yaml:16:")
    golden(line)
    (tmp_path / "mine.py").write_text(source.replace('stream={"blocks', 'stream={"block'))
    (line,) = here(tmp_path, "check", "mine.yaml").err.splitlines()
    golden(line)


MODELS = {
    "takes (size, width)": ("def build(size, width):\n    return torch.nn.Linear(size, width)", "write (size, *, ...)"),
    "reads values": (
        "def build(size):\n    return torch.nn.Linear(int(torch.ones(1).item()), size)",
        "model 'wrong': cannot be built without memory",
    ),
    "returns no logits": (
        "def build(size):\n    return torch.nn.Sequential(torch.nn.Embedding(size, 4), torch.nn.Flatten())",
        "return logits, (batch, length, size)",
    ),
    "draws in evaluation mode": (
        """class Drawing(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table, self.out = torch.nn.Embedding(size, 4), torch.nn.Linear(4, size)

    def forward(self, tokens):
        return self.out(torch.nn.functional.dropout(self.table(tokens), 0.5))""",
        "model: two passes of one batch in evaluation mode differ; let it draw in training mode alone",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_builder_or_a_model_that_is_wrong_is_named(here, name, tmp_path):
    body, message = MODELS[name]
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom lnlab.outside.own_model.registered import register_model\n\n\n@register_model('wrong')\n"
        + body
        + "\n"
    )
    (tmp_path / "wrong.yaml").write_text(
        "lnlab: 2\ntitle: t\nseeds: 1\nmodel: wrong\ninit: own\nprobes: [{kind: gradient_norm, batches: 1}]\n"
        "task: {kind: language_modeling, corpus: {kind: toy_english, train: 60, validation: 20, test: 20}, "
        "vocabulary: 60, length: 8, windows: 2}\nreport: []\n"
    )
    ran = here(tmp_path, "run", "wrong.yaml", "--workers", "1")
    assert message in ran.err + ran.out
    assert ran.code
