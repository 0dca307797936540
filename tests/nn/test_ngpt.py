"""nGPT by hand, and the lengths of its vectors."""

import math

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.nn.masks import causal
from lnlab.nn.ngpt import to_unit_rows
from lnlab.nn.sites import weights

torch.set_num_threads(1)


@pytest.fixture
def model(setting, build):
    """A small one in float64, whose learned factors are not what they begin as."""
    made = build(
        setting(
            "ngpt",
            kind="language_model",
            norm="unit",
            attention="ngpt",
            tied="none",
            positions="none",
            embedding_scale="one",
            output_scale=True,
            feed_forward="ngpt",
            linear={"kind": "plain", "bias": False},
        ),
        init="unit_rows",
    ).double()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, p in made.named_parameters():
            if "gain" in name or "gate" in name:
                p.mul_(torch.rand(p.shape, generator=generator, dtype=torch.float64) + 0.5)
    to_unit_rows(made)
    return made


def unit(x):
    return x / x.square().sum(-1, keepdim=True).sqrt()


def turned(x):
    """(length, d_h) with pairs (i, i + d_h/2), by complex numbers."""
    half = x.shape[-1] // 2
    z = torch.complex(x[:, :half], x[:, half:])
    angle = torch.arange(len(x), dtype=torch.float64)[:, None] * 10_000.0 ** (
        -torch.arange(half, dtype=torch.float64) / half
    )
    z = z * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], dim=-1)


def by_hand(model, tokens):
    """The logits of one sentence, (length,) -> (length, rows), as the paper's equations have them."""
    p = dict(model.named_parameters())
    h = p["decoder.embedding.table"][tokens]
    length, d = h.shape
    heads, d_h = 2, d // 2
    future = torch.full((length, length), -math.inf, dtype=torch.float64).triu(1)
    for n in range(2):
        of = lambda name, n=n: p[f"decoder.layers.{n}.{name}"]  # noqa: E731
        q, k, v = (h @ of(f"self_attention.{name}.weight").T for name in "qkv")
        s = of("self_attention.gain_qk") * math.sqrt(d)
        gathered = []
        for head in range(heads):
            at = slice(head * d_h, (head + 1) * d_h)
            product = (s[at] * unit(turned(q[:, at]))) @ (s[at] * unit(turned(k[:, at]))).T
            gathered.append(torch.softmax(math.sqrt(d_h) * product + future, -1) @ v[:, at])
        branch = torch.cat(gathered, -1) @ of("self_attention.o.weight").T
        h = unit(unit(h) + (0.05 * math.sqrt(d) * of("placement.gate.0")).abs() * (unit(branch) - unit(h)))
        u = math.sqrt(d) * of("feed_forward.gain_w1") * (h @ of("feed_forward.w1.weight").T)
        g = math.sqrt(d) * of("feed_forward.gain_w3") * (h @ of("feed_forward.w3.weight").T)
        branch = (u * g * torch.sigmoid(g)) @ of("feed_forward.w2.weight").T
        h = unit(h + (0.05 * math.sqrt(d) * of("placement.gate.1")).abs() * (unit(branch) - h))
    return (h @ p["output.table"].T) * p["output.gain"] * math.sqrt(d)


def test_logits_are_those_of_the_papers_equations_and_at_most_their_learned_factor(model, batch):
    tokens = batch.target_in[:1]
    tokens = tokens.clamp(min=1)
    found = model.output(model.decoder(tokens, causal(tokens)))[0]
    torch.testing.assert_close(found, by_hand(model, tokens[0]), rtol=0, atol=1e-12)
    bound = (model.output.gain * math.sqrt(16)).abs()
    assert bool((model(batch).abs() <= bound + 1e-12).all())


def test_rows_that_read_and_columns_that_write_keep_length_1_through_updates(model, batch):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    with REGISTRIES["intervention"].builder({"kind": "unit_rows"})(model, optimizer):
        for _ in range(2):
            model(batch).square().sum().backward()
            optimizer.step()
    for site, p in weights(model):
        lengths = torch.linalg.vector_norm(p.detach(), dim=0 if site.tensor in ("o", "w2") else 1)
        if site.tensor == "table":
            assert lengths[0] in (0.0, pytest.approx(1.0))
            lengths = lengths[1:]
        torch.testing.assert_close(lengths, torch.ones_like(lengths))
    optimizer.step()  # after it, nothing holds them
    lengths = [torch.linalg.vector_norm(p.detach(), dim=1) for site, p in weights(model) if site.tensor == "q"]
    assert not any(torch.allclose(found, torch.ones_like(found)) for found in lengths)
