"""A method is a name and nothing else: it is told in the plan, and no key knows of it."""

import pytest

from lnlab.errors import SpecError
from tests.support.refusals import refused

METHODS = "methods: {A: {placement: post}, B: {placement: pre, norm.eps: 2, norm: rms}, C: {encoder.norm: rms}}\n"
NAMED = METHODS + "sweep: [{method: [A, B], model.layers: [2, 4], except: [{method: A, model.layers: 4}]}]\n"
PLAIN = """\
sweep:
  - {placement: [post], model.layers: [2]}
  - {placement: [pre], norm: [{kind: rms, eps: 2}], model.layers: [2, 4]}
"""
CLAIM = "claims: [{id: a, says: b, kind: bound, of: {quantity: gradient_norm, OF}, at_most: 3, over: OVER}]\n"


def keys(plan):
    measured = [m.key for t in plan.trajectories for m in t.measurements]
    return [run.key for run in plan.runs], list(plan.settings), measured


def test_a_named_sweep_has_the_keys_of_the_same_sweep_without_names(plan, base):
    named, plain = plan(base + NAMED), plan(base + PLAIN)
    assert keys(named) == keys(plain)
    assert named.settings == plain.settings
    assert named.axes == ("method", "model.layers")
    assert [tuple(point.values()) for point in named.points.values()] == [("A", 2), ("B", 2), ("B", 4)]


def test_another_name_changes_no_key(plan, base):
    other = plan(base + NAMED.replace("A", "Another one (2020)"))
    assert keys(other) == keys(plan(base + NAMED))
    assert next(iter(other.points.values()))["method"] == "Another one (2020)"


def test_a_name_may_come_back_in_another_grid_and_for_the_same_point(plan, base):
    found = plan(base + METHODS + "sweep: [{method: [A], model.layers: [2, 4]}, {method: [A, B], model.layers: [4]}]\n")
    assert [tuple(point.values()) for point in found.points.values()] == [("A", 2), ("A", 4), ("B", 4)]


def test_what_a_method_leaves_alone_is_what_the_base_and_overrides_say(plan, base):
    found = plan(base + NAMED, overrides=("norm={kind: layer, eps: 3}",))
    assert [setting["encoder"]["norm"]["eps"] for setting in found.settings.values()] == [3, 2, 2]


WHOLE = "profiles: {p: {methods: {A: {placement: post}, B: {placement: pre, norm: rms, norm.eps: 4}, C: {}}}}\n"


@pytest.mark.parametrize("lines", ["methods.B.norm.eps: 4", "methods.B.norm: {kind: rms, eps: 4}"])
def test_a_profile_sets_one_path_of_a_method(plan, base, lines):
    one = plan(base + NAMED + f"profiles: {{p: {{{lines}}}}}\n", profile="p")
    assert keys(one) == keys(plan(base + NAMED + WHOLE, profile="p"))
    assert keys(one) == keys(plan(base + NAMED, overrides=(lines.replace(": ", "=", 1),)))
    assert keys(one) != keys(plan(base + NAMED))


def test_the_name_of_such_a_method_may_have_dots_commas_and_spaces(plan, base):
    text = base + NAMED.replace("B", '"v1.0, late"')
    found = plan(text, overrides=("methods.v1.0, late.norm.eps=4",))
    assert [setting["encoder"]["norm"].get("eps") for setting in found.settings.values()] == [1e-5, 4, 4]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("methods.D.norm.eps: 4", "unknown-name"),
        ("methods.B: 4", "unknown-name"),
        ("methods.B.nrom.eps: 4", "unknown-key"),
        ("methods.B.norm.epss: 4", "unknown-key"),
    ],
)
def test_what_is_wrong_in_it_stands_at_its_line(plan, base, line, code):
    text = base + NAMED + f"profiles:\n  p:\n    {line}\n"
    for profile in ("p", None):
        with pytest.raises(SpecError) as caught:
            plan(text, profile=profile)
        (issue,) = caught.value.issues
        assert (issue.code, issue.where.split(":")[1]) == (code, "12")


@pytest.mark.parametrize(
    ("of", "over"),
    [
        ("method: A", "layer"),
        ("method: B", "model.layers"),
        ("model.layers: 2", "method"),
        ("method: [A, B], model.layers: 2", "method"),
    ],
)
def test_selections_and_claims_name_methods(plan, base, of, over):
    assert plan(base + NAMED + CLAIM.replace("OF", of).replace("OVER", over)).claims


PROFILE = "profiles: {p: {methods: {A: {placement: pre}, B: {placement: post, norm: rms, norm.eps: EPS}}}}\n"


def test_a_profile_replaces_the_methods_whole(plan, base):
    found = plan(base + NAMED + PROFILE.replace("EPS", "4"), profile="p")
    placements = [setting["encoder"]["placement"]["kind"] for setting in found.settings.values()]
    assert placements == ["pre", "post", "post"]
    assert [setting["encoder"]["norm"].get("eps") for setting in found.settings.values()] == [1e-05, 4, 4]


def test_what_is_wrong_with_a_replaced_method_is_told_where_the_profile_says_it(plan, base):
    text = base + NAMED + PROFILE.replace("EPS", "wide")
    with pytest.raises(SpecError) as caught:
        plan(text, profile="p")
    line = text[: text.index("profiles:")].count("\n") + 1
    assert {problem.where.split(":")[1] for problem in caught.value.issues} == {str(line)}


def test_all_stands_for_every_method_in_the_order_of_the_spec(plan, base):
    listed = plan(base + METHODS + "sweep: [{method: [A, B, C], model.layers: [2, 4]}]\n")
    for written in ("all", "[all]"):
        found = plan(base + METHODS + f"sweep: [{{method: {written}, model.layers: [2, 4]}}]\n")
        assert keys(found) == keys(listed)
        assert list(found.points.values()) == list(listed.points.values())


def test_a_method_that_is_called_all_is_that_one(plan, base):
    found = plan(base + METHODS.replace("C:", "all:") + "sweep: [{method: all}]\n")
    assert [point["method"] for point in found.points.values()] == ["all"]


ALL = "sweep: [{method: all}]\n"


@pytest.mark.parametrize(
    ("methods", "arguments"),
    [
        *((NAMED, [f"method={value}"]) for value in ("[]", "D")),
        *((NAMED, given) for given in (["placement=pre", "method=A"], ["norm.eps=3", "method=B"], ["methods.A=3"])),
        (NAMED, ["methods={A: {placement: pre}}"]),
        (METHODS, ["method=A"]),
        ("norm: layer\n" + METHODS + "sweep: [{method: [C]}]\n", []),
        (METHODS.replace("placement: post", "plcement: post") + ALL, []),
        (ALL, []),
    ],
)
def test_what_means_nothing_is_refused(plan, base, methods, arguments, golden):
    text = base.replace("placement: post\n", "" if methods == NAMED else "placement: post\n")
    golden(refused(plan, text + methods, overrides=arguments))
