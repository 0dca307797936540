"""Content keys: the SHA-256 of canonical JSON, so that equal things have equal names everywhere.

Keys form a tree: the key of a whole is made of its own parameters and the *keys* of its parts.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_HALVES = re.compile("[\ud800-\udfff]")
KEY_DIGITS = 20
"""Hexadecimal digits of the keys of runs, trajectories and measurements: 80 bits, of which no compression saves one."""
Json = Any  # None, bool, int, float, str, list or dict of these; recursive types buy nothing past the loader


def texts_in(value: Json) -> Iterator[str]:
    """Every text among nested values, in order. Keys are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def canonical(value: Json) -> str:
    """JSON with sorted keys, no spaces and no NaN: one text per value, which is always UTF-8.

    A lone surrogate, which stands for a byte of a path, is escaped, as no file and no digest can hold it.

    Raises:
        ValueError: the value holds a NaN or an infinity.
    """
    text = _CANONICAL.encode(value)
    return text if text.isascii() else _HALVES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def digest(value: Json) -> str:
    """The SHA-256 of ``canonical(value)``, in 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def short_key(whole: str) -> str:
    """The key of a run, a trajectory or a measurement: the first ``KEY_DIGITS`` digits of its digest."""
    return whole[:KEY_DIGITS]


def digest_bytes(content: bytes) -> str:
    """The SHA-256 of ``content``, in 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
