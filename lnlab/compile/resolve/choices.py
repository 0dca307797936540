"""Registries by kind, types of keys that hold one, no or several choices, and queries of a resolved choice."""

from collections.abc import Mapping
from typing import Any

from lnlab.compile.setting_paths import as_choices
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flawed, Piece, Readable, Registry
from lnlab.specfile.values import NONE

Registries = Mapping[str, Registry[Any]]


class ChoiceOrNone(Readable):
    """A choice, or null for none."""

    def __init__(self, registry: Registry[Any]) -> None:
        self.kind = registry.kind
        self.registry = registry

    def read(self, raw: Json) -> Piece | None:  # noqa: D102 - as the base class says
        return None if raw is None else self.registry.read(raw)

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Json]:
        return {"if": {"type": "null"}, "else": {"choice": self.registry.kind}}


class SeveralChoices(Readable):
    """A list of choices. One alone, or the word ``none``, may stand without a list."""

    def __init__(self, registry: Registry[Any]) -> None:
        self.kind = registry.kind
        self.registry = registry

    def read(self, raw: Json) -> tuple[Piece, ...]:  # noqa: D102 - as the base class says
        pieces, issues = [], []
        for number, choice in enumerate(as_choices(raw)):
            try:
                pieces.append(self.registry.read(choice))
            except Flawed as error:
                issues += [issue.below(number) if isinstance(raw, list) else issue for issue in error.issues]
        if issues:
            raise Flawed(*issues)
        return tuple(pieces)

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Json]:
        one: Json = {"choice": self.registry.kind}
        nothing = {"if": {"enum": [NONE, None]}, "else": one}
        return {"if": {"type": "array"}, "then": {"items": one}, "else": nothing}


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
