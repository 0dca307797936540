"""Claims stand in their section and inherit what it selects; grids have names; one claim may stand for many."""

import pytest

from tests.support.refusals import refused
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


OVER_LAYERS = ("where: {model.layers: 4, ", "x: model.layers\n    where: {")


@pytest.mark.parametrize(
    ("x", "of", "over"),
    [
        (("    where:", "    x: layer\n    where:"), "{placement: pre}", "layer"),
        (("    where:", "    x: layer\n    where:"), "{placement: pre, layer: last}", None),
        (OVER_LAYERS, "{quantity: scaled_gradient_norm, placement: pre, layer: last}", "model.layers"),
        # Another quantity has no column of the section, and the epoch on an axis is no path.
        (("", ""), "{quantity: scaled_gradient_norm, placement: pre}", None),
        (("    where:", "    x: epoch\n    where:"), "{placement: pre, layer: last}", None),
    ],
)
def test_the_x_of_the_section_is_what_a_claim_goes_over_unless_it_is_pinned(claims, x, of, over):
    claim = f"{{id: flat, says: It is flat., kind: bound, of: {of}, at_most: 2}}"
    assert claims(SWEEP + SECTION.replace(*x, 1) + f"      - {claim}\n")["flat"]["over"] == over


def test_one_claim_is_made_for_each_value(claims):
    claim = "{id: flat, says: '{placement} is flat.', kind: bound, for_each: {placement: all}, over: layer, at_most: 2}"
    made = claims(SWEEP + SECTION + f"      - {claim}\n")
    assert {name: stated["of"]["placement"] for name, stated in made.items()} == {
        "flat[post]": "post",
        "flat[pre]": "pre",
    }


def test_a_grid_stands_for_the_axes_that_tell_its_runs_from_others(claims):
    section = SECTION.replace("{model.layers: 4,", "{grid: depth, model.layers: 2,")
    of = claims(GRIDS + section + f"      - {FLAT}\n")["flat"]["of"]
    assert of["model.tied"] == "target"
    assert "grid" not in of


def test_a_grid_in_a_requirement_does_so_too(plan):
    needs = "requires: {kind: bound, of: {grid: untied, quantity: gradient_norm, placement: pre}, at_most: 9}"
    section = SECTION.replace("{model.layers: 4,", "{grid: depth, model.layers: 2,")
    (required,) = plan(f"{HEAD}{GRIDS}{section}      - {FLAT[:-1]}, {needs}}}\n").experiment.claims[0].requires
    setting = {"model.layers": 2, "model.tied": "none", "placement": "pre"}
    assert required["of"] == setting | {"quantity": "gradient_norm"}


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


EACH = FLAT.replace("of: {placement: pre}", "for_each: AXES")
FIRST = FLAT.replace("id: flat", "id: first, role: control")


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (SWEEP + SECTION, [FLAT.replace("says:", "sayz:")]),
        *((SWEEP + SECTION, [EACH.replace("AXES", axes)]) for axes in ("{}", "{placement: []}", "placement")),
        (GRIDS + SECTION.replace("{model.layers: 4,", "{grid: dept,"), [FLAT]),
        *((SWEEP + SECTION, [FIRST, f"{FLAT[:-1]}, requires: {required}}}"]) for required in ("frist", "[frist]")),
        (SWEEP + SECTION, [FLAT.replace("id: flat", "id: flat, role: control, primary: true")]),
    ],
)
def test_what_is_wrong_with_a_claim_of_a_section_is_told_in_its_line(plan, text, claims, golden):
    golden(refused(plan, HEAD + text + "".join(f"      - {claim}\n" for claim in claims)))
