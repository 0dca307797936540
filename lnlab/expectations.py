"""The one translator of pydantic's errors: what a value should have been, in the words of a spec.

Pydantic says of every alternative of a union why it does not fit, and puts its own name of the alternative into the
path (``constrained-int``). Here each place has one mistake, and the path is that of the data.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from lnlab.errors import closest, listed, nearest, shown
from lnlab.issues import Code, Issue, Where
from lnlab.keys import Json
from lnlab.parameters import UNKNOWN_KEY
from lnlab.written_numbers import number_hint, truth_hint

_LISTS = ("list_type", "tuple_type", "set_type", "frozen_set_type", "deque_type", "iterable_type")
_MAPPINGS = ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type")
_TEXTS = ("string_type", "string_sub_type", "string_unicode", "bytes_type")
_WHOLE = ("int_type", "int_parsing", "int_parsing_size", "int_from_float")
_NUMBERS = ("float_type", "float_parsing", "decimal_type", "decimal_parsing")
_TRUTH = ("bool_type", "bool_parsing")
_BOUNDS = {
    "greater_than": ("gt", "a number greater than"),
    "greater_than_equal": ("ge", "a number of at least"),
    "less_than": ("lt", "a number less than"),
    "less_than_equal": ("le", "a number of at most"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_SIZES = {
    "too_short": ("min_length", "at least", "item"),
    "too_long": ("max_length", "at most", "item"),
    "string_too_short": ("min_length", "at least", "character"),
    "string_too_long": ("max_length", "at most", "character"),
    "bytes_too_short": ("min_length", "at least", "byte"),
    "bytes_too_long": ("max_length", "at most", "byte"),
}
_PLAIN = {
    "none_required": "null",
    "finite_number": "a finite number",
    "callable_type": "a function",
    "is_subclass_of": "a class",
}
_PYDANTIC = frozenset(get_args(ErrorType))
_OWN = ("value_error", "assertion_error")
_WORD = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NAME = "^[A-Za-z][A-Za-z0-9_]*"
_ABSENT = object()
FLAWED = "flawed"
"""The type of the error of a value that reported its issues itself. Its context has them as ``issues``."""
MOST_ISSUES = 100
"""Issues of one value that are told apart."""
_CODES: Mapping[str, Code] = {
    **dict.fromkeys(
        (*_LISTS, *_MAPPINGS, *_TEXTS, *_WHOLE, *_NUMBERS, *_TRUTH, *_PLAIN, "is_instance_of"), "wrong-type"
    ),
    **dict.fromkeys((*_BOUNDS, "finite_number", "out_of_range"), "out-of-range"),
    **dict.fromkeys(_SIZES, "wrong-length"),
}
"""pydantic's types of errors, and of our validators, that are no ``wrong-value``."""


@dataclass(frozen=True)
class Mistake:
    """One place where a value is not what it should be.

    Attributes:
        path: of the value, in the data.
        kind: pydantic's type of the error. For a union it is that of its first alternative.
        value: what stands there.
        remedy: what to write instead.
        context: what the validator says of it.
        of_key: whether a key of a mapping is wrong, the last of the path.
    """

    path: Where
    kind: str
    value: Json
    remedy: str
    context: Mapping[str, Any]
    of_key: bool = False


def mistakes_of(error: ValidationError, data: Json) -> list[Mistake]:
    """Each mistake that pydantic found in the data, once, with its path in them and its remedy."""
    places: dict[tuple[str | int, ...], list[Mistake]] = {}
    unions: dict[tuple[str | int, ...], list[Mistake]] = {}
    for detail in error.errors(include_url=False):
        path, union = _path_in(data, detail["loc"], missing=detail["type"] == "missing")
        of_key = detail["loc"][-1:] == ("[key]",)
        mistake = Mistake(
            path=path,
            kind=detail["type"],
            value=detail["input"],
            remedy=_expected(detail),
            context=detail.get("ctx") or {},
            of_key=of_key,
        )
        if union is None:
            places.setdefault(path, []).append(mistake)
        else:
            unions.setdefault(union, []).append(mistake)
    for union, mistakes in unions.items():
        inner = [mistake for mistake in mistakes if len(mistake.path) > len(union)]
        for mistake in inner or mistakes:  # the alternative of which a part fits is the one that was meant
            places.setdefault(mistake.path, []).append(mistake)
    found = [_merged(mistakes) for mistakes in places.values()]
    lacking = [mistake for mistake in found if mistake.kind == "missing" and isinstance(mistake.path[-1], int)]
    others = [mistake for mistake in found if mistake.kind != "missing" or isinstance(mistake.path[-1], str)]
    lengths: dict[tuple[str | int, ...], Mistake] = {}  # items that a list of a fixed length lacks: one mistake of it
    for mistake in lacking:
        remedy = f"write a list of {int(mistake.path[-1]) + 1}"
        lengths[mistake.path[:-1]] = replace(mistake, path=mistake.path[:-1], kind="too_short", remedy=remedy)
    return [*others, *lengths.values()]


def issues_of(
    mistakes: list[Mistake], unknown_key: Callable[[Where], Issue], missing: Callable[[Where, Json], Issue]
) -> list[Issue]:
    """The mistakes as issues, with paths in the data.

    Args:
        mistakes: of one value.
        unknown_key: the issue of a key at a path, which only its owner can word.
        missing: that of a required key at a path, and the value that lacks it.
    """
    issues = []
    for mistake in mistakes[:MOST_ISSUES]:
        path, word = mistake.path, str(mistake.path[-1]) if mistake.path else ""
        if mistake.kind == "extra_forbidden":
            issues.append(unknown_key(path))
        elif mistake.kind == UNKNOWN_KEY:
            issues.append(issue_of_key(path, mistake.context["key"], mistake.context["known"]))
        elif mistake.kind == "literal_error" and mistake.of_key:
            issues.append(issue_of_key(path[:-1], word, _WORD.findall(str(mistake.context["expected"]))))
        elif mistake.kind == "missing":
            issues.append(missing(path, mistake.value))
        elif mistake.kind == FLAWED:
            issues += [issue.below(*path) for issue in mistake.context["issues"]]
        else:
            code = _CODES.get(mistake.kind, "wrong-value")
            issues.append(Issue(code, path, f"found {shown(mistake.value)}", mistake.remedy))
    if len(mistakes) > MOST_ISSUES:
        issues.append(Issue("more", (), f"and {len(mistakes) - MOST_ISSUES:,} more", "fix the first ones first"))
    return issues


def issue_of_key(path: Where, key: str, known: Iterable[str]) -> Issue:
    """The issue of a key that is none of those which the value at a path may have."""
    return Issue("unknown-key", (*path, key), f"unknown key '{key}'", nearest(key, known))


def _path_in(
    data: Json, location: Iterable[str | int], *, missing: bool
) -> tuple[tuple[str | int, ...], tuple[str | int, ...] | None]:
    """The path in the data, without the names of alternatives, and the path of the first union on the way, if any."""
    path: list[str | int] = []
    union = None
    parts = [part for part in location if part != "[key]"]
    for place, part in enumerate(parts):
        inner: Any = _ABSENT
        if isinstance(data, Mapping):
            inner = data.get(part, _ABSENT)
        elif isinstance(data, list | tuple) and isinstance(part, int) and part < len(data):
            inner = data[part]
        if inner is _ABSENT and not (missing and place == len(parts) - 1):
            union = tuple(path) if union is None else union
            continue
        path.append(part)
        data = inner
    return tuple(path), union


def _merged(mistakes: list[Mistake]) -> Mistake:
    """One mistake of the alternatives of a place."""
    first = mistakes[0]
    if len(mistakes) == 1:
        return first
    remedies = list(dict.fromkeys(mistake.remedy for mistake in mistakes))
    hints = [hint for remedy in remedies for hint in remedy.split("; ")[1:]]
    texts = list(dict.fromkeys(remedy.split("; ")[0].removeprefix("write ") for remedy in remedies))
    remedy = "; ".join(["write " + ", or ".join(texts), *dict.fromkeys(hints)])
    return replace(first, remedy=remedy)


def _expected(detail: Any) -> str:
    """What to write instead of the value of one of pydantic's errors."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx") or {}
    if kind in _OWN:
        return str(context.get("error", "")) or "write another value"
    if kind in ("literal_error", "enum"):
        expected = str(context.get("expected", ""))
        allowed = [word.replace("\\'", "'") for word in _WORD.findall(expected)]
        word = value if isinstance(value, str) else ""
        choice = listed(allowed, word, last="or", quoted=True) if allowed else expected  # the nearest first
        if truth := truth_hint(value) if allowed in (["true", "false"], []) else "":
            return f"write {choice}; {truth}"
        close = closest(value, allowed) if isinstance(value, str) else None
        return f"write {choice}; did you mean '{close}'?" if close else f"write {choice}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = context.get(name, 0)
        return f"write {words} {int(bound) if float(bound).is_integer() else bound:,}"
    if kind in _SIZES:
        name, words, unit = _SIZES[kind]
        number = int(context.get(name, 0))
        if context.get("field_type") in ("Dictionary", "Mapping"):
            unit = "key"
        of = "text" if unit == "character" else "a mapping" if unit == "key" else "data" if unit == "byte" else "a list"
        return f"write {of} of {words} {number:,} {unit}{'' if number == 1 else 's'}"
    hint = ""
    if kind in _LISTS:
        words = "a list: [...]"
    elif kind in _MAPPINGS:
        words = "a mapping: {key: value}"
    elif kind in _TEXTS:
        words = "text"
        if isinstance(value, int | float):
            hint = "put quotes around it" if isinstance(value, bool) else "put quotes around a number"
    elif kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        words = "letters, digits and _, a letter first" if pattern.startswith(_NAME) else f"text of the form {pattern}"
    elif kind in _WHOLE:
        words, hint = "a whole number", number_hint(value, whole=True)
    elif kind in _NUMBERS:
        words, hint = "a number", number_hint(value)
    elif kind in _TRUTH:
        words, hint = "true or false", truth_hint(value)
    elif kind == "is_instance_of":
        words = f"a {context.get('class', 'value of another kind')}"
    elif kind in _PLAIN:
        words = _PLAIN[kind]
    elif kind in _PYDANTIC:  # of a type that no field of a spec has
        words = "another value"
    else:  # raised by a validator of ours: its message is a remedy
        return str(detail["msg"])
    return f"write {words}; {hint}" if hint else f"write {words}"
