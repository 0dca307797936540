"""Gradient norms and curvature of two encoders of one's own, Post-LN and Pre-LN, over five seeds."""

import torch
from torch import nn
from torch.nn import functional

import lnlab


def encoder(norm_first: bool) -> nn.Module:
    """Four layers of torch's own encoder between a table and an output."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=norm_first)
    stack = nn.TransformerEncoder(layer, 4, nn.LayerNorm(32), enable_nested_tensor=False)
    return nn.Sequential(nn.Embedding(50, 32), stack, nn.Linear(32, 50))


def loss(model: nn.Module, batch: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The sum of the loss over a batch's next tokens, and their number."""
    logits = model(batch[:, :-1])
    targets = batch[:, 1:].flatten()
    return functional.cross_entropy(logits.flatten(0, 1), targets, reduction="sum"), targets.numel()


batches = torch.randint(50, (3, 8, 12), generator=torch.Generator().manual_seed(0))
m = lnlab.measure(
    {"post": lambda _: encoder(False), "pre": lambda _: encoder(True)},
    batches,
    loss,
    probes=["gradient_norm", {"kind": "hessian_spectrum", "draws": 1, "steps": 20}],
    seeds=5,
)
rows = m.frame("gradient_norm")  # polars: model, seed, stack, layer, sublayer, tensor, value, path
chart = m.plot("gradient_norm")  # altair
last_w2 = {"quantity": "gradient_norm", "tensor": "w2", "layer": 4, "model": "pre"}
verdicts = m.judge({"id": "last", "kind": "ratio", "of": last_w2, "to": {"model": "post"}, "at_least": 0.5})
