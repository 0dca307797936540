"""Text of a user as a terminal may show it: nothing in it moves the cursor, sets a colour or reverses the line."""

import os
import re
import unicodedata
from pathlib import PurePath

_JOINERS = "\u200c\u200d"
"""Format characters that scripts and emoji need, and that move nothing."""
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Spaces of some width, which Python does not count as printable."""
_HARMLESS = frozenset(f"\n\t{_JOINERS}{_SPACES}")
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
"""How text begins that a spreadsheet runs, in some languages with wide signs as well. Source: OWASP, CSV Injection."""
_SUSPECT = re.compile(r"[^ -~\n\t]")
_HALF = re.compile("[\ud800-\udfff]")
_OBEYED = ("Cc", "Cf", "Zl", "Zp")
_ESCAPED_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")


def printable(text: str) -> str:
    r"""The text with what a terminal would obey written as its escape. Tabs and line ends stay.

    It escapes control characters (C0, DEL, C1), marks that change the direction of text, other characters without a
    shape, and lone surrogates. A surrogate that stands for a byte of a path is written as that byte, ``\xe9``.
    """
    return _SUSPECT.sub(_shown, text)


def obeyed_character(text: str) -> str | None:
    """The first character that moves, reverses or hides what stands around it, or None if there is none.

    Which characters have a shape depends on the version of Unicode, so that one that Python does not know is none.
    """
    characters = (match[0] for match in _SUSPECT.finditer(text))
    return next((c for c in characters if c not in _HARMLESS and unicodedata.category(c) in _OBEYED), None)


def has_half(text: str) -> bool:
    """Whether there is a lone surrogate, half a character, in a text: no file and no table holds it."""
    return _HALF.search(text) is not None


def printable_line(text: str) -> str:
    """The same on one line."""
    return printable(" ".join(text.split()))


def shown_path(path: PurePath | str) -> str:
    r"""A path as text that every file can hold, with forward slashes. A byte that is no UTF-8 is written ``\xe9``."""
    text = path.as_posix() if isinstance(path, PurePath) else path
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def path_as_shown(text: str) -> str:
    """The path that ``shown_path`` wrote."""
    return _ESCAPED_BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable() or character in _HARMLESS:
        return character
    if "\udc80" <= character <= "\udcff":  # how Python holds a byte of a path that is no UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()
