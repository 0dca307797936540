import pytest

from lnlab.claims.verdict_text import VERDICT_MEANINGS, VERDICT_SYMBOLS, estimate_text, region_text
from lnlab.cli.verdicts import _SIGNS, legend_lines, print_verdicts, verdict_counts_line, verdict_lines
from tests.cli.verdict_transcripts import CLAIMS, COMMITTED, KEPT, WIDTHS, transcript, verdict


@pytest.mark.parametrize("name", WIDTHS)
def test_the_transcript_is_the_kept_one(name):
    """A change that is meant is written by ``python -m tests.cli.verdict_transcripts``."""
    assert transcript(WIDTHS[name]) == (KEPT / f"{name}.txt").read_text()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_a_claim_takes_at_most_three_lines_of_the_terminal(width):
    lines = list(map(str, verdict_lines(CLAIMS, width, COMMITTED)))
    starts = [n for n, line in enumerate(lines) if line[0] != " "]
    assert max(map(len, lines)) <= width
    assert max(end - start for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)) <= 3


def test_primary_claims_come_first():
    lines = list(map(str, verdict_lines(CLAIMS, 80)))
    assert lines[0] == "Primary claims"
    assert lines[lines.index("Other claims") + 1].startswith("✓ The gradient of W2 in the last")


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


def test_too_few_seeds_are_told_in_one_line_with_the_committed_verdicts():
    assert "too few seeds, by rule, to decide 1 of 7 claims; in profile real: 1 contradicted\n" in transcript(80)
