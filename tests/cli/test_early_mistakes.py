"""``check`` tells mistakes of the grammar before it imports any piece, and everything else all the same."""

import io
import subprocess
import sys

import pytest

from lnlab.app.planning.checks import early_mistakes
from lnlab.app.request import Request
from lnlab.cli import main
from lnlab.cli.codes import WRONG
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
MISSPELT = {
    "normm: layer": "normm: unknown key 'normm'; did you mean 'norm'?",
    "profiles: {quick: {seed: 3}}": "unknown key 'seed'; did you mean 'seeds'?",
    "report: [{kind: table, quantity: gradient_norm, claims: [{kind: bound, says: b, of: {}}]}]": "'id' is required",
    "a: &a [1]\nb: *c": "alias",
}


def checked_alone(*files):
    """What ``check`` says in a process of its own, and which heavy packages it imports."""
    code = (
        "import sys; from lnlab.cli import main\n"
        f"sys.argv[1:] = {['check', *map(str, files)]!r}; main()\n"
        "print({'torch', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.splitlines(), done.stdout.splitlines()


def test_a_length_that_only_torch_can_count_is_no_mistake(tmp_path):
    spec = tmp_path / "long.yaml"
    spec.write_text(toy_spec(SMALLEST, seeds=2, train={"tokens_per_parameter": 0.5}))
    told, (ok, *_) = checked_alone(spec)
    assert (told, ok) == ([], f"{spec}: default: ok: 2 runs, 1 model, 0 claims")


@pytest.mark.parametrize("line", MISSPELT)
def test_the_grammar_is_told_without_torch(tmp_path, line):
    spec = tmp_path / "toy.yaml"
    spec.write_text(f"{SPEC}{line}\n")
    told, imported = checked_alone(spec)
    assert any(MISSPELT[line] in one for one in told)
    assert imported == ["set()"]


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("vocabulary: 10", "vocabularyy: 10", "task.vocabularyy"),
        ("seeds: 2", "seeds: 2\ntrain: {stepz: 3}", "train.stepz"),
        ("norm: layer", "norm: layerr", "norm"),
        ("vocabulary: 10", "vocabulary: -1", "task.vocabulary"),
        ("seeds: 2", "seeds: 2\nprofiles: {quick: {model.layers: 0}}", "model.layers"),
    ],
)
def test_a_mistake_in_a_piece_of_the_setting_is_told_as_early(tmp_path, right, wrong, place):
    spec = tmp_path / "toy.yaml"
    spec.write_text(SPEC.replace(right, wrong))
    told, imported = checked_alone(spec)
    assert told
    assert all(f": {place}: " in one for one in told)
    assert imported == ["set()"]


def test_what_follows_from_a_misspelt_key_is_not_told(tmp_path, capsys):
    spec = tmp_path / "toy.yaml"
    spec.write_text(SPEC + "trainn: {steps: 3}\noptimizer: {kind: adam, lr: 1e-3}\nschedule: constant\n")
    assert main(["check", str(spec)]) == WRONG
    (told,) = capsys.readouterr().err.splitlines()
    assert "unknown key 'trainn'; did you mean 'train'?" in told


def test_what_builds_no_model_imports_no_torch_in_a_process_of_its_own(tmp_path, capsys):
    """And says what it says in a process that has torch."""
    spec = tmp_path / "toy.yaml"
    spec.write_text(SPEC.replace("norm: layer", "norm: layerr").replace("seeds: 2", "seed: 2"))
    commands = [["check", str(spec)], ["list", "norm", "layer", "--json"], ["list", "--json"]]
    code = (
        "import sys; from lnlab.cli import main\n"
        f"for words in {commands!r}: sys.argv[1:] = words; main()\n"
        "sys.exit(str({'torch', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    for words in commands:
        main(words)
    here = capsys.readouterr()
    assert (done.stdout, done.stderr) == (here.out, here.err + "set()\n")
    assert absent_packages() == (), "this process goes on"


def test_a_mistake_keeps_other_profiles_from_being_built_and_no_other_spec(tmp_path, capsys):
    wrong, right = tmp_path / "wrong.yaml", tmp_path / "right.yaml"
    wrong.write_text(SPEC.replace("seeds: 2", "seeds: x\nprofiles: {quick: {seeds: 2}}"))
    right.write_text(SPEC.replace("vocabulary: 10", "vocabulary: 40"))
    assert main(["check", str(wrong), str(right)]) == WRONG
    said = capsys.readouterr()
    assert [line.partition(": ok")[0] for line in said.out.splitlines()] == [f"{right}: default"]
    assert said.err.startswith(f"{wrong}:")


def test_each_mistake_is_told_once_and_those_of_pieces_as_well(tmp_path, console):
    spec = tmp_path / "toy.yaml"
    spec.write_text(SPEC.replace("norm: layer", "norm: layerr").replace("seeds: 2", "seed: 2"))
    told = console.refused("check", spec, lines=2).splitlines()
    assert ["layerr" in told[0], "seed" in told[1]] == [True, True]


def test_a_spec_is_read_from_standard_input_with_places_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    right = SPEC.replace("vocabulary: 10", "vocabulary: 40")
    for text, code in ((right, 0), (right.replace("seeds: 2", "seed: 2"), WRONG)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["check", "-"]) == code
    said = capsys.readouterr()
    assert said.out.startswith("<standard input>: default: ok: 2 runs")
    line = SPEC.splitlines().index("seeds: 2") + 1
    assert said.err.startswith(f"<standard input>:{line}:1: ")


def test_a_spec_without_mistakes_has_none_of_the_grammar(tmp_path):
    spec = tmp_path / "toy.yaml"
    spec.write_text(SPEC)
    assert early_mistakes([Request(spec)]) == [[]]


def test_of_a_large_sweep_with_a_flawed_grammar_only_the_first_points_are_resolved(tmp_path, capsys):
    spec = tmp_path / "toy.yaml"
    sweep = "sweep: [{task.vocabulary: [RANGE], model.d_ff: [RANGE]}]".replace(
        "RANGE", ", ".join(map(str, range(9, 500)))
    )
    claim = "claims: [{id: a, says: b, kind: bound, role: prediction, of: {quantity: gradient_norm, model.d_ff: 499}}]"
    spec.write_text(f"{SPEC}{sweep}\n{claim}\ntitel: x\n")
    assert main(["check", str(spec)]) == WRONG
    told = capsys.readouterr().err
    assert "unknown key 'titel'" in told
    assert "no run has" not in told  # what is not resolved is not said to be missing
