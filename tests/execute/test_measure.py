"""A probe may look and not touch."""

import pytest
import torch

from lnlab.errors import LabError
from lnlab.execute.measure import StateGuard, measure
from lnlab.execute.program import build
from lnlab.execute.tensor_images import TensorChanges
from tests.support.toy_pieces import REGISTRIES


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
def test_a_probe_that_changes_the_state_is_found_out_by_the_last_bit(unit_of, what, name, golden):
    unit = unit_of(1, {"kind": "trace", "what": what})
    with golden.raises(LabError):
        measure(build(unit, REGISTRIES), unit.measurements[0], REGISTRIES)


def test_of_several_probes_of_a_state_each_that_changes_it_is_named_and_no_other(unit_of):
    unit = unit_of(1, *({"kind": "trace", "what": what} for what in ("harmless", "parameter", "harmless", "buffer")))
    state = build(unit, REGISTRIES)
    guard, outcomes = StateGuard(state.model), []
    for measurement in unit.measurements:
        try:
            measure(state, measurement, REGISTRIES, guard)
            outcomes.append("unchanged")
        except LabError as error:
            outcomes.append(str(error).partition(": ")[2].partition(";")[0].partition(",")[0])
    assert outcomes == [
        "unchanged",
        "encoder.layers.0.map.weight",
        "unchanged",
        "encoder.final_norm.num_batches_tracked",
    ]


def test_an_update_is_the_difference_of_every_parameter_whatever_its_type():
    model = torch.nn.ParameterDict({"a": torch.randn(3, 2), "b": torch.randn(4).double(), "c": torch.randn(())})
    changes = TensorChanges(dict(model.named_parameters()))
    for begins in (lambda: None, changes.begin):  # the second time in the same buffers
        begins()
        old = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter))
        added = changes.end()
        assert added.keys() == old.keys()
        for name, parameter in model.named_parameters():
            assert added[name].dtype == parameter.dtype
            assert torch.equal(added[name], parameter.detach() - old[name])
