"""Which variants a number is measured against, by the ``reference`` of a selection.

Without a reference a number is measured against the best of all variants only where all have one placement and one
init: else adding a strong variant would move the numbers of all others.
"""

from collections.abc import Mapping, Sequence

from lnlab.analyse.select.settings import Setting, found_at, has_value, paths, settings
from lnlab.errors import LabError, Problem, nearest
from lnlab.keys import Json, canonical
from lnlab.specfile.references import BEST, REFERENCE, SEPARATING, Among, parsed
from lnlab.tables import Results


class NoReference(LabError):
    """No variant is what a reference names, or none is named where one must be."""


def references(results: Results, reference: Json = None) -> dict[str, tuple[str, ...]]:
    """Variant -> the variants that it is measured against, all of them with its own task; in the order of the plan.

    Args:
        results: what an experiment found.
        reference: as a selection names it; None: the best of all, where that says enough.

    Raises:
        NoReference: it is not of the form of one, no variant is what it names, or it is needed and not there.
    """
    known = settings(results)
    if reference is None and not one_kind(results):
        what = "the variants differ in placement or init, and no reference is named"
        raise NoReference(
            Problem(REFERENCE, what, f"name one, as {REFERENCE}: {{method: ...}}, or {REFERENCE}: {BEST}")
        )
    found: dict[str, dict[str, None]] = {variant: {} for variant in known}
    for among in _parsed(BEST if reference is None else reference):
        groups: dict[str, list[str]] = {}
        for variant in _meeting(known, among):
            groups.setdefault(_group(known[variant], among), []).append(variant)
        for variant, setting in known.items():
            found[variant].update(dict.fromkeys(groups.get(_group(setting, among), ())))
    return {variant: tuple(others) for variant, others in found.items()}


def one_kind(results: Results) -> bool:
    """Whether all variants of a task have one placement and one init."""
    groups: dict[str, set[str]] = {}
    for setting in settings(results).values():
        told = canonical([found_at(setting, path) for path in SEPARATING])
        groups.setdefault(canonical(setting.get("task")), set()).add(told)
    return all(len(kinds) == 1 for kinds in groups.values())


def _parsed(reference: Json) -> Sequence[Among]:
    try:
        return parsed(reference)
    except ValueError as error:
        raise NoReference(Problem(REFERENCE, str(error), f"as in {REFERENCE}: {{method: ...}}")) from error


def _meeting(known: Mapping[str, Setting], among: Among) -> list[str]:
    """The variants that meet the conditions."""
    for path in (*among.conditions, *among.same):
        if known and not any(found_at(setting, path) for setting in known.values()):
            near = nearest(path, set().union(*map(paths, known.values())))
            raise NoReference(Problem(f"{REFERENCE}.{path}", "no path of any setting", near))
    met = [v for v, setting in known.items() if all(has_value(setting, p, w) for p, w in among.conditions.items())]
    if known and not met:
        told = ", ".join(f"{path} = {canonical(value)}" for path, value in among.conditions.items())
        raise NoReference(Problem(REFERENCE, f"no variant has {told}", "name variants that there are"))
    return met


def _group(setting: Setting, among: Among) -> str:
    """What a variant and its references have in common, as text."""
    return canonical([setting.get("task"), *(found_at(setting, path) for path in among.same)])
