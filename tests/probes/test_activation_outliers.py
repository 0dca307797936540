"""Kurtosis and largest coordinate, against scipy and by hand."""

import pytest
import scipy.stats
import torch

from lnlab.nn.sites import Site, activations
from lnlab.probes.activation_outliers import activation_outliers

SITE = ("encoder", 2, "feed_forward", "branch")


def test_they_are_those_of_all_coordinates_of_all_tokens_without_padding(state, values):
    made = state("pre")
    rows = list(activation_outliers(made, batches=3))
    found = []
    for batch in made.batches(3):
        with activations(made.model) as seen, torch.no_grad():
            made.model(batch)
        found.append(seen[Site(*SITE)].double()[batch.source != 0].flatten())
    x = torch.cat(found)
    assert values(rows, "activation_kurtosis")[SITE] == pytest.approx(scipy.stats.kurtosis(x, fisher=False), rel=1e-9)
    largest = x.abs().max() / x.abs().sort().values[(len(x) - 1) // 2]
    assert values(rows, "activation_largest")[SITE] == pytest.approx(largest.item(), rel=1e-9)


def test_a_stream_of_zeros_has_neither(state, values):
    made = state("pre")
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.zero_()
    rows = list(activation_outliers(made, batches=1))
    assert SITE not in values(rows, "activation_kurtosis")
    assert SITE not in values(rows, "activation_largest")
