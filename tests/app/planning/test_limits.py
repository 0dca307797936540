"""A run within minutes and gigabytes: what is left out is said, what is left is a plan, and a later run goes on."""

import io

import pytest
from rich.console import Console

import lnlab
from lnlab.app.planning import limits
from lnlab.app.planning.pace import Pace
from lnlab.app.request import compile_request
from lnlab.compile.cost.duration import REFERENCE_SPEED
from lnlab.compile.cost.memory import LIBRARIES
from lnlab.errors import LabError
from tests.support.toy_specs import ONE_BATCH, toy_spec


@pytest.fixture
def a_minute_a_unit(monkeypatch):
    """An estimate that is easily added up."""
    monkeypatch.setattr(Pace, "unit_seconds", lambda self, units, known: dict.fromkeys([u.key for u in units], 60.0))
    monkeypatch.setattr(limits, "expected_pace", lambda *_: Pace(REFERENCE_SPEED, 1.0, ""))


def within(store, request, known, minutes, workers=1):
    return limits.within_minutes(store, request, known, minutes, workers=workers, memory=None)


@pytest.mark.usefixtures("a_minute_a_unit")
def test_what_fits_stays_as_it_is_and_whole_seeds_are_left_out_from_the_end(store, request_of_spec, known):
    assert within(store, request_of_spec, known, 8) == (request_of_spec, "")
    trimmed, left_out = within(store, request_of_spec, known, 7.9)
    assert [run.seed for run in compile_request(trimmed, known)[0].runs] == [1, 2, 3] * 2
    assert left_out == (
        "--max-minutes 7.9: 3 of 4 seeds, about 6 min 0 s; left out: seed 4, for which the same command continues"
    )
    trimmed, left_out = within(store, request_of_spec, known, 2, workers=2)
    assert trimmed.overrides == ("seeds=[1, 2]",)
    assert "2 of 4 seeds, about 2 min 0 s; left out: seeds 3, 4" in left_out


@pytest.mark.usefixtures("a_minute_a_unit")
def test_each_grid_keeps_the_first_of_its_own_seeds(store, request_of_spec, known):
    grids = "sweep:\n  post: {placement: [post]}\n  pre: {placement: [pre]}\ngrid_seeds: {pre: 11-13}\nseeds: 4\n"
    request_of_spec.spec.write_text(toy_spec(ONE_BATCH, grids, train={"steps": 3}))
    assert within(store, request_of_spec, known, 7) == (request_of_spec, "")
    trimmed, left_out = within(store, request_of_spec, known, 5)
    assert trimmed.overrides == ("seeds=[1, 2]", 'grid_seeds={"pre": [11, 12]}')
    assert [run.seed for run in compile_request(trimmed, known)[0].runs] == [1, 2, 11, 12]
    assert "2 of 4 seeds, about 4 min 0 s; left out: seeds 3, 4, 13, for which" in left_out


@pytest.mark.usefixtures("a_minute_a_unit")
def test_fewer_than_two_seeds_are_refused_with_what_they_take(store, request_of_spec, known):
    with pytest.raises(LabError) as refused:
        within(store, request_of_spec, known, 3)
    assert str(refused.value) == (
        "--max-minutes 3: all missing runs take about 8 min 0 s, 2 seeds of them about 4 min 0 s; "
        "give at least 4 minutes, or take fewer variants or steps"
    )


@pytest.mark.usefixtures("a_minute_a_unit")
def test_a_run_that_was_trimmed_goes_on_with_the_other_seeds(store, request_of_spec):
    def run():
        return lnlab.run(request_of_spec.spec, store=store.root, workers=1, max_minutes=5, progress=False)

    first, second = run(), run()
    assert (first.computed, sorted(first.results.runs["seed"])) == (4, [1, 1, 2, 2])
    assert (second.computed, sorted(second.results.runs["seed"])) == (4, [1, 1, 2, 2, 3, 3, 4, 4])
    assert "seeds=[1, 2]" in first.outcome.request.command("report")


def test_a_memory_that_no_unit_fits_is_refused_before_anything_runs(store, request_of_spec):
    with pytest.raises(LabError) as refused:
        lnlab.run(request_of_spec.spec, store=store.root, max_memory=0.2, progress=False)
    assert str(refused.value).startswith("--max-memory 0.2: one unit needs about 4")
    assert "allow at least 0.4" in str(refused.value)
    assert not list(store.root.glob("trajectories/*"))


def test_a_memory_for_one_worker_takes_one(store, request_of_spec, monkeypatch):
    console = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr("lnlab.consoles.stderr_console", lambda: console)
    outcome = lnlab.run(
        request_of_spec.spec,
        overrides={"seeds": 1},
        store=store.root,
        workers=2,
        max_memory=1.5 * LIBRARIES / 1e9,
        progress=False,
    )
    assert outcome.computed == 2
    assert "--max-memory: 1 worker of 2 at once, as 708 MB are for no more" in console.file.getvalue()


def test_what_gpus_have_no_room_for_is_not_put_down_to_max_memory(store, request_of_spec, monkeypatch):
    console = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr("lnlab.consoles.stderr_console", lambda: console)
    memories = [2**28]
    monkeypatch.setattr("lnlab.execute.machine.ThisMachine.gpus", lambda *_: memories)
    given = {"store": store.root, "overrides": {"seeds": 1}, "workers": 2, "max_memory": 12, "progress": False}
    with pytest.raises(LabError) as refused:
        lnlab.run(request_of_spec.spec, **given)
    assert str(refused.value).startswith("one unit needs about 4")
    assert "and the largest GPU has 268 MB" in str(refused.value)
    memories[:] = [2 * LIBRARIES]
    assert lnlab.run(request_of_spec.spec, **given).computed == 2
    assert "--max-memory" not in console.file.getvalue()


TUNED = toy_spec(
    ONE_BATCH,
    train={"steps": 2, "evaluate": [0, 2]},
    seeds="1-4",
    select={"optimizer.lr": "best", "seeds": [9]},
)


@pytest.mark.usefixtures("a_minute_a_unit")
@pytest.mark.parametrize("rates", ["[0.5, 0.001]", "[0.001, 0.5]"])
def test_what_was_chosen_and_what_is_finished_takes_no_time(store, tmp_path, rates):
    """In either order of the candidates, as the one that is assumed before the choice may be the chosen one."""
    path = tmp_path / "tuned.yaml"
    path.write_text(f"{TUNED}sweep: {{rates: {{optimizer.lr: {rates}}}}}\n")
    first = lnlab.run(path, store=store.root, workers=1, max_minutes=4, progress=False)
    assert sorted(first.results.runs["seed"]) == [1, 2]
    second = lnlab.run(path, store=store.root, workers=1, max_minutes=2, progress=False)
    assert (second.computed, sorted(second.results.runs["seed"])) == (2, [1, 2, 3, 4])
