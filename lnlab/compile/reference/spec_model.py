"""``lnlab.Spec``: the spec language as one pydantic model, made from the registries.

The fields that determine a run have the types by which ``lnlab check`` reads each point of a sweep. Every choice is a
piece of a registry with its own parameters. The model and ``lnlab check`` report mistakes in the same words, as they
share these types.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field, PrivateAttr, ValidationError, create_model

from lnlab.compile.reference.key_words import KEY_WORDS
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.resolve import setting_types
from lnlab.compile.resolve.stacks import Layers
from lnlab.compile.setting_paths import is_written, set_path
from lnlab.compile.sweep.methods import methods_of
from lnlab.compile.sweep.overlay import merge_spec
from lnlab.errors import SpecError, nearest
from lnlab.expectations import issues_of, mistakes_of
from lnlab.html_tables import html_card
from lnlab.issues import Issue, Mark, Where
from lnlab.keys import Json
from lnlab.parameters import integers_of, plain_values
from lnlab.registry import Choice, Entry, Flawed, Piece, Readable, Registry, piece_model
from lnlab.setting import path_words
from lnlab.specfile.columns import ALL, METHOD
from lnlab.specfile.dump import inline_text, plain_spec, spec_yaml
from lnlab.specfile.experiment import (
    SETTING,
    ClaimText,
    Experiment,
    ProbeText,
    SectionText,
    TuningText,
    Version,
)
from lnlab.specfile.expressions import with_names
from lnlab.specfile.load import SpecDocument, load_spec, parse_spec
from lnlab.specfile.read import in_its_words, missing_key, unknown_key

LISTS = {"probes": "probe", "report": "section", "claims": "claim"}
"""Keys that hold lists of choices, and the registry of each."""
TEXTS: Mapping[str, type[BaseModel]] = {"probe": ProbeText, "section": SectionText, "claim": ClaimText}
_SHOWN = ("task", "model", "norm", "placement", "optimizer", "train", "sweep", "seeds")
"""The keys that a card of a spec shows."""
INHERITED = ("of", "over", "edges")
"""Parameters that a claim may have from its section."""


class _ModelText(BaseModel):
    """What a model has beside the parameters of its kind."""

    layers: Layers = Field(None, validate_default=False)  # type: ignore[assignment]  # where stacks have their own


class SpecModel(Experiment):
    """A spec in Python: the keys of the YAML file as keywords, checked as they are given.

    ``lnlab.check``, ``plan``, ``run``, ``judge``, ``report`` and ``results`` take it wherever they take a path.

    Raises:
        SpecError: everything that is wrong with its keys and values. What settings contradict, ``lnlab.check`` says.
    """

    pieces: ClassVar[SimpleNamespace] = SimpleNamespace()
    """The kinds of each choice as models: ``lnlab.Spec.pieces.norm.rms(eps=1e-5)``."""
    registries: ClassVar[Registries] = {}
    lnlab: Version = 2
    title: Annotated[str, Field(min_length=1)] = "Untitled"
    _data: dict[str, Json] = PrivateAttr(default_factory=dict)
    _path: Path | None = PrivateAttr(default=None)

    if not TYPE_CHECKING:  # a checker takes the keywords from the fields

        def __init__(self, /, **data: Any) -> None:
            plain = plain_spec({"lnlab": 2, "title": "Untitled", **plain_values(data)})
            document = SpecDocument(Path("spec"), "", plain, {(): (Mark(1, 1), Mark(1, 1))}, in_memory=True)
            self._read(document)

        def _read(self, document: SpecDocument) -> None:
            merged = merge_spec(document, None, ())
            stated, origins = _first_point(merged.data)
            complete = integers_of(stated)
            issues = [
                Issue("missing", (key,), f"a {key} is required", nearest("", self.registries[key].entries))
                for key in ("task", "model")
                if key not in complete
            ]
            try:
                self.__pydantic_validator__.validate_json(json.dumps(complete), self_instance=self)
            except ValidationError as error:
                # a list that is too short without its wrong items is told by these
                mistakes = [m for m in mistakes_of(error, complete) if not (m.kind == "too_short" and m.value)]
                issues += [in_its_words(issue, complete) for issue in issues_of(mistakes, unknown_key, missing_key)]
            if issues or merged.issues:
                placed = list(merged.issues)
                for issue in issues:
                    # Where the value was written: at its path, or in the axis or method that fills it in.
                    path = issue.path
                    filled = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in origins), ())
                    place = (*origins.get(filled, ()), *path[len(filled) :])
                    placed.append(replace(issue, place=place, named=path))
                raise SpecError(*document.as_read(merged.located(placed)))
            self._data = document.data

    @classmethod
    def from_yaml(cls, source: str | Path) -> Self:
        """The spec in a YAML file, or in text of several lines.

        Raises:
            SpecError: everything that is wrong with it, each at its line and column.
        """
        is_text = isinstance(source, str) and "\n" in source
        document = parse_spec(str(source), Path("spec.yaml")) if is_text else load_spec(Path(source))
        spec = cls.__new__(cls)
        spec._read(document)  # type: ignore[attr-defined]  # hidden from checkers above
        spec._path = None if is_text else Path(source)
        return spec

    def to_yaml(self) -> str:
        """The spec as YAML: the keys that were given, as they were given. Comments are not kept."""
        return spec_yaml(self._data)

    @property
    def data(self) -> dict[str, Json]:
        """The keys that were given, as they were given."""
        return self._data

    @property
    def path(self) -> Path | None:
        """The file that it was read from, beside which data are looked for."""
        return self._path

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:  # noqa: ARG002
        """The spec with other values of some keys, checked again."""
        copy = type(self)(**{**self._data, **(update or {})})
        copy._path = self._path
        return copy

    def __repr__(self) -> str:
        return f"Spec({self.title!r})"

    def _repr_html_(self) -> str:
        """A card: what it asks, and of what it is made."""
        numbers = {word: len(self._data.get(key) or ()) for key, word in LISTS.items()}
        counts = [f"{number} {word}{'s' * (number > 1)}" for word, number in numbers.items() if number]
        made = [f"{key}: {inline_text(self._data[key])}" for key in _SHOWN if key in self._data]
        return html_card(self.title, [self.question or "", *made, ", ".join(counts)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpecModel) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # its data are mappings


class _PieceBeside(Readable):
    """A choice with fields beside the parameters of its kind: those of all probes, sections, claims or models."""

    def __init__(self, registry: Registry[Any], text: type[BaseModel], **fields: Any) -> None:
        self.kind = registry.kind
        self.registry = registry
        self.text = text
        self.fields = fields
        self.common = (*(name for name in text.model_fields if name != "kind"), *fields)
        self._models: dict[str, type[Piece]] = {}

    def model(self, entry: Entry[Any]) -> type[Piece]:
        """The piece of an entry, with the common fields."""
        if entry.name not in self._models:
            fields = {name: field for name, field in self.fields.items() if name not in entry.keywords}
            for name in INHERITED if self.kind == "claim" else ():
                if name in entry.keywords:
                    field = entry.model.model_fields[name]
                    if field.is_required():
                        fields[name] = (entry.keywords[name].annotation, _unset(field.description))
            # A model of the user's own has no stacks, and so no number of layers beside its parameters.
            own = self.kind == "model" and entry.facts.own
            bases = (entry.model,) if own else (entry.model, self.text)
            self._models[entry.name] = piece_model(
                (self.kind, entry.name), entry.summary, bases, lambda raw: self._validated(entry, raw), fields
            )
        return self._models[entry.name]

    def read(self, raw: Json) -> Piece:
        if self.kind == "model":
            raw = {"kind": raw} if isinstance(raw, str) else raw
        elif not (isinstance(raw, dict) and isinstance(raw.get("kind"), str)):
            # probes, sections and claims are mappings: a word alone has no place for what is common to them
            try:
                self.text.model_validate_json(json.dumps(raw))
            except ValidationError as error:
                raise Flawed(*issues_of(mistakes_of(error, raw), unknown_key, self._missing_key)) from error
        return self._validated(self.registry.entry_of(raw), raw)

    def _validated(self, entry: Entry[Any], raw: Choice) -> Piece:
        if self.kind in ("section", "claim"):
            in_expressions: list[Issue] = []
            raw = with_names(raw, (), in_expressions)
            if in_expressions:
                raise Flawed(*in_expressions)
        try:
            return self.model(entry).model_validate_json(json.dumps(integers_of(raw)))
        except ValidationError as error:
            mistakes = mistakes_of(error, raw)
        own = [
            mistake for mistake in mistakes if mistake.path[0] not in self.common or mistake.path[0] in entry.keywords
        ]
        common = [mistake for mistake in mistakes if mistake not in own]
        issues = entry.issues_of(own, self.common) + issues_of(common, unknown_key, self._missing_key)
        raise Flawed(*issues)

    def _missing_key(self, path: Where, mapping: Json) -> Issue:
        """The grammar words it at the path in a spec."""
        key = next((key for key, kind in LISTS.items() if kind == self.kind), self.kind)
        issue = missing_key((key, 0, *path), mapping)
        return Issue(issue.code, issue.path[2:], issue.what, issue.remedy)


class _ClaimOrId(Readable):
    """What a section lists: a claim, or the id of one."""

    def __init__(self, claims: _PieceBeside) -> None:
        self.kind = claims.kind
        self.claims = claims

    def read(self, raw: Json) -> Any:
        return raw if isinstance(raw, str) else self.claims.read(raw)

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Json]:
        return {"if": {"type": "string"}, "else": {"choice": "claim"}}


def spec_model(registries: Registries) -> type[SpecModel]:
    """The model of a spec, of what ``registries`` hold."""
    types = setting_types(registries)
    beside: dict[str, _PieceBeside] = {}
    if "model" in registries:
        types["model"] = beside["model"] = _PieceBeside(registries["model"], _ModelText)
    if "probe" in registries:
        beside["probe"] = _PieceBeside(registries["probe"], ProbeText)
    if "claim" in registries:
        axes = Annotated[Mapping[str, Any], Field(min_length=1)]
        beside["claim"] = _PieceBeside(
            registries["claim"],
            ClaimText,
            for_each=(axes, _unset(KEY_WORDS["for_each"])),
            requires=(Any, Field((), description=KEY_WORDS["requires"])),
        )
    if "section" in registries:
        claim: Any = Annotated[Any, _ClaimOrId(beside["claim"])]
        listed = (tuple[claim, ...], Field((), description=KEY_WORDS["claims"]))
        beside["section"] = _PieceBeside(registries["section"], SectionText, claims=listed)
    fields: dict[str, Any] = {
        key: (Annotated[Any, readable], _unset(KEY_WORDS.get(key))) for key, readable in types.items()
    }
    for key, kind in LISTS.items():
        if kind in beside:
            one: Any = Annotated[Any, beside[kind]]
            fields[key] = (tuple[one, ...], Field((), description=KEY_WORDS.get(key)))
    if "rule" in registries:
        rule: Any = Annotated[Any, registries["rule"]]
        extra = {"__annotations__": {"__pydantic_extra__": dict[str, rule]}, "__module__": __name__}
        choice: Any = type("Choose", (TuningText,), extra)
        fields["choose"] = (tuple[choice, ...], Field((), description=KEY_WORDS["choose"]))
    model = create_model("Spec", __base__=SpecModel, __doc__=SpecModel.__doc__, **fields)
    model.registries = registries
    model.pieces = SimpleNamespace(
        **{
            kind: SimpleNamespace(
                **{entry.name: beside[kind].model(entry) if kind in beside else entry.model for entry in registry}
            )
            for kind, registry in registries.items()
        }
    )
    return model


def _unset(description: str | None = None) -> Any:
    """An optional field. None means that it was not given, and may not be written in a spec."""
    return Field(None, validate_default=False, description=description)


def _first_point(data: dict[str, Json]) -> tuple[dict[str, Json], dict[Where, Where]]:
    """The data at the first point of the sweep, where they have nothing: what only an axis sets is not missing.

    With them the path of each value that was filled in, and where the spec writes it.
    """
    complete = dict(data)
    origins: dict[Where, Where] = {}
    sweep: Json = data.get("sweep")
    methods = methods_of(data)
    for number, grid in enumerate(sweep if isinstance(sweep, list) else ()):
        filling: list[tuple[str, Json, Where]] = []
        for axis, values in grid.items() if isinstance(grid, dict) else ():
            place: Where = ("sweep", number, axis)
            first = values
            if isinstance(values, list):
                if not values:  # the grammar says so
                    continue
                first, place = values[0], (*place, 0)
            if axis == METHOD:
                name = next(iter(methods), "") if first == ALL else str(first)
                filling += [(path, value, ("methods", name, path)) for path, value in methods.get(name, {}).items()]
            else:
                filling.append((axis, first, place))
        for path, value, origin in sorted(filling, key=lambda item: len(path_words(item[0]))):
            words = path_words(path)
            below_nothing = len(words) > 1 and words[0] not in complete
            if words[0] in SETTING and not below_nothing and not is_written(complete, words):
                with suppress(Flawed):  # lnlab.check says so
                    complete[words[0]] = set_path(complete.get(words[0]), path, value)
                    origins[words] = origin
    return complete, origins
