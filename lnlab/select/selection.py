"""A selection, read once: which of its conditions are on settings, which on rows, and what else it says.

Values are a word, a number, a bool, ``null``, or a list of these. A word against a choice compares its kind. A short
form (``placement``, ``model.layers``) takes runs whose stacks agree. ``reference`` is no condition: it names what a
derived number is measured against (``lnlab.specfile.references``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnlab.keys import Json
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.references import REFERENCE

Conditions = Mapping[str, Json]
QUANTITY_TABLES = ("sites", "curves", "lines")  # the tables whose rows are a quantity and a value
RUN_KEYS = ("run", "variant", "seed", "status")  # what a selection may name of the runs themselves


@dataclass(frozen=True)
class Selection:
    """The parts of a selection.

    Attributes:
        written: all of it, as it stands in a spec.
        setting: conditions on paths of the setting.
        rows: conditions on columns, those on the run itself included. ``step`` comes first, as which step is the last
            one is decided before any other condition has left out rows.
        names: the quantities.
    """

    written: Conditions
    setting: Conditions
    rows: Conditions
    names: tuple[str, ...]

    @property
    def runs(self) -> Conditions:
        """Those of the conditions on columns that are about the runs themselves."""
        return {key: condition for key, condition in self.rows.items() if key in RUN_KEYS}


def parse_selection(written: Conditions) -> Selection:
    """The parts of a selection as it stands in a spec."""
    conditions = {key: condition for key, condition in written.items() if key != REFERENCE}
    rows = {key: conditions[key] for key in sorted(conditions, key=lambda key: key != "step") if key in COLUMNS}
    return Selection(
        written=written,
        setting={path: condition for path, condition in conditions.items() if path not in COLUMNS},
        rows=rows,
        names=tuple(name for name in value_list(conditions.get("quantity")) if isinstance(name, str)),
    )


def selections_by_word(choice: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    """The selections of a claim or section by the parameter that states what sets each apart: of, to, less, less_to.

    ``to`` and ``less`` change what ``of`` says, and ``less_to`` changes that with both changes. None without ``of``.
    """
    of = choice.get("of")
    if not isinstance(of, Mapping):
        return {}
    to, less, less_to = (choice.get(word) for word in ("to", "less", "less_to"))
    sides = {"of": dict(of)}
    if isinstance(to, Mapping):
        sides["to"] = {**of, **to}
        if isinstance(less, Mapping):
            sides |= {"less": {**of, **less}, "less_to": {**of, **to, **less, **(less_to or {})}}
    return sides


def with_named_levels(selection: Mapping[str, Json], over: Json, levels: Sequence[Json]) -> dict[str, Json]:
    """A selection of a claim with the values of ``over`` that its order names, of which alone rows are read.

    Args:
        selection: of rows.
        over: the path or column of the order, if the claim has one.
        levels: the values that the order names. Empty means that all are read.
    """
    if not levels or not isinstance(over, str) or over in COLUMNS:
        return dict(selection)
    return {**selection, over: list(levels)}


def value_list(value: Json) -> list[Json]:
    """A list as it is, a single value as a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]
