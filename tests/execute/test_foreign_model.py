"""A model of somebody's own: its parameters must have addresses of their own, or it is refused before any work."""

import pytest
import torch
from torch import nn

from lnlab.cli import main
from lnlab.errors import LabError
from lnlab.execute import registry_loader
from lnlab.nn.models import models
from lnlab.nn.sites import Site, addressed
from tests.support.toy_specs import ENCODER, toy_spec

PLUGIN = '''
from torch import nn

from lnlab.nn.models import models


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn = nn.ModuleDict({"qkv": nn.Linear(width, 3 * width), "proj": nn.Linear(width, width)})
        self.ln = nn.LayerNorm(width)


@models.register("my_gpt", stacks=("decoder",), says="decoder", size=lambda setting: (1000, 1000))
class MyGPT(nn.Module):
    """``softmax``: somebody's own."""

    def __init__(self, size, parts, *, width: int = 8):
        super().__init__()
        EMBEDDING
        BLOCKS
'''
SPEC = toy_spec(
    ENCODER,
    model={"kind": "my_gpt", "layers": 2},
    placement="pre",
    seeds=1,
    probes=[{"kind": "gradient_norm", "batches": 1}],
)
TREE = """stack = nn.Module()
        stack.embedding = nn.Module()
        stack.embedding.table = nn.Parameter(nn.Embedding(size, width).weight)
        stack.layers = nn.ModuleList(nn.ModuleDict({"block": Block(width)}) for _ in range(2))
        self.decoder = stack"""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """What ``lnlab check`` says of a model of these lines, and how it ends."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "_entries", dict(models.entries))
    registry_loader._load_once.cache_clear()
    (tmp_path / "spec.yaml").write_text(SPEC)

    def run(embedding, blocks):
        (tmp_path / "mine.py").write_text(PLUGIN.replace("EMBEDDING", embedding).replace("BLOCKS", blocks))
        code = main(["check", "spec.yaml", "--with", "mine.py"])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_names_that_follow_no_pattern_are_refused_at_the_line_of_the_model(check, golden):
    blocks = "self.blocks = nn.ModuleList(Block(width) for _ in range(2))"
    code, said = check("self.wte = nn.Embedding(size, width)", blocks)
    assert code == 2
    golden(said)
    assert "<stack>.layers.<n>.<sublayer>.<tensor>" in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1


def test_two_parameters_with_one_address_are_refused(check, golden):
    code, said = check(TREE, 'stack.layers[1]["block"].mlp = nn.ModuleDict({"qkv": nn.Linear(width, width)})')
    assert code == 2
    assert "spec.yaml:4:8: model: the parameters 'decoder.layers.1.block.attn.qkv.weight' and " in said
    golden(said)


def test_a_model_whose_names_follow_the_patterns_passes(check):
    code, said = check(TREE, "")
    assert code == 0, said


@pytest.fixture
def parameter():
    return lambda: nn.Parameter(torch.ones(2, 2))


def tree(**paths):
    """A module with these parameters; ``decoder__layers`` stands for ``decoder.layers``."""
    root = nn.Module()
    for path, parameter in paths.items():
        *owners, name = path.split("__")
        module = root
        for owner in owners:
            if not hasattr(module, owner):
                module.add_module(owner, nn.Module())
            module = getattr(module, owner)
        module.register_parameter(name, parameter)
    return root


def test_one_tensor_may_have_several_addresses_and_stand_twice_at_one_but_two_may_not(parameter, golden):
    table = parameter()
    sites = [site for _, site, _ in addressed(tree(decoder__embedding__table=table, output__table=table))]
    assert sites == [Site("decoder", None, "embedding", "table"), Site(None, None, "output", "table")]
    tensor, paths = parameter(), ("decoder__layers__0__f__a__w__weight", "decoder__layers__0__f__b__w__weight")
    assert len({site for _, site, _ in addressed(tree(**dict.fromkeys(paths, tensor)))}) == 1
    with golden.raises(LabError):
        addressed(tree(**{path: parameter() for path in paths}))
    found = tree(decoder__layers__0__ln__weight=parameter(), decoder__layers__0__ln__bias=parameter())
    assert [site.tensor for _, site, _ in addressed(found)] == ["scale", "shift"]


@pytest.mark.parametrize(
    "path",
    [
        "extra",
        "output__head__weight",
        "backbone__layers__0__attention__q__weight",
        "decoder__wte__weight",
        "decoder__layers__first__attention__q__weight",
        "decoder__layers__0__gain",
        "decoder__layers__0__placement__norms__0__weight",
    ],
)
def test_a_name_that_nothing_is_known_of_is_refused(parameter, path, golden):
    with golden.raises(LabError):
        addressed(tree(**{path: parameter()}))
