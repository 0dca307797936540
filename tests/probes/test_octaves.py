"""Bins from bits against numpy's histogram of logarithmically drawn numbers, and at every edge."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from lnlab.probes.support.octaves import CODES, counts, edges, entry_histogram

EDGES = np.array([2.0**e * quarter for e in range(-126, 128) for quarter in (1, 1.25, 1.5, 1.75)] + [2.0**128])
"""Of normal numbers, written another way."""


def drawn(size: int, *, low: float = -37.0, high: float = 38.0) -> torch.Tensor:
    """Of both signs, equally often in each decade."""
    generator = torch.Generator().manual_seed(3)
    exponents = low + (high - low) * torch.rand(size, generator=generator, dtype=torch.float64)
    signs = 2 * torch.randint(2, (size,), generator=generator) - 1
    return (signs * 10**exponents).float()


def of(x: torch.Tensor) -> dict[tuple[float, float], int]:
    return {(row["left"], row["right"]): row["count"] for row in entry_histogram("size", {}, [x])}


def test_counts_are_those_of_numpys_histogram_in_float64():
    x = drawn(200_000)
    expected, _ = np.histogram(x.double().abs().numpy(), EDGES)
    assert expected.sum() == len(x)
    found = of(x)
    bins = pairwise(EDGES)
    assert found == {pair: n for pair, n in zip(bins, expected.tolist(), strict=True) if n}


def test_edges_zeros_subnormals_infinities_and_nans_have_their_places():
    edge = torch.tensor(EDGES[:-1]).float()
    assert list(of(edge)) == list(pairwise(EDGES))
    below = torch.nextafter(edge[1:], torch.zeros(1))
    assert list(of(-below)) == list(pairwise(EDGES[:-1]))
    x = torch.tensor([0.0, -0.0, 1e-45, 2.0**-128, 3 * 2.0**-128, 2.0**-126, math.inf, -math.inf, math.nan])
    rows = list(entry_histogram("size", {"stack": "encoder"}, [x]))
    assert [row["count"] for row in rows] == [2, 1, 1, 1, 1, 2, 1]
    assert rows[0] == {"quantity": "size", "stack": "encoder", "left": 0.0, "right": 0.0, "count": 2}
    assert (rows[1]["left"], rows[1]["right"]) == (0.0, 2.0**-128)
    assert (rows[3]["left"], rows[3]["right"]) == (3 * 2.0**-128, 2.0**-126)
    assert (rows[5]["left"], rows[5]["right"]) == (math.inf, math.inf)
    assert math.isnan(rows[6]["left"])
    every = [edges(place) for place in range(1, 1021)]
    assert all(left < right for left, right in every)
    assert all(one[1] == two[0] for one, two in pairwise(every))
    assert edges(0) == (0.0, 0.0)


@pytest.mark.parametrize("shape", [(), (1,), (7, 3)])
def test_any_shape_stride_and_precision(shape):
    x = drawn(math.prod(shape), low=-5, high=0).view(shape)
    assert counts(x).sum() == x.numel()
    assert torch.equal(counts(x), counts(x.double()))
    wide = torch.stack([x, torch.zeros(shape)], -1)[..., 0]
    assert torch.equal(counts(x), counts(wide))
    assert counts(x).shape == (CODES + 1,)


def test_several_tensors_are_counted_together_and_as_quotients_by_what_they_are_divided():
    x = drawn(1000)
    together = list(entry_histogram("size", {}, [x[:300].view(3, 100), torch.zeros(4), x[300:]]))
    assert together == list(entry_histogram("size", {}, [torch.cat([torch.zeros(4), x])]))
    x, rate = drawn(5000), 8e-3 * 150**-0.5
    parts = [x[:300].view(3, 100), x[300:]]
    assert list(entry_histogram("size", {}, parts, rate)) == list(entry_histogram("size", {}, [x / rate]))
    assert list(entry_histogram("size", {}, parts, rate)) != list(entry_histogram("size", {}, parts))
