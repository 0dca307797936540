"""The sweep resolved: every point becomes a setting, equal ones are merged, and contradictions are reported."""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from lnlab.compile.checks.contradictions import contradictions, too_large
from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.digests import Input, input_of
from lnlab.compile.interned import InternedSetting, SettingPart, Variant, interned_parts
from lnlab.compile.resolve.epochs import Epochs
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.setting_paths import STACK_CHOICES, is_written
from lnlab.compile.sweep.expand import SweepPoint, expand_points
from lnlab.compile.sweep.grids import SweepGrid, pinned_grids
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import MergedSpec, grids_of
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import LabError, closest
from lnlab.facts import DataFacts
from lnlab.issues import Issue, Where
from lnlab.registry import Choice, Flawed, Registry, Roots
from lnlab.select.variants import Variants
from lnlab.setting import STACKS, path_words
from lnlab.specfile.experiment import SETTING
from lnlab.specfile.read import Reading

_MAX_LISTED_POINTS = 20_000
"""Points after which none is looked for that shows another value of an axis."""
_MAX_FLAWED_POINTS = 200
"""Flawed points after which no further one is checked."""
_SHAPE = ("task", "model", *STACKS)
"""The parts of a setting that determine its size."""


@dataclass
class ResolvedSweep:
    """The settings of an experiment, each once, in the order of the sweep, and what is wrong with them.

    Attributes:
        axes: dotted paths that some grid varies.
        variants: each distinct setting, with its method and its grids.
        inputs: files whose content joins the keys.
        epochs: how long those of their tasks are.
        partial: whether flaws hide part of the sweep or of the methods, so that settings lack what these would set.
        cut: whether points of the sweep were left out, as only so many were asked for.
        issues: what is wrong.
    """

    epochs: Epochs

    axes: tuple[str, ...] = ()
    variants: list[Variant] = field(default_factory=list)
    inputs: tuple[Input, ...] = ()
    partial: bool = False
    cut: bool = False
    issues: list[Issue] = field(default_factory=list)

    @property
    def settings(self) -> list[InternedSetting]:
        """The resolved settings, each once."""
        return [variant.setting for variant in self.variants]


def resolve_sweep(
    reading: Reading, merged: MergedSpec, content_keys: ContentKeys, memory: int | None, limit: int | None = None
) -> ResolvedSweep:
    """Expand, resolve and check.

    Args:
        reading: the experiment.
        merged: the spec that it was read from, which knows where each part was written.
        content_keys: of settings. A file that one of them needs must exist.
        memory: bytes that one run may need at its peak. None means unlimited, and that no file is read.
        limit: number of points to check. Beyond them only those are checked that first show a value of an axis. None
            means all.
    """
    sweep_grids, issues = pinned_grids(reading, merged)
    axes = dict.fromkeys(path for grid in grids_of(merged.data) for path in grid)
    known = dict(content_keys.files.epochs)
    epochs = Epochs(content_keys.registries, content_keys.roots, reading=memory is not None, batches=known)
    unknown = [str(flaw.path[0]) for flaw in reading.issues if flaw.code == "unknown-key" and len(flaw.path) == 1]
    misspelt = {key for word in unknown if (key := closest(word, SETTING))}
    hiding = (("sweep",), (METHODS,))
    partial = bool(issues or misspelt) or any(flaw.path[:1] in hiding for flaw in reading.issues)
    sweep = ResolvedSweep(epochs, tuple(axes), partial=partial, issues=issues)
    sweep_points = expand_points(merged.data, sweep_grids, sweep.issues)
    if limit is not None:
        sweep_points = _first_of_values(sweep, islice(sweep_points, _MAX_LISTED_POINTS), limit)
    resolver = Resolver(content_keys.registries)
    inspector = _Inspector(content_keys, memory)
    seen: dict[tuple[str, ...], tuple[Variant, set[int]]] = {}
    flawed_points = expanded_points = 0
    for point in sweep_points:
        expanded_points += 1
        setting, flaws = resolver.setting(point.parts)
        if setting is not None:
            try:
                setting = epochs.in_steps(setting)
            except Flawed as flawed:
                flaws = list(flawed.issues)
                setting = None
            except LabError as error:  # what keeps the batches of an epoch from being counted has a place in the spec
                flaws = [Issue(i.code, tuple(i.where.split(".")), i.what, i.remedy) for i in error.issues]
                setting = None
        if setting is not None:
            if setting.identity in seen:
                same, grids = seen[setting.identity]
                grids.add(point.grid_number)
                if same.method != point.method:  # its numbers would belong to either name
                    what = f"the methods '{same.method}' and '{point.method}' have the same setting"
                    place = (METHODS, str(point.method))
                    sweep.issues.append(Issue("duplicate", place, what, "remove one of them", named=()))
                continue
            grids = {point.grid_number}
            sweep.variants.append(Variant(setting, point.method, grids))
            seen[setting.identity] = sweep.variants[-1], grids
            flaws = [_as_written(flaw, point.parts) for flaw in inspector.flaws(setting, partial=partial)]
        # What is wrong with a part whose key is misspelt, as where an axis alone is left of it, is reported already.
        flaws = [flaw for flaw in flaws if not flaw.path or flaw.path[0] not in misspelt]
        if partial:  # a part that a point lacks may be one that a mistake, reported already, hides
            flaws = [flaw for flaw in flaws if not flaw.path or flaw.path[0] in point.parts]
        sweep.issues += map(point.placed, flaws)
        flawed_points += bool(flaws)
        if flawed_points == _MAX_FLAWED_POINTS:
            break
    if not expanded_points and not sweep.issues:
        what = "no point of the grid is left"
        sweep.issues.append(Issue("empty-selection", ("sweep",), what, "exclude fewer points"))
    sweep.issues += _replaced_flaws(merged, sweep_grids, resolver)
    sweep.inputs = tuple(sorted(inspector.files.values(), key=lambda file: file.path))
    return sweep


def variants_of(judged: Sequence[Variant]) -> Variants:
    """What claims and sections select from."""
    return Variants([v.setting for v in judged], [v.method for v in judged], [v.times for v in judged])


def _first_of_values(sweep: ResolvedSweep, sweep_points: Iterable[SweepPoint], limit: int) -> Iterator[SweepPoint]:
    """The first ``limit`` points, and later ones that show a value of an axis for the first time.

    Sets ``sweep.cut`` where a point is left out, or may be.
    """
    seen = set[tuple[int, int, int]]()
    for count, point in enumerate(sweep_points):
        values = {(point.grid_number, axis, value) for axis, value in enumerate(point.chosen)}
        if count < limit or not values <= seen:
            yield point
        else:
            sweep.cut = True
        sweep.cut |= count + 1 == _MAX_LISTED_POINTS  # no further point was listed, and there may be some
        seen |= values


def _replaced_flaws(merged: MergedSpec, sweep_grids: Sequence[SweepGrid], resolver: Resolver) -> Iterator[Issue]:
    """Mistakes in values of the base that axes of every grid replace, so that no setting shows them."""
    base = {key: merged.data[key] for key in SETTING if key in merged.data}
    changed = {path_words(change.path) for change in merged.changes}  # one that is replaced is told as without effect
    replaced = []
    for grid in sweep_grids:
        paths = [[{path_words(effect.path) for effect in effects} for effects in axis.effects] for axis in grid.axes]
        replaced.append(set[tuple[str, ...]]().union(*(set.intersection(*words) for words in paths if words)))
    for flaw in resolver.setting(interned_parts(base))[1]:
        below = (any(flaw.path[: len(path)] == path for path in paths) for paths in replaced)
        is_changed = any(all(map(operator.eq, flaw.path, path)) for path in changed)
        if is_written(base, flaw.path) and all(below) and not is_changed:
            yield flaw


def _as_written(flaw: Issue, parts: Mapping[str, SettingPart]) -> Issue:
    """A flaw of a resolved setting at the path at which the spec writes it: in the short form, where that was used."""
    stack, *tail = flaw.path
    raw_stack = parts[str(stack)].raw if stack in STACKS and stack in parts else {}
    if stack not in STACKS or not tail or tail[0] in raw_stack:
        return flaw
    path: Where = ("model", "layers") if tail[0] == "layers" else tuple(tail) if tail[0] in STACK_CHOICES else flaw.path
    return Issue(flaw.code, path, flaw.what, flaw.remedy)


class _Inspector:
    """Checks resolved settings. What many share is checked once."""

    def __init__(self, content_keys: ContentKeys, memory: int | None) -> None:
        self.content_keys = content_keys
        self.memory = memory
        self.files: dict[str, Input] = {}
        self._cache: dict[tuple[str, ...], list[Issue]] = {}

    def flaws(self, setting: InternedSetting, *, partial: bool) -> list[Issue]:
        """What is wrong with a setting. Where it lacks parts, contradictions between parts are not checked."""
        registries = self.content_keys.registries
        kind = setting["model"]["kind"]
        flaws: list[Issue] = []
        if registries["model"][kind].facts.size is None:
            what = f"the model '{kind}' does not say its size"
            flaws.append(Issue("unsupported", ("model", "kind"), what, "register it with size="))
        if not partial:
            flaws += contradictions(setting, registries)
        memory = self.memory
        if memory is None:
            return flaws
        if not flaws:
            flaws = self._cached("size", setting, _SHAPE, lambda: too_large(setting, registries, memory))
        if setting.texts["task"] in self.content_keys.files.tasks:
            return flaws
        return flaws + self._cached("task", setting, ("task",), lambda: self._unreadable_files(setting))

    def _cached(
        self, check: str, setting: InternedSetting, keys: Collection[str], find_flaws: Callable[[], list[Issue]]
    ) -> list[Issue]:
        key = (check, *(setting.texts.get(key, "") for key in keys))
        if key not in self._cache:
            self._cache[key] = find_flaws()
        return self._cache[key]

    def _unreadable_files(self, setting: ResolvedSetting) -> list[Issue]:
        """Check that files which the task names can be read, as their content joins the key."""
        task = setting["task"]
        try:
            for path in _files_of(self.content_keys.registries["task"], task, self.content_keys.roots):
                self.files.setdefault(str(path), input_of(path))
            self.content_keys.choice("task", task)
        except LabError as error:
            return [
                Issue(
                    problem.code,
                    ("task",),
                    f"{problem.where}: {problem.what}" if problem.where else problem.what,
                    problem.remedy,
                )
                for problem in error.issues
            ]
        except OSError as error:
            return [Issue("unreadable", ("task",), f"{error.filename}: {(error.strerror or str(error)).lower()}")]
        return []


def _files_of(registry: Registry[Any], choice: Choice, roots: Roots) -> Iterator[Path]:
    """The files that a resolved choice and the choices in it name, by the fact ``inputs`` of their entries.

    A plan depends on their content, but not on that of a download with a known checksum.

    Raises:
        LabError: one of them does not exist.
    """
    entry = registry[choice["kind"]]
    if isinstance(entry.facts, DataFacts) and entry.facts.inputs is not None:
        yield from entry.facts.inputs(roots, choice)
    for name, nested in entry.nested.items():
        yield from _files_of(nested, choice[name], roots)
