"""What could not be judged or drawn is refused where it stands, before any run; what a profile leaves out is not."""

from dataclasses import replace

import pytest

from lnlab.app.planning.checks import check_profiles, check_request
from lnlab.app.rehearsal import judgeable
from lnlab.app.rehearsal.judgeable import Rehearsals, require_judgeable, seeds_judged
from lnlab.app.request import Request, compile_request
from lnlab.errors import LabError
from lnlab.probes.probe import probes

SPEC = """\
lnlab: 2
title: Norms
model: {kind: encoder_decoder, layers: 2, d_model: 8, d_ff: 8, heads: 2}
task: {kind: translation, corpus: {kind: toy_german_english, train: 200, validation: 20}, vocabulary: 200}
init: xavier_normal
"""
SWEEP = "sweep: {both: {placement: [post, pre], model.layers: [2, 4]}}\nseeds: 6\n"
PROBES = "probes: [{kind: gradient_norm, at: init, batches: 1}]\n"
TRAINS = "optimizer: {kind: adam, lr: 1e-3}\ntrain: {steps: 9, evaluate: {every: 3}}\n"
RATES = "sweep: {rates: {placement: [post, pre], optimizer.lr: [1e-4, 1e-3]}}\nseeds: 6\n"
SITE = "quantity: gradient_norm, stack: encoder, sublayer: feed_forward, tensor: w2"
LEVELS = "sweep: {depths: {placement: [post, pre], model.layers: [2, 3, 4, 6]}}\nseeds: 6\n"
METHODS = "methods: {A: {placement: post}, B: {placement: pre}}\nsweep: {m: {method: [A, B], model.layers: [2, 4]}}\n"
METHODS += "seeds: 6\n"
CHOSEN = "choose: {optimizer.lr: best, seeds: [11], times: [0.5, 1]}\n"
PHI = "quantity: learned_fraction, placement: post, model.layers: 2"
ONE = "sweep: {one: {placement: [post, pre]}}\nseeds: 3\n"
STREAM = "probes: [{kind: gradient_norm, at: init, batches: 1}, {kind: hidden_norm, at: init, batches: 1}]\n"
PAIR = "probes: [{kind: gradient_norm, at: init, batches: 1}, {kind: pair, at: init}]\n"
W2 = "quantity: gradient_norm, tensor: w2, layer: last"
SIDES = f"of: {{stack: decoder, {W2}, placement: post}}, to: {{placement: pre}}"


def stating(words):
    """One claim as a spec writes it."""
    return f"claims:\n  - {{id: a, says: It is small., {words}}}\n"


def claim(of, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return stating(f"kind: bound, at_most: 3, of: {{{of}}}{extra}")


def law(of, kind="power_law", over="model.layers", limit="at_most: 1"):
    return LEVELS + PROBES + stating(f"kind: {kind}, over: {over}, {limit}, of: {{{SITE}, placement: post, {of}}}")


TREND = {"kind": "trend", "limit": "at_least: 2, direction: up"}


def probed(probe, of):
    """A claim about a number of one probe, beside gradients."""
    gradients = "" if "gradient_norm" in probe else "{kind: gradient_norm, at: init, batches: 1}, "
    return f"{ONE}probes: [{gradients}{{kind: {probe}, at: init}}]\n" + claim(f"{of}, placement: post")


def stepping(of):
    """A claim about a number of a run that is measured at several steps."""
    measured = "{kind: hessian_spectrum, at: [init, end], draws: 2, steps: 4, batches: 1}, {kind: parameter_size, at: "
    measured += "{every: 3}}, {kind: displacement, at: {every: 9}}"
    return f"placement: post\nseeds: 3\n{TRAINS}probes: [{measured}]\n" + claim(of)


def drawing(section):
    return f"{SWEEP}{PROBES}report:\n  - {{{section}}}\n"


ACCEPTED = [
    *(
        SWEEP + PROBES + claim(f"{SITE}, {of}", **more)
        for of, more in (
            ("placement: post, model.layers: 4, layer: 4, seed: [1, 2], index: null, step: 0", {}),
            ("placement.kind: post, encoder.layers: 2, layer: first", {}),
            ("placement: [post], model.layers: 2.0", {"over": "layer"}),
            ("placement: [post, pre], model.layers: 2, layer: last", {"over": "placement"}),
            ("placement: post", {"exact": "true"}),
            ("norm: layer, norm.eps: 1e-5, placement: pre, model.layers: 2, layer: 1", {}),
        )
    ),
    TRAINS + RATES + claim("quantity: best_lr, placement: post"),
    TRAINS + SWEEP + claim(f"{PHI}, reference: best"),
    TRAINS + SWEEP + claim(f"{PHI}, reference: [{{placement: pre}}, {{model.layers: 2}}]"),
    TRAINS + SWEEP + claim(f"{PHI}, reference: {{model.layers: 4, same: placement}}"),
    law("layer: last"),
    law("model.layers: 3", over="layer", **TREND),
    METHODS + PROBES + claim(f"{SITE}, layer: 1, method: A, model.layers: 2"),
    drawing("kind: depth_profile, quantity: gradient_norm, where: {stack: encoder, tensor: w2}"),
    TRAINS + RATES + CHOSEN + claim("quantity: final_nll, placement: post, times: 1"),
    # Sides that inherit, every sample of a bound, and what does not follow from the model.
    ONE + STREAM + stating(f"kind: ratio, {SIDES}, at_least: 1"),
    ONE + STREAM + stating(f"kind: interaction, {SIDES}, less: {{layer: first}}, at_least: 0"),
    ONE + STREAM + stating(f"kind: bound, of: {{{W2}, step: 0, value: 3, placement: post}}, at_most: 1"),
    ONE + PAIR + stating("kind: bound, of: {quantity: paired, placement: post}, at_most: 1"),
    *(
        stepping(of)
        for of in (
            "quantity: largest_eigenvalue, step: last",
            "quantity: largest_eigenvalue, step: 0",
            "quantity: total_displacement, step: last",
            "quantity: final_nll",
            "quantity: nll, split: validation, step: last",
        )
    ),
]


def implausible(of, **more):
    """A claim about one site and depth, but for these conditions."""
    words = {word.split(":")[0] for word in of.split(", ")}
    site = ", ".join(pair for pair in SITE.split(", ") if pair.split(":")[0] not in words)
    pinned = "" if "over" in more or "placement" in words else ", placement: post"
    return SWEEP + PROBES + claim(f"{site}, model.layers: 4{pinned}, {of}", **more)


def of_several(of, **more):
    site = SITE.replace(", tensor: w2", "") if "tensor" in of else SITE
    return SWEEP + PROBES + claim(f"{site}, {of}", **more)


VARIED = "quantity: gradient_norm, placement: post"
REFUSED = {
    **{
        of: implausible(of)
        for of in (
            *("layer: 0", "layer: lst", "layer: 1, seed: 9", "layer: 1, split: dev", "layer: 1, step: 99"),
            *("layer: 1, placement: true", "layer: 1, modle.layers: 2", "layer: 1, xyzzy: 1", "layer: 1, tensor: w7"),
            *("layer: 1, method: Pre-LN", "layer: 1, stack: middle", "layer: 1, sublayer: cross_attention"),
            *("layer: []", "layer: null", "layer: 1, quantity: gradient_nrom", "layer: 1, quantity: sharpness"),
            *("layer: 1, quantity: learned_fractoin, reference: best", "layer: 1, reference: best"),
        )
    },
    "over some layers": implausible("layer: [1, 9]", over="layer"),
    "over some placements": implausible("layer: 1, placement: [post, psot]", over="placement"),
    "over nothing": implausible("layer: 1", over="modle.layers"),
    "two variants": of_several("placement: post, layer: 1"),
    "two variants at a layer": of_several("placement: post", over="layer"),
    "two variants at a placement": of_several("layer: 1", over="placement"),
    "two layers": of_several("model.layers: 2, placement: post"),
    "many tensors": of_several("model.layers: 2, placement: post, layer: 1, tensor: null"),
    "many mistakes": SWEEP + PROBES + claim("quantity: gradient_nrom, placement: psot, modle.layers: 2"),
    "nothing has both": "sweep: {a: {placement: post, model.layers: 2}, b: {placement: pre, model.layers: 4}}\n"
    + f"seeds: 6\n{PROBES}"
    + claim(f"{SITE}, layer: 1, placement: post, model.layers: 4"),
    **{
        of: TRAINS + "seeds: 6\nplacement: post\n" + claim(f"quantity: {of}")
        for of in (
            *(
                "loss",
                "nll, split: train, step: 9",
                "final_nll, split: validation",
                "nll, split: validation, step: end",
            ),
            *("nll, split: validation, step: -1", "best_lr", "gradient_norm"),
        )
    },
    "a rate of the best": TRAINS + RATES + claim("quantity: best_lr, placement: post, optimizer.lr: [1e-4, 1e-3]"),
    "two rates": TRAINS + RATES + claim("quantity: final_nll, placement: post"),
    **{
        f"reference {reference}": TRAINS + SWEEP + claim(PHI + reference)
        for reference in (
            "",
            ", reference: {placement: sandwich}",
            ", reference: {plcement: pre}",
            ", reference: {seed: 1}",
            ", reference: {model.layers: 4, same: placemnt}",
            ", reference: worst",
        )
    },
    "an order of nothing": SWEEP
    + PROBES
    + stating(f"kind: order, over: placement, order: post < psot, of: {{{SITE}, layer: 1, model.layers: 2}}"),
    "three levels": law("layer: last, model.layers: [2, 4, 6]"),
    "two levels": law("layer: last, model.layers: [2, 4]", **TREND),
    "three layers": law("model.layers: 3", over="layer"),
    "a layer that some lack": law("layer: 3"),
    "a layer that some lack, of a bound": law("layer: 3", kind="bound", limit="at_most: 1, reduce: last"),
    "an interaction without its fourth": "sweep: [{placement: [post, pre], model.layers: 2}, "
    + f"{{placement: post, model.layers: 4}}]\nseeds: 6\n{PROBES}"
    + stating(
        f"kind: interaction, at_least: 1, of: {{{SITE}, layer: 1, placement: post, model.layers: 2}}, "
        "to: {placement: pre}, less: {model.layers: 4}"
    ),
    **{
        of: METHODS + PROBES + claim(f"{SITE}, layer: 1, {of}")
        for of in ("method: Aa, model.layers: 2", "method: B", "model.layers: 2")
    },
    "what it requires": SWEEP
    + PROBES
    + claim(
        f"{SITE}, layer: 1, placement: post, model.layers: 2",
        requires=f"{{kind: bound, says: It is small., of: {{{SITE}, layer: 9}}, at_most: 2}}",
    ),
    **{
        section: drawing(section)
        for section in (
            "kind: depth_profile, quantity: gradient_nrom",
            "kind: depth_profile, quantity: gradient_norm, where: {placement: psot}",
            "kind: depth_profile, quantity: gradient_norm, where: {stack: middle}",
            "kind: small_multiples, quantity: gradient_norm, panels: placment",
        )
    },
    **{
        f"chosen, {of}": TRAINS + RATES + CHOSEN + claim(f"quantity: final_nll, placement: post{of}")
        for of in ("", ", times: 2", ", optimizer.lr: 1e-4")
    },
    "a site in each stack": ONE
    + STREAM
    + stating(f"kind: ratio, of: {{{W2}, placement: post}}, to: {{placement: pre}}, at_least: 1"),
    "two sites of the last side": ONE
    + STREAM
    + stating(f"kind: interaction, {SIDES.replace('stack: decoder, ', '')}, less: {{tensor: q}}, at_least: 0"),
    # What a claim varies over is no ambiguity, and all else is.
    **{
        words: ONE + PAIR + stating(words.replace("OF", VARIED))
        for words in (
            "kind: bound, of: {OF, tensor: w2}, over: layer, reduce: mean, at_most: 1",
            "kind: bound, of: {OF, tensor: table}, at_most: 1",
            "kind: bound, of: {OF, tensor: q, stack: decoder}, each: [layer], at_most: 1",
            "kind: order, of: {OF, tensor: q, layer: 1}, over: stack, order: encoder < decoder",
            "kind: everywhere, of: {OF, layer: 1, tensor: w2}, at_least: 0",
            "kind: bound, of: {quantity: paired, placement: post}, at_most: 1, "
            "requires: {kind: bound, of: {OF, tensor: w2, layer: 1}, at_most: 1}",
        )
    },
    **{
        of: ONE + STREAM + claim(f"quantity: {of}, placement: pre")
        for of in (
            "gradient_norm, stack: encoder, sublayer: cross_attention",
            "gradient_norm, stack: decoder, layer: 1, tensor: scale",
            "hidden_norm_sq, stack: decoder, sublayer: final_norm, tensor: sum",
        )
    },
    "an x that no site has": ONE + STREAM + claim(f"{VARIED}, tensor: table", over="layer", reduce="max"),
    "no range": ONE
    + STREAM
    + stating(f"kind: power_law, of: {{stack: decoder, {W2}, placement: post}}, over: model.layers"),
    **{
        f"{probe}: {of}": probed(probe, of)
        for probe, of in (
            ("gradient_norm, batches: 1, biases: true", W2),
            ("gradient_norm, batches: 1", "quantity: gradient_growth, tensor: w2, layer: 2"),
            ("gradient_norm, batches: 1", f"stack: decoder, {W2}, step: 999999"),
            ("hidden_norm, batches: 1", "quantity: branch_gain"),
            ("attention_logits", "quantity: attention_entropy, stack: encoder, layer: 1"),
            ("hidden_norm, batches: 1", "quantity: hidden_norm, stack: decoder, layer: 7, tensor: out"),
        )
    },
    "two steps": stepping("quantity: largest_eigenvalue"),
    "four steps": stepping("quantity: parameter_rms, layer: 1, sublayer: feed_forward, tensor: w2, stack: encoder"),
}


@pytest.fixture
def said(known, tmp_path, monkeypatch):
    """What is said of a spec in its chosen profile alone; there is a probe which states neither sites nor an index."""
    monkeypatch.setattr(probes, "_entries", dict(probes.entries))
    pair = probes.register("pair", table="sites", passes=lambda params: 1.0, quantities=("paired",))
    pair(lambda state: ({"quantity": "paired", "index": index, "value": 1.0} for index in (1, 2)))

    def lines(text, **options):
        path = tmp_path / "spec.yaml"
        path.write_text(SPEC + text)
        try:
            check_request(Request(path, **options), known, Rehearsals(known))
        except LabError as error:
            return [str(issue) for issue in error.issues]
        return []

    return lines


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_claim_that_can_be_judged_passes(said, text):
    assert said(text) == []


@pytest.mark.parametrize("what", REFUSED)
def test_one_that_cannot_is_refused_where_it_stands(said, what, golden):
    golden(said(REFUSED[what]))


def test_levels_that_any_profile_has_are_no_mistake_of_the_others(said):
    text = law("layer: last") + "profiles: {small: {model.layers: [2, 4]}}\n"
    assert said(text) == said(text, profile="small") == []
    few = text.replace("[2, 3, 4, 6]", "[2, 3, 4]")
    for options in ({}, {"profile": "small"}):
        assert len(said(few, **options)) == 1
    for options in ({}, {"profile": "small"}, {"overrides": ("model.layers=[3, 4]",)}):
        assert said(few.replace("profiles: {", "profiles: {large: {model.layers: [2, 3, 4, 6]}, "), **options) == []


def test_a_mistake_in_what_a_claim_inherits_is_told_where_it_is_written(known, tmp_path, golden):
    section = "  - kind: depth_profile\n    quantity: gradient_norm\n    where: {stack: encoder, model.layers: 5}\n"
    text = f"{SPEC}{SWEEP}{PROBES}report:\n{section}    claims:\n"
    text += "      - {id: a, says: It is small., kind: bound, at_most: 3, of: {placement: post, tensor: w2}}\n"
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    _, (issue,) = check_profiles(Request(path), known)
    line = text.splitlines().index("    where: {stack: encoder, model.layers: 5}") + 1
    column = len("    where: {stack: encoder, model.layers: ") + 1
    assert str(issue).startswith(f"{path}:{line}:{column}: ")  # of the section and of its claim: one mistake
    golden(str(issue))


def test_a_section_of_spectra_may_name_the_step_at_which_they_are_taken(said, golden):
    spectra = "probes: [{kind: hessian_spectrum, at: [0, 9], batches: 1, draws: 2, steps: 4}]\n"
    section = "report: [{kind: spectral_density, where: {step: 0}}]\n"
    text = TRAINS + "placement: post\nseeds: 6\n" + spectra
    assert said(text + section) == []
    golden(said(text + section.replace("step: 0", "step: 12")))


LEAVES_OUT = "profiles: {small: {model.layers: 2}, trained: {sweep: [{norm: [layer, rms]}], placement: pre}}\n"


def test_what_a_profile_or_an_override_leaves_out_is_no_mistake(said, golden):
    text = SWEEP + PROBES + claim(f"{SITE}, layer: 4, placement: post, model.layers: 4") + LEAVES_OUT
    for options in ({}, {"profile": "small"}, {"profile": "trained"}, {"overrides": ("placement=pre",)}):
        assert said(text, **options) == []
    for options in ({}, {"profile": "small"}, {"overrides": ("placement=pre",)}):
        (found,) = said(text.replace("placement: post, model", "placement: psot, model"), **options)
        golden(found)


def test_of_a_spec_with_its_profiles_a_mistake_is_told_once(known, tmp_path, golden):
    text = SPEC + SWEEP + PROBES
    text += claim(f"{SITE}, layer: 9, placement: post, model.layers: 4") + LEAVES_OUT
    _, (issue,) = check_profiles(Request(tmp_path / "spec.yaml", text=text), known)
    golden(str(issue))


def test_without_torch_all_but_sites_is_judged(said, monkeypatch, golden):
    monkeypatch.setattr(judgeable, "absent_packages", lambda: ("torch",))
    monkeypatch.setattr("lnlab.app.planning.checks.absent_packages", lambda: ("torch",))
    one = f"{SITE}, placement: post, model.layers: 4"
    assert said(SWEEP + PROBES + claim(f"{one}, layer: 1")) == []
    assert said(SWEEP + PROBES + claim(one)) == []  # of which of its layers only a model can say
    (found,) = said(SWEEP + PROBES + claim(f"{one}, layer: 1, step: 7"))
    golden(found)
    (found,) = said(SWEEP + PROBES + claim(f"{one}, layer: frist"))
    golden(found)
    (found,) = said(SWEEP + PROBES + claim(f"{SITE}, layer: 1, placement: post"))
    assert "takes 2 variants" in found


def test_probes_that_do_not_say_what_they_measure_leave_quantities_unchecked(known, tmp_path):
    from lnlab.app.rehearsal.made_up_rows import rehearse
    from lnlab.app.rehearsal.mistakes import mistakes_in_claim

    text = SPEC + SWEEP + PROBES
    plan, _ = compile_request(Request(tmp_path / "spec.yaml", text=text), known)
    asked = {"id": "a", "kind": "bound", "of": {"quantity": "anything", "placement": "post"}, "at_most": 3.0}
    rehearsal = rehearse(plan, [asked], {}, known)
    assert mistakes_in_claim(rehearsal, asked, [1, 2])[0]
    assert mistakes_in_claim(replace(rehearsal, complete=False, rows={}), asked, [1, 2]) == ([], False)


@pytest.mark.parametrize(("seeds", "undecided"), [(2, 1), (6, 0)])
def test_the_judge_says_whether_so_many_seeds_can_decide(known, tmp_path, seeds, undecided):
    text = SPEC + PROBES
    text += SWEEP.replace("seeds: 6", f"seeds: {seeds}")
    text += claim(f"{SITE}, layer: 1, placement: post, model.layers: 4")
    request = Request(tmp_path / "spec.yaml", text=text)
    assert len(require_judgeable(request, known).too_few) == undecided
    plan, _ = compile_request(request, known)
    assert len(seeds_judged(plan, plan.experiment.claims[0], plan.claims[0])) == seeds


def test_a_section_may_name_a_column_of_what_it_makes_itself(known, tmp_path):
    """The rule by which runs converge stands in no row that a run stores."""
    where = "where: {rule: learned, split: train}"
    table = (
        f"report: [{{kind: table, title: Rates, quantity: converged, {where}, rows: optimizer.lr, columns: norm}}]\n"
    )
    request = Request(tmp_path / "spec.yaml", text=SPEC + TRAINS + RATES + table)
    require_judgeable(request, known)
