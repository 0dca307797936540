"""Costs are arithmetic on what the pieces say of themselves."""

import pytest

from lnlab.compile.cost import cost as module
from lnlab.compile.cost.cost import cost, machine_memory
from lnlab.compile.work import Measurement


def test_flops_are_passes_times_tokens_and_memory_grows_with_everything_that_is_kept(plan, base, registries):
    found = plan(base)
    (setting,) = found.settings.values()
    measurements = [
        Measurement("a", 0, {"kind": "gradient_norm", "batches": 6}),
        Measurement("b", 0, {"kind": "hidden_norm", "batches": 2}),
    ]
    made = cost(setting, measurements, registries)
    parameters = 12 * (2 + 2) * 64**2
    attentions, heads, length = 2 * (1 + 2), 4, 20  # two layers a stack, and cross-attention in the decoder's
    kept = 4 * (16 * 64 + 4 * 128) + attentions * 3 * heads * length + 4 * 1000
    assert made.parameters == parameters
    assert made.flops == (3 * 6 + 3 * 2) * 2 * parameters * 512
    assert made.peak_bytes == 4 * (4 * parameters + 512 * kept)


def test_numbers_twice_as_long_need_twice_the_memory(plan, base, registries):
    sizes = []
    for word in ("float32", "float64"):
        (setting,) = plan(f"{base}train: {{precision: {word}}}\n").settings.values()
        sizes.append(cost(setting, [], registries).peak_bytes)
    assert sizes[1] == 2 * sizes[0] > 0


def test_the_memory_of_a_control_group_counts(tmp_path, monkeypatch):
    machine = machine_memory()
    assert machine > 2**28
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(module, "_CGROUP", (tmp_path / "absent", limit))
    for text, expected in (("max", machine), ("1000000", 1_000_000)):
        limit.write_text(text)
        assert machine_memory() == pytest.approx(expected, rel=0.5)
