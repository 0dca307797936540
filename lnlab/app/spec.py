"""``lnlab.Spec``: the model of a spec, of every piece that is registered now."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.compile.reference.spec_model import SpecModel, spec_model
from lnlab.record.registries import load_registries

if TYPE_CHECKING:

    class Spec(SpecModel):
        """What a checker knows of it; the choices are unions when it runs."""


_models: dict[tuple[str, ...], type[SpecModel]] = {}
"""The model of each set of registered pieces: one that is registered later joins the next."""


def spec_of(plugins: Sequence[Path] = ()) -> type[SpecModel]:
    """The model of a spec with the pieces of these Python files as well."""
    registries = load_registries(plugins)
    pieces = tuple(f"{kind}.{name}" for kind, registry in registries.items() for name in registry.entries)
    if pieces not in _models:
        _models[pieces] = spec_model(registries)
    return _models[pieces]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[SpecModel]:
        if name == "Spec":
            return spec_of()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
