"""Known families: no parameter left out, counted twice or misplaced; gradients of q, k and v are those of autograd."""

import copy
import re
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import polars as pl
import pytest
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import lnlab
from lnlab.outside.own_model.addresses import parameter_addresses
from lnlab.outside.own_model.stream import stream_points
from tests.support.refusals import one_line

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
GATED = {"self_attention": ATTENTION | {"scale"}, "feed_forward": {"w3", "w1", "w2", "scale"}}
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


IN_EVERY_RUN = ("gpt2", "t5", "timm_vit")
"""Fused projections, two stacks, and modules of another library."""


@pytest.fixture(params=[pytest.param(f, marks=() if f in IN_EVERY_RUN else pytest.mark.nightly) for f in FAMILIES])
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


class Listed(nn.Module):
    """Uses its weight where no name leads."""

    def __init__(self):
        super().__init__()
        self.fused = nn.Linear(4, 6)
        self.hidden = [self.fused.weight]

    def forward(self, x):
        return x @ self.hidden[0].T


@pytest.mark.parametrize(
    ("model", "address"),
    [
        (nn.ModuleDict({"fused": nn.Linear(4, 7)}), "gates.a/b"),
        (nn.ModuleDict({"fused": nn.Linear(5, 6)}), "gates.a|b"),
        (nn.ModuleDict({"fused": nn.Linear(4, 6)}), "gates.a/b|c"),
        (nn.ModuleDict({"fused": nn.Linear(4, 6)}), "gates.a/"),
        (nn.ModuleDict({"fused": nn.Linear(4, 6)}), "gates.a/a"),
        (Listed(), "gates.a/b"),
    ],
)
def test_parts_that_are_not_there_are_one_message(model, address, golden):
    golden(
        one_line(lnlab.measure, model, [torch.ones(2, 4)], lambda m, x: m(x).square().mean(), sites={"fused": address})
    )


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


STREAM_PROBES = ["hidden_norm", "activation_moments", "norm_concentration", "stream_gradient"]
"""Every probe that measures the residual stream of a model from elsewhere."""


def streams(model, patterns=None):
    return {(s.stack, s.layer, s.sublayer, s.tensor): str(p) for s, p in stream_points(model, patterns or {}).items()}


def hidden_norms(m):
    rows = m.frame("hidden_norm").filter(quantity="hidden_norm")
    place = ("stack", "layer", "sublayer", "tensor")  # a column that no row fills is not there
    return {tuple(row.get(name) for name in place): row["value"] for row in rows.to_dicts()}


def test_the_stream_of_a_family_is_measured_at_every_layer(family):
    model, batches, loss, *_ = family
    m = lnlab.measure(model, batches, loss, probes=STREAM_PROBES)
    places = {(stack, sublayer, tensor) for stack, layer, sublayer, tensor in hidden_norms(m) if layer}
    stacks = {stack for stack, *_ in places}
    for stack in stacks:
        for n in (1, 2):
            assert {(stack, n, "feed_forward", "out"), (stack, n, "self_attention", "branch")} <= set(hidden_norms(m))
    assert stacks == {s.stack for a in parameter_addresses(model, {}).values() for s in a.sites if s.layer}
    assert (m.frame("stream_gradient")["value"] > 0).all()
    assert m.frame("norm_excess_share")["value"].is_between(0, 1).all()


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit", "t5"])
def test_hidden_norms_are_those_of_the_hidden_states(name, monkeypatch):
    """``output_hidden_states``: the embedding, then every layer; the last of a model with a final norm is behind it."""
    build, batches, loss, _ = FAMILIES[name]
    torch.manual_seed(4)
    model = build(monkeypatch).eval()
    norms = hidden_norms(lnlab.measure(model, batches, loss, probes=["hidden_norm"]))
    with torch.no_grad():
        if name == "t5":
            outputs = [model(input_ids=b, labels=b, output_hidden_states=True) for b in batches]
            states = {"encoder": [o.encoder_hidden_states for o in outputs]}
            states["decoder"] = [o.decoder_hidden_states for o in outputs]
        else:
            states = {
                "encoder" if name in ("bert", "vit") else "decoder": [
                    model(b, output_hidden_states=True).hidden_states for b in batches
                ]
            }
    for stack, of_batches in states.items():
        expected = [
            torch.cat([x.flatten(0, 1) for x in layer]).norm(dim=-1).mean() for layer in zip(*of_batches, strict=True)
        ]
        assert norms[stack, 1, "feed_forward", "out"] == pytest.approx(expected[1].item(), rel=1e-5)
        last = (stack, 2, "feed_forward", "out") if name in ("bert", "vit") else (stack, None, "final_norm", "out")
        assert norms[last] == pytest.approx(expected[2].item(), rel=1e-5)
        if name != "t5":
            assert norms[stack, None, "embedding", "out"] == pytest.approx(expected[0].item(), rel=1e-5)


def test_gradients_of_a_stream_that_the_user_names_are_those_of_autograd():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    x = torch.randn(3, 5, 4)
    stream = {"0": "encoder.embedding.out", "2:input": "encoder.feed_forward.in", "1": "encoder.feed_forward.out"}
    m = lnlab.measure(model, [x], of_squares, probes=["stream_gradient", "hidden_norm"], stream=stream)
    first = model[0](x)
    (gradient,) = torch.autograd.grad(model[2](model[1](first)).square().mean(), first)
    rows = m.frame("stream_gradient").filter(sublayer="embedding")
    assert rows["value"].to_list() == [pytest.approx(gradient.norm().item(), rel=1e-5)]
    assert set(m.frame("hidden_norm")["path"]) == {"0", "1", "2:input"}
    norms = hidden_norms(m)
    assert norms["encoder", None, "embedding", "out"] == pytest.approx(first.norm(dim=-1).mean().item(), rel=1e-5)
    assert norms["encoder", None, "feed_forward", "in"] == norms["encoder", None, "feed_forward", "out"]


def of_squares(model, x):
    return model(x).square().mean()


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(x)
        x += 1
        return self.second(x)


class Twice(InPlace):
    def forward(self, x):
        return self.second(self.second(self.first(x).sum()[None, None].expand(2, 4)))


@pytest.mark.parametrize(
    ("model", "stream", "message"),
    [
        (InPlace(), {"first": "encoder.embedding.out"}, "the stream at 'first' is changed in place"),
        (Twice(), {"second": "encoder.embedding.out"}, "passes 'second' more than once"),
        (
            InPlace(),
            {"third": "encoder.embedding.out"},
            "no module; write a path of this model, such as 'first'",
        ),
        (InPlace(), {"first": "encoder.embedding"}, "names no point of the stream"),
        (InPlace(), {"first": "encoder.embedding.weight"}, "names no point of the stream"),
        (InPlace(), {"first": "a.out", "second": "a.out"}, "'first' and 'second' are one point of the stream"),
        (nn.Sequential(nn.Linear(4, 4), nn.Flatten(0)), {"1": "a.out"}, "a tensor of shape (8,)"),
        (InPlace(), {"first": "a.out", "second": "a.in"}, "'first.weight' in sites= and 'first' in stream= have one"),
        (nn.Linear(4, 4), {}, "nothing of it is known; name the modules where it passes: stream={"),
    ],
)
def test_a_stream_that_cannot_be_read_is_one_message(model, stream, message):
    sites = {"first": "a.out"} if "sites=" in message else {}
    assert message in one_line(
        lnlab.measure, model, [torch.ones(2, 4)], of_squares, probes=["hidden_norm"], sites=sites, stream=stream
    )


def test_a_pattern_of_the_user_replaces_the_stream_of_the_family():
    assert streams(GPT(), {"transformer.h.{layer}": "decoder.feed_forward.out"}) == {
        ("decoder", n, "feed_forward", "out"): f"transformer.h.{n - 1}" for n in (1, 2)
    }
    assert streams(GPT())["decoder", 2, "self_attention", "sum"] == "transformer.h.1.ln_2:input"


def test_a_class_that_is_only_called_like_a_known_one_is_not_taken_for_it():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.mlp = nn.LayerNorm(4), nn.Linear(4, 4)

    model = nn.ModuleList([Block()])
    assert streams(model) == {}
    assert {s.sublayer for a in parameter_addresses(model, {}).values() for s in a.sites} == {"0.ln_1", "0.mlp"}


@pytest.mark.parametrize("name", ["gpt2", "nano_gpt", "vit", "timm_vit", "torch_encoder"])
def test_the_largest_eigenvalue_is_that_of_hessian_products_in_float64(name, monkeypatch):
    """Beside ARPACK (Lehoucq et al., 1998) on products that are two backward passes by hand."""
    build, batches, loss, _ = FAMILIES[name]
    torch.manual_seed(6)
    model = build(monkeypatch).eval()
    m = lnlab.measure(model, batches, loss, probes=[{"kind": "sharpness", "tolerance": 1e-5}])
    exact = copy.deepcopy(model).double()
    batches = [batch.double() if batch.is_floating_point() else batch for batch in batches]
    parameters = list(exact.parameters())
    with sdpa_kernel(SDPBackend.MATH):  # the others have no second derivative
        parts = [out if isinstance(out, tuple) else (out, 1) for out in (loss(exact, batch) for batch in batches)]
        total = sum(part for part, _ in parts) / sum(n for _, n in parts)
        gradient = flat(torch.autograd.grad(total, parameters, create_graph=True))

    def product(v):
        return flat(
            torch.autograd.grad(gradient @ torch.from_numpy(v).flatten(), parameters, retain_graph=True)
        ).numpy()

    hessian = LinearOperator((len(gradient),) * 2, matvec=product, dtype="float64")
    start = torch.randn(len(gradient), generator=torch.Generator().manual_seed(0), dtype=torch.float64).numpy()
    (largest,) = eigsh(hessian, 1, which="LA", tol=1e-8, v0=start, return_eigenvectors=False)
    measured = m.frame("sharpness").filter(quantity="sharpness")["value"].item()
    assert measured == pytest.approx(float(largest), rel=1e-3)


def flat(tensors):
    return torch.cat([x.flatten() for x in tensors])


class MeanLoss(nn.Module):
    """The loss per item as the output of a module: all that PyHessian calls."""

    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, inputs):
        out = self.loss(self.model, inputs.batch)
        return out[0] / out[1] if isinstance(out, tuple) else out


def inputs_of(model, loss, batch):
    """A batch as PyHessian takes it: its size is the weight of its mean."""
    out = loss(model, batch)
    inputs = SimpleNamespace(batch=batch, size=lambda _: out[1] if isinstance(out, tuple) else 1)
    inputs.to = lambda _: inputs
    return inputs


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["gpt2", "nano_gpt", "vit", "timm_vit", "torch_encoder"])
@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning")
def test_the_largest_eigenvalue_is_that_of_pyhessian(name, monkeypatch):
    """Beside the power iteration of PyHessian 0.1 (Yao et al., 2020), run until it stands still."""
    pyhessian = pytest.importorskip("pyhessian", reason="PyHessian is not installed")
    build, batches, loss, _ = FAMILIES[name]
    torch.manual_seed(6)
    model = build(monkeypatch).eval()
    m = lnlab.measure(model, batches, loss, probes=[{"kind": "sharpness", "tolerance": 1e-5}])
    data = [(inputs_of(model, loss, batch), torch.zeros(())) for batch in batches]
    with sdpa_kernel(SDPBackend.MATH):
        peer = pyhessian.hessian(MeanLoss(model, loss), lambda mean, _: mean, dataloader=data, cuda=False)
        ((largest,), _) = peer.eigenvalues(maxIter=1000, tol=1e-6)
    measured = m.frame("sharpness").filter(quantity="sharpness")["value"].item()
    assert measured == pytest.approx(largest, rel=1e-3)
