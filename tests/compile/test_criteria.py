"""The criterion of a claim: what it is about, the value that it names, whose its margin is, and its looks."""

from pathlib import Path

import pytest

from lnlab.compile.check import check_spec
from lnlab.report.question import claims_with_choices
from lnlab.specfile.load import parse_spec
from tests.compile.conftest import LNLAB
from tests.support.toy_specs import PIECES, toy_spec

REST = """\
LOOKS
sweep: [{placement: [post, pre], model.layers: [2, 4, 6, 8]}]
probes: [{kind: gradient_norm, at: end}]
claims:
  - {id: it, says: b, CLAIM}
"""
SPEC = toy_spec(
    PIECES,
    REST,
    task={"corpus": "toy_german_english", "vocabulary": 300},
    model={"d_model": 32, "heads": 2, "d_ff": 64},
    optimizer={"kind": "adam", "lr": 1e-3},
    train={"steps": 10},
    seeds=10,
)
OF = "of: {quantity: gradient_norm, stack: decoder, layer: 1, sublayer: feed_forward, tensor: w2, placement: post}"
ONE = OF.replace("placement: post", "placement: post, model.layers: 2")
RATIO = f"kind: ratio, {ONE}, to: {{placement: pre}}"
TREND = f"kind: trend, {ONE.replace('layer: 1, ', '')}, over: layer, direction: up"
DIFFERENCE = RATIO.replace("ratio", "difference", 1)
INTERACTION = f"kind: interaction, {ONE}, to: {{placement: pre}}, less: {{model.layers: 4}}"
LAW = f"kind: power_law, {OF}, over: model.layers"
ORDER = f"kind: order, {ONE.replace('placement: post, ', '')}, over: placement"
LEAD = f'{ORDER}, order: "post <= pre", delta: -0.1, margin: ours'
LEARNED = "of: {quantity: learned_fraction, placement: post, model.layers: 2, reference: best}"
ACCURACY = "of: {quantity: accuracy, placement: post, model.layers: 2, step: last}"


def problems(claim, looks=""):
    text = SPEC.replace("CLAIM", claim).replace("LOOKS\n", looks and f"{looks}\n")
    checked = check_spec(parse_spec(text, Path("q.yaml")), LNLAB, (), profile=None, overrides=(), files=False)
    whole = [f"{p.what}; {p.remedy}" for p in checked.issues]
    return [(text.partition(":")[0].rpartition(".")[2], text) for text in whole]


@pytest.mark.parametrize(
    ("claim", "place", "words"),
    [
        (f"kind: status, {LEARNED}, at_least: 0.9, law: 0.5", "law", "no such value"),
        (f"{LAW}, exponent: -0.5, law: 0.5", "law", "exponent names -0.5 already"),
        (f"{RATIO}, equals: 1, law: 2", "law", "equals names 1 already"),
        (f"{RATIO.replace('pre}', 'pre, layer: 2}')}, each: [layer], at_least: 2", "each", "'to' sets layer"),
        (f"{RATIO}, at_least: 2, zone: 1.5", "zone", "belongs to a margin of ours"),
        (f"{RATIO}, at_least: 2, margin: ours, zone: 0.5", "zone", "a factor above 1"),
        (f"{RATIO}, at_least: 2, margin: ours, zone: 3", "zone", "reaches beyond the margin"),
        (f"{RATIO}, at_least: 2, margin: ours, no_effect: 3", "no_effect", "lies within the accepted range"),
        (f"{RATIO}, at_most: 0.5, margin: ours, no_effect: 0.4", "no_effect", "lies within the accepted range"),
        (f"{TREND}, at_least: 2, margin: ours, zone: 0.5", "zone", "a factor above 1"),
        (f"{DIFFERENCE}, at_least: -0.5, margin: ours, zone: 0.1", "zone", "is not known here; add no_effect"),
        (f"{RATIO}, between: [0.5, 2], margin: ours, zone: 1.1", "zone", "a range with one edge"),
        (f"kind: bound, {ONE}, at_least: 2, margin: ours, zone: 1", "zone", "is not known here; add no_effect"),
        (f"kind: printed_mean, {ONE}, mean: 2, draws: 3, margin: ours", "margin", "has no margin"),
        (f'{ORDER}, order: "post < pre", margin: ours', "margin", "only in <= and ~"),
        (f'{ORDER}, order: "post ~ pre", delta: 0.1, margin: ours, zone: 0.1', "zone", "in which one value leads"),
        (f"{RATIO}, equals: 1, role: source, source: 'Table 2; the factor is ours'", "source", "margin: ours"),
        (f"{RATIO}, equals: 1, margin: source, source: 'Our own derivation'", "source", "it says 'Our own'"),
        (f'{ORDER}, order: "post ~ pre", delta: -0.1', "delta", "no two values are alike"),
        (f"{RATIO}, between: [2, 0.5]", "between", "2 is above 0.5; write the lower end first"),
        (f"kind: ratio, {ONE}, to: {{placement: post}}, at_least: 2", "to", "both sides are the same runs"),
        (f"kind: difference, {ONE}, to: {{model.layers: 2}}, at_least: 2", "to", "both sides are the same runs"),
        (f"kind: ratio, {ONE}, to: {{placement: [post]}}, at_least: 2", "to", "both sides are the same runs"),
        (f"{LEAD}, no_effect: 0", "no_effect", "leave it out"),
        (f"{LEAD}, scale: linear, zone: 0.2", "zone", "reaches beyond the margin, to -0.2 for -0.1"),
        (f"{LEAD}, scale: log, zone: 0.9", "zone", "a factor above 1"),
        (f"{LEAD}, scale: log, zone: 1.2", "zone", "reaches beyond the margin"),
        (f"kind: status, {LEARNED}, at_least: 0.9, about: mean", "about", "write share"),
        (f"kind: bound, {LEARNED}, at_least: 0.9, about: mean", "about", "write share or median"),
        (f"kind: bound, {ACCURACY}, at_least: 0.95, about: mean", "about", "within 0.05 of a bound"),
        (f"kind: bound, {ACCURACY}, between: [0.05, 0.5], about: mean", "about", "within 0.05 of a bound"),
        (f"{RATIO}, at_least: 2, looks: [3, 5]", "looks", "10 seeds, and the last declared look is at 5"),
        (f"{RATIO}, at_least: 2, looks: [5, 3]", "looks", "ascending order"),
        (f"{RATIO}, at_least: 2, looks: 2", "looks", "write 1, open, or the numbers of seeds"),
        (f"{RATIO}, at_least: 2, looks: true", "looks", "write 1, open, or the numbers of seeds"),
        (f"{RATIO}, at_least: 2, law: [1]", "law", "a number"),
        (
            f"{RATIO}, at_least: 2, requires: {{{RATIO}, at_least: 1, about: most}}",
            "about",
            "'mean', 'median' or 'share'",
        ),
        (f"{RATIO}, at_least: 2, requires: {{{RATIO}, at_least: 1, zone: 2}}", "zone", "belongs to a margin of ours"),
        (f"{RATIO}, at_least: 2, law: one", "law", "write the value that the sentence names"),
        (f"{RATIO}, at_least: 2, finish: 1.5", "finish", "a number of at most 1"),
    ],
)
def test_a_criterion_that_its_kind_cannot_be_judged_by_is_refused(claim, place, words):
    found = problems(claim)
    assert [(where, words in message) for where, message in found] == [(place, True)], found


@pytest.mark.parametrize(
    "claim",
    [
        f"{RATIO}, at_least: 2, margin: ours, zone: 1.4, law: 3, about: median, finish: 1, looks: [5, 10]",
        f"{RATIO}, at_most: 0.5, margin: ours, zone: 1.4",
        f"{RATIO}, equals: 1, law: 1, margin: ours",
        f"{LEAD}, scale: linear, zone: 0.05",
        f"{LEAD}, scale: log, zone: 1.05",
        f"{LEAD}, zone: 0.05",
        f"kind: bound, {ONE}, at_least: 2, margin: ours, no_effect: 0, zone: 1",
        f"kind: bound, {ACCURACY}, at_least: 0.95, about: median, looks: open",
        f"kind: bound, {ACCURACY}, at_least: 0.9, about: mean",
        f"kind: bound, {ACCURACY}, at_least: 0.95",
        f"{LAW}, at_most: -0.3, law: -0.5, margin: ours, zone: 0.1",
        f"{TREND}, at_least: 1.5, margin: ours",
        f"{DIFFERENCE}, at_least: 0.5, margin: ours",
        f"{INTERACTION}, at_least: 0.5, margin: ours",
        f"{INTERACTION}, at_least: 0, part: 0.5, margin: ours",
        f"{DIFFERENCE}, at_most: 0.02, margin: ours",
        f"{LAW}, at_least: -0.5, margin: ours, larger_is: worse",
        f"{TREND}, at_least: 0.9, margin: ours",
        f"kind: bound, {ONE}, at_least: 2, margin: ours",
        f"kind: status, {LEARNED}, at_least: 0.9, margin: ours",
        f'{ORDER}, order: "post <= pre", delta: 0.1, margin: ours',
        f'{ORDER}, order: "post ~ pre", delta: 0.1, margin: ours',
        f"{RATIO}, equals: 1, margin: ours, source: 'Table 2; the factor is ours'",
        f"{RATIO}, equals: 1, role: prediction, source: 'Our own derivation'",
        f"{RATIO}, equals: 1, source: 'Table 2; ours is another corpus'",
    ],
)
def test_a_criterion_that_fits_passes(claim):
    assert problems(claim) == []


def test_the_looks_of_a_spec_are_those_of_claims_without_their_own():
    claims = f"{RATIO}, at_least: 2}}\n  - {{id: other, says: c, looks: [5, 10], {RATIO}, at_least: 3"
    text = SPEC.replace("CLAIM", claims).replace("LOOKS", "looks: open")
    checked = check_spec(parse_spec(text, Path("q.yaml")), LNLAB, (), profile=None, overrides=(), files=False)
    pairs = zip(checked.experiment.claims, (claim.choice for claim in checked.requests.claims), strict=True)
    assert [claim["looks"] for claim in claims_with_choices(checked.experiment, pairs)] == ["open", [5, 10]]
