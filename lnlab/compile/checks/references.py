"""Does a selection say what its numbers are measured against, and is that there?"""

from collections.abc import Collection, Iterator, Mapping

from lnlab.compile.selection.selection import Ground, flaws_of_key, unknown_key
from lnlab.keys import Json, canonical
from lnlab.registry import Flaw
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.references import BEST, REFERENCE, SEPARATING, Among, parsed

REMEDY = f"name it, as {REFERENCE}: {{method: ...}}; or write {REFERENCE}: {BEST}"


def flaws_of_reference(
    selection: Mapping[str, Json], quantities: Collection[Json], ground: Ground, implied: Collection[str] = ()
) -> Iterator[Flaw]:
    """What is wrong with the reference of a selection; paths begin with ``reference``.

    Args:
        selection: conditions, and the reference if it names one.
        quantities: what is selected of the runs.
        ground: what selections are checked against.
        implied: quantities that a section shows where a reference says enough, and leaves out where not.
    """
    asked = [name for name in quantities if isinstance(name, str) and name in ground.against]
    if REFERENCE not in selection:
        if (first := next((q for q in asked if ground.against[q] == BEST), None)) and not _one_kind(ground):
            what = f"'{first}' is measured against a reference, and these variants differ in placement or init"
            yield Flaw((), what, REMEDY)
        return
    if not asked and not any(name in ground.against for name in implied):
        known = ", ".join(sorted(ground.against))
        yield Flaw(
            (REFERENCE,), "nothing selected is measured against a reference", f"leave it out; these are: {known}"
        )
        return
    try:
        given = parsed(selection[REFERENCE])
    except ValueError as error:
        yield Flaw((REFERENCE,), str(error), f"as in {REFERENCE}: {{method: ...}}")
        return
    for among in given:
        yield from (flaw.below(REFERENCE) for flaw in _flaws(among, ground))


def _flaws(among: Among, ground: Ground) -> Iterator[Flaw]:
    """What is wrong with one mapping: it names what is no path, or no variant."""
    wrong = [path for path in (*among.conditions, *among.same) if path in COLUMNS]
    yield from (
        Flaw((path,), "a reference is named by its setting, and this is a column", "leave it out") for path in wrong
    )
    found = [
        f for path, value in among.conditions.items() if path not in wrong for f in flaws_of_key(path, value, ground)
    ]
    yield from found
    for path in among.same:
        if path not in wrong and not ground.either(lambda variants, path=path: variants.has(path)):  # type: ignore[misc]
            yield unknown_key(path, ground)
    if not wrong and not found and not ground.either(lambda variants: bool(variants.taken(among.conditions))):
        told = ", ".join(f"{path} = {canonical(value)}" for path, value in among.conditions.items())
        yield Flaw((), f"no run has all of {told}", "lnlab plan prints the runs there are")


def _one_kind(ground: Ground) -> bool:
    """Whether the variants of each task have one placement and one init."""
    variants = ground.variants
    tasks = [members for _, members in variants.at("task")] or [variants.all]
    return all(
        sum(bool(there & members) for _, there in variants.at(path)) < 2 for members in tasks for path in SEPARATING
    )
