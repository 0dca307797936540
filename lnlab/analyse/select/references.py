"""Which variants a number is measured against, by the ``reference`` of a selection.

Without a reference a number is measured against the best of all variants only where all have one placement and one
init: else adding a strong variant would move the numbers of all others.
"""

from collections.abc import Mapping, Sequence

from lnlab.analyse.select.settings import SettingMap, meets_condition, setting_paths, setting_values, variant_settings
from lnlab.errors import LabError, Problem, nearest
from lnlab.keys import Json, canonical
from lnlab.specfile.references import BEST, REFERENCE, SEPARATING, ReferenceGroup, parse_reference
from lnlab.tables import Results


class NoReference(LabError):
    """No variant is what a reference names, or none is named where one must be."""


def reference_variants(results: Results, reference: Json = None) -> dict[str, tuple[str, ...]]:
    """Variant -> the variants that it is measured against, all of them with its own task; in the order of the plan.

    Args:
        results: of an experiment.
        reference: as a selection names it; None: the best of all, where that says enough.

    Raises:
        NoReference: it is not of the form of one, no variant is what it names, or it is needed and not there.
    """
    by_variant = variant_settings(results)
    if reference is None and not has_one_kind(results):
        what = "the variants differ in placement or init, and no reference is named"
        raise NoReference(
            Problem(REFERENCE, what, f"name one, as {REFERENCE}: {{method: ...}}, or {REFERENCE}: {BEST}")
        )
    comparators: dict[str, dict[str, None]] = {variant: {} for variant in by_variant}
    for among in _parsed(BEST if reference is None else reference):
        groups: dict[str, list[str]] = {}
        for variant in _matching_variants(by_variant, among):
            groups.setdefault(_group(by_variant[variant], among), []).append(variant)
        for variant, setting in by_variant.items():
            comparators[variant].update(dict.fromkeys(groups.get(_group(setting, among), ())))
    return {variant: tuple(others) for variant, others in comparators.items()}


def has_one_kind(results: Results) -> bool:
    """Whether all variants of a task have one placement and one init."""
    groups: dict[str, set[str]] = {}
    for setting in variant_settings(results).values():
        kind = canonical([setting_values(setting, path) for path in SEPARATING])
        groups.setdefault(canonical(setting.get("task")), set()).add(kind)
    return all(len(kinds) == 1 for kinds in groups.values())


def _parsed(reference: Json) -> Sequence[ReferenceGroup]:
    try:
        return parse_reference(reference)
    except ValueError as error:
        raise NoReference(Problem(REFERENCE, str(error), f"as in {REFERENCE}: {{method: ...}}")) from error


def _matching_variants(by_variant: Mapping[str, SettingMap], among: ReferenceGroup) -> list[str]:
    """The variants that meet the conditions."""
    for path in (*among.conditions, *among.same):
        if by_variant and not any(setting_values(setting, path) for setting in by_variant.values()):
            near = nearest(path, set().union(*map(setting_paths, by_variant.values())))
            raise NoReference(Problem(f"{REFERENCE}.{path}", "no path of any setting", near))
    conditions = among.conditions.items()
    matching = [
        v for v, setting in by_variant.items() if all(meets_condition(setting, *condition) for condition in conditions)
    ]
    if by_variant and not matching:
        conditions_text = ", ".join(f"{path} = {canonical(value)}" for path, value in conditions)
        raise NoReference(Problem(REFERENCE, f"no variant has {conditions_text}", "name variants that there are"))
    return matching


def _group(setting: SettingMap, among: ReferenceGroup) -> str:
    """What a variant and its references have in common, as text."""
    return canonical([setting.get("task"), *(setting_values(setting, path) for path in among.same)])
