"""Pairs: a spec, then the printed plan, or the printed problems, that it must give. Add a case without Python.

The first line of a spec may be a comment with the arguments: ``# --profile smoke -s model.layers=4``.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.compile.plan import compile_plan
from lnlab.compile.reference.explain import explain
from lnlab.errors import SpecError
from lnlab.specfile.load import parse_spec

PAIRS = Path(__file__).parents[1] / "fixtures" / "compile"


def arguments(text: str) -> dict[str, object]:
    """The options in the first line of a spec."""
    first = text.partition("\n")[0]
    if not first.startswith("# -"):
        return {}
    words = first[2:].replace(" -s ", "\n-s ").replace("--profile ", "--profile\n").removeprefix("-s ").split("\n")
    overrides = [word.removeprefix("-s ").strip() for word in words if "=" in word or word in ("-s norm",)]
    profile = words[1].strip() if words[0].startswith("--profile") else None
    return {"profile": profile, "overrides": overrides}


@pytest.mark.parametrize("path", sorted(PAIRS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_spec_gives_its_plan(path, registries):
    given = parse_spec(path.read_text(), Path(path.name))
    try:
        printed = "\n".join(explain(compile_plan(given, registries, (), **arguments(given.text), memory=2**34)))
    except SpecError as error:
        printed = "\n".join(map(str, error.issues))
    assert printed + "\n" == path.with_suffix(".txt").read_text()


def keys(plan) -> tuple[object, ...]:
    """Everything that must not move: the keys of runs, trajectories, variants and measurements."""
    measurements = {m.key for t in plan.trajectories for m in t.measurements}
    return {r.key for r in plan.runs}, {t.key for t in plan.trajectories}, set(plan.settings), measurements


FULL = {
    "lnlab": 2,
    "title": "A title",
    "task": {"kind": "translation", "corpus": {"kind": "toy", "pairs": 10}, "label_smoothing": 0.0},
    "model": {"kind": "encoder_decoder", "layers": 2, "heads": 2, "tied": "all"},
    "placement": "post",
    "norm": {"kind": "rms", "eps": 1e-3},
    "optimizer": {"kind": "adam", "lr": 0.1},
    "schedule": "constant",
    "train": {"steps": 3, "clip": 1.0},
    "decoder": {"cross_attention": False},
    "seeds": [3, 4],
    "sweep": [{"placement": ["post", "pre"], "model.layers": [1, 2]}],
    "probes": [{"kind": "gradient_norm", "at": [0, 2], "batches": 3}],
}


def shuffled(value, order):
    """The same data with every mapping in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], order) for key in order(sorted(value))}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.booleans())
def test_keys_do_not_depend_on_order_layout_or_comments(laboratory, randomly, spread):
    order = lambda words: randomly.sample(words, len(words))  # noqa: E731
    text = json.dumps(shuffled(FULL, order), indent=2 if spread else None)
    plain = compile_plan(parse_spec(json.dumps(FULL), Path("a.yaml")), laboratory, ())
    found = compile_plan(parse_spec(f"# a comment\n{text}\n", Path("b.yaml")), laboratory, ())
    assert keys(found) == keys(plain)
    assert found.digest != plain.digest


def compiled(laboratory, data):
    return compile_plan(parse_spec(json.dumps(data), Path("a.yaml")), laboratory, ())


def test_longer_and_shorter_runs_on_one_trajectory_are_one_unit_of_work(registries):
    data = FULL | {"sweep": [{"train.steps": [2, 5]}]}
    found = compiled(registries, data)
    assert len(found.runs) == 4
    assert [(t.seed, t.steps, t.setting["train"]["steps"]) for t in found.trajectories] == [(3, 5, 5), (4, 5, 5)]
    assert {m.step for t in found.trajectories for m in t.measurements} == {0, 2}


def test_runs_without_steps_have_one_trajectory_whatever_would_have_moved_them(registries):
    data = {**FULL, "train": {}, "probes": [{"kind": "gradient_norm"}]}
    slow, fast = (compiled(registries, {**data, "optimizer": {"kind": "adam", "lr": lr}}) for lr in (0.1, 0.2))
    assert [run.variant for run in slow.runs] != [run.variant for run in fast.runs]
    assert [run.key for run in slow.runs] == [run.key for run in fast.runs]
    assert [need[-1] for need in slow.needs] == [need[-1] for need in fast.needs]


def test_the_parts_of_a_plan_belong_together(registries):
    found = compiled(registries, FULL)
    assert found.name == "a"
    assert {run.trajectory for run in found.runs} == {t.key for t in found.trajectories}
    assert {run.variant for run in found.runs} == set(found.settings) == set(found.points)
    assert {key for *_, key in found.needs} == keys(found)[3]
    assert {run for run, *_ in found.needs} == {run.key for run in found.runs}
    assert found.axes == ("placement", "model.layers")
    assert all(tuple(point) == found.axes for point in found.points.values())
    assert found.needs[0][2] == {"kind": "gradient_norm", "batches": 3}


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["post", "pre"]), min_size=1, max_size=2, unique=True),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=3),
)
def test_a_grid_has_the_product_of_its_axes_without_its_exceptions(laboratory, layers, placements, holes):
    left_out = {(layers[i % len(layers)], placements[j % len(placements)]) for i, j in holes}
    grid = {"model.layers": layers, "placement": placements}
    if left_out:
        grid["except"] = [{"model.layers": n, "placement": p} for n, p in left_out]
    data = {**FULL, "sweep": [grid], "seeds": 1}
    expected = {(n, p) for n in layers for p in placements} - left_out
    if not expected:
        with pytest.raises(SpecError) as refused:
            compiled(laboratory, data)
        assert [issue.code for issue in refused.value.issues] == ["empty-selection"]
        return
    found = compiled(laboratory, data)
    assert {(p["model.layers"], p["placement"]) for p in found.points.values()} == expected
    assert len(found.runs) == len(expected)


SELECTIONS = {"of", "to", "where"}


def test_a_letter_too_few_anywhere_is_found_where_it_is_and_the_right_word_is_offered(registries):
    text = (PAIRS / "claims.yaml").read_text()
    document = parse_spec(text, Path("a.yaml"))
    lines = text.split("\n")
    told = offered = 0
    keys = {path: key for path, (key, _) in document.marks.items() if path and not SELECTIONS & set(path[:-1])}
    mutants = [(path, key) for path, key in keys.items() if len(str(path[-1])) > 3]
    mutants = [
        (path, mark) for path, mark in mutants if lines[mark.line - 1][mark.column - 1 :].startswith(str(path[-1]))
    ]
    for path, mark in mutants:
        changed = list(lines)
        at, word = mark.column - 1, str(path[-1])
        changed[mark.line - 1] = (
            lines[mark.line - 1][:at] + word[:-2] + word[-1] + lines[mark.line - 1][at + len(word) :]
        )
        with pytest.raises(SpecError) as caught:
            compile_plan(parse_spec("\n".join(changed), Path("a.yaml")), registries, ())
        told += any(problem.where == f"a.yaml:{mark.line}:{mark.column}" for problem in caught.value.issues)
        last = word.rpartition(".")[2]
        remedies = " ".join(problem.remedy for problem in caught.value.issues)
        offered += f"did you mean '{word}'" in remedies or f"did you mean '{last}'" in remedies
    assert told == len(mutants) > 30
    assert offered >= 0.95 * len(mutants)


def test_more_memory_than_there_is_is_refused_before_any_work(registries, base, document, golden):
    with golden.raises(SpecError):
        compile_plan(document(base), registries, (), memory=2**20)


def test_a_plan_of_many_runs_is_quick(registries, base, document):
    grid = f"sweep: [{{task.vocabulary: {list(range(1, 101))}, model.layers: {list(range(1, 11))}}}]\n"
    given = document(base.replace("seeds: 2", "seeds: 10") + grid)
    found = compile_plan(given, registries, ())
    assert len(found.runs) == len(found.trajectories) == 10_000
