"""Locks as TOML: tables of one line an entry, sorted, so that two branches that lock different things merge cleanly.

Written here and read by ``tomllib``, which refuses a key that stands twice and the marks of a conflict.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json

LockTables = Mapping[str, Json]
"""Scalars, and tables whose values are scalars or one-line tables of scalars."""

LOCK_HEAD = "# Written by `lnlab lock` and compared by `lnlab verify`. Make it again instead of editing it.\n"


def lock_text(tables: LockTables, head: str = LOCK_HEAD) -> str:
    """The text of a lock: scalars first, then every table with its entries sorted by key. Nulls are left out."""
    scalars = {key: value for key, value in tables.items() if not isinstance(value, Mapping)}
    nested = {key: value for key, value in tables.items() if isinstance(value, Mapping)}
    blocks = ["\n".join(_entries(scalars))] if scalars else []
    blocks += ["\n".join([f"[{_key(name)}]", *_entries(table)]) for name, table in sorted(nested.items())]
    return head + "\n" + "\n\n".join(blocks) + "\n"


def parse_lock(text: str, where: str) -> dict[str, Json]:
    """The tables of a lock.

    Raises:
        LabError: the text is not TOML, as after a merge that left a key twice or a conflict open. It names the line.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        problem = Issue("unreadable", where, f"cannot be read: {str(error)[:200]}", "make it again with lnlab lock")
        raise LabError(problem) from error


def line_of_entry(text: str, path: tuple[str, ...]) -> int:
    """The line number of an entry, from 1. Without a line of its own, it is that of its table, or else 1."""
    table = ""
    line_of_table = 1
    wanted_table, wanted_key = ("", path[0]) if len(path) == 1 else path[:2]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            table = line
            line_of_table = number if line == f"[{_key(wanted_table)}]" else line_of_table
        in_table = table == (f"[{_key(wanted_table)}]" if wanted_table else "")
        if in_table and line.startswith(f"{_key(wanted_key)} = "):
            return number
    return line_of_table


def flat_entries(tables: LockTables) -> dict[tuple[str, ...], Json]:
    """Every scalar of nested tables with its path."""
    return dict(_flat((), tables))


def _flat(path: tuple[str, ...], value: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat((*path, key), inner)
    elif value is not None:
        yield path, value


def _entries(table: Mapping[str, Json]) -> Iterator[str]:
    for key, value in sorted(table.items()):
        if value is None:
            continue
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, int | float):
            text = repr(value)
        elif isinstance(value, Mapping):
            text = "{ " + ", ".join(_entries(value)) + " }"
        else:
            text = _string(str(value))
        yield f"{_key(key)} = {text}"


def _key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "_-") for c in key)
    return key if bare else _string(key)


def _string(text: str) -> str:
    """A basic string: its escapes are those of JSON, and one more character must be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
