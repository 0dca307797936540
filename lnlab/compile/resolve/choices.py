"""A choice as a spec writes it -> the resolved choice; fields besides a kind's own parameters are known too."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from lnlab.compile.source_spans import UNKNOWN
from lnlab.errors import closest, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flawed, Registry

Registries = Mapping[str, Registry[Any]]


def resolve_choice(registry: Registry, raw: Json, fields: Collection[str] = ()) -> Choice:  # type: ignore[type-arg]
    """The resolved choice; ``fields`` are further words that it may have, for the nearest-word search.

    Raises:
        Flawed: everything wrong with it, with paths relative to it.
    """
    if isinstance(raw, dict) and "kind" not in raw and (near := closest("kind", raw)):
        raise Flawed(Issue("unknown-key", (near,), f"{UNKNOWN} '{near}'", "did you mean 'kind'?"))
    try:
        return registry.resolve(raw)
    except Flawed as error:
        raise Flawed(*(_suggest_fields(flaw, registry, raw, fields) for flaw in error.issues)) from error


def _suggest_fields(flaw: Issue, registry: Registry, raw: Json, fields: Collection[str]) -> Issue:  # type: ignore[type-arg]
    """An unknown parameter of the choice itself: the nearest word may be one of the fields."""
    if len(flaw.path) != 1 or flaw.code != "unknown-key":
        return flaw
    known = [*registry[raw if isinstance(raw, str) else raw["kind"]].keywords, *fields]
    return replace(flaw, remedy=nearest(str(flaw.path[0]), known))


def shortest_form(registry: Registry, choice: Choice) -> Json:  # type: ignore[type-arg]
    """The word alone where every parameter is a default, else the resolved choice."""
    try:
        plain = registry.resolve(choice["kind"])
    except Flawed:
        return choice
    return choice["kind"] if canonical(plain) == canonical(choice) else choice


def interventions_on(on: str, setting: dict[str, Json], registries: Registries) -> list[Choice]:
    """The interventions of a resolved setting that act on the ``function``, or on the ``update``, in their order.

    One that does not say on what it acts is taken to act on the function, so that its own initial state is measured.
    """
    registry = registries["intervention"]
    return [choice for choice in setting["interventions"] if registry[choice["kind"]].facts.acts_on == on]
