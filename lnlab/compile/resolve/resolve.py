"""A raw setting -> the resolved setting: kinds known, parameters valid, every default explicit. Idempotent."""

from collections.abc import Callable, Mapping
from typing import Any

from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.resolve.stacks import STACK_KEYS, resolve_stacks
from lnlab.compile.resolve.training import resolve_train
from lnlab.compile.setting_paths import INTERVENTIONS, as_choices
from lnlab.compile.sweep.expand import SettingPart
from lnlab.errors import nearest
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flaw, Flawed

NULLABLE = ("optimizer", "schedule")
"""Choices that may be null: there is none."""
DEFAULT_INIT = "xavier_normal"
_ABSENT = SettingPart(None, "")


def resolve_setting(raw_parts: Mapping[str, Json], registries: Registries) -> dict[str, Json]:
    """The resolved setting of ``raw_parts``: the top-level keys of a spec that determine a run.

    Raises:
        Flawed: everything wrong with it, with paths as the spec writes them.
    """
    setting, flaws = Resolver(registries).setting(
        {key: SettingPart(raw, canonical(raw)) for key, raw in raw_parts.items()}
    )
    if setting is None:
        raise Flawed(*flaws)
    return setting


class Resolver:
    """Resolves many settings that share parts: each is validated once, and equal ones are one object."""

    def __init__(self, registries: Registries) -> None:
        self.registries = registries
        self._cache: dict[Any, tuple[Json, tuple[Flaw, ...]]] = {}
        self._values: dict[str, Json] = {}

    def setting(self, parts: Mapping[str, SettingPart]) -> tuple[dict[str, Json] | None, list[Flaw]]:
        """The resolved setting, or None and every flaw of it."""
        resolved: dict[str, Json] = {}
        flaws: list[Flaw] = []
        for key in ("task", "stacks", "init", "optimizer", "schedule", "train", "interventions"):
            value, part_flaws = self._stacks(parts) if key == "stacks" else self._part(key, parts.get(key, _ABSENT))
            flaws += part_flaws
            if not flaws:
                resolved |= value if key == "stacks" else {key: value}
        return (None if flaws else resolved), flaws

    def _stacks(self, parts: Mapping[str, SettingPart]) -> tuple[Json, tuple[Flaw, ...]]:
        texts = tuple(parts[key].text if key in parts else "" for key in STACK_KEYS)
        if texts not in self._cache:
            raw_parts = {key: parts[key].raw for key in STACK_KEYS if key in parts}
            stacks, flaws = _catch_flaws(lambda: resolve_stacks(raw_parts, self.registries))
            self._cache[texts] = stacks and {key: self._interned(value) for key, value in stacks.items()}, flaws
        return self._cache[texts]

    def _part(self, key: str, part: SettingPart) -> tuple[Json, tuple[Flaw, ...]]:
        if (key, part.text) not in self._cache:
            present = part is not _ABSENT
            value, flaws = _catch_flaws(lambda: self._resolved(key, part.raw, present))
            self._cache[key, part.text] = self._interned(value), tuple(flaw.below(key) for flaw in flaws)
        return self._cache[key, part.text]

    def _interned(self, value: Json) -> Json:
        return self._values.setdefault(canonical(value), value)

    def _resolved(self, key: str, raw: Json, present: bool) -> Json:
        """One part that stands alone. A null optimizer or schedule means that there is none."""
        if key == "train":
            return resolve_train(raw if present else {}, self.registries)
        if key == INTERVENTIONS:
            return self._interventions(raw)
        if key in NULLABLE and raw is None:
            return None
        if key == "task" and not present:
            raise Flawed(Flaw((), "a task is required", nearest("", self.registries["task"].entries)))
        return resolve_choice(self.registries[key], raw if present else DEFAULT_INIT)

    def _interventions(self, raw: Json) -> list[Choice]:
        interventions, flaws = [], []
        for number, choice in enumerate(as_choices(raw)):
            try:
                interventions.append(resolve_choice(self.registries["intervention"], choice))
            except Flawed as error:
                flaws += [flaw.below(number) if isinstance(raw, list) else flaw for flaw in error.flaws]
        if flaws:
            raise Flawed(*flaws)
        return interventions


def _catch_flaws(resolve: Callable[[], Json]) -> tuple[Json, tuple[Flaw, ...]]:
    """The value, or the flaws for which there is none."""
    try:
        return resolve(), ()
    except Flawed as error:
        return None, error.flaws
