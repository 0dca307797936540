"""Inits that look at data: what they cost, how a plan shows them, whose keys they move, and what is refused."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.cost.cost import cost
from lnlab.compile.reference.explain import explain
from lnlab.registry import default
from tests.support.refusals import refused


@pytest.fixture
def registries(registries):
    """The toy laboratory, with inits that look at data, a task that has no end, and a probe that reads all of it."""
    inits = registries["init"]

    @inits.register("epoch", reads=lambda _: None, passes=lambda _: 0.0)
    def epoch(model, draw, batches, *, of: Annotated[Callable[..., Any], inits] = default("xavier_normal")): ...

    @inits.register("some", reads=lambda params: params["looks"], passes=lambda params: 2.0 * params["looks"])
    def some(model, draw, batches, *, looks: int = 1): ...

    @inits.register("wraps")
    def wraps(model, draw, *, of: Annotated[Callable[..., Any], inits]): ...

    @inits.register("silent")
    def silent(model, draw, batches): ...

    @registries["task"].register("noise", endless=True)
    def noise(draw, roots, *, batch_tokens: int = 512, vocabulary: int = 100): ...

    reads = {"reads": lambda params: params["batches"], "passes": lambda _: 0.0}

    @registries["probe"].register("census", **reads, table="sites", quantities=("x",))
    def census(state, *, batches: int | None = None): ...

    return registries


def told(plan, text: str) -> list[str]:
    """The plan's lines about inits."""
    return [line for line in explain(plan(text)) if line.startswith("init ")]


def test_a_plan_shows_what_its_inits_read(plan, base, golden):
    assert told(plan, base) == []
    golden(told(plan, base + "init: epoch\n"))
    golden(told(plan, base.replace("seeds: 2", "seeds: 1") + "init: some\n"))
    golden(told(plan, base + "init: {kind: wraps, of: {kind: epoch, of: {kind: some, looks: 3}}}\n"))


def test_initial_states_are_counted_and_not_what_starts_from_them(plan, base, golden):
    """Three learning rates share an initial state; two batch sizes do not, and neither do two inits."""
    text = base + "init: epoch\noptimizer: {kind: adam, lr: 0.1}\ntrain: {steps: 2}\n"
    text += "sweep: [{optimizer.lr: [0.1, 0.2, 0.3], task.batch_tokens: [16, 32]}]\n"
    assert len(plan(text).trajectories) == 12
    golden(told(plan, text))
    text = base + "sweep: [{init: [epoch, xavier_normal, some]}]\n"
    assert len(told(plan, text)) == 2
    assert all(line.endswith("2 times") for line in told(plan, text))


def test_passes_of_the_init_cost_as_those_of_a_probe(plan, base, registries):
    def flops(init: str) -> float:
        (setting,) = plan(base + f"init: {init}\n").settings.values()
        return cost(setting, (), registries).flops

    one = flops("some")
    assert one == 2 * 2 * 12 * 4 * 64**2 * 512
    assert flops("{kind: some, looks: 5}") == 5 * one
    assert flops("{kind: wraps, of: some}") == one
    assert flops("xavier_normal") == flops("epoch") == 0


KEYS = {
    "variant": "b03846c2177a68da",
    "trajectory": "83ba01b9727f6e47",
    "run": "12d3225289fba278",
    "measurement": "575f484f30958ddd",
}
"""As they were before any init looked at data, but for that of a setting, in which evaluations no longer move a run."""


def test_an_init_that_does_not_look_at_data_keeps_its_keys(plan, base):
    made = plan(base)
    found = {
        "variant": min(made.settings),
        "trajectory": min(each.key for each in made.trajectories),
        "run": min(each.key for each in made.runs),
        "measurement": min(m.key for each in made.trajectories for m in each.measurements),
    }
    assert {word: key[:16] for word, key in found.items()} == KEYS


def test_an_init_that_looks_at_data_is_keyed_by_the_data(plan, base, tmp_path):
    """The task is in the key of an initial state, and the content of its files in the key of the task."""

    def states(text: str) -> set[str]:
        (tmp_path / "a.txt").write_text(text)
        spec = base.replace("corpus: toy", "corpus: {kind: file, path: a.txt}") + "init: epoch\n"
        return {each.key for each in plan(spec, roots=(tmp_path,)).trajectories}

    assert states("one") == states("one")
    assert not states("one") & states("two")


def test_what_has_no_end_is_not_read_to_its_end(plan, base, golden):
    text = base.replace("{kind: translation, corpus: toy}", "noise")
    plan(text + "init: some\n")
    golden(refused(plan, text + "init: {kind: wraps, of: epoch}\n"))
    plan(text.replace("gradient_norm", "census, batches: 3"))
    golden(refused(plan, text.replace("gradient_norm", "census")))


def test_an_init_must_say_how_much_it_reads(plan, base, golden):
    (problem,) = refused(plan, base + "init: silent\n")
    golden(problem)


def test_batches_of_real_tasks_have_the_tokens_that_they_say():
    tasks = REGISTRIES["task"]
    assert tasks["translation"].facts.tokens(tasks.resolve({"kind": "translation", "corpus": "multi30k"})) == 2
    noise = tasks.resolve({"kind": "random_tokens", "sentences": 1, "length": 1})
    assert tasks["random_tokens"].facts.tokens(noise) == 1
    assert tasks["random_tokens"].facts.endless


@pytest.mark.parametrize("needs", [{"translates": True}, {"causal": True}], ids=str)
def test_a_probe_is_not_asked_of_what_lacks_what_it_needs(plan, base, registries, golden, needs):
    """Translations of a model and a task that translate; later tokens of a causal stack. The message names what has."""
    tags = {"passes": lambda _: 0.0, "table": "sites", "quantities": ("x",)}
    registries["probe"].register("score", **tags, **needs)(lambda state: None)

    @registries["task"].register("teller", translates=True)
    def teller(draw, roots, *, batch_tokens: int = 512, vocabulary: int = 100): ...

    for name, stacks, facts in (
        ("speaker", ("encoder", "decoder"), {"translates": True}),
        ("reader", ("encoder",), {"causal": ()}),
    ):

        @registries["model"].register(name, stacks=stacks, size=lambda _: (1, 1), **facts)
        def model(size, parts, *, d_model: int = 8, heads: int = 1): ...

    text = base.replace("gradient_norm", "score")
    golden(refused(plan, text.replace("encoder_decoder", "reader")))
    plan(text.replace("encoder_decoder", "speaker").replace("{kind: translation, corpus: toy}", "teller"))
