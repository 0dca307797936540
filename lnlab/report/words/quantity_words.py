"""Names of a quantity in a sentence, on an axis, and in a caption.

The words are those with which it was registered, as the report has stored them. Without these they are lnlab's own
words: of a derived quantity where it is registered, and of a measured one in ``lnlab.vocabulary``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.report.loss_units import fill_units, is_own_loss
from lnlab.select.quantity import quantity_facts
from lnlab.specfile.expressions import expression_of
from lnlab.vocabulary.quantities import MEASURED
from lnlab.vocabulary.training import OF_ANOTHER_LOOP

_stored: ContextVar[Mapping[str, Mapping[str, str]]] = ContextVar("stored", default={})  # noqa: B039 - never changed
_WEIGHTS = {"w1": "W₁", "w2": "W₂", "w3": "W₃", "q": "W^Q", "k": "W^K", "v": "W^V", "o": "W^O"}
"""What ``{W}`` stands for in a symbol."""


@contextmanager
def using_words(words: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Inside this context, quantities have the words of a report, see ``ReportFacts.words``."""
    previous = _stored.set(words)
    try:
        yield
    finally:
        _stored.reset(previous)


def quantity_words(name: str) -> QuantityWords | None:
    """The words of a quantity, or None where nobody has stated any. An expression is called by its label or formula."""
    if expression := expression_of(name):
        formula = expression.spelled(quantity_name)
        # without a label its name says all that there is to say
        return QuantityWords(expression.label or formula, expression.unit or "", formula if expression.label else "")
    facts = quantity_facts(name)
    derived = None if facts is None else facts.words
    own = derived or (OF_ANOTHER_LOOP.get(name) if is_own_loss() else None) or MEASURED.get(name)
    if name not in _stored.get():
        return own
    words = QuantityWords(**_stored.get()[name])  # type: ignore[arg-type]  # written by an instance of it
    # reports from before derived quantities had symbols have stored none
    return replace(words, symbol=own.symbol) if own and not words.symbol else words


def quantity_unit(name: str) -> str | None:
    """The unit of a quantity, or None where it is unknown."""
    words = quantity_words(name)
    return fill_units(words.unit) or None if words else None


def quantity_name(name: str) -> str:
    """The name of a quantity in a sentence. An unknown one is called by its identifier, with spaces."""
    return words.name if (words := quantity_words(name)) else name.replace("_", " ")


def quantity_with_unit(name: str) -> str:
    """A quantity with its unit: ``gradient norm, nats per token``."""
    unit = quantity_unit(name)
    return quantity_name(name) if unit is None else f"{quantity_name(name)}, {unit}"


def quantity_definition(name: str) -> str:
    """A quantity with what it is, to begin a caption."""
    words = quantity_words(name)
    text = quantity_name(name)
    parts = (words.definition, words.unit) if words else ()
    known = ", ".join(filter(None, (fill_units(part) for part in parts)))
    return f"{text[:1].upper()}{text[1:]}{f' ({known})' if known else ''}"


def axis_title(quantity: str, where: Mapping[str, Json] | None = None) -> str:
    """``gradient norm ‖E ∂L/∂W₂‖, nats per token`` where one tensor is selected, ``W`` where several are.

    A quantity without a symbol is as in ``quantity_with_unit``.
    """
    words = quantity_words(quantity)
    title = quantity_with_unit(quantity)
    if words is None or not words.symbol:
        return title
    tensor = (where or {}).get("tensor")
    symbol = words.symbol.replace("{W}", _WEIGHTS.get(tensor, "W") if isinstance(tensor, str) else "W")
    return f"{words.name} {symbol}{title.removeprefix(words.name)}"
