"""Runs that begin with the weights of another run: which these are, what comes first, and what is refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.app.request import Request, compile_request
from lnlab.committed.registries import load_registries
from lnlab.compile.work import StateAddress
from lnlab.execute.checkpoint import only_weights, weights_of
from lnlab.execute.program import build
from lnlab.store.store import Store
from tests.support.folders import contents
from tests.support.refusals import refused
from tests.support.toy_specs import ONE_BATCH, toy_spec

PRETRAIN = toy_spec(
    ONE_BATCH,
    title="Pre-training",
    train={"steps": 6, "evaluate": [0, 2, 6]},
    seeds="1-2",
    probes=[{"kind": "parameter_size", "at": [4, 6]}],
)
FROM = "init: {kind: from_run, spec: pretrain}\n"


@pytest.fixture(scope="module")
def known():
    return load_registries(())


@pytest.fixture
def plan(known, tmp_path):
    """``plan(text, pretrain)``: of a spec beside one that is called ``pretrain``."""

    def compiled(text, pretrain=PRETRAIN, name="tuned", **more):
        (tmp_path / "pretrain.yaml").write_text(pretrain)
        (tmp_path / f"{name}.yaml").write_text(text)
        return compile_request(Request(tmp_path / f"{name}.yaml", **more), known)[0]

    return compiled


def continued(init=FROM, steps=2):
    """A spec like the one of pre-training whose runs begin with its own."""
    text = PRETRAIN.replace("steps: 6, evaluate: [0, 2, 6]", f"steps: {steps}, evaluate: [0, {steps}]")
    return init + text.replace("at: [4, 6]", f"at: [0, {steps}]")


def keys(plan):
    return [unit.key for unit in plan.trajectories]


def test_the_runs_that_it_begins_with_are_a_plan_of_their_own_that_comes_first(plan):
    tuned, pretrained = plan(continued()), plan(PRETRAIN, name="again")
    (source,) = tuned.sources
    assert (source.name, keys(source)) == ("pretrain", keys(pretrained))
    assert [unit.origin for unit in tuned.trajectories] == [StateAddress(key, 6) for key in keys(pretrained)]
    assert all(unit.kept for unit in source.trajectories)
    assert not pretrained.sources


def test_a_key_holds_the_trajectory_and_the_step_and_no_name(plan, tmp_path):
    first = keys(plan(continued()))
    assert keys(plan(continued(), PRETRAIN.replace("title: Pre-training", "title: Another"))) == first
    assert keys(plan(continued("init: {kind: from_run, spec: pretrain, at: 6}\n"))) == first
    (tmp_path / "other.yaml").write_text(PRETRAIN)
    assert keys(plan(continued("init: {kind: from_run, spec: other}\n"))) == first
    longer = PRETRAIN.replace("steps: 6, evaluate: [0, 2, 6]", "steps: 9")
    assert keys(plan(continued("init: {kind: from_run, spec: pretrain, at: 6}\n"), longer)) == first
    others = [
        plan(continued("init: {kind: from_run, spec: pretrain, at: 4}\n")),
        plan(continued(), PRETRAIN.replace("lr: 0.5", "lr: 0.25")),
        plan(continued("init: {kind: from_run, spec: pretrain, seed: 1}\n")),
        plan(continued("init: {kind: from_run, spec: pretrain, parts: [encoder]}\n")),
        plan(continued("")),
    ]
    every = [first, *map(keys, others)]
    assert len({key for one in every for key in one}) == 2 * len(every)


def test_a_seed_of_its_own_is_the_only_run_that_comes_first(plan):
    (source,) = plan(continued("init: {kind: from_run, spec: pretrain, seed: 7}\n")).sources
    assert [run.seed for run in source.runs] == [7]


def test_a_chain_is_computed_from_its_beginning(plan, tmp_path):
    (tmp_path / "middle.yaml").write_text(continued())
    last = plan(continued("init: {kind: from_run, spec: middle}\n"))
    (middle,) = last.sources
    (first,) = middle.sources
    assert [source.name for source in (middle, first)] == ["middle", "pretrain"]
    assert [unit.origin.trajectory for unit in middle.trajectories] == keys(first)


def test_what_cannot_be_begun_with_is_refused_in_a_line(plan, tmp_path, golden):
    begun = "init: {{kind: from_run, spec: {}}}\n".format
    swept = PRETRAIN + "sweep: {a: {optimizer.lr: [0.5, 0.25]}}\n"
    chosen = continued(begun("pretrain, where: {optimizer.lr: 0.5}"))
    assert keys(plan(chosen, swept)) == keys(plan(continued()))
    untrained = PRETRAIN.replace("steps: 6, evaluate: [0, 2, 6]", "steps: 0").replace("[4, 6]", "[0]")
    inside = "init: {kind: zero_qk, of: {kind: from_run, spec: pretrain}}\n"
    for arguments in (
        [continued(begun("pretrian"))],
        [continued(), swept],
        [continued(begun("pretrain, at: 7"))],
        [continued(), untrained],
        [continued(), swept + "choose: {optimizer.lr: best, seeds: [9]}\n"],
        [continued(), PRETRAIN.replace("post", "past")],
        [continued(inside)],
        [continued(), FROM + PRETRAIN],
    ):
        golden(refused(plan, *arguments))
    (tmp_path / "one.yaml").write_text(continued(begun("two")))
    golden(refused(plan, continued(begun("one")), name="two"))


@pytest.fixture
def run(lnlab, workdir):
    """``run(name)``: a spec of the working folder is run in the store there, which is returned with its results."""

    def run_spec(name, *more, code=0):
        outcome = lnlab("run", f"{name}.yaml", "-w", "1", "-q", "--json", *more)
        assert outcome.code == code, outcome
        if code:
            return outcome
        store = Store(Path(".lnlab").absolute())
        return store, store.results(outcome.json["plan"])

    return run_spec


def sizes(results, step):
    """Every number that ``parameter_size`` measured of seed 2 at a step."""
    rows = results.tables["sites"].filter(pl.col("seed") == 2, pl.col("step") == step)
    return rows.select("quantity", "stack", "layer", "sublayer", "tensor", "value").sort(pl.all()).rows()


def test_its_first_weights_are_the_last_of_the_other_run_and_it_goes_on_as_that_run_would(run, known):
    """Constant SGD on one batch an epoch: 4 updates and 2 more from their weights are 6 updates."""
    Path("pretrain.yaml").write_text(PRETRAIN)
    Path("tuned.yaml").write_text(continued("init: {kind: from_run, spec: pretrain, at: 4}\n"))
    store, tuned = run("tuned")
    _, whole = run("pretrain")
    assert sizes(tuned, 0) == sizes(whole, 4) != []
    for ours, theirs in zip(sizes(tuned, 2), sizes(whole, 6), strict=True):
        assert ours[:-1] == theirs[:-1]
        assert ours[-1] == pytest.approx(theirs[-1], rel=1e-4, abs=1e-6)

    plan, _ = compile_request(Request(Path("tuned.yaml")), known)
    unit = plan.trajectories[0]
    content = only_weights(store.state(unit.origin.trajectory, 4) or b"")
    model = build(replace(unit, weights=content), known).model
    weights = weights_of(content)
    assert all(p.equal(weights[name]) for name, p in model.named_parameters())

    folder = next(Path(".lnlab/trajectories").glob(f"??/{unit.origin.trajectory}"))
    shutil.rmtree(folder / "states")
    _, longer = run("tuned", "-s", "train.steps=3", "-s", "probes=[{kind: parameter_size, at: [0, 3]}]")
    assert sizes(longer, 0) == sizes(tuned, 0), "a state that is gone is computed again"


def test_of_a_part_the_rest_begins_as_another_init_has_it_and_all_is_counted(lnlab, workdir, known):
    Path("pretrain.yaml").write_text(PRETRAIN)
    init = "init: {kind: from_run, spec: pretrain, parts: [encoder], of: xavier_uniform}\n"
    Path("tuned.yaml").write_text(continued(init).replace("layers: 1", "layers: 1, tied: none"))
    outcome = lnlab("run", "tuned.yaml", "-w", "1", "-q")
    assert outcome.code == 0, outcome
    store = Store(Path(".lnlab").absolute())
    plan, _ = compile_request(Request(Path("tuned.yaml")), known)
    fresh, _ = compile_request(Request(Path("tuned.yaml"), overrides=("init=xavier_uniform",)), known)
    for unit, alone in zip(plan.trajectories, fresh.trajectories, strict=True):
        weights = weights_of(store.state(unit.origin.trajectory, 6) or b"")
        model = build(replace(unit, weights=store.state(unit.origin.trajectory, 6)), known).model
        untouched = dict(build(alone, known).model.named_parameters())
        for name, p in model.named_parameters():
            assert p.equal((weights if name.startswith("encoder.") else untouched)[name]), name
    encoder = sum(name.startswith("encoder.") for name in untouched)
    assert lnlab("report", "tuned.yaml", "--out", "page").code == 0
    assert f"{encoder} of {len(untouched)} parameter tensors " in Path("page/index.html").read_text()
    drawn = contents(Path("page"))
    for path in ("pretrain.yaml", "tuned.yaml"):
        Path(path).unlink()
    assert lnlab("report", "--from", "page", "-q").code == 0
    assert contents(Path("page")) == drawn, "who has the report alone has what its runs began with"


def test_models_that_do_not_fit_are_refused_before_anything_runs(console, workdir):
    Path("pretrain.yaml").write_text(PRETRAIN.replace("d_ff: 16", "d_ff: 32"))
    Path("tuned.yaml").write_text(continued())
    assert "(16, 8) here and (32, 8)" in console("check", "tuned.yaml").err
    Path("tuned.yaml").write_text(continued("init: {kind: from_run, spec: pretrain, parts: [encodr]}\n"))
    assert "'encodr'" in console("check", "tuned.yaml").err


def test_a_part_may_have_another_name_there(console, workdir):
    Path("pretrain.yaml").write_text(PRETRAIN.replace("layers: 1", "layers: 2"))
    init = "init: {kind: from_run, spec: pretrain, parts: {encoder.layers.0: encoder.layers.1}, of: xavier_uniform}\n"
    Path("tuned.yaml").write_text(continued(init))
    assert console("check", "tuned.yaml").code == 0
    Path("tuned.yaml").write_text(continued(init.replace("layers.1}", "layers.2}")))
    assert "'encoder.layers.2." in console("check", "tuned.yaml").err
