"""Experiments whose numbers are an array (arm, seed, level), so that a test knows the right verdict."""

import math

import numpy as np
import pytest

import lnlab.report.registries  # noqa: F401 - registers every kind and quantity
from lnlab.claims.judging import judge_claim
from tests.support.results import results_of

BEFORE_TESTS = {}
"""Module -> where the generator of its draws stood before its first test."""


@pytest.fixture(autouse=True)
def _draws_of_its_own(request):
    """A test draws what it draws alone, whatever ran before it."""
    if generator := getattr(request.module, "RNG", None):
        bits = generator.bit_generator
        bits.state = BEFORE_TESTS.setdefault(request.module.__name__, bits.state)


def make_setting(arm, layers=6):
    stack = {"layers": layers, "norm": {"kind": "layer"}, "placement": {"kind": arm}}
    model = {"kind": "encoder_decoder", "d_model": 128}
    task = {"corpus": {"kind": "toy"}}
    return {"task": task, "model": model, "encoder": stack, "decoder": stack, "train": {"steps": 0}}


def make_experiment(arms, *, sizes=False, step=0, status=None, done=None):
    """Rows of quantity ``q`` for ``arms``: word -> array (seeds,) or (seeds, levels).

    Levels are layers 1, 2, ... of one run a seed; with ``sizes`` they are runs of 6, 8, 10, ... layers. None is a
    number that was not measured. ``status(arm, seed)`` is how a run ended, ``done(arm, seed)`` after how many updates.
    """
    runs = {}
    for arm, numbers in arms.items():
        for seed, values in enumerate(numbers, 1):
            values = np.atleast_1d(np.array(values, dtype=object)).tolist()
            for level, value in enumerate(values, 1):
                layers = 4 + 2 * level if sizes else len(values)
                run = {"variant": f"{arm}{layers}", "seed": seed, "setting": make_setting(arm, layers), "steps": step}
                run |= {"status": status(arm, seed) if status else "finished", "reason": None, "sites": []}
                run |= {"done": done(arm, seed) if done else step, "axes": {"placement": arm}}
                rows = runs.setdefault((arm, layers, seed), run)["sites"]
                if value is not None:
                    site = {"stack": "decoder", "layer": None if sizes or len(values) == 1 else level, "tensor": "w2"}
                    rows.append({"step": step, "quantity": "q", **site, "value": float(value)})
    return results_of(runs.values())


@pytest.fixture(scope="session")
def experiment():
    return make_experiment


@pytest.fixture(scope="session")
def verdict():
    """``verdict(arms, kind=..., ...)``: judge one claim about arm ``a`` of such an experiment."""

    def judged(arms, *, sizes=False, step=0, status=None, done=None, **claim):
        arms = arms if isinstance(arms, dict) else {"a": arms}
        of = {"of": {"quantity": "q", "placement": "a"}}
        results = make_experiment(arms, sizes=sizes, step=step, status=status, done=done)
        return judge_claim({"id": "it", "says": "So it is.", **of, **claim}, results)

    return judged


@pytest.fixture(scope="session")
def exactly():
    """``exactly(mean, sd, n)``: n numbers whose logarithms have that mean and that standard deviation, to the bit."""

    def numbers(mean, sd, n):
        z = np.linspace(-1, 1, n)
        return np.exp(math.log(mean) + sd * (z - z.mean()) / z.std(ddof=1))

    return numbers
