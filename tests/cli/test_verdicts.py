import pytest

from lnlab.claims.claim import Verdict
from lnlab.cli.terminal import out
from lnlab.cli.verdicts import estimate_text, reason_lines, region_text, verdict_counts_line, verdict_table


def verdict(**given: object) -> Verdict:
    usual = {
        "claim": "flat", "kind": "power_law", "says": "It is flat.", "primary": False, "role": "source",
        "verdict": "supported", "statistic": "exponent", "estimate": 0.0312, "low": -0.02, "high": 0.0815,
        "region_low": -0.15, "region_high": 0.15, "n": 10, "inside": 10, "seeds": {1: 0.03}, "reason": "inside",
        "scope": "6-6",
    }  # fmt: skip
    return Verdict(**(usual | given))


def test_the_table_holds_sentence_interval_region_n_and_verdict(capsys):
    out().print(verdict_table([verdict(primary=True), verdict(verdict="not testable here", says="Never.")]))
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split("  ")[0] == "✓ supported"
    for words in ("It is flat. *", "exponent 0.0312 [-0.02, 0.0815]", "-0.15 to 0.15", "10"):
        assert words in first
    assert second.startswith("– not testable here")
    assert "Never. " in second


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(-1, 2.5, "-1 to 2.5"), (2.5, None, "at least 2.5"), (None, 1.5, "at most 1.5"), (None, None, "")],
)
def test_regions_are_read_as_the_spec_writes_them(low, high, said):
    assert region_text(verdict(region_low=low, region_high=high)) == said


def test_what_could_not_be_estimated_has_no_number():
    assert estimate_text(verdict(estimate=None, low=None, high=None)) == "exponent"
    assert estimate_text(verdict(low=None, high=None)) == "exponent 0.0312"


def test_the_headline_counts_and_the_reasons_skip_what_is_supported():
    judged = [verdict(), verdict(claim="b", verdict="undecided", reason="2 seeds"), verdict(verdict="supported")]
    assert verdict_counts_line(judged) == "3 claims: 2 supported, 1 undecided"
    assert reason_lines(judged) == ["? b: 2 seeds"]
