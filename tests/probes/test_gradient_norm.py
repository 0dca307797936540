"""Gradient norms against plain autograd on a model of torch.nn's parts, brute force, and published profiles."""

import copy
import math

import pytest
import torch
from torch import nn

from lnlab.nn.embedding import sinusoids
from lnlab.probes.gradient_norm import frobenius_norms, gradient_norm, norms_and_noise
from tests.support.models import copy_layer

WIDTH, HEADS, D_FF, ROWS, LAYERS = 16, 2, 32, 23, 2


class ByHand(nn.Module):
    """The same model from torch.nn's Transformer layers, every table its own."""

    def __init__(self, model, pre: bool):
        super().__init__()
        shape = {"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": D_FF, "dropout": 0.0, "batch_first": True}
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(**shape, norm_first=pre) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(**shape, norm_first=pre) for _ in range(LAYERS))
        self.tables = nn.ParameterList(
            nn.Parameter(t.detach().clone())
            for t in (model.encoder.embedding.table, model.decoder.embedding.table, model.output.table)
        )
        self.final = nn.ModuleList(nn.LayerNorm(WIDTH) if pre else nn.Identity() for _ in range(2))
        with torch.no_grad():
            for stack in ("encoder", "decoder"):
                for mine, theirs in zip(getattr(model, stack).layers, getattr(self, stack), strict=True):
                    copy_layer(mine, theirs)

    def forward(self, batch):
        source, target = batch.source, batch.target_in
        length = target.shape[1]
        memory = self.embed(0, source)
        for layer in self.encoder:
            memory = layer(memory, src_key_padding_mask=source == 0)
        memory, x = self.final[0](memory), self.embed(1, target)
        for layer in self.decoder:
            x = layer(
                x,
                memory,
                tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
                tgt_key_padding_mask=target == 0,
                memory_key_padding_mask=source == 0,
            )
        return self.final[1](x) @ self.tables[2].T

    def embed(self, table: int, tokens):
        return self.tables[table][tokens] * math.sqrt(WIDTH) + sinusoids(tokens.shape[1], WIDTH).float()

    def gradient(self, site: tuple):
        """The part of .grad that belongs to a site."""
        stack, layer, sublayer, tensor = site
        if tensor == "table":
            return self.tables[
                [("encoder", "embedding"), ("decoder", "embedding"), (None, "output")].index((stack, sublayer))
            ].grad
        owner = getattr(self, stack)[layer - 1]
        if sublayer == "feed_forward":
            return {"w1": owner.linear1, "w2": owner.linear2}[tensor].weight.grad
        attention = owner.self_attn if sublayer == "self_attention" else owner.multihead_attn
        if tensor == "o":
            return attention.out_proj.weight.grad
        return attention.in_proj_weight.grad.chunk(3)["qkv".index(tensor)]


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("tied", ["target", "none", "all"])
def test_norms_are_those_of_autograd_on_torchs_own_layers(state, values, placement, tied):
    """Every matrix, both parts of a tied table, the token-weighted mean over unequal batches: 1e-5 relative."""
    made = state(placement, tied=tied)
    theirs = ByHand(made.model, placement == "pre")
    batches = made.batches(3)
    tokens = sum(batch.tokens for batch in batches)
    assert len({batch.tokens for batch in batches}) > 1
    for batch in batches:
        (made.task.loss(theirs, batch)[0] / tokens).backward()
    found = values(gradient_norm(made, batches=3), "gradient_norm")
    assert len(found) == LAYERS * (6 + 10) + 3
    for site, value in found.items():
        assert value == pytest.approx(theirs.gradient(site).norm().item(), rel=1e-5), site


def test_parts_of_a_tied_table_are_those_of_an_untied_copy_and_add_up(state, values):
    tied = state("post", tied="all")
    untied = copy.copy(tied)
    untied.model = copy.deepcopy(tied.model)
    for module in (untied.model.decoder.embedding, untied.model.output):
        module.table = nn.Parameter(tied.model.output.table.detach().clone())
    one, two = (values(gradient_norm(made, batches=2), "gradient_norm") for made in (tied, untied))
    assert one == pytest.approx(two, rel=1e-6)
    batches = tied.batches(2)
    for batch in batches:
        for made in (tied, untied):
            (made.task.loss(made.model, batch)[0] / sum(b.tokens for b in batches)).backward()
    models = untied.model
    parts = [m.table.grad for m in (models.encoder.embedding, models.decoder.embedding, models.output)]
    torch.testing.assert_close(sum(parts), tied.model.output.table.grad)


def test_quantities_are_those_of_brute_force_over_batches(state, values):
    """Mean of norms; products of different batches alone; noise share; root mean square per element."""
    made = state("pre")
    rows = list(gradient_norm(made, batches=4))
    weight = made.model.decoder.layers[1].feed_forward.w2.weight
    gradients, n = [], []
    for batch in made.batches(4):
        loss, tokens = made.task.loss(made.model, batch)
        gradients.append(torch.autograd.grad(loss / tokens, weight)[0].double())
        n.append(tokens)
    mean = sum(t * g for t, g in zip(n, gradients, strict=True)) / sum(n)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    unbiased = sum(n[i] * n[j] * (gradients[i] * gradients[j]).sum() for i, j in pairs) / sum(
        n[i] * n[j] for i, j in pairs
    )
    expected = {
        "gradient_norm": mean.norm(),
        "gradient_norm_mean": sum(g.norm() for g in gradients) / 4,
        "gradient_rms": mean.square().mean().sqrt(),
        "gradient_norm_unbiased_sq": unbiased,
        "gradient_noise_share": 1 - unbiased / mean.square().sum(),
    }
    assert {row["quantity"] for row in rows} == expected.keys()
    for quantity, value in expected.items():
        found = values(rows, quantity)["decoder", 2, "feed_forward", "w2"]
        assert found == pytest.approx(value.item(), rel=1e-5), quantity


def test_the_unbiased_square_is_unbiased_and_the_plain_one_is_not(state):
    """Over 2,000 draws of 3 noisy batches of unequal size, around a known mean gradient."""
    generator = torch.Generator().manual_seed(0)
    mu, n = torch.full((1, 6), 0.3, dtype=torch.float64), torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    plain, unbiased = [], []
    for _ in range(2000):
        g = n[:, None] * (mu + torch.randn(3, 6, generator=generator, dtype=torch.float64) / n[:, None].sqrt())
        found = norms_and_noise(g.sum(0).norm()[None], g.norm(dim=1)[:, None], n, torch.tensor([6.0]))
        plain.append(found["gradient_norm"][0] ** 2)
        unbiased.append(found["gradient_norm_unbiased_sq"][0])
    noise = 6 / n.sum().item()
    assert sum(unbiased) / 2000 == pytest.approx(mu.square().sum().item(), rel=0.1)
    assert sum(plain) / 2000 == pytest.approx(mu.square().sum().item() + noise, rel=0.05)


def test_one_batch_says_nothing_of_the_noise_and_weights_that_reach_no_logit_have_gradient_zero(state, values):
    quantities = {row["quantity"] for row in gradient_norm(state(), batches=1)}
    assert quantities == {"gradient_norm", "gradient_norm_mean", "gradient_rms"}
    # Without cross-attention the encoder is there, and unused.
    found = values(gradient_norm(state(cross_attention=False), batches=2), "gradient_norm")
    assert {value for site, value in found.items() if site[0] == "encoder"} == {0.0}
    assert all(value > 0 for site, value in found.items() if site[0] != "encoder")


def test_biases_and_norms_are_measured_when_asked(state, values):
    made = state("pre")
    rows = list(gradient_norm(made, batches=2, biases=True))
    found = values(rows, "gradient_norm")
    plain = values(gradient_norm(made, batches=2), "gradient_norm")
    assert found | plain == found
    assert {site[3] for site in found.keys() - plain.keys()} == {"bq", "bv", "bo", "b1", "b2", "scale", "shift"}
    noise = {site[3] for site, share in values(rows, "gradient_unresolved_share").items() if share}
    assert noise == {"bk"}, "the biases of keys, which softmax does not see"
    batches = made.batches(2)
    loss = sum(made.task.loss(made.model, batch)[0] for batch in batches) / sum(batch.tokens for batch in batches)
    loss.backward()
    shift = made.model.decoder.final_norm.bias.grad.norm().item()
    assert found["decoder", None, "final_norm", "shift"] == pytest.approx(shift, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1.0, 1e15, 1e30])
def test_norms_do_not_leave_float32s_range(scale):
    gradients = [torch.full((3, 5), scale), torch.full((7,), 2 * scale)]
    assert frobenius_norms(gradients).tolist() == pytest.approx(
        [scale * math.sqrt(15), scale * math.sqrt(28)], rel=1e-6
    )


def test_norms_agree_with_float64_to_eight_digits():
    gradients = [torch.randn(40, 300, generator=torch.Generator().manual_seed(i)) * 10.0**i for i in range(4)]
    assert frobenius_norms(gradients).tolist() == pytest.approx([g.double().norm().item() for g in gradients], rel=1e-7)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_is_not_finite_is_stored_as_measured(state, values, value):
    made = state("pre")
    with torch.no_grad():
        made.model.decoder.layers[1].feed_forward.w2.bias[0] = value
    found = values(gradient_norm(made, batches=2), "gradient_norm")
    assert math.isnan(found["decoder", 2, "feed_forward", "w2"])
