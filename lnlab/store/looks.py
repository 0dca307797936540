"""The looks at claims that a store remembers, whatever plan they belonged to: ``looks/<spec>.jsonl``.

The file has one line per look. A spec that runs again with more seeds is another plan, so its looks stand beside the
plans. Another profile has other runs, and so has one with overrides of a setting: each has its own looks, told apart by
``question``. Lines are appended whole. A line that cannot be read is skipped.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from lnlab.keys import Json
from lnlab.store import files
from lnlab.store.records.layout import FACTS_FILE, is_report, refuse_report
from lnlab.userfiles import parse_json

LOOKS_FOLDER = "looks"
_OF_RUNS = ("sweep", "methods", "choose", "profiles")
"""Fields of an experiment beside its setting that say what its runs are."""


def question_of_looks(profile: str | None, overrides: Sequence[str]) -> tuple[str, ...]:
    """The profile and the overrides by which the runs of a spec are others. Those of seeds or claims are left out."""
    return (profile or "", *(each for each in overrides if _changes_runs(each)))


def _changes_runs(override: str) -> bool:
    from lnlab.specfile.experiment import Experiment  # late: reading a store needs no grammar

    field = override.partition("=")[0].partition(".")[0]
    return field in _OF_RUNS or field not in Experiment.model_fields


def read_looks(root: Path, name: str, question: Sequence[str]) -> dict[str, list[dict[str, Json]]]:
    """The remembered looks of a spec by claim. Of a report they are those at its rows, whatever spec asks.

    Args:
        root: of the store.
        name: that of the file of the spec.
        question: its profile, or an empty text, and the overrides by which its runs are others.
    """
    looks: dict[str, list[dict[str, Json]]] = {}
    if is_report(root):
        return dict(parse_json((root / FACTS_FILE).read_bytes()).get("looks", {}))
    try:
        lines = _path(root, name).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return looks
    for line in lines:
        try:
            entry = json.loads(line)
            claim, seeds = entry["claim"], [int(seed) for seed in entry["look"]["seeds"]]
            asked = entry["question"]
        except (ValueError, TypeError, KeyError):
            continue
        if isinstance(claim, str) and seeds and asked == list(question):
            looks.setdefault(claim, []).append({**entry["look"], "seeds": seeds})
    return looks


def add_looks(
    root: Path, name: str, question: Sequence[str], looks: Mapping[str, Sequence[Mapping[str, Json]]]
) -> None:
    """Remember looks, as ``read_looks`` returns them. Those that are remembered already are not added again.

    Raises:
        StoreError: the store cannot be written.
    """
    refuse_report(root)
    known = read_looks(root, name, question)
    new = [
        json.dumps({"claim": claim, "question": list(question), "look": dict(look)}, ensure_ascii=False)
        for claim, entries in looks.items()
        for look in entries
        if not any(_key(look) == _key(other) for other in known.get(claim, ()))
    ]
    if not new:
        return
    path = _path(root, name)
    files.make_folder(path.parent)
    files.append(path, "".join(f"{line}\n" for line in new).encode())


def _key(look: Mapping[str, Json]) -> tuple[object, ...]:
    return tuple(sorted(look["seeds"])), look.get("criterion")


def _path(root: Path, name: str) -> Path:
    # Quoted: a spec may be called as no file can on some system.
    return root / LOOKS_FOLDER / f"{quote(os.fsencode(name), safe='')}.jsonl"
