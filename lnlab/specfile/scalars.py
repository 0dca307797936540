"""Plain scalars by the core schema of YAML 1.2 (section 10.3.2): ``1e-3`` is a number, ``no`` and ``1:30`` are text."""

import re

from lnlab.issues import Code, Issue
from lnlab.keys import Json
from lnlab.written_numbers import FLOAT

_WORDS: dict[str, Json] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGERS = ((re.compile(r"[-+]?[0-9]+"), 10), (re.compile(r"0o[0-7]+"), 8), (re.compile(r"0x[0-9a-fA-F]+"), 16))
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([Tt\s].*)?")
_MAX_DIGITS = 400


class NotPlainData(ValueError):
    """A plain scalar that a spec may not have."""

    def __init__(self, code: Code, what: str, remedy: str) -> None:
        super().__init__(what)
        self.issue = Issue(code, (), what, remedy)


def resolve_plain(text: str) -> Json:
    """What a scalar without quotes means.

    Raises:
        NotPlainData: it is not finite, a date, or an integer beyond 64 bits.
    """
    if text in _WORDS:
        return _WORDS[text]
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(text):
            return _integer(text, base)
    if FLOAT.fullmatch(text):
        return _float(text)
    if _NOT_FINITE.fullmatch(text):
        raise NotPlainData("out-of-range", f"{text} is not a finite number", "write a finite one, or null for none")
    if _DATE.fullmatch(text):
        raise NotPlainData("wrong-type", f"{text} is a date", "put quotes around it to make it text")
    return text


def _integer(text: str, base: int) -> int:
    # Python refuses to read integers of some thousand digits, and none of so many fits.
    value = int(text, base) if len(text) < _MAX_DIGITS else 2**63
    if not -(2**63) <= value < 2**63:
        raise NotPlainData("out-of-range", "an integer beyond 64 bits", "write it as 1e30, or in quotes")
    return value


def _float(text: str) -> float:
    value = float(text)
    # ``1e999`` is written as a number, and float64 has infinity for it.
    if value in (float("inf"), float("-inf")):
        raise NotPlainData(
            "out-of-range", f"{text[:40]} is too large for a number", "write a finite one, or null for none"
        )
    return value
