"""Base, then profile, then ``-s`` from left to right: one merged spec that knows where each part was written.

At a path that some grid sweeps, a value pins the axis to itself, and a list is the axis's new values.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lnlab.compile.setting_paths import set_path
from lnlab.compile.sweep.methods import METHODS, StatedValue, below, methods_of
from lnlab.errors import SpecError, nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Flawed
from lnlab.setting import path_words
from lnlab.specfile.columns import ALL, METHOD
from lnlab.specfile.experiment import REPLACEABLE, SETTING, Experiment
from lnlab.specfile.load import SpecDocument
from lnlab.specfile.override import parse_override

EXCEPT = "except"


@dataclass(frozen=True)
class _Change(StatedValue):
    """One line of an overlay."""

    by: str
    words: Where = ()
    """Where in the data it stands, if its path alone does not say so: names of methods may have dots."""


@dataclass
class MergedSpec:
    """The spec with its overlays applied.

    Attributes:
        data: what the file would say with every change written into it. The sweep is not yet pinned.
        changes: what was applied, in order.
        pins: swept path -> the change that decides its values.
        touched: whether there is a profile or an override at all.
        issues: what is wrong with the overlays, with paths in ``data``.
        grid_names: of the grids of the sweep, where they have names.
        origins: path in ``data`` -> where the spec states what stands there, for what was written out elsewhere.
    """

    data: dict[str, Json]
    changes: list[_Change] = field(default_factory=list)
    pins: dict[str, _Change] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)
    touched: bool = False
    grid_names: tuple[str, ...] = ()
    origins: Mapping[Where, Where] = field(default_factory=dict)

    def stated_path(self, path: Where) -> Where:
        """The path at which the spec states the thing at ``path`` of ``data``."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return (*self.origins[path[:length]], *path[length:])
        return path

    def written(self, path: Where) -> str | Where:
        """The place of the thing at ``path`` of ``data``: a path in the document, or an argument.

        A claim is found by its number or by its id. One that is not there has the empty path.
        """
        path = self.stated_path(self.numbered(path))
        # The last change at or above a path is the one that stands there.
        for change in reversed(self.changes):
            words = change.words or path_words(change.path)
            if path[: len(words)] == words:
                return below(change.place, path[len(words) :])
        return path

    def numbered(self, path: Where) -> Where:
        """A path that names a claim by its id, as one that has its number."""
        stated = self.data.get("claims")
        if len(path) < 2 or path[0] != "claims" or not isinstance(path[1], str) or not isinstance(stated, list | tuple):
            return path
        claims = [claim if isinstance(claim, dict) else {} for claim in stated]
        number = next((number for number, claim in enumerate(claims) if claim.get("id") == path[1]), None)
        if number is None:
            return ()
        keys = path[2:]
        if keys[:2] == ("requires", 0) and isinstance(claims[number].get("requires"), dict):
            keys = ("requires", *keys[2:])  # the spec writes one requirement without a list
        return ("claims", number, *keys)

    def unknown_grids(self, path: Where, names: Sequence[str]) -> list[Issue]:
        """An issue of each name that no grid has. ``path`` has one name, or several by their place."""
        stated = [path] if len(names) == 1 else [(*path, place) for place in range(len(names))]
        pairs = zip(stated, names, strict=True)
        return [unknown_grid(at, name, self.grid_names) for at, name in pairs if name not in self.grid_names]

    def located(self, issues: Iterable[Issue]) -> list[Issue]:
        """Issues of ``data`` with places in the document. Messages call them by the paths at which the spec has them.

        An issue of an argument stays as it is.
        """
        return [
            replace(
                issue,
                place=self.written(issue.place),
                named=self.stated_path(issue.place) if issue.named is None else issue.named,
            )
            if isinstance(issue.place, tuple)
            else issue
            for issue in issues
        ]


def merge_spec(document: SpecDocument, profile: str | None, overrides: Sequence[str]) -> MergedSpec:
    """``document`` merged with one of its profiles and the arguments of ``-s``. The flaws of every profile are told."""
    merged = MergedSpec(dict(document.data), touched=profile is not None or bool(overrides))
    from_overrides = []
    for argument in overrides:
        try:
            override = parse_override(argument)
        except SpecError as error:
            merged.issues += error.issues
        else:
            from_overrides.append(_Change(override.path, override.value, override.where, override.where))
    profiles = document.data.get("profiles") or {}
    profiles = (
        {name: lines for name, lines in profiles.items() if isinstance(lines, dict)}
        if isinstance(profiles, dict)
        else {}
    )
    # Shorter paths first, as the order of lines in the file must not matter.
    lines_of = {
        name: sorted(
            (_Change(path, value, ("profiles", name, path), f"profile {name}") for path, value in lines.items()),
            key=lambda change: len(path_words(change.path)),
        )
        for name, lines in profiles.items()
    }
    merged.issues += [issue for lines in lines_of.values() for line in lines if (issue := _misplaced(line))]
    if profile is not None and profile not in profiles:
        merged.issues.append(replace(unknown_profile(profile, profiles), place=f"--profile {profile}"))
    merged.issues += [issue for line in from_overrides if (issue := _misplaced(line))]
    chosen = [] if profile is None else lines_of.get(profile, [])
    changes = [change for change in (*chosen, *from_overrides) if not _misplaced(change)]

    # What is replaced whole comes first, so that the axes are known when settings meet them.
    for change in changes:
        if change.path in REPLACEABLE:
            merged.data[change.path] = change.value
            merged.changes.append(change)
    for change in filter(_is_of_method, changes):
        known = methods_of(merged.data)
        rest = change.path.removeprefix(f"{METHODS}.")
        # A name may have dots itself: the longest that fits is meant.
        name = max((name for name in known if rest.startswith(f"{name}.")), key=len, default=None)
        if name is None or not all(path_words(path := rest.removeprefix(f"{name}."))):
            remedy = nearest(rest.partition(".")[0], known) if known else f"define it under '{METHODS}:'"
            remedy = f"write the path to set, as in {change.path}.placement" if rest in known else remedy
            what = f"'{change.path}' names no method and a path in it"
            merged.issues.append(Issue("unknown-name", change.place, what, remedy, named=()))
            continue
        # What the method says below that path goes, as with every path that is set whole.
        kept = {stated: value for stated, value in known[name].items() if not stated.startswith(f"{path}.")}
        merged.data[METHODS] = {**merged.data[METHODS], name: {**kept, path: change.value}}
        merged.changes.append(replace(change, words=(METHODS, name, path)))
    _list_grids(merged)
    if not isinstance(merged.data.get("choose", []), list):  # one choice stands without a list, and null is none
        merged.data["choose"] = [] if merged.data["choose"] is None else [merged.data["choose"]]
        merged.origins = {**merged.origins, ("choose", 0): ("choose",)}
    grids = grids_of(merged.data)
    swept = {path for grid in grids for path in grid}
    moving = [change for change in changes if change.path not in REPLACEABLE and not _is_of_method(change)]
    for change in moving:
        if change.path in swept:
            merged.pins[change.path] = change
        if change.path == METHOD:
            if METHOD not in swept:
                what, remedy = f"no grid of the sweep has a {METHOD}", "name settings under 'methods:' and sweep them"
                merged.issues.append(Issue("missing", change.place, what, remedy, named=()))
        # A list at a path that is swept gives the axis new values, and is no value of the setting.
        elif change.path not in swept or not isinstance(change.value, list):
            first = path_words(change.path)[0]
            try:
                merged.data[first] = set_path(merged.data.get(first), change.path, change.value)
                merged.changes.append(change)
            except Flawed as error:
                merged.issues += [
                    replace(flaw, place=change.place, named=(change.path, *flaw.path)) for flaw in error.issues
                ]
    merged.issues += [flaw for change in moving if (flaw := _without_effect(change, merged, grids))]
    return merged


def unknown_profile(profile: str, profiles: Collection[str]) -> Issue:
    """The flaw of a profile that is not among those of the spec."""
    if not profiles:
        return Issue("unknown-name", (), "this spec defines no profiles", "leave out --profile")
    return Issue("unknown-name", (), f"this spec has no profile '{profile}'", nearest(profile, profiles))


def unknown_grid(path: Where, name: Json, known: Sequence[str]) -> Issue:
    """The issue of a name that is not among those of the grids."""
    remedy = nearest(str(name), known) if known else "name the grids, as in sweep: {depth: {model.layers: [2, 4]}}"
    return Issue("unknown-name", path, f"no grid of the sweep is called '{name}'", remedy)


def _misplaced(change: _Change) -> Issue | None:
    """The flaw of a change that sets what cannot be set."""
    words = path_words(change.path)
    if (words[0] in SETTING and all(words)) or change.path in (*REPLACEABLE, METHOD) or _is_of_method(change):
        return None
    if words[0] in (*SETTING, *Experiment.model_fields):
        what = f"'{change.path}' cannot be changed by a profile or -s"
        remedy = f"these can: {', '.join(REPLACEABLE)} (whole), and paths below {', '.join(SETTING)}"
        return Issue("unsupported", change.place, what, remedy, named=())
    remedy = nearest(words[0], [*SETTING, *REPLACEABLE, METHOD])
    return Issue("unknown-key", change.place, f"unknown key '{change.path}'", remedy, named=())


def _is_of_method(change: _Change) -> bool:
    """Whether a change sets what a method stands for: ``methods.NAME.path``."""
    return change.path.startswith(f"{METHODS}.")


def _list_grids(merged: MergedSpec) -> None:
    """Rewrite the sweep in ``merged.data`` as a list of grids, and each single value of an axis as a list of one.

    Sets ``merged.grid_names`` and ``merged.origins`` where the grids have names. ``method: all`` becomes every method,
    in the order of the spec, unless one is called so.
    """
    sweep = merged.data.get("sweep")
    if isinstance(sweep, dict) and any(isinstance(grid, dict) for grid in sweep.values()):
        merged.grid_names = tuple(sweep)
        merged.origins = {("sweep", number): ("sweep", name) for number, name in enumerate(sweep)}
        sweep = list(sweep.values())
    if not isinstance(sweep, list):
        return
    methods = list(methods_of(merged.data))

    def values_as_list(axis: str, values: Json) -> Json:
        if axis == METHOD and values in (ALL, [ALL]) and methods and ALL not in methods:
            return list(methods)
        single = isinstance(values, str | int | float) and axis != EXCEPT  # a bool is an int
        return [values] if single else values

    merged.data["sweep"] = [
        {axis: values_as_list(axis, values) for axis, values in grid.items()} if isinstance(grid, dict) else grid
        for grid in sweep
    ]


def grids_of(data: dict[str, Json]) -> list[dict[str, Json]]:
    """The grids of the sweep that are mappings, without their exceptions."""
    sweep = data.get("sweep")
    grids = [grid for grid in sweep if isinstance(grid, dict)] if isinstance(sweep, list) else []
    return [{path: values for path, values in grid.items() if path != EXCEPT} for grid in grids]


def _without_effect(change: _Change, merged: MergedSpec, grids: list[dict[str, Json]]) -> Issue | None:
    """The flaw of a change that every point of the sweep overwrites, itself or with a path above it."""
    set_by_grids = []
    for grid in grids:
        # A pin decides which methods the grid has; a path that one of them leaves alone is not set by all.
        names = merged.pins[METHOD].value if METHOD in grid and METHOD in merged.pins else grid.get(METHOD)
        known = methods_of(merged.data)
        overlays = [known.get(str(name), {}) for name in (names if isinstance(names, list) else [names])]
        set_by_grids.append(set(grid).union(set.intersection(*map(set, overlays)) if overlays else ()))
    words = path_words(change.path)
    above = [".".join(words[:n]) for n in range(1, len(words) + 1)]
    covering = [path for path in above if grids and all(path in paths for paths in set_by_grids)]
    # A change at an axis itself pins it, which has an effect.
    if not covering or any(change.path in grid for grid in grids):
        return None
    if any(covering[0] in grid for grid in grids):
        what = f"'{change.path}' has no effect, because every grid of the sweep sets {covering[0]} whole"
        return Issue(
            "no-effect", change.place, what, f"set {covering[0]}, or write the parameter into the sweep", named=()
        )
    what = f"'{change.path}' has no effect, because every method of the sweep sets {covering[0]}"
    return Issue("no-effect", change.place, what, "change the methods, or leave it out of them", named=())


def pin_sentences(merged: MergedSpec) -> tuple[str, ...]:
    """What the overlays did to the axes, for ``lnlab plan``."""
    sentences = []
    for path, change in merged.pins.items():
        values = change.value if isinstance(change.value, list) else [change.value]
        swept = [grid[path] for grid in grids_of(merged.data) if isinstance(grid.get(path), list)]
        written = dict.fromkeys(_value_text(value) for values_of_grid in swept for value in values_of_grid)
        new = ", ".join(map(_value_text, values))
        verb = "takes the values" if isinstance(change.value, list) else "is pinned to"
        sentences.append(f"{path} {verb} {new} ({change.by}); the sweep says {', '.join(written)}")
    return tuple(sentences)


def _value_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
