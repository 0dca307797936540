"""A word of a published table that no run has would be compared with nothing: it is refused, once, in its place."""

from typing import Any

import pytest

from lnlab.analyse.convergence.published import Guesses, Printed
from lnlab.errors import SpecError
from lnlab.report.sections.candidates import Candidate

NO_GUESSES: Guesses = {}
SPEC = """\
sweep: [{norm: [layer, rms], placement: [post, pre]}]
claims:
  - id: a
    says: b
    kind: table
    of: {quantity: gradient_norm}
    cells: &cells
      rates: [1, 0.1]
      across: norm
      tables:
        - {name: one, where: {placement: post}, columns: {layer: CC, rms: NC}}
        - {name: two, where: {placement: [pre, sandwich]}, columns: {layer: CC, rms: NC, none: NN}}
    guesses: {half: [{where: {norm: layer, placement: post}, at_most: 0.5}]}
  - {id: c, says: d, kind: table, of: {quantity: gradient_norm}, cells: *cells}
profiles:
  none: {sweep: [{norm: [none, layer], placement: [post, sandwich]}]}
"""


@pytest.fixture(autouse=True)
def table(registries):
    @registries["claim"].register("table", several=True)
    def table(results, *, of: dict[str, Any], cells: Printed, guesses: Guesses = NO_GUESSES): ...

    @registries["placement"].register("sandwich")
    def sandwich(at): ...


def test_words_of_this_profile_and_of_others_are_known(plan, base):
    assert plan(base + SPEC).claims
    assert plan(base + SPEC, profile="none").claims


@pytest.mark.parametrize(
    ("right", "wrong", "what", "remedy"),
    [
        ("{layer: CC, rms: NC}}", "{lyer: CC, rms: NC}}", "unknown key 'lyer': not a value of norm", "'layer'"),
        ("none: NN", "noen: NN", "unknown key 'noen': not a value of norm, the axis named in `across`", "'none'"),
        ("{placement: post}, columns", "{placement: psot}, columns", "no run has placement = psot", "'post'"),
        ("{placement: post}, columns", "{plcement: post}, columns", "unknown key 'plcement'", "'placement'"),
        ("across: norm", "across: nrom", "unknown key 'nrom'", "'norm'"),
        ("{where: {norm: layer,", "{where: {norm: lyer,", "lyer is not a value of norm, the axis named", "'layer'"),
        ("{where: {norm: layer,", "{where: {nrom: layer,", "unknown key 'nrom': no column", "'norm'"),
        ("placement: post}, at", "placement: rpe}, at", "rpe is not a value of placement, in any column", "known: "),
    ],
)
def test_a_misspelt_word_is_refused_once_where_it_stands(plan, base, right, wrong, what, remedy):
    assert SPEC.count(right) == 1
    text = base + SPEC.replace(right, wrong)
    with pytest.raises(SpecError) as caught:
        plan(text)
    (problem,) = caught.value.issues
    line = next(number for number, line in enumerate(text.splitlines(), 1) if wrong in line)
    assert f":{line}:" in problem.where
    assert what in problem.what
    assert remedy in problem.remedy


CANDIDATES = """\
sweep: [{norm: [layer, rms], placement: [post, pre]}]
report:
  - kind: candidates
    candidates:
      - {name: a, where: {norm: layer}, cells: &cells {rates: [1, 0.1], across: placement, tables: [
          {name: one, where: {}, columns: {post: CC, pre: NC}}]}}
      - {name: b, where: {norm: rms}, cells: *cells}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "what"),
    [
        ("{norm: rms}", "{nrom: rms}", "unknown key 'nrom'"),
        ("{norm: layer}", "{norm: lyer}", "no run has norm = lyer"),
    ],
)
def test_a_misspelt_word_of_a_candidate_is_refused_before_anything_runs(plan, base, registries, right, wrong, what):
    @registries["section"].register("candidates")
    def candidates(results, *, candidates: tuple[Candidate, ...]): ...

    assert plan(base + CANDIDATES).sections
    text = base + CANDIDATES.replace(right, wrong)
    with pytest.raises(SpecError) as caught:
        plan(text)
    (problem,) = caught.value.issues
    line = next(number for number, line in enumerate(text.splitlines(), 1) if wrong in line)
    assert f":{line}:" in problem.where
    assert what in problem.what
