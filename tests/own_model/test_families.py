"""Known families: no parameter left out, counted twice or misplaced; gradients of q, k and v are those of autograd."""

import copy
import re
import sys
from unittest.mock import MagicMock

import polars as pl
import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.own_model.addresses import parameter_addresses

TOKENS = [torch.randint(11, (n, 6), generator=torch.Generator().manual_seed(n)) for n in (2, 3)]
IMAGES = [torch.randn(n, 3, 8, 8, generator=torch.Generator().manual_seed(n)) for n in (2, 3)]
VECTORS = [torch.randn(n, 5, 8, generator=torch.Generator().manual_seed(n)) for n in (2, 3)]
SMALL = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2}
ATTENTION, BIASES = {"q", "k", "v", "o"}, {"bq", "bk", "bv", "bo"}
NORM = {"scale", "shift"}
FEED_FORWARD = {"w1", "b1", "w2", "b2"}
WITH_BIASES = {"kind": "gradient_norm", "biases": True}


def of_tokens(model, tokens):
    """The mean over next tokens, as the models of transformers compute it."""
    return model(input_ids=tokens, labels=tokens).loss


def of_images(model, images):
    return model(images).logits.square().mean()


def weighted(x):
    """A norm's output squared has almost no gradient, so that each coordinate has its own weight."""
    return (x.square() * torch.linspace(0.5, 2, x.shape[-1])).sum()


def timm_classes(monkeypatch):
    """The models of timm, without the packages with which it reads images."""
    if "timm" not in sys.modules:
        for name in ("datasets", "ops", "ops.misc", "transforms", "transforms.functional"):
            monkeypatch.setitem(sys.modules, f"torchvision.{name}", MagicMock())
        monkeypatch.setitem(sys.modules, "torchvision", MagicMock())
        monkeypatch.setitem(sys.modules, "PIL", MagicMock(__version__="11.0"))
    return pytest.importorskip("timm.models.vision_transformer", reason="timm is not installed")


def transformers_model(name, settings):
    """A model of transformers with random weights."""
    library = pytest.importorskip("transformers", reason="transformers is not installed")
    kind = re.match("GPT2|Llama|Bert|T5|ViT", name)[0]
    return getattr(library, name)(getattr(library, f"{kind}Config")(**settings))


def gpt2(_):
    settings = {"vocab_size": 11, "n_positions": 8, "n_embd": 8, "n_layer": 2, "n_head": 2}
    return transformers_model("GPT2LMHeadModel", settings | {"bos_token_id": 0, "eos_token_id": 0})


def llama(_):
    return transformers_model("LlamaForCausalLM", SMALL | {"vocab_size": 11, "num_key_value_heads": 1})


def bert(_):
    return transformers_model("BertForMaskedLM", SMALL | {"vocab_size": 11})


def t5(_):
    sizes = {"vocab_size": 11, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 2, "num_heads": 2}
    return transformers_model("T5ForConditionalGeneration", sizes | {"decoder_start_token_id": 0})


def vit(_):
    return transformers_model("ViTForImageClassification", SMALL | {"image_size": 8, "patch_size": 4})


def timm_vit(monkeypatch):
    sizes = {"img_size": 8, "patch_size": 4, "embed_dim": 8, "depth": 2, "num_heads": 2, "num_classes": 3}
    return timm_classes(monkeypatch).VisionTransformer(**sizes)


def torch_encoder(_):
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False)


def torch_transformer(_):
    return nn.Transformer(8, 2, 2, 2, 12, batch_first=True)


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.c_attn(x).split(8, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x):
        return self.c_proj(nn.functional.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(8), CausalSelfAttention(), nn.LayerNorm(8), MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """nanoGPT in short: its names and its tied table."""

    def __init__(self, layers=2):
        super().__init__()
        blocks = nn.ModuleList(Block() for _ in range(layers))
        modules = {"wte": nn.Embedding(11, 8), "wpe": nn.Embedding(8, 8), "h": blocks, "ln_f": nn.LayerNorm(8)}
        self.transformer = nn.ModuleDict(modules)
        self.lm_head = nn.Linear(8, 11, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, tokens):
        x = self.transformer.wte(tokens) + self.transformer.wpe.weight[: tokens.shape[1]]
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


def next_tokens(model, tokens):
    logits, targets = model(tokens[:, :-1]), tokens[:, 1:].flatten()
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets, reduction="sum"), targets.numel()


PRE_LN = {"self_attention": ATTENTION | BIASES | NORM, "feed_forward": FEED_FORWARD | NORM}
DECODER = PRE_LN | {"cross_attention": ATTENTION | BIASES | NORM}
T5_LAYER = {"self_attention": ATTENTION | {"scale"}, "feed_forward": {"w1", "w2", "scale"}}
GATED = {"self_attention": ATTENTION | {"scale"}, "feed_forward": {"gate", "w1", "w2", "scale"}}
GPT_OUTER = {"embedding": {"table", "positions"}, "final_norm": NORM}
VIT_OUTER = {"embedding": {"class_token", "positions", "patches", "bpatches"}, "final_norm": NORM}
FAMILIES = {
    "gpt2": (gpt2, TOKENS, of_tokens, {"decoder": (PRE_LN, GPT_OUTER)}),
    "nano_gpt": (lambda _: GPT(), TOKENS, next_tokens, {"decoder": (PRE_LN, GPT_OUTER)}),
    "llama": (
        llama,
        TOKENS,
        of_tokens,
        {"decoder": (GATED, {"embedding": {"table"}, "final_norm": {"scale"}}), None: ({}, {"output": {"table"}})},
    ),
    "bert": (
        bert,
        TOKENS,
        of_tokens,
        {"encoder": (PRE_LN, {"embedding": {"table", "positions", "segments"} | NORM})},
    ),
    "t5": (
        t5,
        TOKENS,
        of_tokens,
        {
            "encoder": (T5_LAYER, {"final_norm": {"scale"}}),
            "decoder": (T5_LAYER | {"cross_attention": ATTENTION | {"scale"}}, {"final_norm": {"scale"}}),
            None: ({}, {"embedding": {"table"}}),
        },
    ),
    "vit": (vit, IMAGES, of_images, {"encoder": (PRE_LN, VIT_OUTER)}),
    "timm_vit": (timm_vit, IMAGES, lambda m, x: m(x).square().mean(), {"encoder": (PRE_LN, VIT_OUTER)}),
    "torch_encoder": (
        torch_encoder,
        VECTORS,
        lambda m, x: (weighted(m(x)), x.shape[0]),
        {"encoder": (PRE_LN, {"final_norm": NORM})},
    ),
    "torch_transformer": (
        torch_transformer,
        VECTORS,
        lambda m, x: weighted(m(x, x.flip(1))),
        {"encoder": (PRE_LN, {"final_norm": NORM}), "decoder": (DECODER, {"final_norm": NORM})},
    ),
}
OWN_PATHS = {"bert": {"cls.predictions", "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"}}
OWN_PATHS |= {"vit": {"classifier"}, "timm_vit": {"head"}}


@pytest.fixture(params=FAMILIES)
def family(request, monkeypatch):
    build, batches, loss, expected = FAMILIES[request.param]
    torch.manual_seed(1)
    return build(monkeypatch).eval(), batches, loss, expected, OWN_PATHS.get(request.param, set())


def test_addresses_are_those_of_the_architecture(family):
    model, _, _, expected, own_paths = family
    sites = [site for a in parameter_addresses(model, {}).values() for site in a.sites]
    assert len(set(sites)) == len(sites)
    by_place = {}
    for site in sites:
        by_place.setdefault((site.stack, site.layer, site.sublayer), set()).add(site.tensor)
    written = {}
    for stack, (layer, outer) in expected.items():
        written |= {(stack, None, sublayer): tensors for sublayer, tensors in outer.items()}
        written |= {(stack, n, sublayer): tensors for n in (1, 2) for sublayer, tensors in layer.items()}
    for place in [place for place in by_place if place[2] == "self_attention" and place[1] == 1]:
        by_place[place] -= {"relative_positions"}  # T5's first block has the positions of all
    assert {place: t for place, t in by_place.items() if place[2] not in own_paths} == written
    assert {place[2] for place in by_place} >= own_paths


def test_gradient_norms_are_those_of_backward(family):
    model, batches, loss, *_ = family
    m = lnlab.measure(model, batches, loss, probes=[WITH_BIASES])
    quantities = {"gradient_norm", "gradient_unresolved_share"} & m.kinds["gradient_norm"][1]
    rows = pl.concat([m.frame(quantity) for quantity in sorted(quantities)])
    reference = copy.deepcopy(model)
    parts = [out if isinstance(out, tuple) else (out, 1) for out in (loss(reference, batch) for batch in batches)]
    (sum(part for part, _ in parts) / sum(n for _, n in parts)).backward()
    covered = 0
    largest = max(p.grad.norm().item() for p in reference.parameters())
    for path in rows["path"].unique():
        name, _, part = path.partition("[")
        gradient = reference.get_parameter(name).grad
        if part:  # [0:8] or [:, 0:8]
            ends = [along.split(":") for along in part.rstrip("]").split(", ")]
            gradient = gradient[tuple(slice(*(int(n) if n else None for n in pair)) for pair in ends)]
        covered += gradient.numel()
        of_path = rows.filter(path=path)
        norm = of_path.filter(quantity="gradient_norm")["value"].to_list()
        if norm:
            assert norm[0] == pytest.approx(gradient.norm().item(), rel=1e-5, abs=1e-9 * largest), path
        else:  # the bias of keys, which softmax does not see
            assert of_path["tensor"][0] == "bk"
            assert gradient.norm().item() < 1e-6 * largest
    assert covered == sum(p.numel() for p in model.parameters())


def test_nothing_is_left_on_a_model_with_fused_parameters(family):
    model, batches, loss, *_ = family
    kinds = [(name, type(module)) for name, module in model.named_modules()]
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    lnlab.measure(model, batches, loss, probes=["gradient_norm", "parameter_size"])
    assert [(name, type(module)) for name, module in model.named_modules()] == kinds
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


def test_of_two_models_of_a_family_in_one_nothing_shares_an_address():
    towers = nn.ModuleDict({"left": GPT(), "right": GPT()})
    sites = [site for a in parameter_addresses(towers, {}).values() for site in a.sites]
    assert len(set(sites)) == len(sites) == len(list(towers.parameters()))
    assert {site.sublayer.partition(".")[0] for site in sites} == {"left", "right"}


def test_a_pattern_of_the_user_goes_before_that_of_the_family():
    addresses = parameter_addresses(GPT(), {"transformer.h.{layer}.attn.c_attn": "decoder.self_attention.qkv"})
    assert [s.tensor for s in addresses["transformer.h.1.attn.c_attn.weight"].sites] == ["qkv"]
    assert [s.tensor for s in addresses["transformer.h.1.attn.c_proj.weight"].sites] == ["o"]


def test_a_block_of_that_name_with_another_shape_is_not_told_apart():
    block = Block()
    block.attn.c_attn = nn.Linear(8, 12)  # four heads of queries share keys and values
    addresses = parameter_addresses(nn.ModuleList([block]), {})
    assert [s.sublayer for s in addresses["0.attn.c_attn.weight"].sites] == ["0.attn.c_attn"]
    assert addresses["0.mlp.c_fc.weight"].sites[0].tensor == "w1"


@pytest.mark.parametrize(("bar", "dim"), [("/", 0), ("|", 1)])
def test_a_user_may_tell_a_fused_parameter_apart(bar, dim):
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 2))
    batches = [torch.randn(5, 6)]

    def loss(m, x):
        return m(x).square().mean()

    rows = lnlab.measure(model, batches, loss, probes=[WITH_BIASES], sites={"0": f"gates.in{bar}out"})
    loss(model, batches[0]).backward()
    parts = dict(zip(("in", "out"), model[0].weight.grad.chunk(2, dim), strict=True))
    parts |= dict(zip(("bin", "bout"), model[0].bias.grad.chunk(2), strict=True))
    values = rows.frame("gradient_norm").filter(quantity="gradient_norm", sublayer="gates")
    assert dict(values.select("tensor", "value").rows()) == {
        tensor: pytest.approx(gradient.norm().item(), rel=1e-5) for tensor, gradient in parts.items()
    }
    paths = set(values["path"])
    assert {"0.weight[0:3]" if bar == "/" else "0.weight[:, 0:3]", "0.bias[3:6]"} <= paths


def test_curvature_does_not_depend_on_the_parts():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    batches = [torch.randn(5, 3).double()]
    probe = {"kind": "hessian_spectrum", "draws": 1}
    whole, apart = (
        lnlab.measure(model, batches, lambda m, x: m(x).square().mean(), probes=[probe], sites=sites)
        for sites in ({}, {"0": "gates.in/forget/out"})
    )
    largest = [m.frame("hessian_spectrum")["node"].max() for m in (whole, apart)]
    assert largest[0] == pytest.approx(largest[1], rel=1e-6)


class Listed(nn.Module):
    """Uses its weight where no name leads."""

    def __init__(self):
        super().__init__()
        self.fused = nn.Linear(4, 6)
        self.hidden = [self.fused.weight]

    def forward(self, x):
        return x @ self.hidden[0].T


@pytest.mark.parametrize(
    ("model", "address", "message"),
    [
        (nn.ModuleDict({"fused": nn.Linear(4, 7)}), "gates.a/b", "shape (7, 4) has no 2 equal parts"),
        (nn.ModuleDict({"fused": nn.Linear(5, 6)}), "gates.a|b", "shape (6, 5) has no 2 equal parts"),
        (nn.ModuleDict({"fused": nn.Linear(4, 6)}), "gates.a/b|c", "cannot be read"),
        (nn.ModuleDict({"fused": nn.Linear(4, 6)}), "gates.a/", "cannot be read"),
        (nn.ModuleDict({"fused": nn.Linear(4, 6)}), "gates.a/a", "have one address, gates a"),
        (Listed(), "gates.a/b", "is also used where no name leads"),
    ],
)
def test_parts_that_are_not_there_are_one_message(model, address, message):
    with pytest.raises(LabError) as raised:
        lnlab.measure(model, [torch.ones(2, 4)], lambda m, x: m(x).square().mean(), sites={"fused": address})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_module_with_two_names_is_told_apart_once():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    model.append(model[0])
    m = lnlab.measure(model, [torch.ones(2, 4)], lambda f, x: f(x).square().mean(), sites={"0": "gates.a/b"})
    model(torch.ones(2, 4)).square().mean().backward()
    rows = m.frame("gradient_norm").filter(pl.col("quantity") == "gradient_norm")
    assert rows.select("tensor", "value").rows() == [
        (tensor, pytest.approx(gradient.norm().item(), rel=1e-5))
        for tensor, gradient in zip(("a", "b"), model[0].weight.grad.chunk(2), strict=True)
    ]
