"""Over steps a seed that diverged before a look to come has failed, wherever the others of its arm stand."""

from dataclasses import replace

import polars as pl
import pytest

from lnlab.analyse.quantities.curvature import SPECTRAL_FACTS
from lnlab.select.missed_measurements import missed_seeds
from lnlab.select.series import select_series

LOOKS = [(step, '{"kind":"p"}', f"p{step}") for step in (0, 10, 20)]
EVALUATION = '{"kind":"evaluation","split":"validation"}'


def found(setting, experiment, came_to, ended, *, of=None, needs=LOOKS, quantity="q"):
    """The series over steps; each seed came to the steps of ``came_to[seed]``."""

    def rows(_, seed):
        for step in came_to[seed]:
            yield {"quantity": quantity, "step": step, "measurement": f"p{step}", "value": 1.0 + step + seed}

    told = experiment({"a": setting()}, tuple(came_to), rows, status=lambda _, s: ended[s], needs=needs, steps=30)
    return select_series(told, {"quantity": "q", **(of or {})}, "step", "median")


def test_an_arm_of_which_every_seed_diverged_at_the_same_look_has_failed_and_after_the_last_one_counts(
    setting, experiment
):
    told = found(setting, experiment, {1: [0], 2: [0]}, {1: "diverged", 2: "diverged"})
    assert told.failed == {1: "loss is not finite", 2: "loss is not finite"}
    assert (told.seeds, told.total, told.trained) == ([], 2, True)
    told = found(setting, experiment, {1: [0, 10, 20], 2: [0, 10, 20]}, {1: "diverged", 2: "finished"})
    assert (told.seeds, told.failed) == ([1, 2], {})


@pytest.mark.parametrize(("steps", "seeds"), [([0, 10], [1]), ([0, 20], []), (None, [])])
def test_only_the_steps_that_were_asked_for_count(setting, experiment, steps, seeds):
    told = found(setting, experiment, {1: [0, 10]}, {1: "diverged"}, of=steps and {"step": steps})
    assert told.seeds == seeds


def test_looks_of_another_probe_or_of_a_finished_run_do_not_count(setting, experiment):
    others = [*LOOKS[:1], (20, '{"kind":"r"}', "r20"), (30, EVALUATION, "e30")]
    told = found(setting, experiment, {1: [0]}, {1: "diverged"}, needs=others)
    assert (told.seeds, told.failed) == ([1], {})
    # What a probe cannot say after the last update is missing from all.
    assert found(setting, experiment, {1: [0, 10], 2: [0, 10]}, {1: "finished", 2: "finished"}).seeds == [1, 2]


@pytest.mark.parametrize(
    ("quantity", "split", "last", "failed"),
    [("nll", "validation", 15, [1]), ("nll", "validation", 20, []), ("loss", "train", 20, [1])],
)
def test_curves_were_to_go_on(setting, experiment, quantity, split, last, failed):
    """Evaluations where they were planned; what training records, to the last update."""
    at = {"trajectory": "t", "split": split, "quantity": quantity}
    curves = [{**at, "step": step, "value": 1.0} for step in (0, last)]
    needs = [(step, EVALUATION, f"e{step}") for step in (0, 10, 15, 20)]
    told = experiment(
        {"a": setting()}, (1,), lambda *_: [], status=lambda *_: "diverged", curves=curves, needs=needs, steps=30
    )
    assert list(select_series(told, {"quantity": quantity}, "step", "median").failed) == failed


def test_what_is_derived_was_to_be_looked_at_where_its_parts_were(setting, experiment):
    at = {"stack": "encoder", "layer": 1, "sublayer": "feed_forward"}

    def rows(_, seed):
        for step in (0, 10):
            yield {**at, "quantity": "jacobian_mean_square", "step": step, "measurement": f"p{step}", "value": 2.0}

    told = experiment({"a": setting()}, (1,), rows, status=lambda *_: "diverged", needs=LOOKS, steps=30)
    assert list(select_series(told, {"quantity": "isometry_gap"}, "step", "median").failed) == [1]
    assert select_series(told, {"quantity": "isometry_gap", "step": [0, 10]}, "step", "median").seeds == [1]


@pytest.mark.parametrize(("last", "failed"), [(0, [1]), (20, [])])
def test_what_follows_from_a_table_was_to_be_looked_at_where_that_was(setting, experiment, last, failed):
    """Evaluations go on after the last spectrum, and say nothing of it."""
    needs = [*LOOKS, (30, EVALUATION, "e30")]
    told = experiment({"a": setting()}, (1,), lambda *_: [], status=lambda *_: "diverged", needs=needs, steps=30)
    spectra = pl.DataFrame({"run": ["a-1"], "step": [0], "measurement": ["p0"]})
    told = replace(told, tables={**told.tables, SPECTRAL_FACTS["table"]: spectra})
    rows = pl.DataFrame({"run": ["a-1"], "step": [last]})
    assert list(missed_seeds(told, {"quantity": "largest_eigenvalue"}, rows, told.runs)) == failed
