"""Steps against closed forms."""

import pytest
import torch
from torch import nn

from lnlab.probes.support.weight_step import Start, Step, change, remainder
from lnlab.tasks.task import Batch

TOKENS = torch.tensor([[5, 6, 7], [8, 9, 0]])
BATCH = Batch(TOKENS, TOKENS, TOKENS)
W, SIZE = 0.5, 0.3


class Square(nn.Module):
    """A stack whose output is w² at every coordinate, and another that does not move."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([W]))
        self.still = nn.Parameter(torch.tensor([2.0]))

    def forward(self, batch):
        shape = (*batch.source.shape, 4)
        return {"encoder": (self.w**2).expand(shape), "decoder": self.still.expand(shape)}


def step(sign: float) -> Step:
    return Step({"w": torch.tensor([sign], dtype=torch.float64)}, {"w": SIZE})


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("batches", [1, 3])
def test_a_quadratic_output_has_its_closed_form(sign, batches):
    """ΔF = 2wδ + δ², of which δ² is not first order; five tokens a batch, four coordinates each."""
    start, d = Start(Square(), [BATCH] * batches), sign * SIZE
    assert start.tokens == {"encoder": 5 * batches, "decoder": 5 * batches}
    for by in (1.0, 3.0):
        expected = 4 * 5 * batches * (2 * W * d / by + (d / by) ** 2) ** 2
        assert change(start, step(sign), by) == pytest.approx({"encoder": expected, "decoder": 0})
    assert remainder(start, step(sign)) == pytest.approx({"encoder": 4 * 5 * batches * d**4, "decoder": 0})


def test_a_step_leaves_the_function_as_it_is_and_a_sign_of_zero_does_not_move():
    square = Square()
    start = Start(square, [BATCH])
    change(start, step(1.0))
    assert (square.w.item(), start.at["w"].item()) == (W, W)
    start = Start(Square(), [BATCH])
    assert change(start, step(0.0)) == {"encoder": 0, "decoder": 0}
