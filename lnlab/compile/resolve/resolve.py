"""A raw setting -> the resolved setting: kinds known, parameters valid, every default explicit. Idempotent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lnlab.compile.interned import InternedSetting, SettingPart, interned_parts, part_of
from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.resolve.stacks import STACK_KEYS, resolve_stacks
from lnlab.compile.resolve.training import resolve_train
from lnlab.compile.setting_paths import INTERVENTIONS, as_choices
from lnlab.errors import nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Choice, Flawed

NULLABLE = ("optimizer", "schedule")
"""Choices that may be null: there is none."""
DEFAULT_INIT = "xavier_normal"
_ABSENT = SettingPart(None, "")


def resolve_setting(raw_parts: Mapping[str, Json], registries: Registries) -> InternedSetting:
    """The resolved setting of ``raw_parts``: the top-level keys of a spec that determine a run.

    Raises:
        Flawed: everything wrong with it, with paths as the spec writes them.
    """
    setting, flaws = Resolver(registries).setting(interned_parts(raw_parts))
    if setting is None:
        raise Flawed(*flaws)
    return setting


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
        self._cache: dict[tuple[str, ...], _Resolved] = {}
        self._parts: dict[str, SettingPart] = {}

    def setting(self, parts: Mapping[str, SettingPart]) -> tuple[InternedSetting | None, list[Issue]]:
        """The resolved setting, or None and every flaw of it."""
        values: dict[str, Json] = {}
        texts: dict[str, str] = {}
        flaws: list[Issue] = []
        for key in ("task", "stacks", "init", "optimizer", "schedule", "train", "interventions"):
            resolved = self._stacks(parts) if key == "stacks" else self._part(key, parts.get(key, _ABSENT))
            values |= resolved.values
            texts |= resolved.texts
            flaws += resolved.flaws
        return (None if flaws else InternedSetting(values, texts)), flaws

    def _stacks(self, parts: Mapping[str, SettingPart]) -> "_Resolved":
        texts = tuple(parts[key].text if key in parts else "" for key in STACK_KEYS)
        if texts not in self._cache:
            raw_parts = {key: parts[key].raw for key in STACK_KEYS if key in parts}
            self._cache[texts] = self._interned(lambda: resolve_stacks(raw_parts, self.registries))
        return self._cache[texts]

    def _part(self, key: str, part: SettingPart) -> "_Resolved":
        if (key, part.text) not in self._cache:
            present = part is not _ABSENT
            self._cache[key, part.text] = self._interned(lambda: {key: self._resolved(key, part.raw, present)}, key)
        return self._cache[key, part.text]

    def _interned(self, resolve: Callable[[], dict[str, Json]], *key: str) -> "_Resolved":
        """Resolved values with their texts, or what is wrong below ``key``."""
        try:
            parts = [(word, part_of(value)) for word, value in resolve().items()]
        except Flawed as error:
            return _Resolved({}, {}, tuple(flaw.below(*key) for flaw in error.issues))
        shared = {word: self._parts.setdefault(part.text, part) for word, part in parts}
        values = {word: part.raw for word, part in shared.items()}
        return _Resolved(values, {word: part.text for word, part in shared.items()}, ())

    def _resolved(self, key: str, raw: Json, present: bool) -> Json:
        """One part that stands alone. A null optimizer or schedule means that there is none."""
        if key == "train":
            return resolve_train(raw if present else {}, self.registries)
        if key == INTERVENTIONS:
            return self._interventions(raw)
        if key in NULLABLE and raw is None:
            return None
        if key == "task" and not present:
            raise Flawed(Issue("missing", (), "a task is required", nearest("", self.registries["task"].entries)))
        return resolve_choice(self.registries[key], raw if present else DEFAULT_INIT)

    def _interventions(self, raw: Json) -> list[Choice]:
        interventions = []
        flaws = []
        for number, choice in enumerate(as_choices(raw)):
            try:
                interventions.append(resolve_choice(self.registries["intervention"], choice))
            except Flawed as error:
                flaws += [flaw.below(number) if isinstance(raw, list) else flaw for flaw in error.issues]
        if flaws:
            raise Flawed(*flaws)
        return interventions
