"""A raw setting -> the resolved setting: kinds known, parameters valid, every default explicit. Idempotent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from lnlab.compile.interned import InternedSetting, SettingPart, interned_parts, part_of
from lnlab.compile.resolve.choices import ChoiceOrNone, Registries, SeveralChoices
from lnlab.compile.resolve.stacks import STACK_KEYS, StackType, resolve_stacks
from lnlab.compile.resolve.training import TrainType
from lnlab.compile.setting_paths import INTERVENTIONS
from lnlab.errors import nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Flawed, Readable
from lnlab.setting import STACKS
from lnlab.specfile.experiment import SETTING

NULLABLE = ("optimizer", "schedule")
"""Choices that may be null: there is none."""
DEFAULT_INIT = "xavier_normal"
_DEFAULTS: Mapping[str, Json] = {"init": DEFAULT_INIT, "train": {}}
"""Defaults of keys that may be left out. Other keys have none."""


def resolve_setting(raw_parts: Mapping[str, Json], registries: Registries) -> InternedSetting:
    """The resolved setting of ``raw_parts``: the top-level keys of a spec that determine a run.

    Raises:
        Flawed: everything wrong with it, with paths as the spec writes them.
    """
    setting, flaws = Resolver(registries).setting(interned_parts(raw_parts))
    if setting is None:
        raise Flawed(*flaws)
    return setting


def setting_types(registries: Registries) -> dict[str, Readable]:
    """What each key that determines a run may hold: the fields of ``lnlab.Spec``, and what a point is read by."""
    types: dict[str, Readable] = {key: registries[key] for key in SETTING if key in registries}
    types |= {key: ChoiceOrNone(registries[key]) for key in NULLABLE if key in registries}
    types |= {stack: StackType(stack, registries) for stack in STACKS} | {"train": TrainType(registries)}
    return (
        types | {INTERVENTIONS: SeveralChoices(registries["intervention"])} if "intervention" in registries else types
    )


@dataclass(frozen=True, slots=True)
class _Resolved:
    """Values of some keys of a setting with their texts, or the flaws for which there are none."""

    values: dict[str, Json]
    texts: dict[str, str]
    flaws: tuple[Issue, ...]


class Resolver:
    """Resolves many settings that share parts: each is validated once, and equal ones share their value."""

    def __init__(self, registries: Registries) -> None:
        self.registries = registries
        self.types = setting_types(registries)
        self._cache: dict[tuple[str, ...], _Resolved] = {}
        self._parts: dict[str, SettingPart] = {}

    def setting(self, parts: Mapping[str, SettingPart]) -> tuple[InternedSetting | None, list[Issue]]:
        """The resolved setting, or None and every flaw of it."""
        values: dict[str, Json] = {}
        texts: dict[str, str] = {}
        flaws: list[Issue] = []
        stacks = {key: parts[key].raw for key in STACK_KEYS if key in parts}

        def resolve_key(key: str, raw: Json) -> dict[str, Json]:
            return {key: self.types[key].resolve(raw)}

        for key in ("task", "stacks", "init", "optimizer", "schedule", "train", INTERVENTIONS):
            part = parts.get(key)
            if key == "stacks":  # a short form means every stack, so that these keys are read together
                name = tuple(parts[word].text if word in parts else "" for word in STACK_KEYS)
                resolved = self._remembered(name, lambda: resolve_stacks(stacks, self.registries, self.types))
            elif key == "task" and part is None:
                remedy = nearest("", self.registries["task"].entries)
                resolved = _Resolved({}, {}, (Issue("missing", (key,), "a task is required", remedy),))
            else:
                raw = _DEFAULTS.get(key) if part is None else part.raw
                name = (key, "" if part is None else part.text)
                resolved = self._remembered(name, partial(resolve_key, key, raw), key)
            values |= resolved.values
            texts |= resolved.texts
            flaws += resolved.flaws
        return (None if flaws else InternedSetting(values, texts)), flaws

    def _remembered(self, name: tuple[str, ...], resolve: Callable[[], dict[str, Json]], *key: str) -> _Resolved:
        """Resolved values with their texts, or what is wrong below ``key``. Each name is resolved once."""
        if name not in self._cache:
            try:
                made = {word: part_of(value) for word, value in resolve().items()}
            except Flawed as error:
                self._cache[name] = _Resolved({}, {}, tuple(flaw.below(*key) for flaw in error.issues))
            else:
                # What is written in two ways may resolve to equal values, which are one object from here on.
                shared = {word: self._parts.setdefault(part.text, part) for word, part in made.items()}
                values = {word: part.raw for word, part in shared.items()}
                self._cache[name] = _Resolved(values, {word: part.text for word, part in shared.items()}, ())
        return self._cache[name]
