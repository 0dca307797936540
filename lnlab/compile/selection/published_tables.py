"""Is a published table plausible? Its paths stand in a setting, and every value that it names is one of the spec's.

A word that no run has would be compared with nothing, in silence.
"""

from collections.abc import Iterator, Mapping

from lnlab.compile.source_spans import UNKNOWN
from lnlab.compile.sweep.methods import methods_of
from lnlab.compile.sweep.overlay import grids_of
from lnlab.errors import nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.select.planned import NO_VALUE, PlannedRuns, PlannedSelection
from lnlab.select.selection import value_list
from lnlab.setting import MISSING, children, path_words
from lnlab.specfile.columns import COLUMNS, METHOD
from lnlab.specfile.values import kind_label, matches


def flaws_of_tables(choice: Mapping[str, Json], context: PlannedRuns) -> Iterator[Issue]:
    """What is wrong with the published tables of a claim or section, and with its candidates; paths are below it."""
    candidates = choice.get("candidates")
    owners: list[tuple[Where, Json]] = [((), choice)]
    for number, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
        where: Where = ("candidates", number)
        owners.append((where, candidate))
        yield from (flaw.below(*where, "where") for flaw in PlannedSelection(context, candidate["where"]).issues)
    for where, owner in owners:
        cells = owner.get("cells") if isinstance(owner, dict) else None
        if isinstance(cells, dict):
            flaws = [flaw.below("cells") for flaw in _flaws_of_cells(cells, context)]
            flaws = flaws or list(_flaws_of_guesses(owner.get("guesses") or {}, cells))
            yield from (flaw.below(*where) for flaw in flaws)
        elif isinstance(owner, dict) and owner.get("guesses"):
            what = "trivial rules are compared with printed cells, and there are none"
            yield Issue("conflict", (*where, "guesses"), what, "add `cells`, or leave `guesses` out")


def _flaws_of_cells(cells: Mapping[str, Json], context: PlannedRuns) -> Iterator[Issue]:
    across = cells["across"]
    known = _values(across, context)
    if known is None:
        yield context.unknown_key(across).below("across")
    for number, table in enumerate(cells["tables"]):
        for word in table["columns"] if known is not None else ():
            if not any(matches(value, word) for value in known or ()):
                what = f"{UNKNOWN} '{word}': not a value of {across}, the axis named in `across`"
                yield Issue(
                    "unknown-key",
                    ("tables", number, "columns", word),
                    what,
                    nearest(word, map(kind_label, known or ())),
                )
        for path, condition in table["where"].items():
            yield from (flaw.below("tables", number, "where") for flaw in _flaws_of_value(path, condition, context))


def _flaws_of_value(path: str, condition: Json, context: PlannedRuns) -> Iterator[Issue]:
    if path in COLUMNS:
        return
    known = _values(path, context)
    if known is None:
        yield context.unknown_key(path).below(path)
        return
    if condition == []:
        yield NO_VALUE.below(path)
    for alternative in value_list(condition):
        if alternative is not None and not any(matches(value, alternative) for value in known):
            word = kind_label(alternative)
            yield Issue(
                "empty-selection", (path,), f"no run has {path} = {word}", nearest(word, map(kind_label, known))
            )


def _flaws_of_guesses(guesses: Mapping[str, Json], cells: Mapping[str, Json]) -> Iterator[Issue]:
    """A trivial rule is about columns of the tables, and names what they name."""
    known: dict[str, list[Json]] = {cells["across"]: [word for table in cells["tables"] for word in table["columns"]]}
    for table in cells["tables"]:
        for path, value in table["where"].items():
            known.setdefault(path, []).append(value)
    for name, rules in guesses.items():
        for number, rule in enumerate(rules):
            for path, condition in rule["where"].items():
                flaw = _flaw_of_guess(path, condition, known, cells["across"])
                if flaw is not None:
                    yield flaw.below("guesses", name, number, "where")


def _flaw_of_guess(path: str, condition: Json, known: Mapping[str, list[Json]], across: str) -> Issue | None:
    if path not in known:
        return Issue(
            "unknown-key", (path,), f"{UNKNOWN} '{path}': no column of the tables says it", nearest(path, known)
        )
    if condition == []:
        return NO_VALUE.below(path)
    axis = f"{path}, the axis named in `across`" if path == across else path
    for alternative in value_list(condition):
        if alternative not in known[path]:
            what = f"{kind_label(alternative)} is not a value of {axis}, in any column of the tables"
            return Issue("unknown-name", (path,), what, nearest(kind_label(alternative), map(kind_label, known[path])))
    return None


def _values(path: str, context: PlannedRuns) -> list[Json] | None:
    """The values at a path in a run of this plan, in one of the spec without profile, or wherever the spec writes it.

    A published table may have columns that only another profile runs. None where the path has no value.
    """
    values: list[Json] = [value for value, _ in context.variants.at(path)]
    if (unchanged := context.unchanged()) is not None:
        values += [value for value, _ in unchanged.at(path)]
    values += _written_values(path, context.spec)
    if not values and path not in COLUMNS:
        return None
    return list({kind_label(value): value for value in values}.values())


def _written_values(path: str, spec: Mapping[str, Json]) -> list[Json]:
    """Every value that the spec, its methods or its profiles write at a path."""
    methods = methods_of(spec)
    if path == METHOD:
        return list(methods)
    profiles = spec.get("profiles")
    overlays = [lines for lines in profiles.values() if isinstance(lines, dict)] if isinstance(profiles, dict) else []
    parts: list[Mapping[str, Json]] = [spec, *overlays, *methods.values()]
    parts += [methods for overlay in overlays for methods in methods_of(overlay).values()]
    parts += [grid for overlay in (spec, *overlays) for grid in grids_of(dict(overlay))]
    values = [value for part in parts for key in part if (value := _below(part, key, path)) is not MISSING]
    return [alternative for value in values for alternative in value_list(value)]


def _below(part: Mapping[str, Json], key: str, path: str) -> Json:
    """The value that a line of an overlay sets at a path or above it; ``MISSING`` where it sets none."""
    if key == path:
        return part[key]
    if path.startswith(f"{key}.") and isinstance(part[key], dict):
        value: Json = part[key]
        for word in path_words(path.removeprefix(f"{key}.")):
            value = children(value).get(word, MISSING)
        return value
    return MISSING
