"""SIGKILL at random while runs train: resumed, they end with the rows of a sweep that was left alone, to the last bit.

What kills waits for work and not for the clock: a few more stretches are committed, then it strikes after a moment, so
that a fast machine and a slow one are killed equally often, and in the middle of everything that they do.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import pytest

from lnlab.store.records.records import read_trajectory
from lnlab.store.results_digest import results_digest
from lnlab.store.store import Store

SPEC = """\
lnlab: 2
title: Runs that are killed
task: {kind: translation, corpus: {kind: toy_german_english, train: 200}, vocabulary: 120, batch_tokens: 96}
model: {kind: encoder_decoder, layers: 1, d_model: 16, heads: 2, d_ff: 32, dropout: 0.1}
placement: post
optimizer: {kind: adam, lr: 3e-3}
schedule: {kind: inverse_sqrt, warmup_steps: 8}
train: {steps: 60, accumulate: 2, clip: 1.0, evaluate: {every: 10}}
seeds: 2
sweep:
  - {placement: [post, admin], train.steps: [30, 60]}
  - {optimizer: [{kind: sgd, lr: 1.0e+30}], norm: [none]}
probes:
  - {kind: gradient_norm, at: {every: 9}, batches: step}
  - {kind: update_size, at: [7, 20]}
"""
KILLS, OF_A_UNIT, APART = 25, 2, 8
"""Of workers and parents; of one unit's workers by one parent (a third fails the unit); stretches between two."""


def lnlab(spec, store, *more):
    """``lnlab run`` in a process of its own; with two workers it is a tree of processes."""
    command = [sys.executable, "-m", "lnlab", "run", str(spec), "--store", str(store), "-w", "2", "-q", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def at_work(store):
    """Process and trajectory of every worker, by the leases."""
    for lease in store.glob("trajectories/*/*/lease"):
        with suppress(OSError, ValueError):
            yield json.loads(lease.read_text())["pid"], lease.parent.name


def committed(store):
    return sum(1 for _ in store.glob("trajectories/*/*/*/record.json"))


def kill_one(draw, parent, store, spared):
    """Kill a worker, or now and then the parent; whom.

    Args:
        draw: what is random.
        parent: the process.
        store: its store.
        spared: trajectory -> how many of its workers this parent lost; grows.
    """
    living = [(pid, unit) for pid, unit in at_work(store) if spared[unit] < OF_A_UNIT]
    if not living or draw.random() < 0.25:
        parent.kill()
        return "parent"
    pid, unit = draw.choice(living)
    spared[unit] += 1
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return "worker"


@pytest.mark.slow
def test_25_kills_change_no_bit_and_train_nothing_twice(tmp_path):
    draw, spec, store = random.Random(11), tmp_path / "killed.yaml", tmp_path / "killed"
    spec.write_text(SPEC)
    undisturbed = lnlab(spec, tmp_path / "whole")
    killed, answers = {"parent": 0, "worker": 0}, []
    while not answers or answers[-1] != 0:
        parent, spared = lnlab(spec, store, "--save-every", "0"), Counter()
        aim = committed(store) + draw.randrange(1, APART)
        while parent.poll() is None:
            time.sleep(draw.uniform(0.0, 0.02))
            if sum(killed.values()) < KILLS and committed(store) >= aim:
                whom = kill_one(draw, parent, store, spared)
                killed[whom] += 1
                aim = committed(store) + draw.randrange(1, APART)
                if whom == "parent":
                    break
        said = parent.communicate()[0]
        answers.append(parent.returncode)
        assert parent.returncode in (0, -signal.SIGKILL), said
    assert sum(killed.values()) == KILLS
    assert min(killed.values()) >= 3
    undisturbed.communicate()
    assert undisturbed.returncode == 0
    (plan,) = [path.name for path in (store / "plans").iterdir() if path.is_dir()]
    found, expected = Store(store).results(plan), Store(tmp_path / "whole").results(plan)
    assert results_digest(found) == results_digest(expected)
    assert found.runs["done"].equals(expected.runs["done"])
    assert found.tables["curves"].height > 1000
    for trajectory, ends in found.runs.group_by("trajectory").agg("done").iter_rows():
        records = [record for record in read_trajectory(store, trajectory).records if record.steps > record.first_step]
        assert [record.first_step for record in records] == [0, *(record.steps for record in records[:-1])]
        assert records[-1].steps == max(ends)
    again = lnlab(spec, store, "--json")
    assert json.loads(again.communicate()[0])["computed"] == 0
