"""The sweep settled: every point resolved, equal ones merged, and what contradicts itself found."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from lnlab.compile.checks.contradictions import contradictions, too_large
from lnlab.compile.content_keys import Identities
from lnlab.compile.digests import Input, input_of
from lnlab.compile.inputs import files_of
from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.resolve.epochs import Epochs
from lnlab.compile.resolve.resolve import NULLABLE, Resolver
from lnlab.compile.setting_paths import SHORT
from lnlab.compile.source_spans import Spot
from lnlab.compile.sweep.expand import Part, Point, points
from lnlab.compile.sweep.grids import Grid, grids
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import Draft, Found, grids_of
from lnlab.compile.work import Setting
from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.registry import Flaw, Flawed, Where
from lnlab.setting import STACKS
from lnlab.specfile.read import Reading

_ENOUGH = 200
"""Flawed points after which no further one is looked at."""


@dataclass
class Settled:
    """The settings of an experiment, each once, in the order of the sweep, and what is wrong with them.

    Attributes:
        axes: dotted paths that some grid varies.
        settings: resolved.
        methods: for each setting, the name that the spec gives it, or None.
        inputs: files whose content joins the keys.
        epochs: how long those of their tasks are.
        partial: whether flaws hide part of the sweep or of the methods, so that settings lack what these would set.
        found: what is wrong.
    """

    epochs: Epochs

    axes: tuple[str, ...] = ()
    settings: list[Setting] = field(default_factory=list)
    methods: list[Json] = field(default_factory=list)
    inputs: tuple[Input, ...] = ()
    partial: bool = False
    found: Found = field(default_factory=list)


def settle(
    reading: Reading, draft: Draft, identities: Identities, memory: int | None, most: int | None = None
) -> Settled:
    """Expand, resolve and check.

    Args:
        reading: the experiment.
        draft: where each part of it was written.
        identities: keys; a file that one of them needs must be there.
        memory: what one run may need at its peak, in bytes; None: no matter, and no file is looked at.
        most: points to look at; None: all.
    """
    made, found = grids(reading, draft)
    axes = dict.fromkeys(path for grid in grids_of(draft.data) for path in grid)
    epochs = Epochs(identities.registries, identities.roots, reading=memory is not None)
    partial = bool(found) or any(flaw.path[:1] in (("sweep",), (METHODS,)) for flaw in reading.flaws)
    settled = Settled(epochs, tuple(axes), partial=partial, found=found)
    _resolve(settled, draft, islice(points(draft, made, settled.found), most), identities, memory)
    settled.found += _overwritten(draft, made, identities.registries)
    return settled


def _resolve(
    settled: Settled, draft: Draft, found: Iterable[Point], identities: Identities, memory: int | None
) -> None:
    resolver = Resolver(identities.registries)
    inspector = _Inspector(identities, memory)
    known: dict[tuple[int, ...], Json] = {}
    flawed = expanded = 0
    for point in found:
        expanded += 1
        setting, flaws = resolver.setting(point.parts)
        if setting is not None:
            setting, flaws = _in_steps(setting, settled.epochs)
        if setting is not None:
            name = tuple(map(id, setting.values()))  # the resolver gives equal parts as one object
            if name in known:
                settled.found += _two_names(known[name], point.method)
                continue
            known[name] = point.method
            settled.settings.append(setting)
            settled.methods.append(point.method)
            flaws = [_written(flaw, point.parts) for flaw in inspector.flaws(setting, partial=settled.partial)]
        if settled.partial:
            flaws = [flaw for flaw in flaws if not flaw.path or flaw.path[0] in point.parts]
        settled.found += [(point.spot(flaw, draft), flaw) for flaw in flaws]
        flawed += bool(flaws)
        if flawed == _ENOUGH:
            break
    if not expanded and not settled.found:
        settled.found.append((draft.spot(("sweep",)), Flaw(("sweep",), "no point is left", "except fewer of them")))
    settled.inputs = inspector.inputs()


def _in_steps(setting: Setting, epochs: Epochs) -> tuple[Setting | None, list[Flaw]]:
    """The setting with its epochs as steps."""
    try:
        return epochs.settled(setting), []
    except ValueError as error:
        return None, [Flaw(("train", "epochs"), str(error), "give train.steps")]


def _two_names(first: Json, second: Json) -> Found:
    """That a setting has two names, so that nobody could say which of them its numbers belong to."""
    if first == second:
        return []
    return [
        (Spot((METHODS, second)), Flaw((), f"the methods '{first}' and '{second}' are one setting", "keep one name"))
    ]


def _overwritten(draft: Draft, made: list[Grid], registries: Registries) -> Found:
    """Choices of the base that every grid replaces: a mistake in one moves nothing, and is one all the same."""
    found: Found = []
    swept = [{axis.path for axis in grid.axes} for grid in made]
    for key in set.intersection(*swept) & draft.data.keys() & registries.keys() - {"model"}:
        try:
            if draft.data[key] is not None or key not in NULLABLE:
                resolve_choice(registries[key], draft.data[key])
        except Flawed as error:
            found += [(draft.spot((key, *flaw.path)), flaw.below(key)) for flaw in error.flaws]
    return found


def _written(flaw: Flaw, parts: Mapping[str, Part]) -> Flaw:
    """A flaw of a resolved setting at the path at which the spec writes it: in the short form, where that was used."""
    stack, *rest = flaw.path
    long = parts[str(stack)].raw if stack in STACKS and stack in parts else {}
    if stack not in STACKS or not rest or rest[0] in long:
        return flaw
    short: Where = ("model", "layers") if rest[0] == "layers" else tuple(rest) if rest[0] in SHORT else flaw.path
    return Flaw(short, flaw.what, flaw.remedy)


class _Inspector:
    """Looks at resolved settings; what many share is looked at once."""

    def __init__(self, identities: Identities, memory: int | None) -> None:
        self.identities = identities
        self.memory = memory
        self.files: dict[str, Input] = {}
        self._done: dict[tuple[str, tuple[int, ...]], list[Flaw]] = {}

    def flaws(self, setting: Setting, *, partial: bool) -> list[Flaw]:
        """What is wrong with a setting; where it lacks parts, nothing of how its parts go together."""
        registries = self.identities.registries
        shape = [value for key, value in setting.items() if key in ("task", "model", *STACKS)]
        untold = self._once("facts", [setting["model"]], lambda: _untold(setting, registries))
        found = untold + ([] if partial else contradictions(setting, registries))
        memory = self.memory
        if memory is None:
            return found
        if not found:
            found = self._once("size", shape, lambda: too_large(setting, registries, memory))
        return found + self._once("task", [setting["task"]], lambda: self._content(setting))

    def _once(self, what: str, values: list[object], look: Callable[[], list[Flaw]]) -> list[Flaw]:
        name = (what, tuple(map(id, values)))
        if name not in self._done:
            self._done[name] = look()
        return self._done[name]

    def _content(self, setting: Setting) -> list[Flaw]:
        """Files that the task names must be there; their content joins the key."""
        task = setting["task"]
        try:
            for path in files_of(self.identities.registries["task"], task, self.identities.roots):
                self.files.setdefault(str(path), input_of(path))
            self.identities.choice("task", task)
        except LabError as error:
            return [Flaw(("task",), f"{p.where}: {p.what}" if p.where else p.what, p.remedy) for p in error.problems]
        except OSError as error:
            return [Flaw(("task",), f"{error.filename}: {(error.strerror or str(error)).lower()}")]
        return []

    def inputs(self) -> tuple[Input, ...]:
        return tuple(sorted(self.files.values(), key=lambda given: given.path))


def _untold(setting: Setting, registries: Registries) -> list[Flaw]:
    """A model that does not say how large it is cannot be planned."""
    kind = setting["model"]["kind"]
    if registries["model"][kind].facts.size is not None:
        return []
    return [Flaw(("model", "kind"), f"the model '{kind}' does not say its size", "register it with size=")]
