"""Histograms with bins from the bits of float32: four bins per power of two, and exact counts.

A positive float32 is 2^e (1 + m), and its bits begin with e and go on with m. So e and the two leading bits of m, which
are the upper eleven bits without the sign, number the bins

    2^e [1, 5/4), 2^e [5/4, 3/2), 2^e [3/2, 7/4), 2^e [7/4, 2),

and no logarithm is taken. Subnormal numbers, below 2^-126, are in four bins of width 2^-128. Zeros have their own bin,
which begins and ends at 0. So have infinities. Numbers of another precision are rounded to float32 first.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lnlab.tables import Row

CODES = 1024
INFINITE = 1020
"""The code of infinity. NaN has those beyond it."""


def counts(x: Tensor) -> Tensor:
    """Number of |x| in each bin: (1025,) int64, zeros in the first. Counts of several tensors may be added."""
    single = x.detach().flatten().float()
    # The upper eleven bits and the sign in front of them, from 0 to 2,047.
    if single.is_cpu:  # torch shifts no unsigned numbers, and another pass over all entries would take off the sign
        codes = torch.from_numpy((single.numpy().view(np.uint32) >> 21).view(np.int32))
    else:
        codes = (single.view(torch.int32) >> 21).bitwise_and_(2 * CODES - 1)
    signed = torch.bincount(codes, minlength=2 * CODES)
    bins = signed[:CODES] + signed[CODES:]
    # The first code is that of the smallest subnormal numbers, too, from which the zeros are taken apart.
    zeros = len(single) - single.count_nonzero() if bins[0] else bins.new_zeros(())
    bins[0] -= zeros
    return torch.cat([zeros[None], bins])


@cache
def edges(place: int) -> tuple[float, float]:
    """The two edges of the bin at an index of ``counts``.

    A bin holds its lower edge and not its upper one. The bins of zeros, infinities and NaN are single values: both of
    their edges are that value.
    """
    code = place - 1
    if 0 <= code < INFINITE:
        return _edge(code), _edge(code + 1)
    value = 0.0 if code < 0 else math.inf if code == INFINITE else math.nan
    return value, value


def _edge(code: int) -> float:
    octave, quarter = divmod(code, 4)
    return math.ldexp(4 + quarter, octave - 129) if octave else math.ldexp(quarter, -128)


def entry_histogram(
    quantity: str, where: Mapping[str, Any], tensors: Iterable[Tensor], over: float | None = None
) -> Iterator[Row]:
    """Rows of the table ``histograms`` for all entries of some tensors together, one per bin that is not empty.

    They are counted as one vector, as a model has many small tensors, and a separate count of each would cost 30 µs.

    Args:
        quantity: name of the quantity.
        where: the columns of a site, or nothing.
        tensors: tensors of any shape.
        over: divisor of all entries, if given.
    """
    entries = torch.cat([x.detach().flatten() for x in tensors])
    yield from histogram_rows(quantity, where, counts(entries if over is None else entries.div_(over)))


def histogram_rows(quantity: str, where: Mapping[str, Any], counted: Tensor) -> Iterator[Row]:
    """The rows of ``entry_histogram`` from the result of ``counts``, zeros first, then by increasing size."""
    (places,) = counted.nonzero(as_tuple=True)
    for place, number in zip(places.tolist(), counted[places].tolist(), strict=True):
        left, right = edges(place)
        yield {"quantity": quantity, **where, "left": left, "right": right, "count": number}
