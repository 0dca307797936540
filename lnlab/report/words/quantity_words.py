"""The words of a quantity: those with which it was registered, as the report keeps them, else those of the glossary.

A derived quantity of lnlab has them where it is registered. Measured ones are registered in the other wing, which a
report may not import: the glossary has those of lnlab's own.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from lnlab.analyse.select.quantity import quantities
from lnlab.facts import QuantityWords
from lnlab.report.loss_units import fill_units
from lnlab.report.words.glossary import GLOSSARY

_registered: ContextVar[Mapping[str, Mapping[str, str]]] = ContextVar("registered", default={})  # noqa: B039 - never changed


@contextmanager
def using_words(words: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Inside, quantities have the words of a report, see ``ReportFacts.words``."""
    previous = _registered.set(words)
    try:
        yield
    finally:
        _registered.reset(previous)


def quantity_words(name: str) -> QuantityWords | None:
    """The words of a quantity, or None where nobody has stated any."""
    if name in _registered.get():
        return QuantityWords(**_registered.get()[name])
    if name in quantities.entries:
        words: QuantityWords | None = quantities.entries[name].facts.words
        return words
    return QuantityWords(*GLOSSARY[name]) if name in GLOSSARY else None


def quantity_unit(name: str, nats: str = "nats") -> str | None:
    """The unit of a quantity, or None where it is unknown."""
    words = quantity_words(name)
    return fill_units(words.unit, nats) if words else None
