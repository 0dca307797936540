"""``lnlab.Spec``: the spec language as one pydantic model, made from the registries.

Every choice is a union of its registered kinds, told apart by ``kind``, each with its own parameters. What is wrong is
said in the words of ``lnlab check``, as both ask the registries and the one translator of pydantic's errors.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ForwardRef, Literal, Self, Union

from pydantic import BaseModel, ConfigDict, Discriminator, Field, PrivateAttr, Tag, ValidationError, create_model
from typing_extensions import TypeAliasType

from lnlab.compile.reference.key_words import KEY_WORDS
from lnlab.compile.reference.meanings import meaning
from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.resolve.resolve import NULLABLE
from lnlab.compile.resolve.stacks import MOST_LAYERS
from lnlab.compile.resolve.training import TRAIN_KEYS, Train
from lnlab.compile.setting_paths import INTERVENTIONS, STACK_CHOICES, as_choices, set_path
from lnlab.compile.source_spans import as_read
from lnlab.compile.sweep.methods import methods_of
from lnlab.errors import SpecError, nearest
from lnlab.expectations import Mistake, issue_of_key, issues_of, mistakes_of
from lnlab.issues import Issue, Mark, SourceLocation, Where
from lnlab.keys import Json
from lnlab.parameters import Parameters, integers_of
from lnlab.registry import Entry, Flawed, Registry
from lnlab.setting import STACKS, path_words
from lnlab.specfile.columns import ALL, METHOD
from lnlab.specfile.dump import plain_spec, spec_yaml
from lnlab.specfile.experiment import SETTING, ClaimText, Experiment, ProbeText, SectionText, SelectText, Version
from lnlab.specfile.load import SpecDocument, load_spec, parse_spec
from lnlab.specfile.read import in_its_words, missing_key, unknown_key

LISTS = {"probes": "probe", "report": "section", "claims": "claim"}
"""Keys that hold lists of choices, and the registry of each."""
TEXTS: Mapping[str, type[BaseModel]] = {"probe": ProbeText, "section": SectionText, "claim": ClaimText}
INHERITED = ("of", "over", "edges")
"""Parameters that a claim may have from its section."""
UNKNOWN_KIND = "unknown_kind"
_FORMS = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())
Layers = Annotated[int, Field(ge=1, le=MOST_LAYERS, description="layers of the stack")]


class _Nothing(BaseModel):
    """No kind: it lets a registry with one piece, or with none, be a union as well."""

    kind: Literal[""]


class _Nobody(_Nothing):
    """The same once more, as a union has two members."""


class _PieceType(type(BaseModel)):  # type: ignore[misc]  # pydantic names its metaclass only in private
    def __call__(cls: Any, /, **data: Any) -> Any:
        """Construct a piece as its choice in a spec is read: a choice inside may be a word, and a tuple a list."""
        registry = cls.registries[cls.choice]
        stated: Json = integers_of(_long({"kind": cls.kind_name, **plain_spec(_plain(data))}, registry))
        piece = cls.__new__(cls)
        try:
            cls.__pydantic_validator__.validate_json(json.dumps(stated), self_instance=piece)
        except ValidationError as error:
            here = (cls.choice,)
            mistakes = [replace(mistake, path=(*here, *mistake.path)) for mistake in mistakes_of(error, stated)]
            issues = _issues(mistakes, {cls.choice: stated}, _with_claims(here, registry, stated, cls.registries))
            raise SpecError(*(replace(issue, place=issue.where) for issue in issues)) from error
        return piece


class Piece(Parameters, metaclass=_PieceType):
    """A registered kind with its parameters.

    Raises:
        SpecError: what is wrong with them, as ``lnlab.check`` says it.
    """

    registries: ClassVar[Registries]
    choice: ClassVar[str]
    kind_name: ClassVar[str]


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
            plain = plain_spec({"lnlab": 2, "title": "Untitled", **{key: _plain(value) for key, value in data.items()}})
            document = SpecDocument(Path("spec"), "", plain, {(): (Mark(1, 1), Mark(1, 1))}, in_memory=True)
            self._read(document)

        def _read(self, document: SpecDocument) -> None:
            stated, origins = _first_point(document.data)
            complete = integers_of(_long_forms(stated, self.registries))
            issues = [
                Issue("missing", (key,), f"a {key} is required", nearest("", self.registries[key].entries))
                for key in ("task", "model")
                if key not in complete
            ]
            try:
                self.__pydantic_validator__.validate_json(json.dumps(complete), self_instance=self)
            except ValidationError as error:
                choices = _choices_in(complete, self.registries)
                issues += _issues(mistakes_of(error, complete), complete, choices)
            if issues:
                written = (replace(issue, place=_as_written(issue.path, stated)) for issue in issues)
                raise SpecError(*as_read([issue.at(_location(issue.path, origins)) for issue in written], document))
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpecModel) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # its data are mappings


def spec_model(registries: Registries) -> type[SpecModel]:
    """The model of a spec, of what ``registries`` hold."""
    pieces = {
        kind: {entry.name: _piece(entry, registries) for entry in registry} for kind, registry in registries.items()
    }
    choices: dict[str, Any] = {kind: _choice(kind, models) for kind, models in pieces.items()}
    namespace: dict[str, Any] = {f"{kind}_choice": choice for kind, choice in choices.items()} | (
        {} if "claim" not in choices else {"claim_or_id": _claim_or_id(choices["claim"])}
    )
    for models in pieces.values():
        for piece in models.values():
            piece.model_rebuild(force=True, _types_namespace=namespace)
    length: Any = Annotated[int, Field(ge=1)]
    beside: dict[str, Any] = {"stop": (choices["stop"] | None, None)} if "stop" in choices else {}
    train: Any = create_model("Train", __base__=Train, **beside, epochs=(length | None, None))
    lists = {INTERVENTIONS: "intervention", **LISTS}
    fields: dict[str, Any] = {key: choices[key] for key in SETTING if key in choices}
    fields |= {key: choices[key] | None for key in NULLABLE if key in choices}
    fields |= {stack: _stack(stack, choices) for stack in STACKS} | {"train": train}
    typed: Any = {name: (annotation, _unset(KEY_WORDS.get(name))) for name, annotation in fields.items()}
    for key, kind in lists.items():
        if kind in choices:
            several: Any = tuple.__class_getitem__((choices[kind], ...))
            typed[key] = (several, Field((), description=KEY_WORDS.get(key)))
    if "rule" in choices:
        rule: Any = choices["rule"]
        extra = {"__annotations__": {"__pydantic_extra__": dict[str, rule]}, "__module__": __name__}
        typed["select"] = (type("Select", (SelectText,), extra) | None, Field(None, description=KEY_WORDS["select"]))
    model = create_model("Spec", __base__=SpecModel, __doc__=SpecModel.__doc__, **typed)
    model.registries = registries
    model.pieces = SimpleNamespace(**{kind: SimpleNamespace(**models) for kind, models in pieces.items()})
    return model


def _unset(description: str | None = None) -> Any:
    """A field that need not be given; None says that it was not, and may not be written."""
    return Field(None, validate_default=False, description=description)


def _choice(kind: str, members: Mapping[str, type[BaseModel]]) -> Any:
    """The union of the kinds of a registry, told apart by ``kind``. Named, so that the JSON Schema has it once."""
    tagged = [Annotated[model, Tag(name)] for name, model in [*members.items(), ("", _Nothing), (" ", _Nobody)]]
    discriminator = Discriminator(
        _kind_of,
        custom_error_type=UNKNOWN_KIND,
        custom_error_message="no such kind",
        custom_error_context={"kind": kind},
    )
    return TypeAliasType(kind, Annotated[Union[tuple(tagged)], discriminator])  # noqa: UP007


def _claim_or_id(claim: Any) -> Any:
    """What a section lists: a claim, or the id of one."""
    either: Any = Union[Annotated[str, Tag("id")], Annotated[claim, Tag("claim")]]  # noqa: UP007 - a name is no type here
    return Annotated[either, Discriminator(lambda stated: "id" if isinstance(stated, str) else "claim")]


def _kind_of(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) else None


def _piece(entry: Entry[Any], registries: Registries) -> type[Piece]:
    """A registered kind with its parameters, and with the common fields of what it is.

    Choices among its parameters are named, as a kind may hold choices of its own registry.
    """
    fields: dict[str, Any] = {"kind": (Literal[entry.name], entry.name)}
    if entry.kind == "model":
        fields["layers"] = (Layers, _unset())
    if entry.kind == "claim":
        axes = Annotated[Mapping[str, Any], Field(min_length=1)]
        fields["for_each"] = (axes, _unset(KEY_WORDS["for_each"]))
        fields["requires"] = (Any, Field((), description=KEY_WORDS["requires"]))
    if entry.kind == "section":
        fields["claims"] = (tuple[ForwardRef("claim_or_id"), ...], Field((), description=KEY_WORDS["claims"]))  # type: ignore[misc]
    for name, parameter in entry.keywords.items():
        nested = entry.nested.get(name)
        annotation: Any = parameter.annotation if nested is None else ForwardRef(f"{nested.kind}_choice")
        words = meaning(entry, name) or None
        if parameter.default is not parameter.empty:
            fields[name] = (annotation, Field(parameter.default, description=words))
        elif entry.kind == "claim" and name in INHERITED:
            fields[name] = (annotation, _unset(words))
        else:
            fields[name] = (annotation, Field(description=words))
    bases = (TEXTS[entry.kind], Piece) if entry.kind in TEXTS else (Piece,)
    facts = {"registries": registries, "choice": entry.kind, "kind_name": entry.name, "__module__": __name__}
    base: Any = _PieceType("Piece", bases, facts)
    return create_model(f"{entry.kind}_{entry.name}", __base__=base, __doc__=entry.summary, **fields)  # type: ignore[no-any-return]


def _stack(stack: str, choices: Mapping[str, Any]) -> Any:
    fields: dict[str, Any] = {"layers": (Layers, _unset())}
    fields |= {word: (choices[word], _unset()) for word in STACK_CHOICES if word in choices}
    if stack == "decoder":
        fields["cross_attention"] = (bool, True)
    return create_model(stack, __config__=_FORMS, __doc__=KEY_WORDS[stack], **fields)


def _plain(value: Any) -> Any:
    """A value without models: each as the keys that were given, and its kind."""
    if isinstance(value, BaseModel):
        names = [name for name in type(value).model_fields if name == "kind" or name in value.model_fields_set]
        return {type(value).model_fields[name].alias or name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _first_point(data: dict[str, Json]) -> tuple[dict[str, Json], dict[Where, Where]]:
    """The data at the first point of the sweep, where they have nothing: what only an axis sets is not missing.

    With them the path of each value that was filled in, and where the spec writes it.
    """
    complete = dict(data)
    origins: dict[Where, Where] = {}
    sweep: Json = data.get("sweep")
    by_name = isinstance(sweep, dict) and _are_grids(sweep)
    methods = methods_of(data)
    for key, grid in sweep.items() if by_name else enumerate(sweep if isinstance(sweep, list) else ()):
        filling: list[tuple[str, Json, Where]] = []
        for axis, values in grid.items() if isinstance(grid, dict) else ():
            place: Where = ("sweep", key, axis)
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
            if words[0] in SETTING and not below_nothing and not _has(complete, words):
                with suppress(Flawed):  # lnlab.check says so
                    complete[words[0]] = set_path(complete.get(words[0]), path, value)
                    origins[words] = origin
    return complete, origins


def _are_grids(sweep: Mapping[str, Json]) -> bool:
    return any(isinstance(grid, dict) for grid in sweep.values())


def _location(path: Where, origins: Mapping[Where, Where]) -> SourceLocation:
    """Where a value was written: at its path, or in the axis or method that fills it in."""
    filled = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in origins), ())
    return SourceLocation((*origins.get(filled, ()), *path[len(filled) :]))


def _as_written(path: Where, data: Json) -> Where:
    """A path of the long form in the data, in which a single answer or intervention may stand without a list."""
    written: Where = ()
    for word in path:
        if isinstance(word, int) and not isinstance(data, list):
            if written != ("sweep",) or not isinstance(data, dict):
                continue
            word = list(data)[word]  # noqa: PLW2901 - a grid by its name
        written = (*written, word)
        inner = data.get(word) if isinstance(data, dict) else None
        data = data[word] if isinstance(data, list) and isinstance(word, int) and word < len(data) else inner
    return written


def _has(data: Json, words: tuple[str, ...]) -> bool:
    for word in words:
        if not isinstance(data, dict) or word not in data:
            return word == "kind" and isinstance(data, str)
        data = data[word]
    return True


def _long_forms(data: dict[str, Json], registries: Registries) -> dict[str, Json]:
    """The data with a mapping for each choice that is a word, and with lists where one alone may stand."""
    long = dict(data)
    for key in SETTING:
        if key in registries and key in data:
            long[key] = _long(data[key], registries[key])
    for stack in STACKS:
        if isinstance(data.get(stack), dict):
            stack_choices = [word for word in STACK_CHOICES if word in data[stack] and word in registries]
            long[stack] = data[stack] | {word: _long(data[stack][word], registries[word]) for word in stack_choices}
    if isinstance(data.get("train"), dict) and "stop" in data["train"] and "stop" in registries:
        long["train"] = data["train"] | {"stop": _long(data["train"]["stop"], registries["stop"])}
    if isinstance(data.get("select"), dict) and "rule" in registries:
        rules = {path: rule for path, rule in data["select"].items() if path not in SelectText.model_fields}
        long["select"] = data["select"] | {path: _long(rule, registries["rule"]) for path, rule in rules.items()}
    if INTERVENTIONS in data:
        long[INTERVENTIONS] = [_long(choice, registries["intervention"]) for choice in as_choices(data[INTERVENTIONS])]
    if isinstance(sweep := data.get("sweep"), dict) and _are_grids(sweep):
        long["sweep"] = list(sweep.values())
    if isinstance(long.get("sweep"), list):
        long["sweep"] = [
            {path: values if isinstance(values, list) else [values] for path, values in grid.items()}
            if isinstance(grid, dict)
            else grid
            for grid in long["sweep"]
        ]
    return long


def _long(raw: Json, registry: Registry[Any]) -> Json:
    if isinstance(raw, str):
        raw = {"kind": raw}
    entry = registry.entries.get(raw["kind"]) if isinstance(raw, dict) and isinstance(raw.get("kind"), str) else None
    if entry is None:
        return raw
    return {**raw, **{name: _long(raw[name], nested) for name, nested in entry.nested.items() if name in raw}}


Placed = tuple[Where, Registry[Any], Json]
"""A choice with its path and registry."""


def _choices_in(data: Mapping[str, Json], registries: Registries) -> Iterator[Placed]:
    """Every choice in the data with its path and registry; those inside another one belong to it."""
    for key in SETTING:
        if key in registries and key in data:
            yield (key,), registries[key], data[key]
    for stack in STACKS:
        stated: Json = data.get(stack)
        for word in STACK_CHOICES if isinstance(stated, dict) else ():
            if word in stated:
                yield (stack, word), registries[word], stated[word]
    train: Json = data.get("train")
    if isinstance(train, dict) and "stop" in train:
        yield ("train", "stop"), registries["stop"], train["stop"]
    select: Json = data.get("select")
    for path in select if isinstance(select, dict) and "rule" in registries else ():
        if path not in SelectText.model_fields:
            yield ("select", path), registries["rule"], select[path]
    for key, kind in {**LISTS, INTERVENTIONS: "intervention"}.items():
        for number, raw in enumerate(data[key] if isinstance(data.get(key), list) else ()):
            yield from _with_claims((key, number), registries[kind], raw, registries)


def _with_claims(path: Where, registry: Registry[Any], raw: Json, registries: Registries) -> Iterator[Placed]:
    """A choice and, of a section, the claims in it."""
    yield path, registry, raw
    claims = raw.get("claims") if registry.kind == "section" and isinstance(raw, dict) else ()
    for position, claim in enumerate(claims if isinstance(claims, list) else ()):
        if not isinstance(claim, str):
            yield (*path, "claims", position), registries["claim"], claim


def _issues(mistakes: Sequence[Mistake], data: Mapping[str, Json], placed: Iterator[Placed]) -> list[Issue]:
    """What pydantic has against a spec: of a choice in the words of its registry, else in those of the grammar."""
    choices = {path: (registry, raw) for path, registry, raw in placed}
    issues: list[Issue] = []
    for mistake in mistakes:
        path = next((path for path in reversed(choices) if mistake.path[: len(path)] == path), None)
        if path is not None:
            issues += _issues_of_choice(mistake, path, *choices[path])
        elif not (mistake.kind == "too_short" and mistake.value):  # too short without its wrong items, which are told
            issues += [in_its_words(issue, data) for issue in issues_of([mistake], _unknown, missing_key)]
    return list(dict.fromkeys(issues))


def _issues_of_choice(mistake: Mistake, path: Where, registry: Registry[Any], raw: Json) -> list[Issue]:
    """A mistake in the choice at a path, in the words of its registry or, of its common fields, of the grammar."""
    text = TEXTS.get(registry.kind)
    if text is not None and not (isinstance(raw, dict) and isinstance(raw.get("kind"), str)):
        # probes, sections and claims are mappings: a word alone has no place for what is common to them
        try:
            text.model_validate_json(json.dumps(raw))
        except ValidationError as error:
            below = [replace(inner, path=(*path, *inner.path)) for inner in mistakes_of(error, raw)]
            return issues_of(below, unknown_key, missing_key)
    common = _common_fields(registry.kind)
    issues: list[Issue] = []
    if mistake.path[len(path) : len(path) + 1] not in [(word,) for word in common]:
        issues = [issue.below(*path) for issue in _against(raw, registry, common)]
    return issues or issues_of([mistake], unknown_key, missing_key)


def _common_fields(kind: str) -> list[str]:
    """The fields of a choice besides its parameters."""
    if kind == "model":
        return ["layers"]
    text = TEXTS.get(kind)
    several = ["for_each"] if kind == "claim" else []
    return [] if text is None else [*(name for name in text.model_fields if name != "kind"), *several]


def _against(raw: Json, registry: Registry[Any], common: Sequence[str]) -> Sequence[Issue]:
    """What a registry has against a choice, whatever its common fields are."""
    if isinstance(raw, dict):
        raw = {name: value for name, value in raw.items() if name not in common}
    try:
        resolve_choice(registry, raw, common)
    except Flawed as flawed:
        inherited = [f"needs '{name}'" for name in INHERITED] if registry.kind == "claim" else []
        return [issue for issue in flawed.issues if not (issue.what.endswith(tuple(inherited)) and inherited)]
    return ()


def _unknown(path: Where) -> Issue:
    """The issue of a key that stands in no choice."""
    word = str(path[-1])
    if path[0] == "train":
        return Issue("unknown-key", path, f"train has no parameter '{word}'", nearest(word, TRAIN_KEYS))
    if path[0] in STACKS:
        cross = ("cross_attention",) if path[0] == "decoder" else ()
        return issue_of_key(path[:-1], word, ("layers", *STACK_CHOICES, *cross))
    return unknown_key(path)
