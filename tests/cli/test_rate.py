"""How long a plan takes, from units of the same size and no others."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.planning.throughput import Throughput, past_throughput
from lnlab.app.request import Request, compile_request, load_registries, open_store
from lnlab.app.rounds.units import unit_flops


@pytest.fixture
def known():
    return load_registries([])


@pytest.fixture
def units(ran, known):
    plan, _ = compile_request(Request(Path("tiny.yaml")), known)
    return plan.trajectories


def test_seconds_share_the_work_but_no_unit_is_split(units, known):
    total = sum(unit_flops(units, known).values())
    dearest = max(unit_flops(units, known).values())
    assert Throughput(total, "").seconds(units, known, workers=1) == pytest.approx(1.0)
    assert Throughput(total, "").seconds(units, known, workers=2) == pytest.approx(0.5)
    assert Throughput(dearest, "").seconds(units, known, workers=100) == pytest.approx(1.0)
    assert Throughput(1.0, "").seconds([], known, workers=2) == 0.0


def test_the_rate_is_the_median_of_what_was_measured(units, known):
    store = open_store(Path(".lnlab"))
    rate = past_throughput(store, units, known)
    runs = store.results(store.last().digest).runs
    costs = unit_flops(units, known)
    rates = sorted(costs[key] / seconds for key, seconds in runs.select("trajectory", "seconds").iter_rows())
    assert rate.flops == pytest.approx((rates[2] + rates[3]) / 2)
    assert rate.source.startswith("from 6 of about this size")


def test_units_of_another_size_say_nothing(units, known):
    larger = [
        replace(each, setting={**each.setting, "task": {**each.setting["task"], "batch_tokens": 6400}})
        for each in units
    ]
    assert past_throughput(open_store(Path(".lnlab")), larger, known) is None
    assert past_throughput(open_store(Path(".lnlab")), [], known) is None


def test_units_of_an_lnlab_that_knew_fewer_parameters_say_nothing(units, known, monkeypatch):
    store = open_store(Path(".lnlab"))
    results = store.results(store.last().digest)
    older = results.runs.with_columns(pl.col("setting").str.replace_all(r'"eps":[^,}]*,', ""))
    assert not older["setting"].str.contains('"eps"').any()
    monkeypatch.setattr(type(store), "results", lambda self, digest: replace(results, runs=older))
    assert past_throughput(store, units, known) is None


def test_units_that_only_measured_say_nothing_of_training(units, known, lnlab):
    training = [replace(each, steps=4) for each in units]
    store = open_store(Path(".lnlab"))
    assert past_throughput(store, units, known) is not None
    assert past_throughput(store, training, known) is None
    assert past_throughput(store, [*units, training[0]], known) is None
    said = lnlab("plan", "tiny.yaml", "-s", "train.steps=1", "-s", "optimizer={kind: adam, lr: 0.001}").out
    assert (
        "time: unknown, as this store holds no unit of about this size that trained; --calibrate measures one" in said
    )
