"""What ``run`` prints of a few claims, on a terminal of any width and in a pipe."""

import pytest

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import VERDICT_MEANINGS, VERDICT_SYMBOLS, estimate_text, region_text
from lnlab.cli.verdicts import (
    _SIGNS,
    legend_lines,
    print_verdicts,
    too_few_seeds_line,
    verdict_counts_line,
    verdict_lines,
)


def verdict(**given: object) -> Verdict:
    usual = {
        "claim": "flat", "kind": "power_law", "says": "It is flat.", "primary": False, "role": "source",
        "verdict": "supported", "statistic": "exponent", "estimate": 0.0312, "low": -0.02, "high": 0.0815,
        "region_low": -0.15, "region_high": 0.15, "n": 10, "inside": 10, "seeds": {1: 0.03}, "reason": "inside",
        "scope": "6-6",
    }  # fmt: skip
    return Verdict(**(usual | given))


CLAIMS = [
    verdict(says="The gradient of W2 in the last Post-LN layer does not depend on the number of layers.",
            law=0, law_word="compatible"),
    verdict(claim="grows", primary=True, statistic="last/first over layer", measure="ratio", estimate=7.03, low=5.51,
            high=8.97, region_low=2.5, region_high=None, margin="ours",
            says="In the Post-LN decoder the gradient of W2 grows toward the output over six layers."),
    verdict(claim="flatter", primary=True, verdict="contradicted", detail="the other way", measure="ratio",
            statistic="ratio of last/first", estimate=0.0177, low=0.00817, high=0.0384, region_low=1.5,
            region_high=None, margin="ours",
            says="Warm-up flattens the growth of W2's gradient over the Post-LN decoder.",
            reason="the 95 % interval 0.00817 to 0.0384 lies on the other side of 1"),
    verdict(claim="plateau", verdict="contradicted", statistic="difference", estimate=-0.044, low=-0.0519, high=-0.0361,
            region_low=-0.02, region_high=0.02, look=2, level=0.0125,
            says="A plateau that decays over its last fifth gives the loss of cosine decay to 0 within 0.02 nats.",
            reason="the 98.75 % interval −0.0519 to −0.0361 lies outside the accepted range (between −0.02 and 0.02)"),
    verdict(claim="beats_a_tenth", verdict="smaller", detail="in its direction", statistic="difference",
            estimate=0.00489, low=0.00162, high=0.00817, region_low=0.01, region_high=None, margin="ours",
            says="The loss with linear decay to 0 is at least 0.01 nats below that with cosine decay to a tenth.",
            reason="the 95 % interval 0.00162 to 0.00817 falls short of our margin (at least 0.01): in its direction"),
    verdict(claim="trains", verdict="undecided", n=3,
            statistic="share of seeds with max over optimizer.lr at least 0.75", estimate=0.667, low=0.0943,
            high=0.992, region_low=0.5, region_high=None,
            says="With equalized gradients, tuned SGD learns at least three quarters of what Adam learns in Post-LN.",
            reason="3 seeds; a verdict needs 6, by rule"),
    verdict(claim="deep", verdict="not testable here", estimate=None, low=None, high=None, statistic="ratio", n=0,
            says="It trains at 50 layers.", reason="no run has model.layers = 50"),
]  # fmt: skip
COMMITTED = {
    "flatter": verdict(claim="flatter"),
    "trains": verdict(claim="trains", verdict="contradicted"),
    "plateau": verdict(claim="plateau", verdict="contradicted"),
}


@pytest.mark.parametrize("width", [80, 100, 160, None])
def test_a_terminal_or_a_pipe_gets_these_lines(width, golden):
    lines = verdict_lines(CLAIMS, width, COMMITTED)
    golden([*map(str, lines), "", *legend_lines(CLAIMS, lines)])
    golden([too_few_seeds_line(CLAIMS, COMMITTED), verdict_counts_line(CLAIMS)])


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_a_claim_takes_at_most_three_lines_of_the_terminal(width):
    lines = list(map(str, verdict_lines(CLAIMS, width, COMMITTED)))
    starts = [n for n, line in enumerate(lines) if line[0] != " "]
    assert max(map(len, lines)) <= width
    assert max(end - start for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)) <= 3


def test_every_verdict_has_a_sign_and_a_meaning_in_the_legend():
    assert VERDICT_MEANINGS.keys() == VERDICT_SYMBOLS.keys()
    told = legend_lines([verdict(verdict=word) for word in VERDICT_SYMBOLS])
    assert [line[0] for line in told[: len(VERDICT_SYMBOLS)]] == list(VERDICT_SYMBOLS.values())


def test_the_legend_has_each_sign_that_is_used_and_no_other():
    used = "\n".join(legend_lines(CLAIMS, verdict_lines(CLAIMS, None)))
    assert "(ours): " in used
    assert "compatible with: " in used
    alone = [verdict(primary=True)]
    assert not [sign for sign in _SIGNS if sign in "\n".join(legend_lines(alone, verdict_lines(alone, None)))]


def test_a_pipe_gets_each_claim_whole_on_one_line(capsys):
    print_verdicts(CLAIMS)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].split()[-1] for line in lines[: len(CLAIMS)]][:2] == ["grows", "flatter"]
    assert not any("…" in line for line in lines)
    assert lines[-1] == verdict_counts_line(CLAIMS)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(-1, 2.5, "-1 to 2.5"), (2.5, None, "at least 2.5"), (None, 1.5, "at most 1.5"), (None, None, "")],
)
def test_regions_are_read_as_the_spec_writes_them(low, high, said):
    assert region_text(verdict(region_low=low, region_high=high)) == said


def test_what_could_not_be_estimated_has_no_number():
    assert estimate_text(verdict(estimate=None, low=None, high=None)) == "exponent"
    assert estimate_text(verdict(low=None, high=None)) == "exponent 0.0312"


def test_the_headline_counts_each_verdict():
    judged = [verdict(), verdict(claim="b", verdict="undecided", reason="2 seeds"), verdict(verdict="supported")]
    assert verdict_counts_line(judged) == "3 claims: 2 supported, 1 undecided"
