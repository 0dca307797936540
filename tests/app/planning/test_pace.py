"""How long a plan takes: by the speed of the machine, which is measured once, and by what has ended."""

from dataclasses import replace

import polars as pl
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lnlab.app.planning import machine_speed
from lnlab.app.planning.pace import Pace, actual_seconds, elapsed, expected_pace, no_pace
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.duration import REFERENCE_SPEED, Speed, reference_overhead
from lnlab.compile.work import Measurement
from lnlab.execute.program import build
from lnlab.tables import Results


def test_units_are_shared_among_workers_and_none_is_split():
    assert elapsed([1.0, 2.0, 3.0], workers=1) == 6.0
    assert elapsed([1.0, 2.0, 3.0], workers=2) == 3.0
    assert elapsed([1.0, 2.0, 3.0], workers=100) == 3.0
    assert elapsed([], workers=2) == 0.0


def test_a_slower_machine_takes_longer_by_what_it_is_slower_in(plan, known):
    unit = plan.trajectories[0]
    unit_cost = cost(unit.setting, unit.measurements, known)
    assert unit_cost.seconds() == pytest.approx(unit_cost.overhead + unit_cost.flops / REFERENCE_SPEED.flops)
    assert unit_cost.seconds(Speed(3.0, 1e30)) == pytest.approx(3 * unit_cost.overhead)
    assert unit_cost.seconds(Speed(1e-30, 1.0)) == pytest.approx(unit_cost.flops)


def test_what_ended_corrects_the_estimate_once_there_is_enough_of_it(plan, known, store, monkeypatch):
    monkeypatch.setattr("lnlab.app.planning.pace.machine_speed", lambda: REFERENCE_SPEED)
    plain = Pace(REFERENCE_SPEED, 1.0, "").unit_seconds(plan.trajectories, known)
    for number, (correction, words) in {
        2: (1.0, "estimated from the speed of this machine"),
        3: (2.0, "and 3 units of this plan"),
    }.items():
        taken = {key: 2 * plain[key] for key in list(plain)[:number]}
        monkeypatch.setattr("lnlab.app.planning.pace.actual_seconds", lambda *_, taken=taken: taken)
        pace = expected_pace(store, plan, known)
        assert pace.correction == pytest.approx(correction)
        assert pace.source.endswith(words)


def test_only_finished_units_say_how_long_one_takes(plan, store, monkeypatch):
    found = store.found(plan)
    keys = found.runs["trajectory"].to_list()
    ended = found.runs.with_columns(
        status=pl.Series(["finished", "diverged", "failed"] + [None] * (len(keys) - 3)),
        seconds=pl.Series([1.5, 2.0, 3.0] + [None] * (len(keys) - 3)),
    )
    monkeypatch.setattr(type(store), "found", lambda self, plan: Results(ended, found.axes))
    assert actual_seconds(store, plan) == {keys[0]: 1.5}


def test_the_machine_is_measured_once_and_anew_with_other_threads(tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(machine_speed, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(machine_speed, "measure_speed", lambda: measured.append(1) or Speed(1.25, 3e10))
    assert machine_speed.machine_speed() == machine_speed.machine_speed() == Speed(1.25, 3e10)
    assert len(measured) == 1
    monkeypatch.setattr(machine_speed, "threads", lambda: 2)
    machine_speed.machine_speed()
    assert len(measured) == 2
    for path in (tmp_path / "lnlab/machines").iterdir():
        path.write_text('{"overhead": 1')
    machine_speed.machine_speed()
    assert len(measured) == 3


def test_a_measured_speed_is_one_of_this_machine_and_moves_no_randomness():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    speed = machine_speed.measure_speed()
    assert torch.equal(before, torch.get_rng_state())
    assert 0.01 < speed.overhead < 100
    assert 1e8 < speed.flops < 1e13


def test_a_split_that_is_read_whole_costs_its_batches(plan, known):
    (setting, *_) = plan.settings.values()

    def of(kind, **task):
        changed = {**setting, "task": {**setting["task"], **task}}
        return cost(changed, [Measurement("m", 0, {"kind": kind, "split": "validation"})], known)

    alone = cost(setting, [], known)
    once, twice = of("evaluation"), of("evaluation", corpus={**setting["task"]["corpus"], "validation": 40})
    assert once.flops > alone.flops
    assert twice.flops - alone.flops == pytest.approx(2 * (once.flops - alone.flops))
    assert of("evaluation", corpus={"kind": "multi30k", "validation": None}).flops > alone.flops
    assert reference_overhead(setting, [], alone.parameters, known) == alone.overhead < once.overhead < twice.overhead


@pytest.mark.parametrize("width", [32, 128])
def test_flops_are_those_that_torch_counts(plan, known, width):
    unit = plan.trajectories[0]
    setting = {**unit.setting, "model": {**unit.setting["model"], "d_model": width, "d_ff": 2 * width}}
    setting["task"] = {**setting["task"], "batch_tokens": 1024}
    unit = replace(unit, setting=setting, measurements=())
    state = build(unit, known, ())
    (batch,) = state.batches(1)
    with FlopCounterMode(display=False) as counter:
        loss, _ = state.task.loss(state.model, batch)
        loss.backward()
    one_update = {**setting, "train": {**setting["train"], "steps": 1, "accumulate": 1}}
    assert cost(one_update, (), known).flops == pytest.approx(counter.get_total_flops(), rel=0.25)


def on_a_gpu(plan):
    units = [
        replace(t, setting={**t.setting, "train": {**t.setting["train"], "device": "cuda"}}) for t in plan.trajectories
    ]
    return replace(plan, trajectories=tuple(units))


def test_the_time_of_a_gpu_is_known_from_units_that_ended_alone(plan, known, store, monkeypatch, golden):
    gpu = on_a_gpu(plan)
    assert expected_pace(store, gpu, known) is None
    golden(no_pace(gpu))
    plain = Pace(REFERENCE_SPEED, 1.0, "").unit_seconds(gpu.trajectories, known)
    taken = {key: plain[key] / 8 for key in list(plain)[:1]}
    monkeypatch.setattr("lnlab.app.planning.pace.actual_seconds", lambda *_: taken)
    pace = expected_pace(store, gpu, known)
    assert (pace.correction, pace.source) == (pytest.approx(1 / 8), "estimated from 1 unit of this plan")
