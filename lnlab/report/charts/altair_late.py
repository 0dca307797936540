"""Altair, imported when the first drawing is made: with what it imports it takes an eighth of the time of a list."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["alt"]

if TYPE_CHECKING:
    import altair as alt
else:

    class _Later:
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("altair"), name)

    alt = _Later()
