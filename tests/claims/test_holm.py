"""Holm's step-down against its definition as adjusted p values, and by hand."""

import numpy as np
import pytest

from lnlab.claims.intersection_union import holm_rejections


@pytest.mark.parametrize("seed", range(20))
def test_rejected_are_those_whose_adjusted_p_is_small(seed):
    p = np.random.default_rng(seed).uniform(0, 0.1, 6)
    order = np.argsort(p)
    adjusted = np.empty(6)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(6, 0, -1))
    assert holm_rejections(p.tolist(), 0.05) == (adjusted <= 0.05).tolist()
