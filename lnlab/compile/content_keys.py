"""The keys of a variant: a tree of content keys, each part of it hashed once however many variants share it.

initial state = (task, stacks, init, number format, interventions on the function; seed)
trajectory = (initial state, all that moves it: interventions on the update too)
state = (trajectory, step), at step 0 the initial state alone   measurement = (state, step, probe)
"""

from dataclasses import dataclass
from typing import Any

from lnlab.compile.resolve.choices import Registries, acting
from lnlab.compile.setting_paths import SHORT, stacks_of
from lnlab.compile.work import Setting
from lnlab.keys import Json, canonical, digest
from lnlab.registry import Choice, Entry, Roots, names_supplied

_NUMBERS = ("precision", "device", "threads")
_MOVING = ("optimizer", "schedule", "train", "interventions")
_MOVES = ("accumulate", "clip")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a variant's keys are made of; a seed makes them keys of runs.

    Attributes:
        variant: key of the setting.
        start: what the initial state depends on, but for its seed.
        movement: all that moves it, or None where nothing does (no steps).
        steps: updates asked for.
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


class Identities:
    """Keys of settings and probes. A key is remembered by the canonical text of what it is the key of."""

    def __init__(self, registries: Registries, roots: Roots) -> None:
        self.registries = registries
        self.roots = roots
        self._keys: dict[tuple[str, str], str] = {}
        self._same: dict[tuple[str, int], tuple[Json, str]] = {}
        self._moves: dict[tuple[int, ...], tuple[Setting, str]] = {}

    def of(self, setting: Setting) -> Identity:
        """The identity of a resolved setting.

        Raises:
            LabError: a file that a choice names, and whose content its key holds, cannot be read.
        """
        train = setting["train"]
        stacks = [[name, self._once(setting[name], self._stack)] for name in stacks_of(setting)]
        numbers = [train[word] for word in _NUMBERS]
        start = [self.choice("task", setting["task"]), self.choice("model", setting["model"]), stacks]
        start += [self.choice("init", setting["init"]), numbers]
        cut = self._interventions("function", setting)
        initial = digest(["start", *start, *([cut] if cut else [])])
        steps, moves = train["steps"], tuple(id(setting[word]) for word in _MOVING)
        if moves not in self._moves:
            self._moves[moves] = setting, self._movement(setting)
        movement = self._moves[moves][1]
        return Identity(digest(["variant", initial, movement, steps]), initial, movement if steps else None, steps)

    def choice(self, kind: str, choice: Choice | None) -> str | None:
        """The key of a resolved choice."""
        return None if choice is None else self._once(choice, lambda c: self.registries[kind].key(c, self.roots), kind)

    def _once(self, value: Json, key: Any, kind: str = "") -> str:
        """``key(value)``, asked once for each text; once more for free where it is the same object."""
        held = self._same.get((kind, id(value)))
        if held is None:  # what is held is alive, so its id is nobody else's
            text = (kind, canonical(value))
            if text not in self._keys:
                self._keys[text] = key(value)
            held = self._same[kind, id(value)] = (value, self._keys[text])
        return held[1]

    def _stack(self, stack: Json) -> str:
        parts = {word: self.choice(word, stack[word]) for word in SHORT}
        return digest(["stack", {**stack, **parts}])

    def _interventions(self, on: str, setting: Setting) -> list[Json]:
        return [self.choice("intervention", each) for each in acting(on, setting, self.registries)]

    def _movement(self, setting: Setting) -> str:
        train, schedule = setting["train"], setting["schedule"]
        moves: dict[str, Json] = {word: train[word] for word in _MOVES}
        moves["stop"] = self.choice("stop", train["stop"])
        if train["stop"] and self.registries["stop"][train["stop"]["kind"]].facts.evaluations:
            moves["evaluate"] = [train["evaluate"], train["steps"]]  # what such a rule sees depends on when it looks
        moves["optimizer"] = self.choice("optimizer", setting["optimizer"])
        moves["schedule"] = self.choice("schedule", schedule)
        moves["interventions"] = self._interventions("update", setting)
        if schedule is not None and asks_for_steps(self.registries["schedule"][schedule["kind"]]):
            moves["steps"] = train["steps"]
        return digest(["movement", moves])


def asks_for_steps(entry: Entry[Any]) -> bool:
    """Whether a schedule's builder takes the number of steps; then, and only then, it is part of the key."""
    return "steps" in names_supplied(entry.build)
