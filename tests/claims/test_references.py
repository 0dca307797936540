"""What a claim compares sets its target, and a learned fraction that trains and fails is counted."""

import polars as pl
import pytest

from lnlab.claims.claim_scope import variants_of_claim, with_compared_reference
from lnlab.claims.judging import judge_claim
from lnlab.tables import Results
from tests.support.results import evaluated, results_of

H = 6.0


@pytest.fixture
def trained():
    """``trained({method: {seed: {step: nll}}})``: finished runs of 100 updates; methods differ in placement."""

    def setting(number):
        stack = {"layers": 2, "placement": {"kind": f"p{number}"}, "norm": {"kind": "layer"}}
        return {"task": {"kind": "t"}, "model": {"d_model": 8}, "encoder": stack, "train": {"steps": 100}}

    def build(methods):
        return results_of(
            {"variant": method, "seed": seed, "setting": setting(number), "steps": 100}
            | {"axes": {"method": method}, "curves": evaluated(course, H)}
            for number, (method, seeds) in enumerate(methods.items())
            for seed, course in seeds.items()
        )

    return build


def course(end):
    return {0: 9.0, 100: end}


def judged(results, **claim):
    return judge_claim({"id": "a", "says": "b", **claim}, results)


def test_a_contrast_has_the_target_of_its_two_sides(trained):
    """1.02 x 4: after 100 (9 - 4.08)/(9 - 4) and 100 (9 - 4.08)/(9 - 3) updates, whatever a third method does."""
    methods = {"slow": {s: course(4.0) for s in range(1, 6)}, "quick": {s: course(3.0) for s in range(1, 6)}}
    claim = {"kind": "ratio", "of": {"quantity": "time_to_target", "method": "quick"}, "to": {"method": "slow"}}
    alone = judged(trained(methods), **claim, at_most=0.9)
    assert alone.estimate == pytest.approx(5 / 6)
    beside = judged(trained(methods | {"poor": {s: course(4.9) for s in range(1, 6)}}), **claim, at_most=0.9)
    assert (beside.verdict, beside.estimate) == ("supported", alone.estimate)
    every = {**claim, "of": {**claim["of"], "reference": "best"}}
    other = judged(trained(methods | {"poor": {s: course(4.9) for s in range(1, 6)}}), **every, at_most=0.9)
    assert other.estimate == pytest.approx(5 / 6)  # straight lines from one start have one ratio at every level


@pytest.mark.parametrize("about", ["mean", "median", "share"])
@pytest.mark.parametrize("quantity", ["time_to_target", "2 * time_to_target"])
def test_a_run_that_never_reaches_the_target_has_not_diverged(trained, about, quantity, golden):
    """Where 2 of 8 slow runs end above 1.02 x 4, they take longer than all others; no mean says how much longer."""
    slow = {s: course(4.0 if s < 7 else 4.5) for s in range(1, 9)}
    results = trained({"slow": slow, "quick": {s: course(3.0) for s in range(1, 9)}})
    claim = {"kind": "ratio", "of": {"quantity": quantity, "method": "quick"}, "to": {"method": "slow"}}
    found = judged(results, **claim, at_most=0.9, about=about)
    assert "diverged" not in found.reason
    if about == "mean":
        assert found.verdict == "undecided"
        golden(found.reason)
    else:
        assert (found.verdict, found.n) == ("supported", 8), found.reason
    late = (pl.col("variant") == "slow") & (pl.col("seed") > 6)
    ended = pl.when(late).then(pl.lit("diverged")).otherwise("status")
    lost = judged(
        Results(results.runs.with_columns(status=ended), results.axes, results.tables),
        **claim,
        at_most=0.9,
        about=about,
    )
    assert lost.verdict == "not testable here"
    golden(lost.reason)


@pytest.mark.parametrize(
    ("claim", "reference"),
    [
        ({"of": {"method": "a"}}, [{"method": "a"}]),
        ({"of": {"method": "a", "seed": 1}, "to": {"method": "b"}}, [{"method": "a"}, {"method": "b"}]),
        (
            {"of": {"method": "a"}, "to": {"method": "b"}, "over": "schedule.kind"},
            [{"method": "a", "same": "schedule.kind"}, {"method": "b", "same": "schedule.kind"}],
        ),
        (
            {"of": {"norm": "layer"}, "over": "method", "order": "a < b <= c"},
            [{"norm": "layer", "method": ["a", "b", "c"]}],
        ),
        ({"of": {"method": "a", "reference": "best"}, "to": {"method": "b"}}, "best"),
    ],
)
def test_what_a_claim_compares(claim, reference):
    of = {"quantity": "time_to_target", **claim["of"]}
    assert with_compared_reference({**claim, "of": of})["of"]["reference"] == reference
    assert "reference" not in with_compared_reference({**claim, "of": {"quantity": "final_nll", "method": "a"}})["of"]


@pytest.mark.parametrize(
    ("of", "read"),
    [
        ({"quantity": "learned_fraction", "reference": {"method": "b"}}, ["a", "b"]),
        ({"quantity": "learned_fraction", "reference": "best"}, ["a", "b", "c"]),
        ({"quantity": "time_to_target"}, ["a"]),
        ({"quantity": "final_nll"}, ["a"]),
    ],
)
def test_a_further_seed_takes_a_run_of_what_a_number_is_measured_against_too(trained, of, read):
    results = trained({method: {s: course(4.0) for s in range(1, 4)} for method in "abc"})
    claim = {"id": "it", "says": "So it is.", "kind": "bound", "of": {**of, "method": "a"}, "at_least": 1}
    assert variants_of_claim(claim, results).to_list() == read


def bimodal(count, trains):
    """``count`` seeds of which the first ``trains`` reach the reference and the others nothing."""
    return {"good": {s: course(2.0) for s in range(1, count + 1)}} | {
        "torn": {s: course(2.2 if s <= trains else 5.9) for s in range(1, count + 1)}
    }


PHI = {"quantity": "learned_fraction", "method": "torn", "reference": {"method": "good"}}


def test_a_variant_that_trains_on_some_seeds_is_counted(trained, golden):
    """One of eight trains: Student's interval reaches from below 0 to .45, the count decides against .25."""
    found = judged(trained(bimodal(8, 1)), kind="bound", of=PHI, at_most=0.25, scale="linear")
    golden(found.reason)
    assert (found.verdict, found.low, found.high) == (
        "undecided",
        pytest.approx(0.4735, abs=1e-4),
        pytest.approx(0.9968, abs=1e-4),
    )
    more = judged(trained(bimodal(12, 1)), kind="bound", of=PHI, at_most=0.25, scale="linear")
    assert (more.verdict, more.inside, more.n) == ("supported", 11, 12)


def test_what_is_all_or_nothing_is_counted_even_where_seeds_agree_and_in_an_order(trained, golden):
    """What is judged is not read off the data."""
    claim = {"kind": "bound", "of": PHI, "at_least": 0.9, "scale": "linear"}
    found = judged(trained(bimodal(6, 6)), **claim)
    assert (found.verdict, found.about, found.estimate) == ("supported", "share", 1.0)
    golden(judged(trained(bimodal(5, 5)), **claim).reason)
    # phi 0 has no logarithm; where seeds are counted it is the smallest ratio of all.
    methods = bimodal(10, 0) | {"half": {s: course(2.0 if s == 1 else 6.5) for s in range(1, 11)}}
    of = {"quantity": "learned_fraction", "method": "half", "reference": {"method": "good"}}
    found = judged(trained(methods), kind="ratio", of=of, to={"method": "good"}, at_least=0.9)
    assert (found.verdict, found.inside, found.n) == ("contradicted", 1, 10)
    golden(found.reason)
    of = {"quantity": "learned_fraction", "reference": {"method": "good"}}
    found = judged(trained(bimodal(8, 1)), kind="order", of=of, over="method", order="torn < good", scale="linear")
    assert (found.verdict, found.inside, found.n, found.about) == ("supported", 8, 8, "share")
