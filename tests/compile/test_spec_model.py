"""``lnlab.Spec`` reads, writes and refuses what the YAML reader and ``lnlab check`` do."""

import ast
from pathlib import Path
from typing import Annotated, Any

import jedi
import pytest

import lnlab
from lnlab.compile.check import check_spec
from lnlab.compile.reference.spec_model import spec_model
from lnlab.errors import SpecError
from lnlab.registry import default
from lnlab.specfile.load import load_spec, parse_spec

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.yaml"))
PAIRS = Path(__file__).parents[1] / "fixtures" / "compile"
MODEL = {"kind": "encoder_decoder", "layers": 2, "d_model": 32, "heads": 2, "d_ff": 64}
PIECES = {"task": {"kind": "translation", "corpus": "toy_german_english"}, "model": MODEL}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_spec_is_written_as_it_was_read(path):
    spec = lnlab.Spec.from_yaml(path)
    assert parse_spec(spec.to_yaml(), path).data == load_spec(path).data
    assert lnlab.Spec(**spec.data) == spec
    assert lnlab.Spec.from_yaml(spec.to_yaml()) == spec


@pytest.mark.parametrize(
    ("cell", "completions"),
    [
        ("lnlab.Spec(", {f"{name}=" for name in lnlab.Spec.model_fields}),
        ("lnlab.Spec(opt", {"optimizer="}),
        ("lnlab.Spec.pieces.norm.rms(e", {"eps="}),
        ("lnlab.Spec.pieces.claim.trend(f", {"for_each=", "finish="}),
    ],
)
def test_a_notebook_cell_completes_the_fields(cell, completions):
    found = {each.name for each in jedi.Interpreter(cell, [{"lnlab": lnlab}]).complete()}
    assert found == completions


def test_a_type_checker_knows_the_same_keywords():
    tree = ast.parse((Path(lnlab.__file__).parent / "app" / "spec.py").read_text())
    (init,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    assert {argument.arg for argument in init.args.kwonlyargs} == set(lnlab.Spec.model_fields)


def test_choices_are_models_with_their_defaults():
    spec = lnlab.Spec(**PIECES, norm="rms", optimizer=lnlab.Spec.pieces.optimizer.adam(lr=1e-3), seeds=3)
    assert (spec.norm.kind, spec.norm.eps) == ("rms", 1e-6)
    assert (spec.optimizer.lr, spec.optimizer.beta1) == (1e-3, 0.9)
    assert spec.seeds == (1, 2, 3)
    assert spec.data["optimizer"] == {"kind": "adam", "lr": 1e-3}
    assert spec.data["norm"] == "rms"


def test_a_spec_goes_wherever_a_path_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    probe = {"kind": "gradient_norm"}
    spec = lnlab.Spec(title="Norms", **PIECES, placement="post", seeds=2, probes=[probe])
    (tmp_path / "norms.yaml").write_text(spec.to_yaml())
    assert lnlab.check(spec)[0].runs == lnlab.check("norms.yaml")[0].runs == 2
    assert lnlab.plan(spec).measurements.missing == lnlab.plan("norms.yaml").measurements.missing
    copied = spec.model_copy(update={"seeds": 5})
    assert lnlab.check(copied)[0].runs == 5
    assert lnlab.check(lnlab.Spec.from_yaml("norms.yaml"))[0].runs == 2


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"norm": "rsm"}, "unknown-kind", "norm"),
        ({"norm": {"kind": "rms", "epss": 1}}, "unknown-key", "norm.epss"),
        ({"norm": {"kind": "rms", "eps": "small"}}, "wrong-type", "norm.eps"),
        ({"norm": {"kind": "rms", "eps": -1.0}}, "out-of-range", "norm.eps"),
        ({"norm": 3}, "wrong-type", "norm"),
        ({"model": {"kind": "encoder_decoder", "layers": 2, "d_model": 32, "heads": 2}}, "missing", "model"),
        ({"decoder": {"nrom": "rms"}}, "unknown-key", "decoder.nrom"),
        ({"decoder": {"norm": "rsm"}}, "unknown-kind", "decoder.norm"),
        ({"train": {"stepz": 3}}, "unknown-key", "train.stepz"),
        ({"train": {"steps": -3}}, "out-of-range", "train.steps"),
        ({"probes": [{"kind": "gradient_norm", "batch": 2}]}, "unknown-key", "probes.0.batch"),
        ({"probes": [{"kind": "gradient_norm", "att": "end"}]}, "unknown-key", "probes.0.att"),
        ({"norm": None}, "wrong-type", "norm"),
        ({"lnlab": 1}, "wrong-value", "lnlab"),
        ({"sweep": []}, "wrong-length", "sweep"),
        ({"sweep": [{"norm": []}]}, "wrong-length", "sweep.0.norm"),
        ({"probes": ["gradient_norm"]}, "wrong-type", "probes.0"),
        ({"probes": [{"batches": 2}]}, "missing", "probes.0"),
        ({"report": ["architecture"]}, "wrong-type", "report.0"),
        ({"titel": "A"}, "unknown-key", "titel"),
        ({"interventions": "frieze"}, "unknown-kind", "interventions"),
    ],
)
def test_what_is_wrong_has_the_code_and_path_that_check_gives(changes, code, path):
    data = {"lnlab": 2, "title": "Norms", **PIECES, "placement": "post", **changes}
    with pytest.raises(SpecError) as caught:
        lnlab.Spec(**data)
    (issue,) = caught.value.issues
    assert (issue.code, issue.place) == (code, "spec")
    assert issue.what.startswith(f"{path}: ")
    with pytest.raises(SpecError) as checked:
        lnlab.check(data)
    assert issue in checked.value.issues


CLAIM = {"id": "a", "says": "A.", "kind": "trend", "of": {"quantity": "loss"}, "over": "layer", "direction": "up"}


@pytest.mark.parametrize(
    ("changes", "path"),
    [({"source": 0.5}, "source"), ({"id": None}, "id"), ({"because": {"x": 3}}, "because"), ({"reduce": 3}, "reduce")],
)
def test_what_is_wrong_with_a_claim_in_a_section_is_refused(changes, path):
    report = [{"kind": "curves", "quantity": "loss", "claims": [{**CLAIM, **changes}]}]
    with pytest.raises(SpecError) as caught:
        lnlab.Spec(**PIECES, report=report)
    (issue,) = caught.value.issues
    assert issue.what.startswith(f"report.0.claims.0.{path}")


def test_a_piece_is_constructed_as_its_choice_is_read():
    pieces = lnlab.Spec.pieces
    task = pieces.task.translation(corpus="toy_german_english")
    assert task.corpus.kind == "toy_german_english"
    assert lnlab.Spec(task=task, model=MODEL).data["task"]["corpus"] == {"kind": "toy_german_english"}
    assert lnlab.Spec(**PIECES, norm="rms").norm == pieces.norm.rms()
    assert pieces.section.curves(quantity="loss", claims=[CLAIM]).claims[0].id == "a"


@pytest.mark.parametrize(
    ("choice", "kind", "given", "code", "place"),
    [
        ("optimizer", "adam", {"lr": "fast"}, "wrong-type", "optimizer.lr"),
        ("optimizer", "adam", {"lrr": 1}, "unknown-key", "optimizer.lrr"),
        ("norm", "rms", {"eps": -1.0}, "out-of-range", "norm.eps"),
        ("norm", "rms", {"kind": "layer"}, "wrong-value", "norm.kind"),
        ("task", "translation", {}, "missing", "task"),
        ("task", "translation", {"corpus": "toy_german_englis"}, "unknown-kind", "task.corpus.kind"),
        ("claim", "trend", {**CLAIM, "id": 3}, "wrong-type", "claim.id"),
        (
            "section",
            "curves",
            {"quantity": "loss", "claims": [{**CLAIM, "kind": "trnd"}]},
            "unknown-kind",
            "section.cl",
        ),
    ],
)
def test_what_is_wrong_with_a_piece_is_told_as_check_tells_it(choice, kind, given, code, place):
    with pytest.raises(SpecError) as caught:
        getattr(getattr(lnlab.Spec.pieces, choice), kind)(**given)
    (issue,) = caught.value.issues
    assert issue.code == code
    assert issue.where.startswith(place)


@pytest.mark.parametrize("name", ["wrong_everywhere", "wrong_forms", "wrong_keys", "wrong_names"])
def test_what_a_spec_refuses_check_refuses_at_the_same_place(name, registries):
    document = load_spec(PAIRS / f"{name}.yaml")
    checked = check_spec(document, registries, (), profile=None, overrides=(), files=False)
    with pytest.raises(SpecError) as caught:
        spec_model(registries).from_yaml(document.path)
    refused = {(issue.code, issue.place) for issue in caught.value.issues}
    assert refused <= {(issue.code, issue.place) for issue in checked.issues}


def test_a_piece_of_a_plugin_joins_the_union(registries):
    @registries["norm"].register("mine", statistics="token")
    def mine(width: int, *, sharpness: float = 2.0): ...

    model = spec_model(registries)
    spec = model(
        task={"kind": "translation", "corpus": "toy"}, model={"kind": "encoder_decoder", "layers": 1}, norm="mine"
    )
    assert spec.norm.sharpness == 2.0


def test_what_only_the_sweep_sets_is_not_missing():
    spec = lnlab.Spec(**PIECES, optimizer={"kind": "adam"}, sweep=[{"optimizer.lr": [1e-3, 1e-2]}])
    assert spec.data["optimizer"] == {"kind": "adam"}


def test_nested_choices_of_the_same_registry_are_read(registries):
    @registries["init"].register("after")
    def after(model: Any, draw: Any, *, of: Annotated[Any, registries["init"]] = default("xavier_normal")): ...

    model = spec_model(registries)
    pieces = {"task": {"kind": "translation", "corpus": "toy"}, "model": {"kind": "encoder_decoder", "layers": 1}}
    assert model(**pieces, init={"kind": "after", "of": "after"}).init.of.kind == "after"
    with pytest.raises(SpecError) as caught:
        model(**pieces, init={"kind": "after", "of": {"kind": "after", "of": "xavir_normal"}})
    assert [issue.code for issue in caught.value.issues] == ["unknown-kind"]
