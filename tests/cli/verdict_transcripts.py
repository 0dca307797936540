"""What `run` prints of a few claims at three widths and in a pipe: `-m tests.cli.verdict_transcripts` keeps it."""

from pathlib import Path

from lnlab.claims.claim import Verdict
from lnlab.cli.verdicts import legend_lines, too_few_seeds_line, verdict_counts_line, verdict_lines

KEPT = Path(__file__).parents[1] / "fixtures/verdicts"
WIDTHS = {"80": 80, "100": 100, "160": 160, "pipe": None}


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


def transcript(width: int | None) -> str:
    """The lines, as a terminal of this width or a pipe has them."""
    lines = verdict_lines(CLAIMS, width, COMMITTED)
    below = [*legend_lines(CLAIMS, lines), too_few_seeds_line(CLAIMS, COMMITTED), verdict_counts_line(CLAIMS)]
    return "\n".join([*map(str, lines), "", *below, ""])


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name, width in WIDTHS.items():
        (KEPT / f"{name}.txt").write_text(transcript(width))
