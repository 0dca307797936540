"""``check`` tells mistakes of the grammar before it imports any piece, and everything else all the same."""

import io

import pytest

from lnlab.app.planning.checks import early_mistakes
from lnlab.app.request import Request
from lnlab.cli import main
from lnlab.training_extra import absent_packages
from tests.support.toy_specs import ENCODER, SMALLEST, toy_spec

SPEC = toy_spec(
    ENCODER,
    task={"vocabulary": 10, "sentences": 4, "length": 6},
    model={"layers": 1, "d_ff": 16, "tied": "none"},
    norm="layer",
    init="xavier_normal",
    seeds=2,
    probes=[{"kind": "gradient_norm", "batches": 1}],
)
SECTION = "report: [{kind: table, quantity: gradient_norm, claims: [{kind: bound, says: b, of: {}}]}]"
WRONG = {
    "key": f"{SPEC}normm: layer\n",
    "key_of_a_profile": f"{SPEC}profiles: {{quick: {{seed: 3}}}}\n",
    "claim": f"{SPEC}{SECTION}\n",
    "alias": f"{SPEC}a: &a [1]\nb: *c\n",
    "key_of_a_task": SPEC.replace("vocabulary: 10", "vocabularyy: 10"),
    "key_of_training": f"{SPEC}train: {{stepz: 3}}\n",
    "kind": SPEC.replace("norm: layer", "norm: layerr"),
    "number": SPEC.replace("vocabulary: 10", "vocabulary: -1"),
    "number_of_a_profile": f"{SPEC}profiles: {{quick: {{model.layers: 0}}}}\n",
    "two": SPEC.replace("norm: layer", "norm: layerr").replace("seeds: 2", "seed: 2"),
    # What follows from a misspelt key is not told.
    "optimizer": f"{SPEC}trainn: {{steps: 3}}\noptimizer: {{kind: adam, lr: 1e-3}}\nschedule: constant\n",
}


def test_the_grammar_is_told_without_torch_and_as_with_it(workdir, python, capsys, golden):
    for name, text in WRONG.items():
        (workdir / f"{name}.yaml").write_text(text)
    commands = [["check", *(f"{name}.yaml" for name in WRONG)], ["list", "norm", "layer", "--json"], ["list", "--json"]]
    done = python(
        "import sys; from lnlab.cli import main\n"
        f"for words in {commands!r}: sys.argv[1:] = words; main()\n"
        "sys.exit(str({'torch', 'altair', 'tokenizers'} & set(sys.modules)))"
    )
    for words in commands:
        main(words)
    here = capsys.readouterr()
    golden(here.err.splitlines())
    assert (done.out, done.err) == (here.out, here.err + "set()\n")
    assert absent_packages() == (), "this process goes on"


def test_a_length_that_only_torch_can_count_is_no_mistake(workdir, console):
    (workdir / "long.yaml").write_text(toy_spec(SMALLEST, seeds=2, train={"tokens_per_parameter": 0.5}))
    assert console("check", "long.yaml").code == 0


def test_a_mistake_keeps_other_profiles_from_being_built_and_no_other_spec(workdir, console):
    (workdir / "wrong.yaml").write_text(SPEC.replace("seeds: 2", "seeds: x\nprofiles: {quick: {seeds: 2}}"))
    (workdir / "right.yaml").write_text(SPEC.replace("vocabulary: 10", "vocabulary: 40"))
    assert console("check", "wrong.yaml", "right.yaml").code == 2


@pytest.mark.parametrize("wrong", [("vocabulary: 10", "vocabulary: 40"), ("seeds: 2", "seed: 2")])
def test_a_spec_is_read_from_standard_input_with_places_of_its_own(workdir, monkeypatch, console, wrong):
    text = SPEC.replace(*wrong)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert console("check", "-").code == 2 * (wrong[0] == "seeds: 2")


def test_a_spec_without_mistakes_has_none_of_the_grammar(tmp_path):
    spec = tmp_path / "toy.yaml"
    spec.write_text(SPEC)
    assert early_mistakes([Request(spec)]) == [[]]


def test_of_a_large_sweep_with_a_flawed_grammar_only_the_first_points_are_resolved(workdir, console):
    """What is not resolved is not said to be missing."""
    numbers = ", ".join(map(str, range(9, 500)))
    sweep = f"sweep: [{{task.vocabulary: [{numbers}], model.d_ff: [{numbers}]}}]"
    claim = "claims: [{id: a, says: b, kind: bound, role: prediction, of: {quantity: gradient_norm, model.d_ff: 499}}]"
    (workdir / "toy.yaml").write_text(f"{SPEC}{sweep}\n{claim}\ntitel: x\n")
    assert console("check", "toy.yaml").code == 2
