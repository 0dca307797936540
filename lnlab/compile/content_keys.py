"""The keys of a variant: a tree of content keys, each part of it hashed once however many variants share it.

initial state = (task, stacks, init, number format, interventions on the function; seed)
trajectory = (initial state, all that moves it: interventions on the update too)
state = (trajectory, step), at step 0 the initial state alone   measurement = (state, step, probe)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lnlab.compile.resolve.choices import Registries, interventions_on
from lnlab.compile.setting_paths import STACK_CHOICES, stacks_of
from lnlab.compile.work import ResolvedSetting
from lnlab.keys import Json, canonical, digest
from lnlab.registry import Choice, Entry, Roots, supplied_parameters

_NUMBER_FORMAT = ("precision", "device", "threads")
_MOVING = ("optimizer", "schedule", "train", "interventions")
_UPDATE_PARAMETERS = ("accumulate", "clip")
_NAMING_A_RUN = ("kind", "spec", "profile", "where", "seed", "at")
"""Parameters of an init that continues a run which say where it is to be looked up."""


@dataclass(frozen=True, slots=True)
class VariantKeys:
    """What a variant's keys are made of; a seed makes them keys of runs.

    Attributes:
        variant: key of the setting.
        start: what the initial state depends on, but for its seed.
        movement: all that moves it, or None where nothing does (no steps).
        steps: updates of the run.
    """

    variant: str
    start: str
    movement: str | None
    steps: int

    def state(self, seed: int) -> str:
        """Key of the initial state."""
        return digest(["state", self.start, seed])

    def trajectory(self, state: str) -> str:
        """Key of the trajectory that starts in an initial state."""
        return digest(["trajectory", state, self.movement])


class ContentKeys:
    """Keys of settings and probes. A key is remembered by the canonical text of what it is the key of.

    Attributes:
        registries: of what choices name.
        roots: folders of data, searched in order.
        continued: by the canonical text of an init that continues another run, the content of that run.
    """

    def __init__(self, registries: Registries, roots: Roots) -> None:
        self.registries = registries
        self.roots = roots
        self.continued: Mapping[str, list[Json]] = {}
        self._by_text: dict[tuple[str, str], str] = {}
        self._by_object: dict[tuple[str, int], tuple[Json, str]] = {}
        self._movements: dict[tuple[int, ...], tuple[ResolvedSetting, str]] = {}

    def of(self, setting: ResolvedSetting) -> VariantKeys:
        """The identity of a resolved setting.

        Raises:
            LabError: a file that a choice names, and whose content its key holds, cannot be read.
        """
        train = setting["train"]
        stacks = [[name, self._cached_key(setting[name], self._stack)] for name in stacks_of(setting)]
        numbers = [train[word] for word in _NUMBER_FORMAT]
        start = [self.choice("task", setting["task"]), self.choice("model", setting["model"]), stacks]
        start += [self._init(setting["init"]), numbers]
        interventions = self._interventions("function", setting)
        initial = digest(["start", *start, *([interventions] if interventions else [])])
        steps, object_ids = train["steps"], tuple(id(setting[word]) for word in _MOVING)
        if object_ids not in self._movements:
            self._movements[object_ids] = setting, self._movement(setting)
        movement = self._movements[object_ids][1]
        return VariantKeys(digest(["variant", initial, movement, steps]), initial, movement if steps else None, steps)

    def choice(self, kind: str, choice: Choice | None) -> str | None:
        """The key of a resolved choice."""
        if choice is None:
            return None
        return self._cached_key(choice, lambda c: self.registries[kind].key(c, self.roots), kind)

    def _init(self, choice: Choice) -> Json:
        """The key of an init; where it continues a run, that run's content stands for the words that name it."""
        content = self.continued.get(canonical(choice))
        if content is None:
            return self.choice("init", choice)
        entry = self.registries["init"][choice["kind"]]
        own = {word: choice[word] for word in choice if word not in (*_NAMING_A_RUN, *entry.nested)}
        nested = [registry.key(choice[word], self.roots) for word, registry in entry.nested.items()]
        return digest(["continued", entry.name, entry.version, own, nested, content])

    def _cached_key(self, value: Json, make_key: Any, kind: str = "") -> str:
        """``make_key(value)``, computed once for each text, and looked up by ``id`` where it is the same object."""
        entry = self._by_object.get((kind, id(value)))
        if entry is None:  # the entry keeps the object alive, so no other object gets its id
            text = (kind, canonical(value))
            if text not in self._by_text:
                self._by_text[text] = make_key(value)
            entry = self._by_object[kind, id(value)] = (value, self._by_text[text])
        return entry[1]

    def _stack(self, stack: Json) -> str:
        parts = {word: self.choice(word, stack[word]) for word in STACK_CHOICES}
        return digest(["stack", {**stack, **parts}])

    def _interventions(self, on: str, setting: ResolvedSetting) -> list[Json]:
        return [
            self.choice("intervention", intervention) for intervention in interventions_on(on, setting, self.registries)
        ]

    def _movement(self, setting: ResolvedSetting) -> str:
        train, schedule = setting["train"], setting["schedule"]
        moves: dict[str, Json] = {word: train[word] for word in _UPDATE_PARAMETERS}
        moves["stop"] = self.choice("stop", train["stop"])
        if train["stop"] and self.registries["stop"][train["stop"]["kind"]].facts.evaluations:
            moves["evaluate"] = [
                train["evaluate"],
                train["steps"],
            ]  # what the rule sees
        moves["optimizer"] = self.choice("optimizer", setting["optimizer"])
        moves["schedule"] = self.choice("schedule", schedule)
        moves["interventions"] = self._interventions("update", setting)
        if schedule is not None and asks_for_steps(self.registries["schedule"][schedule["kind"]]):
            moves["steps"] = train["steps"]
        return digest(["movement", moves])


def asks_for_steps(entry: Entry[Any]) -> bool:
    """Whether a schedule's builder takes the number of steps; then, and only then, it is part of the key."""
    return "steps" in supplied_parameters(entry.build)
