"""Claims stand in their section and inherit what it selects; grids have names; one claim may stand for many."""

import pytest

from lnlab.errors import SpecError
from tests.support.toy_specs import PIECES, toy_spec

HEAD = toy_spec(PIECES, seeds=3, probes=[{"kind": "gradient_norm"}])
GRIDS = """\
sweep:
  depth: {placement: [post, pre], model.layers: [2, 4]}
  untied: {placement: [post, pre], model.tied: none}
"""
SECTION = """\
report:
  - kind: depth_profile
    quantity: gradient_norm
    where: {model.layers: 4, stack: decoder, tensor: w2}
    claims:
"""


@pytest.fixture
def claims(plan):
    """The resolved claims of a spec by id."""

    def resolved(text):
        compiled = plan(HEAD + text)
        return dict(zip([claim.id for claim in compiled.experiment.claims], compiled.claims, strict=True))

    return resolved


@pytest.fixture
def problems(plan):
    def reported(text):
        with pytest.raises(SpecError) as error:
            plan(HEAD + text)
        return [str(problem) for problem in error.value.issues]

    return reported


SWEEP = "sweep: [{placement: [post, pre], model.layers: [2, 4]}]\n"
FLAT = "{id: flat, says: It is flat., kind: bound, of: {placement: pre}, over: layer, at_most: 2}"


def test_a_claim_begins_with_what_its_section_selects(claims):
    stated = claims(SWEEP + SECTION + f"      - {FLAT}\n")["flat"]
    selection = "{quantity: gradient_norm, model.layers: 4, stack: decoder, tensor: w2, placement: pre}"
    written_out = FLAT.replace("{placement: pre}", selection)
    assert stated == claims(SWEEP + f"claims:\n  - {written_out}\n")["flat"]


def test_a_key_of_its_own_replaces_an_inherited_one_and_null_takes_it_away(claims):
    claim = FLAT.replace("{placement: pre}", "{placement: pre, tensor: w1, stack: null}")
    of = claims(SWEEP + SECTION + f"      - {claim}\n")["flat"]["of"]
    assert of == {"quantity": "gradient_norm", "model.layers": 4, "tensor": "w1", "placement": "pre"}


@pytest.mark.parametrize(
    ("of", "over"), [("{placement: pre}", "layer"), ("{placement: pre, layer: last}", None)], ids=["open", "pinned"]
)
def test_the_x_of_the_section_is_what_a_claim_goes_over_unless_it_is_pinned(claims, of, over):
    section = SECTION.replace("    where:", "    x: layer\n    where:")
    claim = f"{{id: flat, says: It is flat., kind: bound, of: {of}, at_most: 2}}"
    assert claims(SWEEP + section + f"      - {claim}\n")["flat"]["over"] == over


def test_a_mistake_in_a_claim_of_a_section_is_reported_in_its_line(problems):
    (reported,) = problems(SWEEP + SECTION + f"      - {FLAT.replace('says:', 'sayz:')}\n")
    line = len((HEAD + SWEEP + SECTION).splitlines()) + 1
    assert reported.startswith(f"spec.yaml:{line}:")


def test_one_claim_is_made_for_each_value(claims):
    claim = "{id: flat, says: '{placement} is flat.', kind: bound, for_each: {placement: all}, over: layer, at_most: 2}"
    made = claims(SWEEP + SECTION + f"      - {claim}\n")
    assert {name: stated["of"]["placement"] for name, stated in made.items()} == {
        "flat[post]": "post",
        "flat[pre]": "pre",
    }


@pytest.mark.parametrize("axes", ["{}", "{placement: []}", "placement"])
def test_a_claim_for_each_of_nothing_is_refused_and_does_not_vanish(problems, axes):
    claim = f"{{id: flat, says: It is flat., kind: bound, for_each: {axes}, over: layer, at_most: 2}}"
    reported = problems(SWEEP + SECTION + f"      - {claim}\n")
    line = len((HEAD + SWEEP + SECTION).splitlines()) + 1
    assert any(text.startswith(f"spec.yaml:{line}:") and "for_each: found " in text for text in reported)


def test_a_grid_stands_for_the_axes_that_tell_its_runs_from_others(claims):
    section = SECTION.replace("{model.layers: 4,", "{grid: depth, model.layers: 2,")
    of = claims(GRIDS + section + f"      - {FLAT}\n")["flat"]["of"]
    assert of["model.tied"] == "target"
    assert "grid" not in of


def test_an_unknown_grid_is_refused_with_the_nearest(problems):
    section = SECTION.replace("{model.layers: 4,", "{grid: dept,")
    reported = problems(GRIDS + section + f"      - {FLAT}\n")
    assert all("no grid of the sweep is called 'dept'; did you mean 'depth'?" in problem for problem in reported)


def test_names_of_grids_are_part_of_no_key(plan):
    named = plan(HEAD + GRIDS)
    unnamed = plan(HEAD + GRIDS.replace("depth:", "-").replace("untied:", "-"))
    assert [run.key for run in named.runs] == [run.key for run in unnamed.runs]


def test_a_claim_may_require_another_by_its_id(plan):
    required = FLAT.replace("id: flat", "id: first, role: control")
    claim = FLAT[:-1] + ", requires: first}"
    compiled = plan(HEAD + SWEEP + SECTION + f"      - {required}\n      - {claim}\n")
    (requirement,) = compiled.experiment.claims[1].requires
    assert requirement["kind"] == "bound"
    assert requirement["of"] == compiled.claims[0]["of"]


@pytest.mark.parametrize("required", ["frist", "[frist]"])
def test_a_claim_that_requires_none_that_there_is_names_the_nearest(problems, required, golden):
    first = FLAT.replace("id: flat", "id: first, role: control")
    claim = f"{FLAT[:-1]}, requires: {required}}}"
    (reported,) = problems(SWEEP + SECTION + f"      - {first}\n      - {claim}\n")
    golden(reported)


def test_only_a_claim_of_the_source_is_primary(problems, golden):
    (reported,) = problems(
        SWEEP + SECTION + f"      - {FLAT.replace('id: flat', 'id: flat, role: control, primary: true')}\n"
    )
    golden(reported)


def test_a_claim_about_another_quantity_goes_over_no_column_of_the_section(claims):
    claim = (
        "{id: flat, says: It is flat., kind: bound, of: {quantity: scaled_gradient_norm, placement: pre}, at_most: 2}"
    )
    assert claims(SWEEP + SECTION + f"      - {claim}\n")["flat"]["over"] is None


def test_a_claim_about_another_quantity_goes_over_a_path_as_every_run_has_it(claims):
    section = SECTION.replace("where: {model.layers: 4, ", "x: model.layers\n    where: {")
    of = "{quantity: scaled_gradient_norm, placement: pre, layer: last}"
    claim = f"{{id: flat, says: It is flat., kind: bound, of: {of}, at_most: 2}}"
    assert claims(SWEEP + section + f"      - {claim}\n")["flat"]["over"] == "model.layers"


def test_the_epoch_on_an_axis_is_no_path_and_so_not_what_a_claim_goes_over(claims):
    section = SECTION.replace("    where:", "    x: epoch\n    where:")
    claim = "{id: flat, says: It is flat., kind: bound, of: {placement: pre, layer: last}, at_most: 2}"
    assert claims(SWEEP + section + f"      - {claim}\n")["flat"]["over"] is None
