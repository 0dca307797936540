"""``lnlab check`` refuses claims that read several sites of a probe where they need one, or none at all."""

from pathlib import Path

import pytest

from lnlab.execute import registry_loader
from lnlab.probes.probe import probes
from tests.support.toy_specs import LANGUAGE_MODEL, toy_spec

PLUGIN = '''
from lnlab.probes.probe import State, probes

@probes.register("pair", table="sites", passes=lambda params: 1.0, quantities=("paired",))
def pair(state: State):
    """``1, 2``: two numbers, of which nobody says beforehand what tells them apart."""
    for index in (1, 2):
        yield {"quantity": "paired", "index": index, "value": float(index)}
'''
CLAIM = "  - {id: added, says: It holds., CLAIM}\nprofiles:\n"


@pytest.fixture
def claiming(console, tiny):
    """Check the tiny spec with one more claim, and give what was said of it with the column of a text in its line."""
    text = tiny.read_text()
    probe = "  - {kind: gradient_norm, at: init, batches: 1}\n"
    stream = "  - {kind: hidden_norm, at: init, batches: 1}\n"

    def check(claim, *arguments, probes=probe + stream):
        tiny.write_text(text.replace(probe, probes).replace("profiles:\n", CLAIM.replace("CLAIM", claim)))
        lines = tiny.read_text().splitlines()
        number = next(n for n, line in enumerate(lines, 1) if "id: added" in line)
        return console(
            "check", "tiny.yaml", *arguments
        ), lambda word: f"tiny.yaml:{number}:{lines[number - 1].index(word) + 1}"

    return check


W2 = "quantity: gradient_norm, tensor: w2, layer: last"


def test_a_claim_that_leaves_a_site_in_each_stack_is_refused_where_it_stands(claiming):
    said, at = claiming(f"kind: ratio, of: {{{W2}, placement: post}}, to: {{placement: pre}}, at_least: 1")
    assert (said.code, said.err.count("claims.added")) == (2, 1)
    assert f"{at('{quantity')}: claims.added.of: " in said.err


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_run_and_plan_refuse_what_check_refuses_before_work_begins(lnlab, claiming, verb, workdir):
    checked, at = claiming(f"kind: bound, of: {{stack: decoder, {W2}, placement: post, step: 9999}}, at_most: 3")
    assert (checked.code, f"{at('9999')}: claims.added.of.step: " in checked.err) == (2, True)
    said = lnlab(verb, "tiny.yaml")
    assert (said.code, said.err) == (2, checked.err.partition("\n")[0] + "\n")
    assert not list(workdir.rglob("*.parquet"))


def test_what_is_told_apart_or_needs_not_be_passes(claiming, plugged):
    """The completed claim, sides that inherit, every sample of a bound, and what does not follow from the model."""
    sides = f"of: {{stack: decoder, {W2}, placement: post}}, to: {{placement: pre}}"
    pair = "  - {kind: gradient_norm, at: init, batches: 1}\n  - {kind: pair, at: init}\n"
    for claim, measured in (
        (f"kind: ratio, {sides}, at_least: 1", None),
        (f"kind: interaction, {sides}, less: {{layer: first}}, at_least: 0", None),
        ("kind: bound, of: {quantity: gradient_norm, placement: post}, exact: true, at_most: 1", None),
        ("kind: bound, of: {quantity: paired, placement: post}, at_most: 1", pair),
        (f"kind: bound, of: {{{W2}, step: 0, value: 3, placement: post}}, at_most: 1", None),
    ):
        said, _ = claiming(claim, "--with", "pair.py", **({"probes": measured} if measured else {}))
        assert (said.code, said.err) == (0, ""), claim


def test_the_place_of_an_ambiguity_is_the_side_that_has_it(claiming):
    sides = f"of: {{stack: decoder, {W2}, placement: post}}, to: {{placement: pre}}, less: {{tensor: q}}"
    said, at = claiming(f"kind: interaction, {sides}, at_least: 0")
    assert f"{at('{tensor')}: claims.added.less: leaves 2 sites" in said.err


@pytest.mark.parametrize(
    ("claim", "where"),
    [
        ("kind: bound, of: {OF, tensor: w2}, over: layer, reduce: mean, at_most: 1", "of"),
        ("kind: bound, of: {OF, tensor: table}, at_most: 1", "of"),
        ("kind: bound, of: {OF, tensor: q, stack: decoder}, each: [layer], at_most: 1", "of"),
        ("kind: order, of: {OF, tensor: q, layer: 1}, over: stack, order: encoder < decoder", "of"),
        ("kind: everywhere, of: {OF, layer: 1, tensor: w2}, at_least: 0", "of"),
        (
            "kind: bound, of: {quantity: paired, placement: post}, "
            "requires: {kind: bound, of: {OF, tensor: w2, layer: 1}, at_most: 1}, "
            "at_most: 1",
            "requires.0.of",
        ),
    ],
)
def test_what_the_claim_varies_over_is_no_ambiguity_and_all_else_is(claiming, plugged, claim, where):
    of = "quantity: gradient_norm, placement: post"
    probes = "  - {kind: gradient_norm, at: init, batches: 1}\n  - {kind: pair, at: init}\n"
    said, _ = claiming(claim.replace("OF", of), "--with", "pair.py", probes=probes)
    assert said.code == 2
    assert f" claims.added.{where}: " in said.err


@pytest.mark.parametrize(
    ("of", "key", "where"),
    [
        ("quantity: gradient_norm, stack: encoder, sublayer: cross_attention", "cross_attention", "sublayer"),
        ("quantity: gradient_norm, stack: decoder, layer: 1, tensor: scale", "scale", "tensor"),
        ("quantity: hidden_norm_sq, stack: decoder, sublayer: final_norm, tensor: sum", "sum", "tensor"),
    ],
)
def test_a_site_that_no_model_has_is_refused_and_those_there_are_named(claiming, of, key, where):
    said, at = claiming(f"kind: bound, of: {{{of}, placement: pre}}, at_most: 1")
    assert said.code == 2
    assert f"{at(key)}: claims.added.of.{where}: " in said.err


def test_an_x_that_no_selected_site_has_and_a_claim_without_a_range_are_refused(claiming):
    said, _ = claiming(
        "kind: bound, of: {quantity: gradient_norm, tensor: table, placement: pre}, "
        "over: layer, reduce: max, at_least: 1"
    )
    assert " claims.added.over: " in said.err
    said, at = claiming(f"kind: power_law, of: {{stack: decoder, {W2}, placement: post}}, over: model.layers")
    assert said.code == 2
    assert f"{at('{id')}: claims.added: " in said.err


def test_a_profile_may_leave_a_claim_without_sites(claiming, lnlab):
    claim = (
        "kind: bound, of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: 2, placement: post}, at_most: 9"
    )
    assert claiming(claim)[0].code == 0
    assert lnlab("check", "tiny.yaml", "-s", "model.layers=1").code == 0


@pytest.mark.parametrize(
    ("probe", "of", "where"),
    [
        ("gradient_norm, batches: 1, biases: true", W2, "of"),
        ("gradient_norm, batches: 1", "quantity: gradient_growth, tensor: w2, layer: 2", "of"),
        ("gradient_norm, batches: 1", f"stack: decoder, {W2}, step: 999999", "of.step"),
        ("hidden_norm, batches: 1", "quantity: branch_gain", "of"),
        ("attention_logits", "quantity: attention_entropy, stack: encoder, layer: 1", "of"),
        ("hidden_norm, batches: 1", "quantity: hidden_norm, stack: decoder, layer: 7, tensor: out", "of.layer"),
    ],
)
def test_derived_numbers_heads_and_steps_are_judged_before_they_are_computed(claiming, probe, of, where):
    gradients = "  - {kind: gradient_norm, at: init, batches: 1}\n" if "gradient_norm" not in probe else ""
    probes = f"{gradients}  - {{kind: {probe}, at: init}}\n"
    said, at = claiming(f"kind: bound, of: {{{of}, placement: post}}, at_most: 1", probes=probes)
    assert said.code == 2
    assert f" claims.added.{where}: " in said.err
    assert f"tiny.yaml:{at('{id').split(':')[1]}:" in said.err


@pytest.fixture
def plugged(tiny, monkeypatch):
    """A probe of somebody else's, which states no sites."""
    monkeypatch.setattr(probes, "_entries", dict(probes.entries))
    registry_loader._load_once.cache_clear()
    tiny.with_name("pair.py").write_text(PLUGIN)


REST = """\
probes:
  - {kind: hessian_spectrum, at: [init, end], draws: 2, steps: 4, batches: 1}
  - {kind: parameter_size, at: {every: 20}}
  - {kind: displacement, at: {every: 40}}
claims:
  - {id: a, says: b, kind: bound, of: OF, at_most: 3}
"""
STEPS = toy_spec(LANGUAGE_MODEL, REST, seeds=3, optimizer={"kind": "adam", "lr": 0.003}, train={"steps": 40})


@pytest.mark.parametrize(
    ("of", "steps"),
    [
        ("{quantity: largest_eigenvalue}", "0, 40"),
        ("{quantity: parameter_rms, layer: 1, sublayer: feed_forward, tensor: w2}", "0, 20, 40"),
        ("{quantity: largest_eigenvalue, step: last}", ""),
        ("{quantity: largest_eigenvalue, step: 0}", ""),
        ("{quantity: total_displacement, step: last}", ""),
        ("{quantity: final_nll}", ""),
        ("{quantity: nll, split: validation, step: last}", ""),
    ],
)
def test_a_number_of_several_steps_is_refused_before_it_is_computed(lnlab, workdir, of, steps):
    Path("steps.yaml").write_text(STEPS.replace("OF", of))
    found = lnlab("check", "steps.yaml")
    if not steps:
        assert found.code == 0, found.err
    else:
        assert found.code == 2
        assert f"step ({steps})" in found.err
        assert "steps.yaml:14:" in found.err
