"""The sites that a probe states beforehand are those at which it has numbers, in every placement and model."""

import pytest

from lnlab.nn.placements import placements
from lnlab.probes.probe import probes

STATING = [entry for entry in probes if entry.facts.sites is not None]
COLUMNS = ("stack", "layer", "sublayer", "tensor")


def refuse_difference(entry, state, **given):
    """Every quantity that states its sites has a row at each of them and at no other."""
    choice = probes.resolve({"kind": entry.name, **given})
    stated = entry.facts.sites(state.model, choice)
    rows = list(probes.builder(choice)(state))
    for quantity, sites in stated.items():
        measured = [tuple(row[column] for column in COLUMNS) for row in rows if row["quantity"] == quantity]
        assert sorted(measured, key=str) == sorted((tuple(site.row().values()) for site in sites), key=str)
        assert measured
    return stated


@pytest.mark.parametrize("placement", [entry.name for entry in placements])
@pytest.mark.parametrize("entry", STATING, ids=lambda entry: entry.name)
def test_stated_sites_are_the_measured_ones(state, entry, placement):
    stated = refuse_difference(entry, state(placement), **({"batches": 2} if entry.name != "parameter_size" else {}))
    assert set(stated) <= set(entry.facts.quantities)


@pytest.mark.parametrize("entry", STATING, ids=lambda entry: entry.name)
def test_also_in_a_model_of_one_stack_and_with_three_tables(state, classifier, entry):
    refuse_difference(entry, classifier())
    refuse_difference(entry, state("pre", tied="none", norm="rms"))


def test_a_single_batch_states_no_sites_of_a_noise_that_it_cannot_estimate(state):
    stated = refuse_difference(probes["gradient_norm"], state("post"), batches=1)
    assert set(stated) == {"gradient_norm", "gradient_norm_mean", "gradient_rms"}


@pytest.mark.parametrize("given", [{"biases": True}, {"batches": "step"}])
def test_nothing_is_stated_where_the_numbers_decide(state, given):
    choice = probes.resolve({"kind": "gradient_norm", **given})
    assert probes["gradient_norm"].facts.sites(state("post").model, choice) == {}
