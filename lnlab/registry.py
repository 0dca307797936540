"""Registries: they map the kind named in a spec to its builder.

One rule: a builder's positional parameters are what the lab supplies, its keyword-only parameters are what a spec may
set. The signature is the schema: validation, defaults, the JSON Schema and the reference are all read from it.

A *choice* is a word, or ``{kind: word, parameter: value}``. A parameter annotated ``Annotated[..., other_registry]`` is
itself a choice, of that registry. The builder receives it as a function that still waits for what the lab supplies.

A registry is a pydantic type as well: a field annotated with it holds the model of the piece that its value chooses.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from inspect import Parameter, getdoc, signature
from pathlib import Path
from pkgutil import walk_packages
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError, core_schema, to_json

from lnlab.errors import OTHER_WORDS, SpecError, closest, listed, nearest, shown
from lnlab.expectations import FLAWED, Mistake, issues_of, mistakes_of
from lnlab.facts import Facts, validated_facts
from lnlab.issues import Issue, Where
from lnlab.keys import Json, digest
from lnlab.meanings import meaning
from lnlab.parameters import Parameters, integers_of, plain_values, record_keys
from lnlab.plugins import Origin, load_package, origin

Build = TypeVar("Build", bound=Callable[..., Any])
Choice = dict[str, Json]
Roots = tuple[Path, ...]


class Flawed(Exception):
    """A choice is wrong. ``issues`` has every mistake in it, with paths that are relative to it."""

    def __init__(self, *issues: Issue) -> None:
        super().__init__("; ".join(f"{issue.where}: {issue.what}" for issue in issues))
        self.issues = issues


@cache  # called for every setting of a plan
def supplied_parameters(build: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what the lab supplies to a builder: its positional parameters."""
    return tuple(name for name, p in signature(build).parameters.items() if p.kind < Parameter.VAR_POSITIONAL)


def import_pieces(*rooms: ModuleType) -> None:
    """Import every module of these packages, so that what they register is known."""
    for room in rooms:
        for module in walk_packages(room.__path__, f"{room.__name__}."):
            import_module(module.name)


@cache  # it reads the metadata of every installed package
def installed_pieces() -> EntryPoints:
    """The entry points of all installed packages."""
    return entry_points()  # type: ignore[return-value] # Python 3.11 says SelectableGroups, which selects as well


def default(kind: str, **params: Json) -> Any:
    """The default of a parameter that is a choice: ``tokenizer: Annotated[..., tokenizers] = default("bpe")``."""
    return {"kind": kind, **params}


class Readable:
    """A pydantic type of what ``read`` makes of plain data. A refusal is reported as its issues.

    A field of a model has it as ``Annotated[Any, readable]``.
    """

    kind: str
    """What it is called in messages, and where an editor shows the type of a field."""

    def read(self, raw: Json) -> Any:
        """The data as a model, or as what they are.

        Raises:
            Flawed: everything wrong with them, with paths relative to them.
        """
        raise NotImplementedError

    def resolve(self, raw: Json) -> Json:
        """The same as plain data, every default explicit.

        Raises:
            Flawed: as ``read``.
        """
        return json.loads(to_json(self.read(raw), by_alias=False))

    def __get_pydantic_core_schema__(self, *_: Any) -> core_schema.CoreSchema:
        def validate(raw: Json) -> Any:
            try:
                return self.read(raw)
            except Flawed as flawed:  # pydantic puts the path before it, and goes on to the next field
                raise PydanticCustomError(FLAWED, "it is wrong", {"issues": flawed.issues}) from flawed

        return core_schema.no_info_plain_validator_function(validate)

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Json]:
        return {"choice": self.kind}  # the schema of a spec has each choice once, and refers to it

    def __repr__(self) -> str:
        return self.kind


class _PieceType(type(BaseModel)):  # type: ignore[misc]  # pydantic names its metaclass only in private
    def __call__(cls: Any, /, **data: Any) -> Any:
        """Construct a piece as its choice in a spec is read: a choice inside may be a word, and a tuple a list."""
        try:
            return cls.validated({"kind": cls.kind_name, **plain_values(data)})
        except Flawed as flawed:
            issues = [issue.below(cls.choice) for issue in flawed.issues]
            raise SpecError(*(replace(issue, place=issue.where) for issue in issues)) from flawed


class Piece(Parameters, metaclass=_PieceType):
    """A registered kind with its parameters.

    Raises:
        SpecError: what is wrong with them, as ``lnlab.check`` says it.
    """

    choice: ClassVar[str]
    kind_name: ClassVar[str]
    validated: ClassVar[Callable[[Choice], BaseModel]]
    """The piece of a choice that may be wrong, which raises ``Flawed``."""

    if TYPE_CHECKING:  # the model of each kind has these
        kind: str

        def __getattr__(self, parameter: str) -> Any: ...


def piece_model(
    name: tuple[str, str],
    doc: str,
    bases: tuple[type[BaseModel], ...],
    validated: Callable[[Choice], BaseModel],
    fields: Mapping[str, Any],
) -> type[Piece]:
    """The model of a piece by kind and name, with further fields than its bases have."""
    facts = {"choice": name[0], "kind_name": name[1], "validated": staticmethod(validated), "__module__": __name__}
    base: Any = _PieceType(
        "Piece", (*bases, Piece), facts
    )  # of fields the first base wins, of the configuration the last
    stated: Any = {"kind": (Literal[name[1]], name[1]), **fields}
    return create_model(f"{name[0]}_{name[1]}", __base__=base, __doc__=doc, **stated)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Entry(Generic[Build]):
    """One registered builder. ``facts`` are its properties that a spec cannot set (a probe's table, say).

    ``later`` are the parameters that it got after its first keys were written, whose defaults change no number.
    """

    kind: str
    name: str
    build: Build
    version: int = 1
    origin: Origin = Origin("lnlab")  # noqa: RUF009 - frozen
    facts: Any = Facts()  # noqa: RUF009 - frozen
    later: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the builder's docstring."""
        return (getdoc(self.build) or "").partition("\n")[0]

    @cached_property
    def keywords(self) -> dict[str, Parameter]:
        """What a spec may set: the keyword-only parameters, annotations evaluated."""
        parameters = signature(self.build, eval_str=True).parameters.values()
        return {parameter.name: parameter for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY}

    @cached_property
    def nested(self) -> dict[str, "Registry[Any]"]:
        """The parameters that are choices themselves, with the registry that serves each."""
        arguments = ((p.name, argument) for p in self.keywords.values() for argument in get_args(p.annotation))
        return {name: argument for name, argument in arguments if isinstance(argument, Registry)}

    @cached_property
    def model(self) -> type[Piece]:
        """A closed, strict model of the choice: its kind and parameters, of which some are choices themselves."""
        fields = {
            name: (
                parameter.annotation,
                Field(
                    ... if parameter.default is Parameter.empty else parameter.default,
                    description=meaning(self.build, name) or None,
                ),
            )
            for name, parameter in self.keywords.items()
        }
        return piece_model((self.kind, self.name), self.summary, (), self.read, fields)

    def read(self, raw: Choice, beside: Collection[str] = ()) -> Piece:
        """The piece of a choice of this kind. ``beside`` are further words that it may have, for the nearest one.

        Raises:
            Flawed: everything wrong with its parameters, with paths relative to it.
        """
        try:
            # By way of JSON, from which a strict model takes a list for a tuple.
            return self.model.model_validate_json(json.dumps(integers_of(raw), default=str))
        except ValidationError as error:
            raise Flawed(*self.issues_of(mistakes_of(error, raw), beside)) from error

    def issues_of(self, mistakes: list[Mistake], beside: Collection[str] = ()) -> list[Issue]:
        """Mistakes in the parameters, as issues in the words of the piece."""
        known = {name: parameter.annotation for name, parameter in self.keywords.items()}
        return _issues_of_parameters(mistakes, known, f"{self.kind} '{self.name}'", beside, self.nested)


class Registry(Readable, Generic[Build]):
    """All builders of one kind. ``kind`` is the word in specs and messages. Packages use group ``lnlab.<kind>``.

    ``facts`` is the frozen dataclass of what its pieces say of themselves. Its fields are what ``register`` takes.
    """

    def __init__(self, kind: str, facts: type[Facts] = Facts) -> None:
        self.kind = kind
        self.facts = facts
        self._entries: dict[str, Entry[Build]] = {}
        self._discovered = False

    def register(
        self, name: str, *, version: int = 1, later: tuple[str, ...] = (), **facts: Any
    ) -> Callable[[Build], Build]:
        """Register the decorated builder as ``name``. ``version`` joins every key: raise it when the numbers change.

        A parameter in ``later`` joins a key only where it is not its default, so that measurements made before there
        was such a parameter keep their keys.

        Raises:
            ValueError: the name is taken, or a parameter could not be a field of a spec.
            LabError: the facts are not those of this registry.
        """
        if name in self._entries:
            raise ValueError(f"{self.kind} '{name}' is registered already, by {self._entries[name].origin.name}")
        stated = validated_facts(self.kind, name, self.facts, facts)

        def add_entry(build: Build) -> Build:
            for word, parameter in signature(build).parameters.items():
                if parameter.kind is Parameter.KEYWORD_ONLY and (
                    word.startswith("_") or hasattr(BaseModel, word) or word == "kind"
                ):
                    raise ValueError(f"{self.kind} '{name}': a parameter cannot be called '{word}'")
            self._entries[name] = Entry(
                self.kind, name, build, version=version, origin=origin(), facts=stated, later=later
            )
            return build

        return add_entry

    def __getitem__(self, name: str) -> Entry[Build]:
        if name not in self.entries:
            remedy = nearest(name, self.entries)
            if name.casefold() in OTHER_WORDS and (near := closest(name, self.entries)):
                keywords = self.entries[near].keywords  # who comes from another tool has not read what it takes
                needed = [word for word, parameter in keywords.items() if parameter.default is parameter.empty]
                remedy += f"; '{near}' needs {listed(needed)}" if needed else ""
                others = [word for word in keywords if word not in needed]
                remedy += f", and takes {listed(others)}" if needed and others else ""
            raise Flawed(Issue("unknown-kind", ("kind",), f"no {self.kind} is called '{name}'", remedy))
        return self.entries[name]

    def __iter__(self) -> Iterator[Entry[Build]]:
        return iter(sorted(self.entries.values(), key=lambda entry: entry.name))

    @property
    def entries(self) -> dict[str, Entry[Build]]:
        """Every entry by name, third parties' included (their entry points are loaded on first use).

        Raises:
            LabError: a package fails while it registers its piece.
        """
        if not self._discovered:
            for point in installed_pieces().select(group=f"lnlab.{self.kind}"):
                load_package(point)
            self._discovered = True
        return self._entries

    def entry_of(self, raw: Json) -> Entry[Build]:
        """The entry that a choice in its long form names.

        Raises:
            Flawed: it is no choice, or nothing is called so.
        """
        if isinstance(raw, Mapping) and "kind" not in raw and (near := closest("kind", map(str, raw))):
            raise Flawed(Issue("unknown-key", (near,), f"unknown key '{near}'", "did you mean 'kind'?"))
        if isinstance(raw, Mapping) and not isinstance(raw.get("kind", ""), str):
            known = nearest("", self.entries)
            raise Flawed(Issue("wrong-type", ("kind",), f"found {shown(raw['kind'])}", f"write a word ({known})"))
        if not isinstance(raw, Mapping) or "kind" not in raw:
            article = "an" if self.kind[0] in "aeiou" else "a"
            what = f"expected {article} {self.kind}, found {shown(raw)}"
            raise Flawed(
                Issue("wrong-type", (), what, f"write a word or {{kind: word, ...}} ({nearest('', self.entries)})")
            )
        return self[raw["kind"]]

    def read(self, raw: Json, beside: Collection[str] = ()) -> Piece:
        """The piece that a choice names. ``beside`` are further words that it may have, for the nearest one.

        Raises:
            Flawed: an unknown kind, or every flaw of the parameters at once, with paths relative to the choice.
        """
        long = {"kind": raw} if isinstance(raw, str) else raw
        return self.entry_of(long).read(long, beside)

    def resolve(self, raw: Json, beside: Collection[str] = ()) -> Choice:
        """The choice with every default explicit: ``{"kind": ..., **params}``. Idempotent.

        Raises:
            Flawed: as ``read``.
        """
        resolved: Choice = json.loads(to_json(self.read(raw, beside), by_alias=False))
        return resolved

    def builder(self, choice: Choice) -> Callable[..., Any]:
        """The builder of a *resolved* choice with its parameters bound. It waits for what the lab supplies."""
        entry = self[choice["kind"]]
        stated = {name: choice[name] for name in entry.keywords if name in choice or name not in entry.later}
        return self._bound(entry.read({"kind": entry.name, **stated}))

    def _bound(self, piece: Piece) -> Callable[..., Any]:
        entry = self[piece.kind_name]
        values = {name: getattr(piece, name) for name in entry.keywords}
        parts = {name: registry._bound(values[name]) for name, registry in entry.nested.items()}
        return partial(entry.build, **values | parts)

    def key(self, choice: Choice, roots: Roots = ()) -> str:
        """The content key of a *resolved* choice: kind, name, version, parameters, and the keys of nested choices.

        Facts may add what the parameters cannot say: the digest of the files that they name.
        """
        entry = self[choice["kind"]]
        # A choice that was resolved before its piece got a parameter has that parameter at its default.
        if missing := [name for name in entry.later if name not in choice]:
            choice = {**choice, **{name: self._default(entry, name) for name in missing}}
        keys = {name: registry.key(choice[name], roots) for name, registry in entry.nested.items()}
        params = {
            name: keys[name] if name in keys else choice[name]
            for name in entry.keywords
            if name not in entry.later or choice[name] != self._default(entry, name)
        }
        content = entry.facts.content(roots, choice)
        return digest([self.kind, entry.name, entry.version, entry.origin.digest, params, content])

    @staticmethod
    def _default(entry: Entry[Any], name: str) -> Json:
        """The default of a parameter as a resolved choice has it."""
        value: Json = entry.keywords[name].default
        return entry.nested[name].resolve(value) if name in entry.nested else value


SELECTING_KEYS = {
    "of": "the numbers that are meant, as {quantity: NAME} with what picks among them, such as step: last",
    "to": "what differs in the numbers that it is compared with, such as {placement: post}",
    "less": "what differs in both numbers of the other effect, such as {model.layers: 2}; {} is nothing",
    "less_to": "what differs in the second number of the other effect, such as {placement: post}",
    "where": "what picks the sites or rows that are meant, such as {tensor: w2}",
    "over": "the path or column whose values are compared, such as placement or layer",
}
"""What belongs in a key that selects, for messages: its type, a mapping or a text, says nothing of it."""


def parameter_issues(error: ValidationError, data: Json, known: Mapping[str, Any], owner: str) -> list[Issue]:
    """A pydantic error of the parameters of ``owner``, whose names and types are ``known``."""
    return _issues_of_parameters(mistakes_of(error, data), known, owner)


def _issues_of_parameters(
    mistakes: list[Mistake],
    known: Mapping[str, Any],
    owner: str,
    beside: Collection[str] = (),
    nested: Mapping[str, Registry[Any]] = MappingProxyType({}),
) -> list[Issue]:
    def unknown_key(path: Where) -> Issue:
        word = str(path[-1])
        if len(path) > 1:
            keys = record_keys(known.get(str(path[0])), path[1:-1])
            return Issue("unknown-key", path, f"'{path[-2]}' has no key '{word}'", nearest(word, keys))
        return Issue("unknown-key", path, f"{owner} has no parameter '{word}'", nearest(word, [*known, *beside]))

    def missing(path: Where, _: Json) -> Issue:
        if (registry := nested.get(str(path[0]))) is not None:
            return Issue("missing", (), f"'{path[0]}' is required", nearest("", registry.entries))
        remedy = f"add '{path[-1]}: ...'" + (f", {meant}" if (meant := SELECTING_KEYS.get(str(path[-1]))) else "")
        return Issue("missing", path[:-1], f"{owner} needs '{path[-1]}'", remedy)

    return issues_of(mistakes, unknown_key, missing)
