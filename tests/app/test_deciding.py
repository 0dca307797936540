"""``run --decide``: the seeds that come next decide most claims a second, each claim at the level of a further look."""

import random
from pathlib import Path

import pytest

import lnlab
from lnlab.app.deciding import FurtherLook, next_looks
from lnlab.errors import LabError
from tests.support.toy_specs import SMALLEST, UNTRAINED, toy_spec

RATIO = {"kind": "ratio", "of": {"quantity": "gradient_norm", "placement": "post"}, "to": {"placement": "pre"}}
OF_A_TENSOR = {"stack": "decoder", "tensor": "w2", "layer": "last"}


def look(claim, *runs):
    return FurtherLook(claim, 1, (1,), frozenset(runs))


def test_the_cheapest_look_comes_first_and_looks_at_the_same_runs_come_with_it():
    seconds = {"a": 10.0, "b": 1.0, "c": 4.0}
    looks = [look("dear", ("a", 9)), look("cheap", ("b", 9), ("c", 9)), look("inside", ("c", 9))]
    assert [found.claim for found in next_looks(looks, seconds, 100)] == ["cheap", "inside"]  # two in 5 s, one in 4 s
    assert [found.claim for found in next_looks(looks, seconds, 4.5)] == ["inside"]
    assert next_looks(looks, seconds, 3.9) == []
    assert next_looks([], seconds, 100) == []


def test_runs_that_are_there_cost_nothing_and_those_of_unknown_length_most():
    seconds = {"a": 10.0, "b": 1.0}
    assert [found.claim for found in next_looks([look("new", ("b", 9)), look("there")], seconds, 0)] == ["there"]
    unknown = [look("unknown", ("c", 9)), look("known", ("a", 9), ("b", 9))]
    assert [found.claim for found in next_looks(unknown, seconds, 10)] == ["unknown"]


def test_no_other_look_decides_more_claims_a_second():
    draw = random.Random(7)
    for _ in range(200):
        seconds = {variant: draw.uniform(0.1, 10) for variant in "abcd"}
        runs = [(variant, seed) for variant in "abcd" for seed in (1, 2)]
        looks = [look(str(n), *draw.sample(runs, draw.randint(1, 6))) for n in range(6)]
        room = draw.uniform(0, 60)
        worth = {}
        for candidate in looks:
            cost = sum(seconds[variant] for variant, _ in candidate.runs)
            if cost <= room:
                worth[candidate.claim] = sum(other.runs <= candidate.runs for other in looks) / cost
        chosen = next_looks(looks, seconds, room)
        dearest = max(chosen, key=lambda each: len(each.runs), default=None)
        assert (dearest is None) == (not worth)
        assert dearest is None or worth[dearest.claim] == pytest.approx(max(worth.values()))


@pytest.fixture
def spec(tmp_path) -> Path:
    """Two claims on the same runs: one is near its edge after three seeds, one far inside."""
    claims = [
        {"id": "near", "says": "It is larger.", **RATIO, "at_least": 1.3},
        {"id": "far", "says": "It is no hundredth.", **RATIO, "at_least": 0.01},
    ]
    claims = [claim | {"of": claim["of"] | OF_A_TENSOR} for claim in claims]
    probes = [{"kind": "gradient_norm", "batches": 1}]
    path = tmp_path / "near.yaml"
    arms = {"p": {"placement": ["post", "pre"]}}
    path.write_text(toy_spec(UNTRAINED, sweep=arms, seeds=3, looks="open", probes=probes, claims=claims))
    return path


def test_it_ends_when_all_is_decided_and_goes_on_with_what_is_there(spec, tmp_path):
    store = tmp_path / "store"
    alone = lnlab.run(spec, store=store, workers=1, progress=False)
    assert [verdict.verdict for verdict in alone.verdicts] == ["undecided", "supported"]
    done = lnlab.run(spec, store=store, workers=1, decide=True, progress=False)
    near, far = done.verdicts
    assert near.verdict != "undecided"
    assert near.look > 1
    assert near.level == pytest.approx(0.05 / 2**near.look)
    assert (far.n, far.look) == (3, 1)  # what is decided is not looked at again
    assert done.computed >= done.results.runs.filter(~done.results.runs["seed"].is_in([1, 2, 3])).height > 0
    again = lnlab.run(spec, store=store, workers=1, decide=True, progress=False)
    assert (again.computed, [v.verdict for v in again.verdicts]) == (0, [v.verdict for v in done.verdicts])


def test_what_no_longer_fits_is_not_begun_and_what_the_spec_itself_takes_is_refused(spec, tmp_path, monkeypatch):
    store = tmp_path / "store"
    with pytest.raises(LabError) as refused:
        lnlab.run(spec, store=store, workers=1, decide=True, minutes=1e-6, progress=False)
    assert (refused.value.issues[0].code, refused.value.issues[0].where) == ("out-of-range", "--minutes 1e-06")
    assert not list(store.glob("trajectories/*"))
    lnlab.run(spec, store=store, workers=1, progress=False)
    monkeypatch.setattr("lnlab.app.deciding.seconds_of_variants", lambda results: {"any": 3600.0})
    done = lnlab.run(spec, store=store, workers=1, decide=True, minutes=1, progress=False)
    assert (done.computed, done.verdicts[0].verdict) == (0, "undecided")


def test_seeds_that_the_spec_gives_a_claim_hold_where_a_value_is_chosen_first(tmp_path):
    claims = [
        {
            "id": "near",
            "says": "It is lower.",
            "kind": "difference",
            "of": {"placement": "post"},
            "to": {"placement": "pre"},
            "at_most": -0.05,
        },
        {
            "id": "far",
            "says": "It is below 100.",
            "kind": "bound",
            "of": {"placement": "post"},
            "at_most": 100,
            "about": "mean",
        },
    ]
    for claim in claims:
        claim["of"] = {"quantity": "loss", "split": "validation", "step": "last", "placement": "post"}
    text = toy_spec(
        SMALLEST,
        sweep={"p": {"placement": ["post", "pre"], "optimizer.lr": [0.01, 0.02]}},
        choose={"optimizer.lr": "best", "seeds": [6, 8]},
        seeds=5,
        claim_seeds={"far": "11-15"},
        looks=[5, 10],
        train={"steps": 2},
        claims=claims,
    )
    path = tmp_path / "chosen.yaml"
    path.write_text(text)
    done = lnlab.run(path, store=tmp_path / "store", workers=1, decide=True, progress=False)
    near, far = done.verdicts
    assert (far.n, far.look, sorted(far.seeds)) == (5, 1, [11, 12, 13, 14, 15])
    assert (near.look, sorted(near.seeds)) == (2, [1, 2, 3, 4, 5, 7, 9, 10, 11, 12])


@pytest.mark.parametrize(
    ("given", "where"),
    [({"minutes": 3}, "--minutes"), ({"decide": True, "executor": "slurm", "wait": False}, "--decide")],
)
def test_options_that_contradict_each_other_are_refused(spec, tmp_path, given, where):
    with pytest.raises(LabError) as refused:
        lnlab.run(spec, store=tmp_path / "store", progress=False, **given)
    assert (refused.value.issues[0].code, refused.value.issues[0].where) == ("wrong-option", where)
