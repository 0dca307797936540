"""What a quantity is, as it was registered: its words, its formula, and what it is made of or measured by."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lnlab.keys import Json, canonical
from lnlab.report.words.quantity_words import quantity_definition, quantity_words, using_words

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Entry


@dataclass(frozen=True)
class QuantityDefinition:
    """A quantity as it was registered.

    Attributes:
        name: in a selection.
        words: name, definition and unit for readers, or an empty text if none are stated.
        formula: the first line of the documentation of what computes it. It is empty if training records it.
        origin: what computes it: ``probe gradient_norm, version 2``, or ``derived from hidden_norm``.
        parts: the stored quantities that it is derived from.
    """

    name: str
    words: str
    formula: str
    origin: str
    parts: tuple[str, ...] = ()


def probe_of_quantity(known: "Registries", quantity: str) -> "Entry[Any] | None":
    """The probe that measures a quantity, or None."""
    return next((e for e in known["probe"].entries.values() if quantity in (e.facts.quantities or ())), None)


def words_of_quantity(entry: "Entry[Any]", quantity: str) -> str:
    """The definition and unit of a quantity, from its registration or the glossary, or an empty text."""
    stated = entry.facts.quantities if entry.kind == "probe" else {quantity: entry.facts.words}
    words = stated.get(quantity) if isinstance(stated, Mapping) else None
    with using_words({quantity: asdict(words)} if words else {}):
        return quantity_definition(quantity) if quantity_words(quantity) else ""


def define_quantity(quantity: str, known: "Registries") -> QuantityDefinition:
    """The definition of a quantity that a selection names."""
    derived = known["quantity"].entries.get(quantity)
    entry = derived or probe_of_quantity(known, quantity)
    if entry is None:
        words = quantity_definition(quantity) if quantity_words(quantity) else ""
        return QuantityDefinition(quantity, words, "", "recorded while training")
    parts: tuple[str, ...] = (derived.facts.of or ()) if derived else ()
    origin = f"derived from {', '.join(parts) or 'stored rows'}" if derived else f"probe {entry.name}"
    formula = entry.summary.replace("``", "")
    return QuantityDefinition(
        name=quantity,
        words=words_of_quantity(entry, quantity),
        formula=formula,
        origin=f"{origin}, version {entry.version}",
        parts=parts,
    )


def condition_text(selection: Mapping[str, Json]) -> str:
    """A selection as one line, the quantity first: ``quantity = gradient_norm, layer = last``."""
    keys = sorted(selection, key=lambda key: (key != "quantity", key))
    return ", ".join(f"{key} = {format_condition(selection[key])}" for key in keys)


def format_condition(value: Json) -> str:
    """The condition of a selection on a column, as its author wrote it. Several values are joined by ``or``."""
    if isinstance(value, list | tuple):
        return " or ".join(map(format_condition, value))
    return value if isinstance(value, str) else canonical(value)
