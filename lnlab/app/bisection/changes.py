"""The changes between two specs, as far as a claim can depend on them, and a spec with some of them applied."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from lnlab.app.comparison.differences import spec_leaves
from lnlab.app.comparison.sides import line_of_value
from lnlab.keys import Json, canonical
from lnlab.specfile.experiment import SETTING

_ABSENT: Final = object()
"""The value of a key that is not there."""
_WHOLE = ("probes", "seeds", "select", "methods", "sweep")
"""Keys that change as a whole: their parts mean nothing alone."""
_DECLARATIONS = ("report", "claims")


@dataclass(frozen=True)
class SpecChange:
    """One change: what it is in words, and the values that it puts, by path."""

    label: str
    edits: tuple[tuple[tuple[str, ...], Any], ...]


def about_claim(data: Mapping[str, Json], claim: str, profile: str | None) -> dict[str, Json]:
    """A spec reduced to what a claim can depend on: its settings, probes, seeds, one profile, and the claim itself."""
    names = _with_required(data, claim.partition("[")[0])
    reduced = {key: data[key] for key in ("lnlab", "title", *SETTING, *_WHOLE) if key in data}
    reduced |= {key: _declaring(data[key], names) for key in _DECLARATIONS if key in data}
    lines = (data.get("profiles") or {}).get(profile)
    if lines is not None:
        kept_lines = {key: _declaring(value, names) if key == "report" else value for key, value in lines.items()}
        reduced["profiles"] = {str(profile): kept_lines}
    return deepcopy(reduced)


def _with_required(data: Mapping[str, Json], claim: str) -> set[str]:
    """The claim and those that it requires by their id."""
    names = {claim}
    declared = {entry["id"]: entry for entry in _claims_of(data)}
    while more := {name for n in names for name in _required(declared.get(n, {}))} - names:
        names |= more
    return names


def _required(claim: Mapping[str, Json]) -> Iterator[str]:
    required = claim.get("requires") or ()
    yield from (name for name in ([required] if isinstance(required, str) else required) if isinstance(name, str))


def _claims_of(value: Json) -> Iterator[Mapping[str, Json]]:
    """Every claim that is declared anywhere below."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "claims" and isinstance(inner, list):
                yield from (entry for entry in inner if isinstance(entry, Mapping) and "id" in entry)
            else:
                yield from _claims_of(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _claims_of(item)


def _declaring(declarations: Json, names: set[str]) -> Json:
    """The sections, or claims, that declare one of these claims, without the others."""
    chosen = []
    for entry in declarations if isinstance(declarations, list) else ():
        if isinstance(entry, Mapping) and entry.get("id") in names:
            chosen.append(dict(entry))
        elif isinstance(entry, Mapping) and isinstance(entry.get("claims"), list):
            own = [c for c in entry["claims"] if (c.get("id") if isinstance(c, Mapping) else c) in names]
            if own:
                chosen.append({**entry, "claims": own})
    return chosen


def changes_between(good: Mapping[str, Json], bad: Mapping[str, Json]) -> list[SpecChange]:
    """What leads from one reduced spec to the other: the declaration of the claim first, which moves no run."""
    declared = [(key,) for key in _DECLARATIONS if _differ(good.get(key, _ABSENT), bad.get(key, _ABSENT))]
    changes = []
    if declared:
        edits = tuple((path, bad.get(path[0], _ABSENT)) for path in declared)
        changes.append(SpecChange(_declaration_label(good, bad), edits))
    paths: list[tuple[str, ...]] = [(key,) for key in _WHOLE]
    paths += [path for key in SETTING for path in _changed_paths((key,), good.get(key, _ABSENT), bad.get(key, _ABSENT))]
    for name in sorted({name for side in (good, bad) for name in side.get("profiles") or {}}):
        lines = {line for side in (good, bad) for line in (side.get("profiles") or {}).get(name) or {}}
        paths += [("profiles", name, line) for line in sorted(lines)]
    for path in paths:
        a, b = _at(good, path), _at(bad, path)
        if _differ(a, b):
            changes.append(SpecChange(f"{'.'.join(path)}: {_text(a)} → {_text(b)}", ((path, b),)))
    return changes


def _declaration_label(good: Mapping[str, Json], bad: Mapping[str, Json]) -> str:
    """The parts of the declaration that differ, in words."""
    one, other = (spec_leaves({key: side.get(key, []) for key in _DECLARATIONS}) for side in (good, bad))
    texts = [
        f"{path}: {_text(one.get(path, _ABSENT))} → {_text(other.get(path, _ABSENT))}"
        for path in sorted(one.keys() | other.keys())
        if one.get(path, _ABSENT) != other.get(path, _ABSENT)
    ]
    return "; ".join(texts)


def _changed_paths(path: tuple[str, ...], a: Any, b: Any) -> Iterator[tuple[str, ...]]:
    """The deepest paths that hold the change; a choice of another kind is one change, for its parameters are others."""
    same_kind = isinstance(a, Mapping) and isinstance(b, Mapping) and a.get("kind") == b.get("kind")
    if same_kind:
        for key in sorted(a.keys() | b.keys()):
            yield from _changed_paths((*path, key), a.get(key, _ABSENT), b.get(key, _ABSENT))
    elif _differ(a, b):
        yield path


def _differ(a: Any, b: Any) -> bool:
    if a is _ABSENT or b is _ABSENT:
        return a is not b
    return canonical(a) != canonical(b)


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return _ABSENT
        data = data[key]
    return data


def _text(value: Any) -> str:
    return "–" if value is _ABSENT else line_of_value(value)


def applied(good: Mapping[str, Json], changes: Iterable[SpecChange]) -> dict[str, Json]:
    """The spec with these changes."""
    data = deepcopy(dict(good))
    for path, value in (edit for change in changes for edit in change.edits):
        owner = data
        for key in path[:-1]:
            owner = owner.setdefault(key, {})
        if value is _ABSENT:
            owner.pop(path[-1], None)
        else:
            owner[path[-1]] = deepcopy(value)
    return data
