"""What could not be judged or drawn is refused where it stands, before any run; what a profile leaves out is not."""

from dataclasses import replace

import pytest

from lnlab.app.planning.checks import check_profiles, check_request
from lnlab.app.rehearsal import judgeable
from lnlab.app.rehearsal.judgeable import Rehearsals, require_judgeable, seeds_judged
from lnlab.app.request import Request, compile_request
from lnlab.errors import LabError

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


def claim(of, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"claims:\n  - {{id: a, says: It is small., kind: bound, at_most: 3, of: {{{of}}}{extra}}}\n"


@pytest.fixture
def said(known, tmp_path):
    """What is said of a spec in its chosen profile alone."""

    def lines(text, **options):
        request = Request(tmp_path / "spec.yaml", text=text, **options)
        try:
            check_request(request, known, Rehearsals(known))
        except LabError as error:
            return [str(issue) for issue in error.issues]
        return []

    return lines


@pytest.mark.parametrize(
    ("of", "more"),
    [
        (f"{SITE}, placement: post, model.layers: 4, layer: 4, seed: [1, 2], index: null, step: 0", {}),
        (f"{SITE}, placement.kind: post, encoder.layers: 2, layer: first", {}),
        (f"{SITE}, placement: [post], model.layers: 2.0", {"over": "layer"}),
        (f"{SITE}, placement: [post, pre], model.layers: 2, layer: last", {"over": "placement"}),
        (f"{SITE}, placement: post", {"exact": "true"}),
        (f"{SITE}, norm: layer, norm.eps: 1e-5, placement: pre, model.layers: 2, layer: 1", {}),
    ],
)
def test_a_plausible_selection_passes(said, of, more):
    assert said(SPEC + SWEEP + PROBES + claim(of, **more)) == []


@pytest.mark.parametrize(
    ("of", "more"),
    [
        ("layer: 0", {}),
        ("layer: lst", {}),
        ("layer: 1, seed: 9", {}),
        ("layer: 1, split: dev", {}),
        ("layer: 1, step: 99", {}),
        ("layer: [1, 9]", {"over": "layer"}),
        ("layer: 1, placement: true", {}),
        ("layer: 1, placement: [post, psot]", {"over": "placement"}),
        ("layer: 1, modle.layers: 2", {}),
        ("layer: 1, xyzzy: 1", {}),
        ("layer: 1, method: Pre-LN", {}),
        ("layer: 1, tensor: w7", {}),
        ("layer: 1, stack: middle", {}),
        ("layer: 1, sublayer: cross_attention", {}),
        ("layer: 1", {"over": "modle.layers"}),
        ("layer: []", {}),
        ("layer: 1, quantity: gradient_nrom", {}),
        ("layer: 1, quantity: sharpness", {}),
        ("layer: 1, quantity: learned_fractoin, reference: best", {}),
        ("layer: 1, reference: best", {}),
        ("layer: null", {}),
    ],
)
def test_an_implausible_one_says_why_where_it_stands(said, of, more, golden):
    words = {word.split(":")[0] for word in of.split(", ")}
    site = ", ".join(pair for pair in SITE.split(", ") if pair.split(":")[0] not in words)
    pinned = "" if "over" in more or "placement" in words else ", placement: post"
    text = SPEC + SWEEP + PROBES + claim(f"{site}, model.layers: 4{pinned}, {of}", **more)
    (found,) = said(text)
    golden(found)


@pytest.mark.parametrize(
    ("of", "more", "what"),
    [
        ("placement: post, layer: 1", {}, "claims.a.of: takes 2 variants; pin model.layers (2 or 4)"),
        ("placement: post", {"over": "layer"}, "takes 2 variants at layer = 1; pin model.layers (2 or 4)"),
        ("layer: 1", {"over": "placement"}, "takes 2 variants at placement = post; pin model.layers (2 or 4)"),
        ("model.layers: 2, placement: post", {}, "claims.a.of: leaves 2 sites: layer (1, 2); add layer: 1 or layer: 2"),
        ("model.layers: 2, placement: post, layer: 1, tensor: null", {}, "claims.a.of"),
    ],
)
def test_several_numbers_where_one_is_needed_are_named(said, of, more, what):
    site = SITE.replace(", tensor: w2", "") if "tensor" in of else SITE
    (found,) = said(SPEC + SWEEP + PROBES + claim(f"{site}, {of}", **more))
    assert what in found


def test_together_nothing_has_all_that_each_has(said, golden):
    grids = "sweep: {a: {placement: post, model.layers: 2}, b: {placement: pre, model.layers: 4}}\nseeds: 6\n"
    (found,) = said(SPEC + grids + PROBES + claim(f"{SITE}, layer: 1, placement: post, model.layers: 4"))
    golden(found)


def test_every_mistake_of_a_claim_is_told_at_once(said):
    found = said(SPEC + SWEEP + PROBES + claim("quantity: gradient_nrom, placement: psot, modle.layers: 2"))
    assert ["psot" in found[0], "modle" in found[1]] == [True, True]


@pytest.mark.parametrize(
    "of",
    [
        "quantity: loss",
        "quantity: nll, split: train, step: 9",
        "quantity: final_nll, split: validation",
        "quantity: nll, split: validation, step: end",
        "quantity: nll, split: validation, step: -1",
        "quantity: best_lr",
        "quantity: gradient_norm",
    ],
)
def test_what_no_curve_has_says_why(said, of, golden):
    found = said(SPEC + TRAINS + "seeds: 6\nplacement: post\n" + claim(of))
    assert len(found) == 1
    golden(found[0])


@pytest.mark.parametrize(
    ("of", "what"),
    [
        ("quantity: best_lr, placement: post", None),
        ("quantity: best_lr, placement: post, optimizer.lr: [1e-4, 1e-3]", "'best_lr' is taken over it"),
        ("quantity: final_nll, placement: post", "takes 2 variants; pin optimizer.lr"),
    ],
)
def test_runs_that_differ_in_the_rate_alone_have_one_number(said, of, what):
    found = said(SPEC + TRAINS + RATES + claim(of))
    assert found == [] if what is None else what in found[0]


PHI = "quantity: learned_fraction, placement: post, model.layers: 2"


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("", "the variants differ in placement or init, and no reference is named; name one"),
        (", reference: best", None),
        (", reference: [{placement: pre}, {model.layers: 2}]", None),
        (", reference: {model.layers: 4, same: placement}", None),
        (", reference: {placement: sandwich}", "claims.a.of.reference.placement: no run has placement = sandwich"),
        (", reference: {plcement: pre}", "did you mean 'placement'"),
        (", reference: {seed: 1}", "claims.a.of.reference.seed: a reference is named by its setting"),
        (", reference: {model.layers: 4, same: placemnt}", "did you mean 'placement'"),
        (", reference: worst", "a reference is 'best', a mapping of conditions"),
    ],
)
def test_a_reference_is_named_where_it_must_be_and_is_there(said, reference, what):
    found = said(SPEC + TRAINS + SWEEP + claim(PHI + reference))
    assert found == [] if what is None else (len(found) == 1 and what in found[0]), found


def test_an_order_of_what_is_not_there_is_refused_at_itself(said, golden):
    order = claim(f"{SITE}, layer: 1, model.layers: 2").replace(
        "bound, at_most: 3", "order, over: placement, order: post < psot"
    )
    (found,) = said(SPEC + SWEEP + PROBES + order)
    golden(found)


LEVELS = "sweep: {depths: {placement: [post, pre], model.layers: [2, 3, 4, 6]}}\nseeds: 6\n"
POWER_LAW = {"kind": "power_law", "over": "model.layers", "at_most": 1}


def law(of, **more):
    words = {"id": "a", "says": "It grows.", **POWER_LAW, **more}
    return f"claims:\n  - {{{', '.join(f'{key}: {value}' for key, value in words.items())}, of: {{{of}}}}}\n"


@pytest.mark.parametrize(
    ("of", "more", "what"),
    [
        ("layer: last", {}, None),
        ("layer: last, model.layers: [2, 4, 6]", {}, "3 levels of model.layers; a power law needs 4; select more"),
        ("layer: last, model.layers: [2, 4]", {"kind": "trend", "direction": "up", "at_most": "null"}, "needs 4"),
        ("model.layers: 3", {"over": "layer"}, "claims.a.over: 3 levels of layer; a power law needs 4"),
        ("model.layers: 3", {"over": "layer", "kind": "trend", "direction": "up", "at_most": "null"}, None),
        ("layer: 3", {}, "claims.a.of.layer: no row has layer = 3 where model.layers is 2; there is 1, 2; or leave"),
        ("layer: 3", {"kind": "bound", "reduce": "last"}, "claims.a.of.layer: no row has layer = 3 where model.layers"),
    ],
)
def test_levels_that_no_number_of_seeds_could_judge_are_refused(said, of, more, what):
    text = law(f"{SITE}, placement: post, {of}", **more).replace("at_most: null", "at_least: 2")
    found = said(SPEC + LEVELS + PROBES + text)
    assert found == [] if what is None else (len(found) == 1 and what in found[0]), found


def test_levels_that_any_profile_has_are_no_mistake_of_the_others(said):
    text = SPEC + LEVELS + PROBES + law(f"{SITE}, placement: post, layer: last")
    text += "profiles: {small: {model.layers: [2, 4]}}\n"
    assert said(text) == said(text, profile="small") == []
    few = text.replace("[2, 3, 4, 6]", "[2, 3, 4]")
    for options in ({}, {"profile": "small"}):
        (found,) = said(few, **options)
        assert "levels of model.layers; a power law needs 4" in found
    for options in ({}, {"profile": "small"}, {"overrides": ("model.layers=[3, 4]",)}):
        assert said(few.replace("profiles: {", "profiles: {large: {model.layers: [2, 3, 4, 6]}, "), **options) == []


def test_the_fourth_selection_of_an_interaction_is_looked_at_though_nothing_says_it(said, golden):
    grids = "sweep: [{placement: [post, pre], model.layers: 2}, {placement: post, model.layers: 4}]\nseeds: 6\n"
    text = claim(f"{SITE}, layer: 1, placement: post, model.layers: 2", to="{placement: pre}", less="{model.layers: 4}")
    text = text.replace("kind: bound, at_most: 3", "kind: interaction, at_least: 1")
    assert said(SPEC + SWEEP + PROBES + text) == []
    (found,) = said(SPEC + grids + PROBES + text)
    golden(found)


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


METHODS = "methods: {A: {placement: post}, B: {placement: pre}}\nsweep: {m: {method: [A, B], model.layers: [2, 4]}}\n"


@pytest.mark.parametrize(
    ("of", "what"),
    [
        ("method: A, model.layers: 2", None),
        ("method: Aa, model.layers: 2", "no run has method = Aa; did you mean 'A'? (known: A, B)"),
        ("method: B", "takes 2 variants; pin model.layers (2 or 4)"),
        ("model.layers: 2", "takes 2 variants; pin"),
    ],
)
def test_selections_name_methods(said, of, what):
    found = said(SPEC + METHODS + "seeds: 6\n" + PROBES + claim(f"{SITE}, layer: 1, {of}"))
    assert found == [] if what is None else (len(found) == 1 and what in found[0]), found


def test_what_a_claim_requires_is_judged_too(said, golden):
    needs = f"{{kind: bound, says: It is small., of: {{{SITE}, layer: 9}}, at_most: 2}}"
    (found,) = said(
        SPEC + SWEEP + PROBES + claim(f"{SITE}, layer: 1, placement: post, model.layers: 2", requires=needs)
    )
    assert "claims.a.requires" in found
    golden(found)


@pytest.mark.parametrize(
    ("section", "what"),
    [
        ("kind: depth_profile, quantity: gradient_norm, where: {stack: encoder, tensor: w2}", None),
        ("kind: depth_profile, quantity: gradient_nrom", "report.0.quantity: no row has quantity = gradient_nrom"),
        ("kind: depth_profile, quantity: gradient_norm, where: {placement: psot}", "report.0.where.placement: no run"),
        ("kind: depth_profile, quantity: gradient_norm, where: {stack: middle}", "report.0.where.stack: no row has"),
        ("kind: small_multiples, quantity: gradient_norm, panels: placment", "report.0.panels: unknown key 'placment'"),
    ],
)
def test_sections_are_asked_too(said, section, what):
    found = said(SPEC + SWEEP + PROBES + f"report:\n  - {{{section}}}\n")
    assert found == [] if what is None else (len(found) == 1 and what in found[0]), found


def test_a_section_of_spectra_may_name_the_step_at_which_they_are_taken(said):
    spectra = "probes: [{kind: hessian_spectrum, at: [0, 9], batches: 1, draws: 2, steps: 4}]\n"
    section = "report: [{kind: spectral_density, where: {step: 0}}]\n"
    text = SPEC + TRAINS + "placement: post\nseeds: 6\n" + spectra
    assert said(text + section) == []
    (found,) = said(text + section.replace("step: 0", "step: 12"))
    assert "report.0.where.step: no row has step = 12" in found


LEAVES_OUT = "profiles: {small: {model.layers: 2}, trained: {sweep: [{norm: [layer, rms]}], placement: pre}}\n"


def test_what_a_profile_or_an_override_leaves_out_is_no_mistake(said, golden):
    text = SPEC + SWEEP + PROBES + claim(f"{SITE}, layer: 4, placement: post, model.layers: 4") + LEAVES_OUT
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


CHOSEN = "choose: {optimizer.lr: best, seeds: [11], times: [0.5, 1]}\n"


@pytest.mark.parametrize(
    ("of", "what"),
    [
        ("placement: post, times: 1", None),
        ("placement: post", "takes 2 variants; pin times (0.5 or 1)"),
        ("placement: post, times: 2", "no run has times = 2; known: 0.5, 1"),
        (
            "placement: post, optimizer.lr: 1e-4",
            "of.optimizer.lr: is chosen on tuning seeds and not known before",
        ),
    ],
)
def test_claims_are_asked_of_the_runs_that_will_be_judged(said, of, what):
    found = said(SPEC + TRAINS + RATES + CHOSEN + claim(f"quantity: final_nll, {of}"))
    assert found == [] if what is None else (len(found) == 1 and what in found[0]), found


def test_without_torch_all_but_sites_is_judged(said, monkeypatch, golden):
    monkeypatch.setattr(judgeable, "absent_packages", lambda: ("torch",))
    monkeypatch.setattr("lnlab.app.planning.checks.absent_packages", lambda: ("torch",))
    one = f"{SITE}, placement: post, model.layers: 4"
    assert said(SPEC + SWEEP + PROBES + claim(f"{one}, layer: 1")) == []
    assert said(SPEC + SWEEP + PROBES + claim(one)) == []  # of which of its layers only a model can say
    (found,) = said(SPEC + SWEEP + PROBES + claim(f"{one}, layer: 1, step: 7"))
    golden(found)
    (found,) = said(SPEC + SWEEP + PROBES + claim(f"{one}, layer: frist"))
    golden(found)
    (found,) = said(SPEC + SWEEP + PROBES + claim(f"{SITE}, layer: 1, placement: post"))
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
