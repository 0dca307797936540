"""Check that a selection names the reference of its numbers, and that the experiment has it."""

from collections.abc import Collection, Iterator, Mapping

from lnlab.errors import listed
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.planned import PlannedRuns
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.references import BEST, REFERENCE, SAME, SEPARATING, parse_reference

REMEDY = f"name it, as {REFERENCE}: {{method: ...}}; or write {REFERENCE}: {BEST}"


def flaws_of_reference(
    selection: Mapping[str, Json],
    quantities: Collection[Json],
    context: PlannedRuns,
    implied: Collection[str] = (),
) -> Iterator[Issue]:
    """What is wrong with the reference of a selection, with paths that begin with ``reference``.

    Args:
        selection: conditions, and the reference if it names one.
        quantities: what is selected of the runs.
        context: what selections are checked against.
        implied: quantities that a section shows where a reference says enough, and leaves out where not.
    """
    relative = [name for name in quantities if isinstance(name, str) and name in context.against]
    if REFERENCE not in selection:
        to_best = [quantity for quantity in relative if context.against[quantity] == BEST]
        if not to_best:
            return
        variants = context.variants
        alike = [[having for _, having in variants.at(path)] for path in SEPARATING]
        tasks = [members for _, members in variants.at("task")] or [variants.all]
        # The best of all says enough only where the variants of one task agree in what separates them.
        if any(sum(bool(having & members) for having in kinds) > 1 for members in tasks for kinds in alike):
            what = f"'{to_best[0]}' is measured against a reference, and these variants differ in placement or init"
            yield Issue("conflict", (), what, REMEDY)
        return
    if not relative and not any(name in context.against for name in implied):
        known = listed(sorted(context.against))
        yield Issue(
            "empty-selection",
            (REFERENCE,),
            "nothing selected is measured against a reference",
            f"leave it out; these are: {known}",
        )
        return
    try:
        groups = parse_reference(selection[REFERENCE])
    except ValueError as error:
        yield Issue("conflict", (REFERENCE,), str(error), f"as in {REFERENCE}: {{method: ...}}")
        return
    several = isinstance(selection[REFERENCE], list | tuple)
    for number, group in enumerate(groups):
        place = (REFERENCE, number) if several else (REFERENCE,)
        columns = [path for path in (*group.conditions, *group.same) if path in COLUMNS]
        flaws = [
            Issue("no-effect", (path,), "a reference is named by its setting, and this is a column", "leave it out")
            for path in columns
        ]
        conditions = {path: value for path, value in group.conditions.items() if path not in columns}
        key_flaws = [flaw for path, value in conditions.items() for flaw in context.issues_of(path, value)]
        flaws += key_flaws
        for path in group.same:
            if path not in columns and not context.has(path):
                flaws.append(context.unknown_key(path).below(SAME))
        # That no run has all of it follows from a flaw of one condition, and is said only where there is none.
        met = context.either(lambda variants, group=group: bool(variants.selected(group.conditions)))  # type: ignore[misc]
        if not (columns or key_flaws or met):
            sentence = ", ".join(f"{path} = {canonical(value)}" for path, value in conditions.items())
            remedy = "lnlab plan prints the runs there are"
            flaws.append(Issue("empty-selection", (), f"no run has all of {sentence}", remedy))
        yield from (flaw.below(*place) for flaw in flaws)
