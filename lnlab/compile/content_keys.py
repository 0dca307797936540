"""The keys of a variant: a tree of content keys, each part of it hashed once however many variants share it.

initial state = (task, stacks, init, number format, interventions on the function; seed)
trajectory = (initial state, all that moves it: interventions on the update too)
state = (trajectory, step), at step 0 the initial state alone   measurement = (state, step, probe)
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lnlab.compile.files_read import FilesRead
from lnlab.compile.interned import InternedSetting, interned
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
    """What a variant's keys are made of. A seed makes them keys of runs.

    Attributes:
        variant: key of the setting.
        start: what the initial state depends on, except for its seed.
        movement: all that moves it, or None where nothing does (no steps).
        steps: updates of the run.
        task: key of the task, with the content of its files.
    """

    variant: str
    start: str
    movement: str | None
    steps: int
    task: str

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
        files: what is known of files, which are not read again.
    """

    def __init__(self, registries: Registries, roots: Roots, files: FilesRead | None = None) -> None:
        self.registries = registries
        self.roots = roots
        self.files = files or FilesRead()
        self._keys: dict[tuple[str, ...], Json] = {("task", text): key for text, key in self.files.tasks.items()}

    def with_continued(self, continued: Mapping[str, list[Json]]) -> "ContentKeys":
        """The same keys, except that these inits continue these runs."""
        files = replace(self.files, continued={**self.files.continued, **continued})
        keys = ContentKeys(self.registries, self.roots, files)
        keys._keys = self._keys  # none of them holds what a run continues
        return keys

    def files_read(self, settings: Iterable[ResolvedSetting], epochs: Mapping[str, int | None]) -> FilesRead:
        """What the keys of these settings hold of files, with the epochs that were asked for."""
        tasks = {canonical(setting["task"]): setting["task"] for setting in settings}
        keys = {text: str(self.choice("task", task)) for text, task in tasks.items()}
        return replace(self.files, tasks=keys, epochs={text: epochs[text] for text in tasks if text in epochs})

    def of(self, resolved: ResolvedSetting) -> VariantKeys:
        """The identity of a resolved setting.

        Raises:
            LabError: a file that a choice names, and whose content its key holds, cannot be read.
        """
        setting = interned(resolved)
        train = setting["train"]
        texts = setting.texts

        def stack_key(stack: Json) -> str:
            parts = {word: self.choice(word, stack[word]) for word in STACK_CHOICES}
            return digest(["stack", {**stack, **parts}])

        stacks = [[name, self._part(name, setting, stack_key)] for name in stacks_of(setting)]
        numbers = [train[word] for word in _NUMBER_FORMAT]
        task = str(self._part("task", setting))
        start = [task, self._part("model", setting), stacks, self._init(setting), numbers]
        interventions = self._part("interventions", setting, partial(self._interventions, "function"))
        initial = digest(["start", *start, *([interventions] if interventions else [])])
        steps = train["steps"]
        # Remembered by the texts of all that it is made of: of a thousand variants few move in different ways.
        moving = ("movement", *(texts[word] for word in _MOVING))
        if moving not in self._keys:
            self._keys[moving] = self._movement(setting)
        movement = str(self._keys[moving])
        variant = digest(["variant", initial, movement, steps])
        return VariantKeys(variant, initial, movement=movement if steps else None, steps=steps, task=task)

    def choice(self, kind: str, choice: Choice | None) -> str | None:
        """The key of a resolved choice."""
        if choice is None:
            return None
        place = (kind, canonical(choice))
        if place not in self._keys:
            self._keys[place] = self.registries[kind].key(choice, self.roots)
        return str(self._keys[place])

    def _part(self, word: str, setting: InternedSetting, make_key: Callable[[Json], Json] | None = None) -> Json:
        """The key of a part of a setting: that of a choice, unless ``make_key`` makes another."""
        place = (word, setting.texts[word])
        if place not in self._keys:
            self._keys[place] = make_key(setting[word]) if make_key else self.choice(word, setting[word])
        return self._keys[place]

    def _init(self, setting: InternedSetting) -> Json:
        """The key of an init. Where it continues a run, that run's content stands for the words that name it."""
        content = self.files.continued.get(setting.texts["init"])
        if content is None:
            return self._part("init", setting)
        choice = setting["init"]
        entry = self.registries["init"][choice["kind"]]
        own = {word: choice[word] for word in choice if word not in (*_NAMING_A_RUN, *entry.nested)}
        nested = [registry.key(choice[word], self.roots) for word, registry in entry.nested.items()]
        return digest(["continued", entry.name, entry.version, own, nested, content])

    def _interventions(self, on: str, interventions: Json) -> list[Json]:
        selected = interventions_on(on, {"interventions": interventions}, self.registries)
        return [self.choice("intervention", intervention) for intervention in selected]

    def _movement(self, setting: ResolvedSetting) -> str:
        train = setting["train"]
        schedule = setting["schedule"]
        moves: dict[str, Json] = {word: train[word] for word in _UPDATE_PARAMETERS}
        moves["stop"] = self.choice("stop", train["stop"])
        if stops_on_evaluations(setting, self.registries):
            moves["evaluate"] = [train["evaluate"], train["steps"]]  # what the rule sees
        moves["optimizer"] = self.choice("optimizer", setting["optimizer"])
        moves["schedule"] = self.choice("schedule", schedule)
        moves["interventions"] = self._interventions("update", setting["interventions"])
        if schedule is not None and asks_for_steps(self.registries["schedule"][schedule["kind"]]):
            moves["steps"] = train["steps"]
        return digest(["movement", moves])


def asks_for_steps(entry: Entry[Any]) -> bool:
    """Whether a schedule's builder takes the number of steps. Only then is it part of the key."""
    return "steps" in supplied_parameters(entry.build)


def stops_on_evaluations(setting: ResolvedSetting, registries: Registries) -> bool:
    """Whether a stop rule reads the evaluations of a run, so that it depends on when these are."""
    stop = setting["train"]["stop"]
    return stop is not None and bool(registries["stop"][stop["kind"]].facts.evaluations)
