"""``lnlab.toml``: what a project says once, beside its specs: store, remote, data folders and profile.

It is looked for in the folder of the spec, or in the working folder where no spec is named, and in those above. What is
given on the command line or in the environment wins. Paths in it are relative to its folder.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lnlab.errors import LabError, closest
from lnlab.issues import Issue
from lnlab.userfiles import read_user_file

PROJECT_FILE = "lnlab.toml"
LARGEST_PROJECT_FILE = 64 * 1024
_KEYS: dict[str, Any] = {"remote": str, "store": str, "data": list, "profile": str}


@dataclass(frozen=True)
class Project:
    """What a project file says.

    Attributes:
        path: of the file. None where there is none.
        remote: where ``lnlab push`` sends runs, and ``lnlab pull`` takes them from.
        store: the folder of results.
        data: folders of corpora.
        profile: that of specs which have one of this name, where none is asked for.
    """

    path: Path | None = None
    remote: str | None = None
    store: Path | None = None
    data: tuple[Path, ...] = ()
    profile: str | None = None


def read_project(folder: Path) -> Project:
    """The project of a folder: of that of a spec, or the working folder.

    Raises:
        LabError: the file is wrong.
    """
    folder = folder.absolute()
    path = next((above / PROJECT_FILE for above in (folder, *folder.parents) if (above / PROJECT_FILE).is_file()), None)
    if path is None:
        return Project()
    content = read_user_file(path, "project file", LARGEST_PROJECT_FILE)
    try:
        fields = tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise LabError(Issue("not-text", str(path), "is not UTF-8", "save it as UTF-8")) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "brackets in brackets"
        raise LabError(
            Issue("wrong-type", str(path), f"is no TOML: {what}", 'write lines like store = "results"')
        ) from error
    problems = [problem for key, value in fields.items() if (problem := _flaw(path, key, value))]
    if problems:
        raise LabError(*problems)
    remote = fields.get("remote")
    return Project(
        path=path,
        remote=remote if remote is None or "://" in remote else str(_below(path, remote)),
        store=_below(path, fields["store"]) if "store" in fields else None,
        data=tuple(_below(path, folder) for folder in fields.get("data", ())),
        profile=fields.get("profile"),
    )


def _flaw(path: Path, key: str, value: Any) -> Issue | None:
    if key not in _KEYS:
        close = closest(key, _KEYS)
        known = f"known: {', '.join(_KEYS)}"
        remedy = f"did you mean '{close}'? ({known})" if close else known
        return Issue("unknown-key", f"{path}: {key}", "is not a key of lnlab.toml", remedy)
    words = value if isinstance(value, list) else [value]
    if not isinstance(value, _KEYS[key]) or not all(isinstance(word, str) and word for word in words):
        example = '["data"]' if _KEYS[key] is list else '"..."'
        return Issue("wrong-value", f"{path}: {key}", f"is {value!r}"[:100], f"write {key} = {example}")
    if any("\0" in word for word in words):
        return Issue("wrong-value", f"{path}: {key}", "has a character that no path may have", "take it out")
    return None


def _below(path: Path, folder: str) -> Path:
    return path.parent / Path(folder).expanduser()
