"""Who works at once, and with how much memory: arithmetic on a machine of any size."""

import pytest

from lnlab.compile.cost.cost import CURVATURE_MARGIN, cost
from lnlab.compile.cost.memory import LIBRARIES, OF_GPU_WORKER, SHARE, plan_memory, share_devices
from lnlab.compile.work import Measurement, Trajectory

HELD = {True: 6 * 2**30, False: 2**30}


@pytest.fixture
def lab(registries, plan, base):
    """A setting, and registries with a probe that holds six times as much where it keeps what it could make anew."""

    @registries["probe"].register(
        "wide",
        table="sites",
        passes=lambda params: 1.0,
        memory=lambda params, load: params["batches"] * HELD[params["keep"]] + load.tokens,
        frugal={"keep": False},
    )
    def wide(state, *, batches: int = 1, keep: bool = True): ...

    (setting,) = plan(base).settings.values()
    return setting, registries


def unit(setting, *probes, key="t"):
    return Trajectory(key, 1, setting, 0, tuple(Measurement(str(n), 0, probe) for n, probe in enumerate(probes)))


WIDE, NARROW = {"kind": "wide", "batches": 1, "keep": True}, {"kind": "hidden_norm", "batches": 2}


def machine(workers, each):
    """One on which so many workers have so many bytes each, beside their libraries."""
    return -int(-workers * (each + LIBRARIES) // SHARE)


def test_what_a_probe_holds_is_beside_the_state_and_in_place_of_a_gradient(lab):
    setting, registries = lab
    plain = cost(setting, [Measurement("a", 0, NARROW)], registries)
    wide = cost(setting, [Measurement("a", 0, WIDE), Measurement("b", 0, NARROW)], registries)
    assert plain.peak_bytes == cost(setting, [], registries).peak_bytes
    assert wide.peak_bytes == 4 * 4 * wide.parameters + int(CURVATURE_MARGIN * (HELD[True] + 512))


@pytest.mark.parametrize(("each", "keep"), [(8, True), (5, False)])
def test_what_exceeds_its_share_does_with_less(lab, each, keep):
    setting, registries = lab
    units = [unit(setting, WIDE, NARROW, key=str(n)) for n in range(3)]
    here = plan_memory(units, registries, 2, machine(2, each * 2**30))
    assert (here.workers, here.could, here.frugal, here.fits) == (2, 3, 0 if keep else 3, True)
    assert here.bound == pytest.approx(each * 2**30, abs=9)
    for old, new in zip(units, here.units, strict=True):
        assert (new.key, [m.key for m in new.measurements]) == (old.key, ["0", "1"])
        assert [m.probe for m in new.measurements] == [{**WIDE, "keep": keep}, NARROW]
    assert here.peak == max(cost(u.setting, u.measurements, registries).peak_bytes for u in here.units) <= here.bound


def test_only_what_exceeds_it_does(lab):
    setting, registries = lab
    here = plan_memory([unit(setting, WIDE, {**WIDE, "batches": 2})], registries, 1, machine(1, 8 * 2**30))
    assert [m.probe["keep"] for m in here.units[0].measurements] == [True, False]
    assert (here.could, here.frugal) == (2, 1)


def test_what_does_not_fit_even_so_is_done_by_fewer_at_once(lab):
    setting, registries = lab
    four = [unit(setting, {**WIDE, "batches": 2}, key=str(n)) for n in range(9)]
    here = plan_memory(four, registries, 4, machine(3, 5 * 2**29))
    assert (here.workers, here.frugal, here.fits) == (3, 9, True)
    assert plan_memory(four, registries, 2, machine(3, 5 * 2**29)).workers == 2


def test_a_unit_alone_has_all_of_the_machine(lab):
    setting, registries = lab
    given = (registries, 2, machine(2, 4 * 2**30))
    assert plan_memory([unit(setting, WIDE)], *given).frugal == 0
    assert plan_memory([unit(setting, WIDE), unit(setting, WIDE)], *given).frugal == 2


def test_a_machine_that_is_too_small_is_said(lab):
    setting, registries = lab
    here = plan_memory([unit(setting, WIDE)], registries, 2, 2**30)
    assert (here.workers, here.fits) == (1, False)
    assert not plan_memory([], registries, 2, 2**30).units


def test_the_bound_alone_decides(lab):
    setting, registries = lab
    units = [unit(setting, {**WIDE, "batches": n}, key=str(n)) for n in (1, 2, 3)]
    kept = [
        sum(m.probe["keep"] for u in plan_memory(units, registries, 2, gib * 2**30).units for m in u.measurements)
        for gib in range(4, 60, 4)
    ]
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (0, 3)
    assert plan_memory(units, registries, 2, 2**34) == plan_memory(units, registries, 2, 2**34)


@pytest.mark.parametrize(
    ("memories", "needed", "workers", "devices"),
    [
        ((100,), 20, 9, (0, 0, 0, 0)),  # 15 % of each stays free
        ((100, 100), 20, 9, (0, 1, 0, 1, 0, 1, 0, 1)),
        ((100, 100), 20, 3, (0, 1, 0)),
        ((100, 100, 100), 60, 9, (0, 1, 2)),  # a unit a device
        ((30, 100), 20, 9, (1, 0, 1, 1, 1)),
        ((10, 100), 20, 9, (1, 1, 1, 1)),  # one that has no room for the largest unit gets none
        ((10, 10), 20, 9, ()),
        ((100, 200), 20, 1, (1,)),  # the largest first
        ((100, 2**63 - 1), 20, 3, (1, 0, 1)),  # the memory of a node that nobody knows
    ],
)
def test_workers_are_shared_among_devices_in_turn_as_long_as_a_unit_fits(memories, needed, workers, devices):
    assert share_devices(memories, needed, workers) == devices


def test_units_on_gpus_are_planned_by_the_memory_of_gpus(lab):
    setting, registries = lab
    units = [unit(setting, WIDE, key=str(n)) for n in range(9)]
    host, gpu = 2**40, machine(2, 8 * 2**30)
    here = plan_memory(units, registries, 8, host, [gpu, gpu])
    least = plan_memory(units, registries, 1, machine(1, 0)).peak + LIBRARIES  # of a unit that keeps no graph
    assert here.workers == len(here.devices) == min(8, 2 * (int(SHARE * gpu) // least))
    assert sorted(set(here.devices)) == [0, 1]
    most = max(here.devices.count(device) for device in (0, 1))
    assert most * (here.peak + LIBRARIES) <= SHARE * gpu
    assert plan_memory(units, registries, 2, host, [gpu, gpu]).frugal == 0, "each has one for itself"
    assert plan_memory(units[:2], registries, 8, host, [gpu, gpu]).frugal == 0, "as two of eight workers work"
    assert plan_memory(units, registries, 2, host, [gpu]).devices == (0, 0)
    assert plan_memory(units, registries, 8, 3 * OF_GPU_WORKER, [gpu] * 8).workers == 2, "the machine has memory, too"
    small = plan_memory(units, registries, 8, host, [2**28, 2**29])
    assert (small.devices, small.memory, small.fits) == ((1,), 2**29, False)
