"""A raw setting -> the resolved setting: kinds known, parameters valid, every default explicit. Idempotent."""

from collections.abc import Callable, Mapping
from typing import Any

from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.resolve.stacks import KEYS, resolve_stacks
from lnlab.compile.resolve.training import resolve_train
from lnlab.compile.setting_paths import INTERVENTIONS, several
from lnlab.compile.sweep.expand import Part
from lnlab.errors import nearest
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flaw, Flawed

NULLABLE = ("optimizer", "schedule")
"""Choices that may be null: there is none."""
DEFAULT_INIT = "xavier_normal"
_NOTHING = Part(None, "")


def resolve(given: Mapping[str, Json], registries: Registries) -> dict[str, Json]:
    """The resolved setting of ``given``: the top-level keys of a spec that determine a run.

    Raises:
        Flawed: everything wrong with it, with paths as the spec writes them.
    """
    setting, flaws = Resolver(registries).setting({key: Part(raw, canonical(raw)) for key, raw in given.items()})
    if setting is None:
        raise Flawed(*flaws)
    return setting


class Resolver:
    """Resolves many settings that share parts: each is validated once, and equal ones are one object."""

    def __init__(self, registries: Registries) -> None:
        self.registries = registries
        self._done: dict[Any, tuple[Json, tuple[Flaw, ...]]] = {}
        self._same: dict[str, Json] = {}

    def setting(self, parts: Mapping[str, Part]) -> tuple[dict[str, Json] | None, list[Flaw]]:
        """The resolved setting, or None and every flaw of it."""
        made: dict[str, Json] = {}
        flaws: list[Flaw] = []
        for key in ("task", "stacks", "init", "optimizer", "schedule", "train", "interventions"):
            value, wrong = self._stacks(parts) if key == "stacks" else self._part(key, parts.get(key, _NOTHING))
            flaws += wrong
            if not flaws:
                made |= value if key == "stacks" else {key: value}
        return (None if flaws else made), flaws

    def _stacks(self, parts: Mapping[str, Part]) -> tuple[Json, tuple[Flaw, ...]]:
        texts = tuple(parts[key].text if key in parts else "" for key in KEYS)
        if texts not in self._done:
            given = {key: parts[key].raw for key in KEYS if key in parts}
            made, flaws = _kept(lambda: resolve_stacks(given, self.registries))
            self._done[texts] = made and {key: self._one(value) for key, value in made.items()}, flaws
        return self._done[texts]

    def _part(self, key: str, part: Part) -> tuple[Json, tuple[Flaw, ...]]:
        if (key, part.text) not in self._done:
            given = part is not _NOTHING
            value, flaws = _kept(lambda: self._resolved(key, part.raw, given))
            self._done[key, part.text] = self._one(value), tuple(flaw.below(key) for flaw in flaws)
        return self._done[key, part.text]

    def _one(self, value: Json) -> Json:
        return self._same.setdefault(canonical(value), value)

    def _resolved(self, key: str, raw: Json, given: bool) -> Json:
        """One part that stands alone. A null optimizer or schedule means that there is none."""
        if key == "train":
            return resolve_train(raw if given else {}, self.registries)
        if key == INTERVENTIONS:
            return self._interventions(raw)
        if key in NULLABLE and raw is None:
            return None
        if key == "task" and not given:
            raise Flawed(Flaw((), "a task is required", nearest("", self.registries["task"].entries)))
        return resolve_choice(self.registries[key], raw if given else DEFAULT_INIT)

    def _interventions(self, raw: Json) -> list[Choice]:
        made, flaws = [], []
        for number, given in enumerate(several(raw)):
            try:
                made.append(resolve_choice(self.registries["intervention"], given))
            except Flawed as error:
                flaws += [flaw.below(number) if isinstance(raw, list) else flaw for flaw in error.flaws]
        if flaws:
            raise Flawed(*flaws)
        return made


def _kept(resolve: Callable[[], Json]) -> tuple[Json, tuple[Flaw, ...]]:
    """The value, or the flaws for which there is none."""
    try:
        return resolve(), ()
    except Flawed as error:
        return None, error.flaws
