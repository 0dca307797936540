"""What a loss is a mean over: tokens, or sentences if every task is a classification."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lnlab.select.settings import settings_of
from lnlab.tables import Results

_item: ContextVar[str] = ContextVar("item", default="token")


def loss_item(results: Results) -> str:
    """What losses are means over.

    ``sentence`` where every task has classes, ``token`` where one has none, and ``item`` where there is no task, as the
    loss is the user's own.
    """
    settings = settings_of(results).by_variant.values()
    if settings and all(setting.get("task") is None for setting in settings):
        return "item"
    classes = [setting.get("task.classes") for setting in settings]
    return "sentence" if classes and all(isinstance(n, int) for n in classes) else "token"


@contextmanager
def mean_over(item: str) -> Iterator[None]:
    """Inside, units are those of losses that are means over this item. Outside, losses are means over tokens."""
    previous = _item.set(item)
    try:
        yield
    finally:
        _item.reset(previous)


def is_own_loss() -> bool:
    """Whether the loss is that of a user's own code, so that neither its unit nor what belongs to it is known."""
    return _item.get() == "item"


def fill_units(text: str) -> str:
    """A text of the glossary with its unit: ``{nats}`` as it is called, ``{item}`` what losses are means over here.

    A loss of a user's own may be no likelihood, and a mean over anything: it has no unit, and what is
    divided by something is ``loss per`` that.
    """
    if is_own_loss():
        text = text.replace("{nats}² per {item}²", "")
        text = text.replace("{nats} per {item} and ", "loss per ").replace("{nats} per {item} per ", "loss per ")
        text = text.replace("{nats} per {item}", "").replace(", per {item}", "").replace(" per {item}", "")
    return text.format(nats="nats", item=_item.get())
