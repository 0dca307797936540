"""Fused q, k and v of which every head has its own beside one another, as in GPT-NeoX: told apart where a pattern says
so, against slices of autograd's gradient by hand."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import lnlab
from tests.support.refusals import one_line

HEADS, SIZE, WIDTH = 3, 4, 12
WITH_BIASES = {"kind": "gradient_norm", "biases": True}
TOKENS = [torch.randint(11, (n, 6), generator=torch.Generator().manual_seed(n)) for n in (2, 3)]


def neox():
    library = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"hidden_size": WIDTH, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": HEADS}
    config = library.GPTNeoXConfig(**sizes, vocab_size=11, max_position_embeddings=8, use_cache=False)
    torch.manual_seed(1)
    return library.GPTNeoXForCausalLM(config).eval()


SITES = {"gpt_neox.layers.{layer}.attention.query_key_value": f"decoder.self_attention.{HEADS}(q/k/v)"}


def next_tokens(model, tokens):
    return model(input_ids=tokens, labels=tokens).loss


def test_gradients_of_q_k_and_v_are_those_of_the_heads_own_rows():
    model = neox()
    m = lnlab.measure(model, TOKENS, next_tokens, probes=[WITH_BIASES, "parameter_size"], sites=SITES)
    sum(next_tokens(model, batch) for batch in TOKENS).div(len(TOKENS)).backward()
    for n in (0, 1):
        fused = model.gpt_neox.layers[n].attention.query_key_value
        for which, tensor in enumerate("qkv"):
            rows = [h * 3 * SIZE + which * SIZE + i for h in range(HEADS) for i in range(SIZE)]
            sites = {tensor: (fused.weight[rows], fused.weight.grad[rows])}
            sites |= {f"b{tensor}": (fused.bias[rows], fused.bias.grad[rows])} if tensor != "k" else {}
            for name, (part, gradient) in sites.items():
                at = {"stack": "decoder", "layer": n + 1, "sublayer": "self_attention", "tensor": name}
                found = m.frame("gradient_norm").filter(quantity="gradient_norm", **at)
                assert found["value"].to_list() == [pytest.approx(gradient.norm().item(), rel=1e-5)]
                assert found["path"][0].endswith(f"[{which * SIZE}:{(which + 1) * SIZE} of every {3 * SIZE}]")
                size = m.frame("parameter_norm").filter(**at)["value"].to_list()
                assert size == [pytest.approx(part.norm().item(), rel=1e-6)]


def test_the_model_computes_the_same_when_told_apart():
    model = neox()
    probe = {"kind": "sharpness", "tolerance": 1e-5}
    with sdpa_kernel(SDPBackend.MATH):
        apart, whole = (lnlab.measure(model, TOKENS, next_tokens, probes=[probe], sites=s) for s in (SITES, {}))
    values = [m.frame("sharpness").filter(quantity="sharpness")["value"].item() for m in (apart, whole)]
    assert values[0] == pytest.approx(values[1], rel=1e-4)


def test_columns_may_be_interleaved_too():
    torch.manual_seed(2)
    model = nn.Linear(8, 3, bias=False)
    batches = [torch.randn(5, 8)]

    def squares(m, x):
        return m(x).square().mean()

    m = lnlab.measure(nn.ModuleList([model]), batches, lambda f, x: squares(f[0], x), sites={"0": "gates.2(in|out)"})
    squares(model, batches[0]).backward()
    rows = m.frame("gradient_norm").filter(quantity="gradient_norm")
    parts = {"in": [0, 1, 4, 5], "out": [2, 3, 6, 7]}
    assert dict(rows.select("tensor", "value").rows()) == {
        name: pytest.approx(model.weight.grad[:, columns].norm().item(), rel=1e-5) for name, columns in parts.items()
    }
    assert set(rows["path"]) == {"0.weight[:, 0:2 of every 4]", "0.weight[:, 2:4 of every 4]"}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("gates.4(a/b)", "shape (6, 4) has no 8 equal parts"),
        ("gates.0(a/b)", "cannot be read"),
        ("gates.3(a/b", "cannot be read"),
        ("gates.3(a/b)c", "cannot be read"),
        ("3(gates)", "cannot be read"),
    ],
)
def test_turns_that_are_not_there_are_one_message(address, message):
    assert message in one_line(
        lnlab.measure,
        nn.ModuleDict({"fused": nn.Linear(4, 6)}),
        [torch.ones(2, 4)],
        next_tokens,
        sites={"fused": address},
    )
