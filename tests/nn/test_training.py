"""Gradients of a model whose gates are closed. That every norm trains in every placement: tests/catalogue."""

import torch
from torch.nn.functional import cross_entropy


def test_rezero_wakes_up_at_the_first_step(setting, build, batch):
    """At first only the decoder's gates and tables have a gradient; then its matrices and, through them, the encoder's
    gates; then all."""
    model = build(setting("rezero"))
    nonzero = []
    for _ in range(3):
        loss = cross_entropy(model(batch).flatten(0, 1), batch.target_in.flatten())
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        nonzero.append({name for (name, _), g in zip(model.named_parameters(), gradients, strict=True) if g.any()})
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients, strict=True):
                p -= 0.1 * g
    gates = {f"decoder.layers.{i}.placement.alpha" for i in range(2)}
    assert nonzero[0] == gates | {"decoder.embedding.table"}
    matrices = {name for name, p in model.named_parameters() if p.dim() > 1}
    assert {name for name in matrices if name.startswith("decoder")} < nonzero[1]
    assert {name for name in nonzero[1] if name.startswith("encoder.layers")} == {
        gate.replace("decoder", "encoder") for gate in gates
    }
    assert matrices < nonzero[2]
