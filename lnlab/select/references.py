"""Which variants a number is measured against, by the ``reference`` of a selection.

Without a reference a number is measured against the best of all variants only where all have one placement and one
init. Otherwise adding a strong variant would move the numbers of all others.
"""

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.settings import settings_of
from lnlab.setting import Setting
from lnlab.specfile.references import BEST, REFERENCE, SEPARATING, ReferenceGroup, parse_reference
from lnlab.tables import Results


class NoReference(LabError):
    """No variant is what a reference names, or none is named where one must be."""


def reference_variants(results: Results, reference: Json = None) -> dict[str, tuple[str, ...]]:
    """Variant -> the variants that it is measured against, with its own task and in the order of the plan.

    Args:
        results: of an experiment.
        reference: as a selection names it. None means the best of all, which requires that all variants have one
            placement and one init.

    Raises:
        NoReference: it is not of the form of one, no variant is what it names, or it is needed and not there.
    """
    settings = settings_of(results)
    if reference is None and not has_one_kind(results):
        what = "the variants differ in placement or init, and no reference is named"
        raise NoReference(
            Issue("ambiguous", REFERENCE, what, f"name one, as {REFERENCE}: {{method: ...}}, or {REFERENCE}: {BEST}")
        )
    try:
        groups_of_reference = parse_reference(BEST if reference is None else reference)
    except ValueError as error:
        raise NoReference(
            Issue("unknown-name", REFERENCE, str(error), f"as in {REFERENCE}: {{method: ...}}")
        ) from error
    comparators: dict[str, dict[str, None]] = {variant: {} for variant in settings.by_variant}
    for among in groups_of_reference:
        if unknown := settings.unknown_paths((*among.conditions, *among.same)):
            near = nearest(unknown[0], settings.index.paths)
            raise NoReference(Issue("unknown-name", f"{REFERENCE}.{unknown[0]}", "no path of any setting", near))
        matching = settings.where(among.conditions)["variant"].to_list()
        # Results without a run have no variants, and nothing is wrong with the name.
        if settings.by_variant and not matching:
            conditions = ", ".join(f"{path} = {canonical(value)}" for path, value in among.conditions.items())
            what = f"no variant has {conditions}"
            raise NoReference(Issue("empty-selection", REFERENCE, what, "name variants that there are"))
        groups: dict[str, list[str]] = {}
        for variant in matching:
            groups.setdefault(_group(settings.by_variant[variant], among), []).append(variant)
        for variant, setting in settings.by_variant.items():
            comparators[variant].update(dict.fromkeys(groups.get(_group(setting, among), ())))
    return {variant: tuple(others) for variant, others in comparators.items()}


def has_one_kind(results: Results) -> bool:
    """Whether all variants of a task have one placement and one init."""
    groups: dict[str, set[str]] = {}
    for setting in settings_of(results).by_variant.values():
        kind = canonical([setting.values(path) for path in SEPARATING])
        groups.setdefault(canonical(setting.get("task")), set()).add(kind)
    return all(len(kinds) == 1 for kinds in groups.values())


def _group(setting: Setting, among: ReferenceGroup) -> str:
    """What a variant and its references have in common, as text."""
    return canonical([setting.get("task"), *(setting.values(path) for path in among.same)])
