"""Which variants a number is measured against, by the ``reference`` of a selection.

Without a reference a number is measured against the best of all variants only where all have one placement and one
init. Otherwise adding a strong variant would move the numbers of all others.
"""

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.settings import settings_of
from lnlab.select.variants import Variants
from lnlab.setting import Setting
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.references import BEST, REFERENCE, SAME, SEPARATING, ReferenceGroup, parse_reference
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
    reference = BEST if reference is None else reference
    mistakes = reference_mistakes(settings.index, reference) if settings.by_variant else []
    # Of several values of a path a profile may leave some out: what is left of them is compared.
    if mistakes and not _names_some(settings.index, reference):
        raise NoReference(*mistakes)
    comparators: dict[str, dict[str, None]] = {variant: {} for variant in settings.by_variant}
    for among in parse_reference(reference) if settings.by_variant else ():
        matching = settings.where(among.conditions)["variant"].to_list()
        groups: dict[str, list[str]] = {}
        for variant in matching:
            groups.setdefault(_group(settings.by_variant[variant], among), []).append(variant)
        for variant, setting in settings.by_variant.items():
            comparators[variant].update(dict.fromkeys(groups.get(_group(setting, among), ())))
    return {variant: tuple(others) for variant, others in comparators.items()}


def reference_mistakes(variants: Variants, reference: Json) -> list[Issue]:
    """What is wrong with a reference, with paths below ``reference``: its form, and what no variant has."""
    try:
        groups = parse_reference(reference)
    except ValueError as error:
        return [Issue("conflict", (REFERENCE,), str(error), f"as in {REFERENCE}: {{method: ...}}")]
    issues = []
    for number, group in enumerate(groups):
        place = (REFERENCE, number) if isinstance(reference, list | tuple) else (REFERENCE,)
        columns = [path for path in (*group.conditions, *group.same) if path in COLUMNS]
        what = "a reference is named by its setting, and this is a column"
        flaws = [Issue("no-effect", (path,), what, "leave it out") for path in columns]
        flaws += variants.mistakes({path: value for path, value in group.conditions.items() if path not in columns})
        absent = [path for path in group.same if path not in columns and not variants.has(path)]
        flaws += [variants.unknown_path(path).below(SAME) for path in absent]
        issues += [flaw.below(*place) for flaw in flaws]
    return issues


def _names_some(variants: Variants, reference: Json) -> bool:
    """Whether each mapping of a reference has its form, and the settings of some variants."""
    try:
        groups = parse_reference(reference)
    except ValueError:
        return False
    return all(variants.selected(group.conditions) and all(map(variants.has, group.same)) for group in groups)


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
