"""Whether a forward pass in evaluation mode gives the same again, as every probe supposes: the one check of all."""

import random
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import Tensor

from lnlab.curvature.guards import RANDOM
from lnlab.errors import LabError
from lnlab.issues import Issue

_ROUNDING = 16
"""Units in the last place of the largest number by which two results may differ."""
_AGAIN = 8
"""So often is a pass repeated that has drawn numbers, as what is drawn may matter seldom."""


def check_repeatable(where: str, evaluate: Callable[[], Tensor]) -> Tensor:
    """Evaluate twice and compare. Evaluate more often if a random generator has moved.

    Args:
        where: what is measured, for the message.
        evaluate: a pass, whose result has any shape.

    Returns:
        The first result.

    Raises:
        LabError: two results differ.
    """
    before = _generators()
    first = evaluate()
    drawn = _generators() != before
    one = first.detach()
    allowed = _ROUNDING * torch.finfo(one.dtype).eps * one.abs().max() if one.numel() else 0.0
    for _ in range(_AGAIN if drawn else 1):
        other = evaluate().detach()  # without its graph, which would take memory in the next pass
        same = one.shape == other.shape and bool(((one - other).abs() <= allowed).all())
        # A result that has NaN at the same places is the same, and its difference is NaN.
        if not same and not torch.equal(one.nan_to_num(), other.nan_to_num()):
            values = f": {one.item():.6g} and {other.item():.6g}" if one.numel() == 1 else ""
            what = f"two passes of one batch in evaluation mode differ{values}"
            remedy = RANDOM if drawn else "let the model keep nothing from pass to pass that its result depends on"
            raise LabError(Issue("unsupported", where, what, remedy))
    return first


def _generators() -> tuple[object, ...]:
    """Where the generators of torch, Python and NumPy stand."""
    devices = range(torch.cuda.device_count())  # none on a machine without
    legacy: Any = numpy.random.get_state()
    drawn = [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in devices)]
    return (*(bytes(one.numpy()) for one in drawn), random.getstate(), bytes(legacy[1]), legacy[2])
