"""Pre-LN and Post-LN in a training loop of one's own, two seeds each, and one page about them."""

import torch
from torch import nn
from torch.nn import functional

import lnlab


class Block(nn.Module):
    """A layer whose norms stand before its branches, or after the additions."""

    def __init__(self, width: int, heads: int, placement: str) -> None:
        super().__init__()
        self.heads, self.placement = heads, placement
        self.ln_1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln_2, self.fc, self.out = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        """Causal."""
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        branch: torch.Tensor = self.proj(heads.transpose(1, 2).flatten(2))
        return branch

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of one stream."""
        if self.placement == "pre":
            x = x + self.attention(self.ln_1(x))
            x = x + self.out(functional.gelu(self.fc(self.ln_2(x))))
        else:
            x = self.ln_1(x + self.attention(x))
            x = self.ln_2(x + self.out(functional.gelu(self.fc(x))))
        return x


class GPT(nn.Module):
    """Four layers between a table and an output."""

    def __init__(self, placement: str, words: int = 20, width: int = 16) -> None:
        super().__init__()
        self.table, self.positions = nn.Embedding(words, width), nn.Embedding(16, width)
        self.blocks = nn.ModuleList(Block(width, 2, placement) for _ in range(4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of every next token."""
        x = self.table(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: torch.Tensor = self.head(self.norm(x))
        return logits


def loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """The mean over next tokens."""
    return functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


SITES = {
    "blocks.{layer}.qkv": "decoder.self_attention.q/k/v",
    "blocks.{layer}.proj": "decoder.self_attention.o",
    "blocks.{layer}.fc": "decoder.feed_forward.w1",
    "blocks.{layer}.out": "decoder.feed_forward.w2",
}
CLAIMS = """
- id: gradients
  says: After training, the gradient of the last layer is smaller in Pre-LN.
  kind: ratio
  of: {quantity: step_gradient_norm, step: last, layer: last, tensor: w2, placement: pre}
  to: {placement: post}
  at_most: 0.8
- id: distance
  says: Pre-LN moves as far as Post-LN.
  kind: ratio
  of: {quantity: total_displacement, step: last, placement: pre}
  to: {placement: post}
  equals: 1
- id: entropy
  says: Attention becomes sharper in training.
  kind: ratio
  of: {quantity: attention_entropy, step: last, layer: last, index: 1, placement: pre}
  to: {step: 0}
  at_most: 1
"""
SECTIONS = """
- {kind: curves, quantity: loss}
- {kind: depth_profile, quantity: step_gradient_norm, where: {step: last, tensor: w2}}
- {kind: depth_profile, quantity: step_gradient_norm, x: step, where: {layer: last, tensor: w2}}
- {kind: depth_profile, quantity: update_to_weight, x: step, where: {layer: last, tensor: w2}}
- {kind: depth_profile, quantity: attention_entropy, x: step, where: {layer: last, index: 1}, scale: linear}
"""

starts = torch.randint(20, (60, 8, 1), generator=torch.Generator().manual_seed(0))
words = (starts + torch.arange(12)) % 20
training, held_out = words[2:], words[:2]
for placement in ("pre", "post"):
    for seed in (1, 2):
        torch.manual_seed(seed)
        model = GPT(placement)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        rec = lnlab.Recorder(
            f"runs/{placement}-{seed}",
            settings={"placement": placement},
            seed=seed,
            probes=["attention_logits", "displacement"],
            batches=held_out,
            loss=loss,
            every=10,
            sites=SITES,
        )
        rec.attach(model, optimizer)
        rec(model)  # the state before the first update
        for batch in training:
            value = loss(model, batch)
            value.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            rec(model, loss=value)
        rec.close()

runs = lnlab.open_runs("runs/*")
rows = runs.frame("step_gradient_norm")  # polars: placement, seed, step, layer, tensor, value, path
chart = runs.plot("attention_entropy", x="step")  # altair
runs.report(CLAIMS, out="page", sections=SECTIONS, title="My training", question="What does Pre-LN change?")
