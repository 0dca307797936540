"""Plain data -> the text of a spec: the inverse of ``load``, for specs that are written in Python.

A collection that fits on one line is written on one line, any other as a block. Reading the text gives the same data.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import PurePath

from lnlab.errors import SpecError
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.specfile.scalars import NotPlainData, resolve_plain

LINE_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z_](?:[\w ./()-]*[\w./()])?", re.ASCII)
"""Text that needs no quotes in any position, unless it means a number, a truth value or nothing."""


def plain_spec(data: Mapping[str, object]) -> dict[str, Json]:
    """The data of a spec with tuples as lists and paths as text.

    Raises:
        SpecError: everything that a spec may not hold: NaN, integers beyond 64 bits, keys that are no words, objects.
    """
    problems: list[Issue] = []
    plain = _plain(data, (), problems)
    if problems:
        raise SpecError(*problems)
    assert isinstance(plain, dict)
    return plain


def spec_yaml(data: Mapping[str, Json]) -> str:
    """The data as YAML."""
    return "\n".join(_block(data, 0)) + "\n"


def inline_text(value: Json) -> str:
    """A value as YAML on one line."""
    return _flow(value)


def _plain(value: object, path: Where, problems: list[Issue]) -> Json:
    """The value as plain data. What is not plain becomes None, with an issue added to ``problems``."""
    if value is None or isinstance(value, bool | str):
        return value
    # ``int`` and ``float`` make plain numbers of their subclasses, such as those of NumPy.
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else _refused("an integer beyond 64 bits", path, problems)
    if isinstance(value, float):
        return float(value) if isfinite(value) else _refused(f"{value} is not a finite number", path, problems)
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, Mapping):
        keys = [key for key in value if not (isinstance(key, str) and key)]
        for key in keys:
            _refused(f"the key {key!r} is not a word", path, problems)
        return {key: _plain(value[key], (*path, key), problems) for key in value if key not in keys}
    if isinstance(value, list | tuple | range):
        return [_plain(item, (*path, number), problems) for number, item in enumerate(value)]
    name = type(value).__name__
    article = "an" if name[0] in "aeiouAEIOU" else "a"
    return _refused(f"{article} {name} is not plain data", path, problems)


def _refused(what: str, path: Where, problems: list[Issue]) -> None:
    """Add an issue to ``problems``. Returns None in place of the refused value."""
    remedy = "write numbers, text, truth values, lists and dicts of them"
    problems.append(Issue("wrong-type", f"spec: {'.'.join(map(str, path))}".removesuffix(": "), what, remedy))


def _block(value: Json, indent: int) -> list[str]:
    """The lines of a collection. What fits on a line is written on one."""
    space = " " * indent
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            lines += _entry(f"{space}{_scalar(key)}:", item, indent)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            lines += _entry(f"{space}-", item, indent)
    return lines


def _entry(head: str, item: Json, indent: int) -> list[str]:
    line = f"{head} {_flow(item)}"
    short = len(line) <= LINE_WIDTH or not isinstance(item, dict | list) or not item
    # collections of collections of collections nobody reads on one line
    return [line] if short and _depth(item) <= 2 else [head, *_block(item, indent + 2)]


def _depth(value: Json) -> int:
    if not isinstance(value, dict | list) or not value:
        return 0
    return 1 + max(_depth(item) for item in (value.values() if isinstance(value, dict) else value))


def _flow(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if not isinstance(value, str):
        return repr(value)
    with suppress(NotPlainData):  # a date, say, is text in quotes only
        if _PLAIN.fullmatch(value) and resolve_plain(value) == value:
            return value
    # double quotes, with the escapes that Python and YAML share
    letters = (
        f"\\{letter}"
        if letter in '"\\'
        else letter
        if letter.isprintable()
        else letter.encode("unicode_escape").decode("ascii")
        for letter in value
    )
    return f'"{"".join(letters)}"'
