"""Estimates that the prose of a paper can name: ``\\lnlab{xiong_fig3:post_grows}`` prints 6.3 [5.2, 7.6]."""

import re
from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.report.page.latex import escape_latex
from lnlab.report.words.answer_text import PLACEHOLDER
from lnlab.report.words.verdict_words import verdict_interval
from lnlab.report.words.wording import format_number, nonbreaking

_NOT_IN_A_NAME = re.compile(r"[\\{}%~#$&^\x00-\x1f]+")
_COMMAND = r"""\providecommand{\lnlab}[1]{\ifcsname lnlab@#1\endcsname\csname lnlab@#1\endcsname
  \else\PackageError{lnlab}{No number is called #1}{Input the file of its spec first, or fix the name.}\fi}
"""


def number_values(verdict: Verdict) -> Mapping[str, str]:
    """What each name prints. A claim's id prints its interval, and with a dot and a part behind it that part."""
    low, high = verdict.low, verdict.high
    return {
        verdict.claim: nonbreaking(verdict_interval(verdict)),
        f"{verdict.claim}.estimate": format_number(verdict.estimate, low, high),
        f"{verdict.claim}.low": format_number(low, low, high),
        f"{verdict.claim}.high": format_number(high, low, high),
        f"{verdict.claim}.n": str(verdict.n),
        f"{verdict.claim}.verdict": verdict.verdict,
    }


def number_name(name: str, key: str) -> str:
    """The name of a number in prose."""
    return name_in_tex(f"{name}:{key}")


def name_in_tex(name: str) -> str:
    r"""The name of a spec or a claim in commands. A hyphen replaces what TeX reads as none, as ``^^5c`` is ``\``."""
    return _NOT_IN_A_NAME.sub("-", name)


def number_definitions(name: str, verdicts: Sequence[Verdict]) -> str:
    """The command ``\\lnlab`` and every number of a spec, for the preamble."""
    lines = [
        rf"\expandafter\def\csname lnlab@{number_name(name, key)}\endcsname{{{escape_latex(text)}}}"
        for verdict in verdicts
        for key, text in number_values(verdict).items()
    ]
    return _COMMAND + "\n".join(lines) + "\n"


def sentence_with_numbers(says: str, name: str, verdicts: Sequence[Verdict]) -> str:
    """Replace placeholders such as ``{claim}`` and ``{claim.n}`` by numbers of the file. Others stay as they are."""
    known = {key for verdict in verdicts for key in number_values(verdict)}
    pieces = PLACEHOLDER.split(says)  # every second one is a name
    return "".join(
        (rf"\lnlab{{{number_name(name, piece)}}}" if piece in known else rf"\{{{escape_latex(piece)}\}}")
        if place % 2
        else escape_latex(piece)
        for place, piece in enumerate(pieces)
    )
