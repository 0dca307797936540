"""Parameter sizes against numpy, and what is read off them: gates, gains and the factor of an init."""

import math

import numpy as np
import pytest

from lnlab.nn.sites import parameter_uses
from lnlab.probes.parameter_size import parameter_size


def test_values_are_numpys_at_every_use_of_every_parameter(state, values):
    made = state("pre", tied="all")
    rows = list(parameter_size(made))
    functions = {
        "parameter_norm": lambda p: np.sqrt((p**2).sum()),
        "parameter_rms": lambda p: np.sqrt((p**2).mean()),
        "parameter_mean": np.mean,
        "parameter_max": lambda p: np.abs(p).max(),
    }
    for quantity, function in functions.items():
        found = values(rows, quantity)
        assert len(found) == len(parameter_uses(made.model))
        for site, p in parameter_uses(made.model):
            expected = function(p.detach().numpy().astype(np.float64))
            assert found[tuple(site.row().values())] == pytest.approx(expected, rel=1e-12, abs=1e-15), site


def test_a_tied_table_is_measured_at_each_use_and_constants_of_norms_and_placements_can_be_read(state, values):
    found = values(parameter_size(state(tied="all")), "parameter_norm")
    tables = [value for site, value in found.items() if site[3] == "table"]
    assert len(tables) == 3
    assert len(set(tables)) == 1
    admin = values(parameter_size(state("admin")), "parameter_mean")
    assert admin["decoder", 2, "cross_attention", "omega"] == pytest.approx(math.sqrt(7 / math.log(7) - 1))
    rezero = values(parameter_size(state("rezero")), "parameter_max")
    assert rezero["encoder", 1, None, "alpha"] == 0
    assert values(parameter_size(state("post")), "parameter_rms")["encoder", 1, "feed_forward", "scale"] == 1
    # w1 times L^(-1/2), L = 2 * 2 + 3 * 2 branches; fairseq's w1 is Xavier's of the same seed.
    fixup, xavier = (
        values(parameter_size(state("fixup", tied="none", init=init)), "parameter_norm")
        for init in ("fixup", "fairseq")
    )
    site = ("decoder", 2, "feed_forward", "w1")
    assert fixup[site] / xavier[site] == pytest.approx(10**-0.5, rel=1e-5)
