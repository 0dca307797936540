"""Names of files and folders that every system can hold, so that a report made on one can be copied to all others.

Source: Microsoft, Naming Files, Paths, and Namespaces. Besides, a name is one step of a path, and shows as itself.
"""

import re

from lnlab.printable import printable

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows gives to devices, also with an ending."""
_FORBIDDEN = frozenset('<>:"/\\|?*')
_LONGEST = 200
"""Bytes of UTF-8: file systems hold 255, and a report puts endings and the name of a table behind its own."""


def why_unportable(name: str) -> str | None:
    """Why no file or folder should have this name, as what follows it in a sentence, or None if every system can."""
    if not name or name.strip(".") == "" or _FORBIDDEN.intersection(name):
        return 'is empty, of dots alone, or has one of < > : " / \\ | ? *'
    if printable(name) != name or "\n" in name or "\t" in name:
        return "has a character that shows as none, or as something else"
    if name.endswith((".", " ")) or name.startswith(" "):
        return "begins or ends with a space, or ends with a dot, which Windows drops"
    if _DEVICE.fullmatch(name):
        return "is the name of a device on Windows"
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
        return f"has more than {_LONGEST} bytes"
    return None
