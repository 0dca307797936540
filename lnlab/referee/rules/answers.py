"""Rules on what the author says: the answer at the top, and the explanations of verdicts."""

import re
from collections.abc import Iterator

from lnlab.claims.verdict_text import counted_word
from lnlab.referee.rule import Remark, rule
from lnlab.referee.study import Study
from lnlab.referee.words import estimate, with_interval

_QUOTED = re.compile(r"\{([^{}]+)\.estimate\}")


@rule("R10a", "Does the answer say more than its claims?", "an answer that names what is open")
def answer_on_an_open_claim(study: Study) -> Iterator[Remark]:
    """Where an answer begins with Yes or No and leans on a claim that is neither supported nor contradicted."""
    for answer in study.answers:
        begins = re.match(r"(yes|no)\b", str(answer["says"]).strip(), re.IGNORECASE)
        for claim in answer.get("while") or {} if begins else ():
            verdict = study.verdicts.get(claim)
            if begins and verdict is not None and verdict.verdict not in ("supported", "contradicted"):
                numbers = f": {estimate(verdict)}" if verdict.estimate is not None else ""
                says = (
                    f'The answer says "{begins[1]}", yet a claim behind it is {counted_word(verdict.verdict)}{numbers}.'
                )
                yield Remark(says, (claim,), grave=True)


@rule("R10d", "Does the answer show how wide its numbers are?", "the number with its interval")
def quoted_without_interval(study: Study) -> Iterator[Remark]:
    """Where an answer quotes an estimate whose interval is wider than its effect."""
    for answer in study.answers:
        for claim in dict.fromkeys(_QUOTED.findall(str(answer["says"]))):
            verdict = study.verdicts.get(claim)
            if verdict is None or not verdict.estimate or verdict.low is None or verdict.high is None:
                continue
            effect = abs(verdict.estimate - (1.0 if verdict.measure == "ratio" else 0.0))
            crosses = verdict.measure != "ratio" and verdict.low <= 0 <= verdict.high
            if crosses or verdict.high - verdict.low > effect:
                numbers = with_interval(verdict.estimate, verdict.low, verdict.high)
                yield Remark(f"The answer quotes {numbers} without its interval.", (claim,))


@rule("R25", "Is every explanation of today's verdict?", "explain the verdict as it is now")
def stale_explanation(study: Study) -> Iterator[Remark]:
    """Where a verdict is explained, but not the word that it has now."""
    for claim, explained in study.because.items():
        verdict = study.verdicts.get(claim)
        if verdict is not None and explained and verdict.verdict not in explained:
            words = " and ".join(explained)
            yield Remark(f"It is explained why this is {words}, and it is {verdict.verdict}.", (claim,))
