"""A probe may look and not touch."""

import pytest
import torch
from toy_pieces import REGISTRIES

from lnlab.errors import LabError
from lnlab.execute.measure import measure
from lnlab.execute.program import build


def test_rows_carry_the_key_of_their_measurement(unit_of):
    unit = unit_of(1, {"kind": "norm", "batches": 2})
    state = build(unit, REGISTRIES)
    table, rows = measure(state, unit.measurements[0], REGISTRIES)
    assert table == "sites"
    assert {row["measurement"] for row in rows} == {unit.measurements[0].key}
    expected = [state.model(batch).norm().item() for batch in state.batches(2)]
    assert [row["value"] for row in rows] == [*expected, state.model.extra.item()]


def test_harmless_traces_are_wiped_away(unit_of):
    unit = unit_of(1, {"kind": "trace", "what": "harmless"})
    state = build(unit, REGISTRIES)
    first, *others = state.model.parameters()
    gradient = others[0].grad = torch.arange(others[0].numel()).reshape(others[0].shape).float()
    generator = torch.get_rng_state()
    measure(state, unit.measurements[0], REGISTRIES)
    assert first.grad is None
    assert first.requires_grad
    assert others[0].grad is gradient
    assert torch.equal(gradient.flatten(), torch.arange(gradient.numel()).float())
    assert not any(module.training for module in state.model.modules())
    assert torch.equal(torch.get_rng_state(), generator)


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("parameter", "encoder.layers.0.map.weight"),
        ("buffer", "encoder.final_norm.num_batches_tracked"),
    ],
)
def test_a_probe_that_changes_the_state_is_found_out_by_the_last_bit(unit_of, what, name):
    unit = unit_of(1, {"kind": "trace", "what": what})
    with pytest.raises(LabError, match=rf"the probe 'trace' changed the state: {name}.*mend the probe"):
        measure(build(unit, REGISTRIES), unit.measurements[0], REGISTRIES)
