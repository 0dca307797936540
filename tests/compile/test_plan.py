"""Pairs: a spec, then the printed plan, or the printed problems, that it must give. Add a case without Python.

The first line of a spec may be a comment with the arguments: ``# --profile smoke -s model.layers=4``.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lnlab.compile.plan import compile_plan
from lnlab.compile.reference.explain import explain
from lnlab.errors import SpecError
from lnlab.specfile.load import load_spec, parse_spec

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


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_keys_do_not_depend_on_order_layout_or_comments(laboratory, randomly, spread):
    order = lambda words: randomly.sample(words, len(words))  # noqa: E731
    text = json.dumps(shuffled(FULL, order), indent=2 if spread else None)
    plain = compile_plan(parse_spec(json.dumps(FULL), Path("a.yaml")), laboratory, ())
    found = compile_plan(parse_spec(f"# a comment\n{text}\n", Path("b.yaml")), laboratory, ())
    assert keys(found) == keys(plain)
    assert found.digest != plain.digest


MUTATIONS = [
    (("task", "corpus", "pairs"), 11),
    (("task", "label_smoothing"), 0.1),
    (("task", "vocabulary"), 999),
    (("model", "heads"), 4),
    (("model", "tied"), "none"),
    (("model", "d_model"), 32),
    (("norm", "eps"), 1e-4),
    (("norm",), "layer"),
    (("attention",), {"kind": "softmax", "dropout": 0.1}),
    (("init",), {"kind": "xavier_normal", "gain": 2}),
    (("interventions",), [{"kind": "rescale", "where": {}}]),
    (("decoder", "cross_attention"), True),
    (("seeds",), [5, 6]),
    (("sweep", 0, "placement"), [{"kind": "deep", "alpha": 1}, {"kind": "deep", "alpha": 2}]),
]
LATER = [
    (("optimizer", "lr"), 0.2),
    (("optimizer", "betas"), [0.9, 0.99]),
    (("schedule",), {"kind": "constant", "warmup_steps": 1}),
    (("train", "clip"), 2.0),
    (("train", "accumulate"), 2),
    (("train", "stop"), "patience"),
    (("interventions",), ["freeze"]),
]


def mutated(path, value):
    data = json.loads(json.dumps(FULL))
    inner = data
    for word in path[:-1]:
        inner = inner.setdefault(word, {}) if isinstance(inner, dict) else inner[word]
    inner[path[-1]] = value
    return data


def compiled(laboratory, data):
    return compile_plan(parse_spec(json.dumps(data), Path("a.yaml")), laboratory, ())


def at_init(plan):
    return {m.key for t in plan.trajectories for m in t.measurements if m.step == 0}


@pytest.mark.parametrize(("path", "value"), MUTATIONS, ids=lambda given: str(given))
def test_whatever_makes_the_initial_state_changes_every_key(registries, path, value):
    before, after = compiled(registries, FULL), compiled(registries, mutated(path, value))
    for old, new in zip(keys(before), keys(after), strict=True):
        assert path[0] == "seeds" or not old & new
    assert not at_init(before) & at_init(after)


@pytest.mark.parametrize(("path", "value"), LATER, ids=lambda given: str(given))
def test_whatever_moves_the_state_changes_every_key_but_those_at_init(registries, path, value):
    before, after = compiled(registries, FULL), compiled(registries, mutated(path, value))
    for old, new in zip(keys(before)[:3], keys(after)[:3], strict=True):
        assert not old & new
    assert at_init(before) == at_init(after)
    assert keys(before)[3] & keys(after)[3] == at_init(before)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("title",), "Another title"),
        (("question",), "why?"),
        (("source",), {"cite": "x"}),
        (("differs",), ["x"]),
        (("dropped",), [{"why": "x", "claims": [{"id": "a", "says": "x", "was": "supported"}]}]),
        (("report",), [{"kind": "depth_profile", "quantity": "gradient_norm"}]),
        (("claims",), []),
        (("profiles",), {"a": {"seeds": 1}}),
    ],
)
def test_what_only_presents_changes_no_key(registries, path, value):
    assert keys(compiled(registries, FULL)) == keys(compiled(registries, mutated(path, value)))


def test_a_probe_changes_what_is_measured_and_nothing_that_is_run(registries):
    before = compiled(registries, FULL)
    after = compiled(registries, mutated(("probes", 0, "batches"), 4))
    assert keys(before)[:3] == keys(after)[:3]
    assert not keys(before)[3] & keys(after)[3]


def test_the_number_of_steps_is_in_the_key_only_where_the_schedule_asks_for_it(registries):
    for schedule, shared in (("constant", True), ("linear", False)):
        data = mutated(("schedule",), schedule)
        longer = {**data, "train": {**data["train"], "steps": 9}}
        before, after = compiled(registries, data), compiled(registries, longer)
        assert (keys(before)[1] == keys(after)[1]) is shared
        assert not keys(before)[0] & keys(after)[0]
        assert at_init(before) == at_init(after)


def test_longer_and_shorter_runs_on_one_trajectory_are_one_unit_of_work(registries):
    data = mutated(("sweep",), [{"train.steps": [2, 5]}])
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


@pytest.mark.nightly
def test_keys_are_the_same_whatever_the_hash_seed_and_the_locale(tmp_path):
    spec = tmp_path / "a.yaml"
    spec.write_text(json.dumps(FULL))
    script = (
        "import sys, importlib.util as u; from pathlib import Path\n"
        "s = u.spec_from_file_location('lab', sys.argv[1]); lab = u.module_from_spec(s); s.loader.exec_module(lab)\n"
        "from lnlab.compile.plan import compile_plan; from lnlab.specfile.load import load_spec\n"
        "plan = compile_plan(load_spec(Path(sys.argv[2])), lab.toys(), ())\n"
        "print([run.key for run in plan.runs], plan.needs, plan.digest)\n"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).with_name("conftest.py")), str(spec)]
    printed = {
        subprocess.run(command, env={"PYTHONHASHSEED": seed, "LC_ALL": locale}, capture_output=True, check=True).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"))
    }
    assert len(printed) == 1
    assert printed.pop().strip()


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


@settings(max_examples=40, deadline=None)
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


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2000)
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.sampled_from(["post", "layer", "init", "no", "", "translation", "1-3", "a.b", "quantity"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "at", "norm", "layers", "model.layers", "except", "x", "of"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
CLAIMED = {
    **FULL,
    "report": [{"kind": "depth_profile", "quantity": "gradient_norm", "where": {"stack": "decoder"}, "claims": ["a"]}],
    "claims": [
        {
            "id": "a",
            "says": "b",
            "kind": "power_law",
            "of": {"placement": "post"},
            "over": "model.layers",
            "between": [0, 1],
        }
    ],
    "profiles": {"smoke": {"seeds": 1, "model.layers": 1}},
}


def places(value, path=()):
    """Every path into the data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, item in inner for p in places(item, (*path, key)))]


SELECTIONS = {"of", "to", "where"}


@example(path=("claims",), value=None, profile=None)
@example(path=("claims",), value=5, profile="smoke")
@settings(max_examples=150, deadline=None)
@given(st.sampled_from([path for path in places(CLAIMED) if path]), JSON, st.sampled_from([None, "smoke"]))
def test_any_value_anywhere_gives_a_plan_or_problems_that_say_where(
    laboratory, checked_by_schema, path, value, profile
):
    data = json.loads(json.dumps(CLAIMED))
    inner = data
    for word in path[:-1]:
        inner = inner[word]
    inner[path[-1]] = value
    document = parse_spec(json.dumps(data, indent=1), Path("a.yaml"))
    try:
        compile_plan(document, laboratory, (), profile=profile)
    except SpecError as error:
        shown = [str(problem) for problem in error.issues]
    else:
        shown = []
        # what a selection names is judged on made-up rows
        assert profile or SELECTIONS & set(path) or not checked_by_schema(document.data)
    assert all(line.startswith(("a.yaml:", "--profile")) and "\n" not in line for line in shown)


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


def test_a_shipped_layout_of_ten_thousand_layers_is_refused_at_once(registries, base, document, golden):
    text = base.replace("layers: 2", "layers: 10000")
    with golden.raises(SpecError):
        compile_plan(document(text), registries, ())


def test_more_memory_than_there_is_is_refused_before_any_work(registries, base, document, golden):
    with golden.raises(SpecError):
        compile_plan(document(base), registries, (), memory=2**20)


def test_a_plan_of_many_runs_is_quick(registries, base, document):
    grid = f"sweep: [{{task.vocabulary: {list(range(1, 101))}, model.layers: {list(range(1, 11))}}}]\n"
    given = document(base.replace("seeds: 2", "seeds: 10") + grid)
    found = compile_plan(given, registries, ())
    assert len(found.runs) == len(found.trajectories) == 10_000


def test_a_spec_on_disk_compiles_as_its_text_does(registries, base, tmp_path, document):
    (tmp_path / "spec.yaml").write_text(base)
    assert keys(compile_plan(load_spec(tmp_path / "spec.yaml"), registries, ())) == keys(
        compile_plan(document(base), registries, ())
    )
