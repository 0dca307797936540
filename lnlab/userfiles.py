"""The one reader of files that a user names: kind and size are checked before a byte is read."""

import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from lnlab.errors import LabError, closest, listed
from lnlab.issues import Issue

LARGEST_SPEC = 256 * 1024
"""Bytes of a spec file, and of a value after ``-s``."""
LARGEST = 4 * 1024 * 1024
"""Bytes of a plugin or a template."""


def read_user_file(path: Path, what: str, largest: int = LARGEST) -> bytes:
    """The bytes of a regular file that is not too large.

    No more is read than the size that the file declares: special files of a kernel that declare none are empty.

    Args:
        path: as the user named it.
        what: its role in messages, as in ``spec``.
        largest: bytes.

    Raises:
        LabError: no such file, a folder, a pipe or device, too large, or not readable.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise LabError(Issue("wrong-type", str(path), "is a folder", f"name the {what} in it"))
        if not stat.S_ISREG(status.st_mode):
            raise LabError(Issue("not-found", str(path), "is not a regular file", f"name a {what}"))
        if status.st_size > largest:
            size = f"has {status.st_size:,} bytes; a {what} has at most {largest:,}"
            raise LabError(Issue("too-large", str(path), size, "make it smaller, or name another file"))
        with path.open("rb") as file:
            return file.read(status.st_size)
    except FileNotFoundError as error:
        # Propose the nearest name in that folder, of files with the same ending; a spec has one of two.
        specs = (".yaml", ".yml")
        endings = (path.suffix,) if path.suffix and path.suffix not in specs else specs
        names: dict[str, str] = {}
        with suppress(OSError):
            names = {file.stem: file.name for file in path.parent.iterdir() if file.name.endswith(endings)}
        # Names are compared without their endings, which make all alike.
        close = closest(path.stem, names)
        remedy = f"known: {listed(sorted(names.values()), path.name, first=names.get(close or ''))}" if names else ""
        if close:
            remedy = f"did you mean '{names[close]}'? ({remedy})"
        raise LabError(Issue("not-found", str(path), "there is no such file", remedy)) from error
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise LabError(Issue("unreadable", str(path), f"cannot be read ({cause.lower()})")) from error


def parse_json(content: bytes) -> Any:
    """The value of a JSON file that anybody may have written.

    Raises:
        ValueError: it is no UTF-8, no JSON, holds NaN or an infinity, half a character, or is nested too deeply. The
            message says where.
    """
    try:
        value = json.loads(content.decode(), parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()  # refuses half a character, which JSON can escape
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1:,} is not UTF-8") from error
    except UnicodeEncodeError as error:
        raise ValueError("it holds half a character (a lone surrogate)") from error
    except json.JSONDecodeError as error:
        raise ValueError(
            f"line {error.lineno:,}, column {error.colno:,}: {error.msg[:1].lower()}{error.msg[1:]}"
        ) from error
    except RecursionError as error:
        raise ValueError("its lists and mappings are nested too deeply") from error
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def user_path(text: str) -> Path:
    """A path as the user wrote it on the command line.

    Raises:
        LabError: it ends in a slash, and the path before that is no folder.
    """
    path = Path(text)
    if text.endswith("/") and path.exists() and not path.is_dir():
        raise LabError(Issue("not-found", text, "is not a directory", f"write {text.rstrip('/')}"))
    return path
