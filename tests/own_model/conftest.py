"""Models from elsewhere, written with torch alone, and their batches and losses."""

import pytest
import torch
from torch import nn
from torch.nn import functional

WORDS, WIDTH, LENGTH = 13, 8, 6
NANO_SITES = {
    "blocks.{layer}.ln_1": "decoder.self_attention",
    "blocks.{layer}.attn.qkv": "decoder.self_attention.qkv",
    "blocks.{layer}.attn.proj": "decoder.self_attention.o",
    "blocks.{layer}.ln_2": "decoder.feed_forward",
    "blocks.{layer}.fc": "decoder.feed_forward.w1",
    "blocks.{layer}.proj": "decoder.feed_forward.w2",
    "head": "decoder.embedding.table",
}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(WIDTH), Attention()
        self.ln_2, self.fc, self.proj = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.proj(functional.gelu(self.fc(self.ln_2(x)))))


class NanoGPT(nn.Module):
    """A causal language model with a tied table."""

    def __init__(self, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def token_loss(model, tokens):
    """The sum over next tokens, and their number."""
    logits = model(tokens[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum"), tokens[
        :, 1:
    ].numel()


def square_loss(model, x):
    """A mean, as many write it."""
    return model(x).square().mean()


@pytest.fixture(scope="session")
def nano():
    return NanoGPT


@pytest.fixture(scope="session")
def nano_sites():
    return NANO_SITES


@pytest.fixture(scope="session")
def tokens():
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(WORDS, (n, LENGTH), generator=generator) for n in (3, 2, 4)]


@pytest.fixture(scope="session")
def language_loss():
    return token_loss


@pytest.fixture(scope="session")
def mean_square():
    return square_loss
