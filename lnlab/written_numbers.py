"""The number meant by a text: with a decimal comma, with grouped digits, as a fraction or as a percentage."""

import math
import re
import unicodedata

FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BODY = re.compile(r"([-+]?)([0-9.,][0-9.,'_ ]*)([eEdD][-+]?[0-9]+)?")
_PER_CENT = re.compile(r"(.*[0-9.,]) ?%")
_FRACTION = re.compile(r"([-+]?)(?:([0-9]+)[ +])?([0-9]{1,15})[/⁄]([0-9]{1,15})")
_POWER = re.compile(r"(?:(.*[0-9.,]) ?[x×*·⋅] ?|([-+]?))10 ?(?:\^|\*\*) ?\{?([-+]?[0-9]{1,4})\}?")
_LETTER = re.compile(r"(.*[0-9.,]) ?([kM])")
_GROUPS = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+|[1-9][0-9]?(,[0-9]{2})+,[0-9]{3}")
"""Thousands, and lakhs as they are grouped in India."""
_SAME = str.maketrans("−–‐‑’ʼ٫٬\u2009\u202f\u00a0", "-" * 4 + "''" + ".," + " " * 3)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_LONGEST = 40
_YAML_1_1_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def numbers_meant(text: str) -> list[str]:
    """The numbers, as YAML 1.2 writes them, that a text may mean. There are several where the reader has to say which.

    ``0,001`` is 0.001 and nothing else. ``1,000`` is a thousand to one reader and one to another.
    """
    if len(text) > _LONGEST:
        return []
    return [number for number in _readings(_ascii(text)) if _is_readable(number)]


def _readings(text: str) -> list[str]:
    if match := _PER_CENT.fullmatch(text):
        return [_short(float(number) / 100) for number in _grouped(match[1])]
    if match := _FRACTION.fullmatch(text):
        return [f"{match[1]}{_short(int(match[2] or 0) + int(match[3]) / int(match[4]))}"] if int(match[4]) else []
    if match := _POWER.fullmatch(text):
        mantissas = _grouped(match[1]) if match[1] else [f"{match[2] or ''}1"]
        return [f"{mantissa}e{int(match[3])}" for mantissa in mantissas if "e" not in mantissa]
    if match := _LETTER.fullmatch(text):
        scale = 1_000 if match[2] == "k" else 1_000_000
        return [_short(float(number) * scale) for number in _grouped(match[1])]
    return _grouped(text)


def _is_readable(number: str) -> bool:
    """Whether a spec may have it: float64 has infinity for 1e400, and an integer has 64 bits."""
    if FLOAT.fullmatch(number) is None or not math.isfinite(float(number)):
        return False
    return not number.lstrip("+-").isdigit() or -(2**63) <= int(number) < 2**63


def number_hint(value: object, *, whole: bool = False) -> str:
    """What to write where a number was meant. Empty where the value is no text or means no number.

    Args:
        value: what stands there.
        whole: whether only a whole number will do.
    """
    if not isinstance(value, str):
        return ""
    meant = numbers_meant(value)
    if whole:
        meant = list(dict.fromkeys(str(int(float(number))) for number in meant if float(number).is_integer()))
    if not meant:
        return ""
    if meant == [value]:
        return f"'{value}' is text; remove the quotes"
    if len(meant) == 1:
        return f"'{value}' is text; if a number was meant, write {meant[0]}"
    return f"'{value}' is text; write {' or '.join(meant)}, whichever was meant"


def truth_hint(value: object) -> str:
    """What to write where a truth value was meant. Empty where the value is no truth value of YAML 1.1."""
    if not isinstance(value, str):
        return ""
    word = value.strip().lower()
    if word in ("true", "false"):
        return f"'{value}' is text; write {word} without quotes"
    meant = _YAML_1_1_BOOLEANS.get(word)
    return f"'{value}' is text in YAML 1.2; if a truth value was meant, write {meant}" if meant else ""


def _ascii(text: str) -> str:
    """Digits of any script, spaces, signs, raised digits and fractions such as ``½`` in ASCII."""
    text = _RAISED_RUN.sub(lambda match: f"^{match[0].translate(_RAISED)}", text.translate(_SAME))
    letters = []
    for letter in text:
        if unicodedata.decimal(letter, None) is not None:
            letters.append(str(unicodedata.decimal(letter)))
        elif unicodedata.category(letter) == "No":
            space = " " if letters and letters[-1].isdigit() else ""
            letters.append(space + unicodedata.normalize("NFKC", letter))
        else:
            letters.append(unicodedata.normalize("NFKC", letter))
    return "".join(letters).strip()


def _grouped(text: str) -> list[str]:
    """The readings of digits with points, commas, spaces, apostrophes or underscores between them."""
    match = _BODY.fullmatch(text.strip())
    if match is None:
        return []
    sign, digits, power = match[1], match[2], (match[3] or "").replace("d", "e").replace("D", "e")
    if re.search(r"[ '_]{2}|^[ '_]|[ '_]$", digits):
        return []
    for mark in " '":
        if mark in digits:
            whole, decimal = re.fullmatch(r"([^.,]*)(.*)", digits).groups()  # type: ignore[union-attr]
            if re.fullmatch(rf"[0-9]{{1,3}}({mark}[0-9]{{3}})+", whole) is None or mark in decimal:
                return []
            digits = whole.replace(mark, "") + decimal
    readings = [f"{sign}{reading}{power}" for reading in _with_a_point(digits.replace("_", ""))]
    return [reading for reading in readings if FLOAT.fullmatch(reading)]


def _with_a_point(digits: str) -> list[str]:
    """The readings of digits with points and commas between them."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        decimal = "." if digits.rindex(".") > digits.rindex(",") else ","
        grouping = "," if decimal == "." else "."
        whole, _, rest = digits.partition(decimal)
        if digits.count(decimal) > 1 or not _GROUPS.fullmatch(whole.replace(grouping, ",")):
            return []
        return [f"{whole.replace(grouping, '')}.{rest}"]
    if points > 1 or commas > 1:
        return [re.sub("[.,]", "", digits)] if _GROUPS.fullmatch(digits.replace(".", ",")) else []
    if not commas:
        return [digits]
    whole, _, rest = digits.partition(",")
    if not rest or not (whole or rest).isdigit():
        return []
    decimal_reading = f"{whole or 0}.{rest}"
    return [whole + rest, decimal_reading] if _GROUPS.fullmatch(digits) else [decimal_reading]


def _short(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
