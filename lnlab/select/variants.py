"""All variants of an experiment, planned or measured, by the values at each path: which does a selection select?"""

from collections.abc import Mapping, Sequence

from lnlab.errors import closest, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.selection import Conditions, parse_selection, value_list
from lnlab.setting import STACKS, Setting
from lnlab.specfile.columns import COLUMNS, METHOD, TIMES
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.values import kind_label, matches

Members = frozenset[int]


class Variants:
    """The resolved settings of an experiment, and their methods and ``times``, if they have any (paths like others).

    Each path is read once, however many selections name it.
    """

    def __init__(
        self, settings: Sequence[Mapping[str, Json]], methods: Sequence[Json] = (), times: Sequence[Json] = ()
    ) -> None:
        for word, values in ((TIMES, times), (METHOD, methods)):
            if any(value is not None for value in values):
                settings = [{word: value, **setting} for value, setting in zip(values, settings, strict=True)]
        self.settings = settings
        self.all: Members = frozenset(range(len(settings)))
        self._at: dict[str, list[tuple[Json, Members]]] = {}
        self._mixed: dict[str, Members] = {}
        self._paths: tuple[str, ...] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of any setting."""
        if self._paths is None:
            # Of many settings a sample: they differ in values, and hardly in which paths they have.
            shapes = {
                tuple(Setting(setting).paths()) for setting in self.settings[:: max(1, len(self.settings) // 1000)]
            }
            self._paths = tuple(sorted({path for shape in shapes for path in shape}))
        return self._paths

    @property
    def own_sites(self) -> bool:
        """Whether a model has no stacks of lnlab's, so that its sites have names of their own."""
        return any(not any(stack in setting for stack in STACKS) for setting in self.settings)

    def has(self, path: str) -> bool:
        """Whether any setting has something at ``path``."""
        return bool(self.at(path) or self._mixed[path])

    def at(self, path: str) -> list[tuple[Json, Members]]:
        """The distinct values at ``path``, each with the variants that have it."""
        if path not in self._at:
            mixed: list[int] = []
            groups: dict[Json, tuple[Json, list[int]]] = {}
            for number, setting in enumerate(self.settings):
                values = Setting(setting).values(path)
                if len(values) > 1:
                    mixed.append(number)
                for value in values if len(values) == 1 else ():
                    # ``True == 1`` in Python, and a spec tells them apart.
                    name = canonical(value) if isinstance(value, dict | list) else (type(value), value)
                    groups.setdefault(name, (value, []))[1].append(number)
            self._at[path] = [(value, frozenset(members)) for value, members in groups.values()]
            self._mixed[path] = frozenset(mixed)
        return self._at[path]

    def having(self, path: str, condition: Json) -> Members:
        """The variants whose value at ``path`` meets a condition. ``null`` also selects those that have none.

        One whose stacks disagree has no value, and is not without one either.
        """
        groups = self.at(path)
        matching = frozenset[int]().union(*(members for value, members in groups if matches(value, condition)))
        absent = self.all.difference(self._mixed[path], *(members for _, members in groups))
        return matching | absent if matches(None, condition) else matching

    def selected(self, selection: Conditions) -> Members:
        """The variants that a selection selects. Columns and a reference say nothing about them."""
        selected = self.all
        for path, condition in parse_selection(selection).setting.items():
            selected &= self.having(path, condition)
        return selected

    def unknown_path(self, path: str) -> Issue:
        """The issue of a path at which no variant has anything. Its place is the path."""
        if path == METHOD:
            remedy = "name settings under methods, and sweep method"
            return Issue("unknown-key", (path,), "no run has a method: the spec sweeps none", remedy)
        close = closest(path, [*COLUMNS, REFERENCE, *self.paths])
        remedy = f"did you mean '{close}'?" if close else f"columns: {', '.join(COLUMNS)}; paths as in model.layers"
        return Issue(
            "unknown-key", (path,), f"unknown key '{path}': neither a column nor a path of any setting", remedy
        )

    def mistakes(self, selection: Conditions) -> list[Issue]:
        """The paths of a selection that nothing has, and each value that no variant has there.

        If there are none of these, the issue that no variant has all values together. Places are paths.
        """
        setting = parse_selection(selection).setting
        issues = []
        for path, condition in setting.items():
            known = [value for value, _ in self.at(path)]
            if not self.has(path):
                issues.append(self.unknown_path(path))
                continue
            if condition == [] and condition not in known:
                issues.append(Issue("wrong-type", (path,), "found []", "give at least one value, or leave the key out"))
            # A list of choices may be the value of an axis, and is then no list of alternatives.
            for value in [condition] if condition in known else value_list(condition):
                if not self.having(path, value):
                    word = value if isinstance(value, str) else ""
                    remedy = nearest(word, {kind_label(one) for one in known})
                    issues.append(Issue("empty-selection", (path,), f"no run has {path} = {kind_label(value)}", remedy))
        if not issues and setting and not self.selected(selection):
            stated = ", ".join(f"{path} = {kind_label(value)}" for path, value in setting.items())
            remedy = "lnlab plan prints the runs there are"
            issues.append(Issue("empty-selection", (), f"no run has all of {stated}", remedy))
        return issues
