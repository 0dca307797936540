"""The sharpness of a state against the largest eigenvalue of its dense Hessian, also in Adam's coordinates."""

from dataclasses import replace

import pytest
import torch

from lnlab.curvature.dense import dense
from lnlab.curvature.hessian import hessian
from lnlab.errors import LabError
from lnlab.probes.sharpness import sharpness
from lnlab.vocabulary.curvature import SHARPNESS

SIZE = {"layers": 1, "width": 4, "d_ff": 4}
CLOSE = {"tolerance": 1e-6, "precision": "float64", "steps": 300}


def matrix(made, batches=2):
    """The Hessian of a state, symmetric, in the order of the model's parameters."""
    made.model.double()
    operator = hessian(made.model, made.task.loss, made.batches(batches), list(made.model.parameters()))
    found = dense(operator.matvec, operator.size)
    return (found + found.T) / 2


def root(kept) -> torch.Tensor:
    """Adam's sqrt(v̂) after three updates, written out."""
    return (kept["exp_avg_sq"].double() / (1 - 0.999**3)).sqrt().flatten()


def squares(made, number):
    """The mean over batches of the squared gradient of their mean loss."""
    total = 0
    for batch in made.batches(number):
        loss, count = made.task.loss(made.model, batch)
        parts = torch.autograd.grad(loss / count, list(made.model.parameters()), allow_unused=True)
        pairs = zip(made.model.parameters(), parts, strict=True)
        flat = [(torch.zeros_like(p) if g is None else g).flatten() for p, g in pairs]
        total = total + torch.cat(flat).double().square() / number
    return total


def seen(made, p):
    """P without the biases of keys, which softmax does not see: their gradient is rounding."""
    names = [name for name, q in made.model.named_parameters() for _ in range(q.numel())]
    return torch.where(torch.tensor([name.endswith("k.bias") for name in names]), 0.0, p)


def within(hessian_, p):
    """The largest eigenvalue of P^-1/2 H P^-1/2 where P is positive, and how many coordinates are left."""
    kept = p > 0
    factor = p[kept].rsqrt()
    return torch.linalg.eigvalsh(factor[:, None] * hessian_[kept][:, kept] * factor).max().item(), int(kept.sum())


def told(rows) -> dict[str, float]:
    found = {row["quantity"]: row["value"] for row in rows}
    assert found.keys() < set(SHARPNESS)
    return found


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_it_is_the_largest_eigenvalue_of_the_dense_hessian(state, placement):
    made = state(placement, **SIZE)
    found = told(sharpness(made, batches=2, **CLOSE))
    squared = sum(p.double().square().sum().item() for p in made.model.parameters())
    largest = torch.linalg.eigvalsh(matrix(made)).max().item()
    assert found["sharpness"] == pytest.approx(largest, rel=1e-6)
    assert found["sharpness_residual"] <= 1e-6 * largest
    assert found["normalized_sharpness"] == pytest.approx(largest * squared, rel=1e-6)


def test_the_parameters_unit_moves_the_sharpness_and_not_the_normalized_one(state):
    """Of a loss on parameters twice as large that means the same."""
    made = state("post", **SIZE)
    small = told(sharpness(made, batches=1, **CLOSE))

    class Halved:
        unit, size = "tokens", made.task.size
        batches = staticmethod(made.task.batches)

        @staticmethod
        def loss(model, batch):
            halves = {name: p / 2 for name, p in model.named_parameters()}
            return made.task.loss(lambda b: torch.func.functional_call(model, halves, (b,)), batch)

    with torch.no_grad():
        for p in made.model.parameters():
            p.mul_(2)
    large = told(sharpness(replace(made, task=Halved()), batches=1, **CLOSE))
    assert large["sharpness"] == pytest.approx(small["sharpness"] / 4, rel=1e-5)
    assert large["normalized_sharpness"] == pytest.approx(small["normalized_sharpness"], rel=1e-5)


def test_in_the_coordinates_of_the_optimizer_and_of_adam_at_rest(state, trained):
    made = trained(state("post", **SIZE))
    p = torch.cat([root(made.optimizer.state[p]) for p in made.model.parameters()])
    p = seen(made, torch.where(p > 0, p + 1e-4, 0.0))
    found = told(sharpness(made, coordinates="adam", batches=2, **CLOSE))
    largest, kept = within(matrix(made), p)
    assert found["adam_sharpness"] == pytest.approx(largest, rel=1e-5)
    assert found["adam_sharpness_excluded"] == len(p) - kept
    # At initialization too; words in no batch are left out and counted.
    made = state("pre", **SIZE, sentences=2, longest=4)
    found = told(sharpness(made, coordinates="adam_at_rest", batches=2, moments=3, eps=1e-3, **CLOSE))
    whole, v = matrix(made), squares(made, 3)
    largest, kept = within(whole, seen(made, torch.where(v > 0, v.sqrt() + 1e-3, 0.0)))
    assert found["adam_sharpness_at_rest"] == pytest.approx(largest, rel=1e-4)
    assert found["adam_sharpness_at_rest_excluded"] == len(v) - kept > 0


def test_where_there_is_no_v_or_no_finite_loss_it_says_so(state, trained, golden):
    with golden.raises(LabError):
        list(sharpness(state("post"), coordinates="adam", batches=1))
    made = trained(state("post"), updates=0)
    with pytest.raises(LabError, match="no second moment"):
        list(sharpness(made, coordinates="adam", batches=1))
    made = state("post")
    with torch.no_grad():
        made.model.output.table.fill_(torch.nan)
    with golden.raises(LabError):
        list(sharpness(made, batches=1))
