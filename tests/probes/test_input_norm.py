"""Input norms against a loop over tokens, and against the mu that DT-Fixup finds."""

import math

import pytest

from lnlab.execute.program import initializer
from lnlab.nn.dt_fixup import longest_inputs, vanilla_gain
from lnlab.nn.embedding import sinusoids
from lnlab.nn.inits import inits
from lnlab.probes.probe import probes


def rows_of(state, **given) -> dict[tuple[str, str], float]:
    rows = list(probes["input_norm"].build(state, **given))
    assert {(row["layer"], row["sublayer"], row["tensor"]) for row in rows} == {(None, "embedding", "out")}
    return {(row["stack"], row["quantity"].removeprefix("input_norm_")): row["value"] for row in rows}


def by_hand(state, batches) -> dict[str, list[float]]:
    """‖sqrt(d) table[token] + position‖ of every token, sorted, by stack."""
    found = {"encoder": [], "decoder": []}
    for batch in batches:
        for name, tokens in (("encoder", batch.source), ("decoder", batch.target_in)):
            table = getattr(state.model, name).embedding.table.double()
            for sentence in tokens.tolist():
                for place, token in enumerate(sentence):
                    if token:
                        vector = 4 * table[token] + sinusoids(place + 1, 16)[place]
                        found[name].append(vector.norm().item())
    return {name: sorted(norms) for name, norms in found.items()}


@pytest.mark.parametrize("batches", [1, 5])
def test_values_are_those_of_a_loop_over_tokens(state, batches):
    made = state()
    found = rows_of(made, batches=batches)
    for stack, norms in by_hand(made, made.batches(batches)).items():
        assert found[stack, "max"] == pytest.approx(norms[-1], rel=1e-6)
        assert found[stack, "mean"] == pytest.approx(sum(norms) / len(norms), rel=1e-6)
        assert found[stack, "p99"] == pytest.approx(norms[math.ceil(0.99 * len(norms)) - 1], rel=1e-6)


def test_of_a_whole_epoch_the_maximum_is_the_mu_of_dt_fixup(state):
    """Both read every training batch, each in an order of its own."""
    made = state("pre", norm="none")
    w2 = made.model.decoder.layers[1].feed_forward.w2.weight
    before = w2.norm().item()
    choice = inits.resolve({"kind": "dt_fixup", "of": "xavier_normal"})
    initializer(choice, inits, lambda n, split="train": made.read(n, split, purpose="probe"))(made.model, made.draw)
    mu = rows_of(made)["decoder", "max"]
    assert w2.norm().item() == pytest.approx(before * vanilla_gain(2, mu), rel=1e-6)
    assert longest_inputs(made.model, made.read)["encoder"] == rows_of(made)["encoder", "max"]
