"""Facts of a registered piece: its properties that no spec can set, such as a norm's statistics.

Each registry has a frozen dataclass of the facts that its pieces may state, with their types and defaults. What
``register`` is called with must be such facts. A misspelt word would otherwise leave the default, which may be wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from lnlab.errors import LabError, nearest
from lnlab.expectations import mistakes_of
from lnlab.issues import Issue
from lnlab.keys import Json

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)
Stated = TypeVar("Stated", bound="Facts")


@dataclass(frozen=True)
class Facts:
    """The facts of a registry whose pieces have none. It is the base of all others."""

    def content(self, roots: tuple[Path, ...], choice: dict[str, Json]) -> str | None:  # noqa: ARG002
        """What joins the key of a choice besides its parameters. Only data and revisions have it."""
        return None


@dataclass(frozen=True)
class DataFacts(Facts):
    """Facts of a piece that stands for data.

    Attributes:
        fingerprint: ``(roots, choice) -> text`` that joins the key, where the parameters do not say what the data are.
        inputs: ``(roots, choice) -> paths``: the files that it reads.
        declares: the value that a parameter of the task must have which names the piece: a vocabulary says its size, a
            corpus its number of classes, so that a model can be built where the text is absent.
        local: whether the spec names its files, so that checking a spec reads them.
    """

    fingerprint: Callable[[tuple[Path, ...], dict[str, Json]], str] | None = None
    inputs: Callable[[tuple[Path, ...], dict[str, Json]], Any] | None = None
    declares: Mapping[str, Json] = field(default_factory=dict)
    local: bool = False

    def content(self, roots: tuple[Path, ...], choice: dict[str, Json]) -> str | None:
        """The fingerprint of a choice, if there is one."""
        return None if self.fingerprint is None else self.fingerprint(roots, choice)


@dataclass(frozen=True)
class QuantityWords:
    """What readers call a quantity.

    Attributes:
        name: in the middle of a sentence, singular: ``gradient norm``.
        unit: unit or scale. ``{nats}`` and ``{item}`` stand for the unit of the loss and what it is a mean over.
        definition: what it is, without its name.
        symbol: as papers write it, for the title of an axis, or "". It uses letters that every font has, as a converter
            sets a whole title in another font for one that is missing. ``{W}`` stands for the weight.
        larger_is: whether a larger number is ``better`` or ``worse``, or "" where it is neither.
    """

    name: str
    unit: str
    definition: str
    symbol: str = ""
    larger_is: Literal["better", "worse", ""] = ""


@dataclass(frozen=True)
class SectionFacts(Facts):
    """Facts of a section.

    Attributes:
        implied: derived quantities that it shows without naming them, where what they are measured against is clear.
    """

    implied: tuple[str, ...] = ()


def never(*_: object) -> bool:
    """The default of a fact that is a condition: it never holds."""
    return False


def validated_facts(kind: str, name: str, facts: type[Stated], stated: Mapping[str, Any]) -> Stated:
    """The facts that a piece states, as an instance of the dataclass of its registry.

    Raises:
        LabError: every word that is no fact, required fact that is missing, and value of a wrong type.
    """
    validators = _validators(facts)  # type: ignore[arg-type]  # a class is hashable
    owner = f"{kind} '{name}'"
    known = {fact.name: fact for fact in fields(facts)}
    problems = [
        Issue(
            "unknown-name",
            owner,
            f"no fact is called '{word}'",
            nearest(word, known) if known else f"register the {kind} without",
        )
        for word in stated
        if word not in known
    ]
    for word, fact in known.items():
        if word not in stated:
            if fact.default is MISSING and fact.default_factory is MISSING:
                problems.append(
                    Issue("missing", owner, f"the fact '{word}' is missing", f"register it with {word}=...")
                )
            continue
        try:
            validators[word].validate_python(stated[word])
        except ValidationError as error:
            remedy = mistakes_of(error, stated[word])[0].remedy
            problems.append(Issue("wrong-type", owner, f"the fact '{word}' is {stated[word]!r}", remedy))
    if problems:
        raise LabError(*problems)
    return facts(**stated)


@cache
def _validators(facts: type[Facts]) -> dict[str, TypeAdapter[Any]]:
    return {word: TypeAdapter(hint, config=_STRICT) for word, hint in get_type_hints(facts).items()}
