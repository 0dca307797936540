"""``lnlab.Spec``: the model of a spec, of every piece that is registered now."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from lnlab.committed.registries import load_registries
from lnlab.compile.reference.spec_model import SpecModel, spec_model

if TYPE_CHECKING:
    from lnlab.compile.resolve.training import Train
    from lnlab.registry import Piece

    Choice = str | Mapping[str, object] | BaseModel
    """A choice as it is given: a word, its kind with its parameters, or a model of ``Spec.pieces``."""
    Values = Mapping[str, object]

    class Spec(SpecModel):
        """What a type checker knows of it: keywords take what YAML says. At run time the registries type choices."""

        task: Piece
        model: Piece
        norm: Piece | None
        placement: Piece | None
        init: Piece | None
        attention: Piece | None
        encoder: BaseModel | None
        decoder: BaseModel | None
        optimizer: Piece | None
        schedule: Piece | None
        train: Train | None
        interventions: tuple[Piece, ...] | None

        def __init__(
            self,
            *,
            lnlab: int = 2,
            title: str = "Untitled",
            question: str | None = None,
            source: Values | BaseModel | None = None,
            differs: Sequence[str | Values] = (),
            dropped: Sequence[Values] = (),
            related: Mapping[str, str] = {},
            theme: str | None = None,
            note: str | None = None,
            answer: Values | Sequence[Values] = (),
            task: Choice | None = None,
            model: Choice | None = None,
            norm: Choice | None = None,
            placement: Choice | None = None,
            init: Choice | None = None,
            attention: Choice | None = None,
            encoder: Values | BaseModel | None = None,
            decoder: Values | BaseModel | None = None,
            optimizer: Choice | None = None,
            schedule: Choice | None = None,
            train: Values | BaseModel | None = None,
            interventions: Choice | Sequence[Choice] = (),
            seeds: int | str | Sequence[int | str] = 1,
            grid_seeds: Mapping[str, int | str | Sequence[int | str]] = {},
            claim_seeds: Mapping[str, int | str | Sequence[int | str]] = {},
            looks: int | str | Sequence[int] = 1,
            choose: Values | Sequence[Values] | None = None,
            methods: Mapping[str, Values] = {},
            sweep: Mapping[str, Values] | Sequence[Values] | None = None,
            probes: Sequence[Values | BaseModel] = (),
            report: Sequence[Values | BaseModel] = (),
            claims: Sequence[Values | BaseModel] = (),
            profiles: Mapping[str, Values] = {},
        ) -> None: ...


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
