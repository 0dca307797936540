"""Are the words of a published table those of the spec? A word that no run has would be compared with nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from lnlab.app.rehearsal.made_up_rows import Rehearsal, values_at
from lnlab.errors import nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.select.selection import value_list
from lnlab.specfile.columns import COLUMNS, METHOD
from lnlab.specfile.values import kind_label, matches


def printed_mistakes(rehearsal: Rehearsal, claim: Mapping[str, Any]) -> Iterator[Issue]:
    """What is wrong with the printed cells of a claim, if it has any, and with the rules that guess them."""
    if (cells := claim.get("cells")) is not None:
        mistakes = [issue.below("cells") for issue in _mistakes_of_cells(rehearsal, cells)]
        yield from mistakes or _mistakes_of_guesses(claim["guesses"], cells)


def _mistakes_of_cells(rehearsal: Rehearsal, cells: Mapping[str, Any]) -> Iterator[Issue]:
    across = cells["across"]
    known = _values(rehearsal, across)
    if not known:
        yield rehearsal.variants.unknown_path(across).below("across")
    for number, table in enumerate(cells["tables"]):
        for word in table["columns"] if known else ():
            if not any(matches(value, word) for value in known):
                what = f"unknown key '{word}': not a value of {across}, the axis named in `across`"
                place: Where = ("tables", number, "columns", word)
                yield Issue("unknown-key", place, what, nearest(word, map(kind_label, known)))
        for path, condition in table["where"].items():
            values = _values(rehearsal, path)
            place = ("tables", number, "where")
            if path not in COLUMNS and not values:
                yield rehearsal.variants.unknown_path(path).below(*place)
            for value in value_list(condition) if values else ():
                if value is not None and not any(matches(one, value) for one in values):
                    word = kind_label(value)
                    remedy = nearest(word, map(kind_label, values))
                    yield Issue("empty-selection", (*place, path), f"no run has {path} = {word}", remedy)


def _mistakes_of_guesses(guesses: Mapping[str, Any], cells: Mapping[str, Any]) -> Iterator[Issue]:
    """Trivial rules must be about columns of the tables and name what these name."""
    known: dict[str, list[Json]] = {cells["across"]: [word for table in cells["tables"] for word in table["columns"]]}
    for table in cells["tables"]:
        for path, value in table["where"].items():
            known.setdefault(path, []).append(value)
    conditions = (
        (("guesses", name, number, "where", path), path, condition)
        for name, rules in guesses.items()
        for number, rule in enumerate(rules)
        for path, condition in rule["where"].items()
    )
    for place, path, condition in conditions:
        if path not in known:
            what = f"unknown key '{path}': no column of the tables sets it"
            yield Issue("unknown-key", place, what, nearest(path, known))
            continue
        foreign = [kind_label(value) for value in value_list(condition) if value not in known[path]]
        for word in foreign[:1]:
            axis = f"{path}, the axis named in `across`" if path == cells["across"] else path
            what = f"{word} is not a value of {axis}, in any column of the tables"
            yield Issue("unknown-name", place, what, nearest(word, map(kind_label, known[path])))


def _values(rehearsal: Rehearsal, path: str) -> list[Json]:
    """The values at a path in a run, or wherever the spec sets it: a table may have columns of another profile."""
    values = [value for value, _ in rehearsal.variants.at(path)]
    setting = {key: part for key, part in rehearsal.spec.items() if key not in ("report", "claims")}
    values += [value for value in values_at(setting, path) if not isinstance(value, dict) or "kind" in value]
    if path == METHOD:
        values += setting.get("methods") or ()
    return list({kind_label(value): value for value in values}.values())
