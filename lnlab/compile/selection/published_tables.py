"""Is a published table plausible? Its paths stand in a setting, and every value that it names is one of the spec's.

A word that no run has would silently be compared with nothing.
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
    """What is wrong with the published tables and candidates of a claim or section, with paths below it."""
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
            if path in COLUMNS:
                continue
            flaws: list[Issue] = []
            values = _values(path, context)
            if values is None:
                flaws.append(context.unknown_key(path).below(path))
            elif condition == []:
                flaws.append(NO_VALUE.below(path))
            else:
                for alternative in value_list(condition):
                    if alternative is not None and not any(matches(value, alternative) for value in values):
                        word = kind_label(alternative)
                        remedy = nearest(word, map(kind_label, values))
                        flaws.append(Issue("empty-selection", (path,), f"no run has {path} = {word}", remedy))
            yield from (flaw.below("tables", number, "where") for flaw in flaws)


def _flaws_of_guesses(guesses: Mapping[str, Json], cells: Mapping[str, Json]) -> Iterator[Issue]:
    """Flaws of trivial rules, which must be about columns of the tables and name what these name."""
    known: dict[str, list[Json]] = {cells["across"]: [word for table in cells["tables"] for word in table["columns"]]}
    for table in cells["tables"]:
        for path, value in table["where"].items():
            known.setdefault(path, []).append(value)
    across = cells["across"]
    named = (
        (("guesses", name, number, "where"), path, condition)
        for name, rules in guesses.items()
        for number, rule in enumerate(rules)
        for path, condition in rule["where"].items()
    )
    for place, path, condition in named:
        if path not in known:
            what = f"{UNKNOWN} '{path}': no column of the tables sets it"
            yield Issue("unknown-key", (*place, path), what, nearest(path, known))
            continue
        if condition == []:
            yield NO_VALUE.below(*place, path)
            continue
        axis = f"{path}, the axis named in `across`" if path == across else path
        foreign = [kind_label(value) for value in value_list(condition) if value not in known[path]]
        for word in foreign[:1]:
            what = f"{word} is not a value of {axis}, in any column of the tables"
            yield Issue("unknown-name", (*place, path), what, nearest(word, map(kind_label, known[path])))


def _values(path: str, context: PlannedRuns) -> list[Json] | None:
    """The values at a path in a run of this plan, in one of the spec without profile, or wherever the spec writes it.

    A published table may have columns that only another profile runs. None where the path has no value.
    """
    values: list[Json] = [value for value, _ in context.variants.at(path)]
    if (unchanged := context.unchanged()) is not None:
        values += [value for value, _ in unchanged.at(path)]
    spec = context.spec
    methods = methods_of(spec)
    if path == METHOD:
        values += methods
    else:
        profiles = spec.get("profiles")
        lines_of_profiles = profiles.values() if isinstance(profiles, dict) else ()
        overlays = [lines for lines in lines_of_profiles if isinstance(lines, dict)]
        parts: list[Mapping[str, Json]] = [spec, *overlays, *methods.values()]
        parts += [method for overlay in overlays for method in methods_of(overlay).values()]
        parts += [grid for overlay in (spec, *overlays) for grid in grids_of(dict(overlay))]
        for part in parts:
            for key, line in part.items():
                # A line may set the path itself, or a mapping above it in which the remaining words stand.
                if key == path:
                    values += value_list(line)
                elif path.startswith(f"{key}.") and isinstance(line, dict):
                    written: Json = line
                    for word in path_words(path.removeprefix(f"{key}.")):
                        written = children(written).get(word, MISSING)
                    values += value_list(written) if written is not MISSING else []
    if not values and path not in COLUMNS:
        return None
    return list({kind_label(value): value for value in values}.values())
