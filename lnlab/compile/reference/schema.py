"""The whole spec language as JSON Schema (draft 2020-12), made from the registries: editors complete and check with it.

Editors read ``# yaml-language-server: $schema=...`` in the first line of a spec.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.stacks import MOST_LAYERS
from lnlab.compile.resolve.training import Train
from lnlab.compile.setting_paths import INTERVENTIONS, STACK_CHOICES
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import EXCEPT
from lnlab.keys import Json
from lnlab.registry import Entry, Flawed
from lnlab.setting import STACKS
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import (
    METHOD_NAME_PATTERN,
    REPLACEABLE,
    SETTING,
    ClaimText,
    Experiment,
    ProbeText,
    SectionText,
    SelectText,
)
from lnlab.specfile.values import NONE

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{model}"
_LISTS = {"probes": "probe", "report": "section", "claims": "claim"}
_TEXTS: dict[str, type[BaseModel]] = {"probe": ProbeText, "section": SectionText, "claim": ClaimText}
_INHERITED = ("of", "over")
"""Parameters that a claim may have from its section."""
_FOR_EACH: Json = {
    "type": "object",
    "minProperties": 1,
    "description": "one claim for each value: path of an axis -> its values, or all",
}
_ONE_ANSWER: Json = {"$ref": "#/$defs/AuthorAnswer"}
_ANSWER: dict[str, Json] = {"answer": {"anyOf": [_ONE_ANSWER, {"type": "array", "items": _ONE_ANSWER}]}}
"""One answer, or one for each of several profiles."""
_LAYERS: Json = {"type": "integer", "minimum": 1, "maximum": MOST_LAYERS, "description": "layers of the stack"}
_NOT_YET: Json = {"not": {}, "description": "none is known yet"}
_BELOW = r"^({})(\.[A-Za-z][A-Za-z0-9_]*)+$"


def spec_schema(registries: Registries) -> dict[str, Json]:
    """The JSON Schema of a spec, of what ``registries`` hold."""
    grammar = _model_schema(Experiment)
    definitions: dict[str, Json] = grammar.pop("$defs")
    texts: list[type[BaseModel]] = [*_TEXTS.values(), SelectText]
    for text in texts:
        del definitions[text.__name__]
    for registry in registries.values():
        definitions[registry.kind] = _choice(registries, registry.kind, definitions)
    return {
        "$schema": DIALECT,
        "title": "An lnlab experiment",
        "description": "One question of Transformer training. The reference of the language: lnlab list --reference.",
        "type": "object",
        "properties": grammar["properties"] | _ANSWER | _setting(definitions) | _requests(definitions) | _overlays(),
        "required": ["lnlab", "title", "task", "model"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _model_schema(model: type[BaseModel]) -> dict[str, Json]:
    return model.model_json_schema(ref_template=_REFERENCE)


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _choice(registries: Registries, kind: str, definitions: dict[str, Json]) -> Json:
    """A word, or a mapping with that word under ``kind``."""
    entries = list(registries[kind])
    if not entries:
        return _NOT_YET
    words = [entry.name for entry in entries if kind not in _TEXTS and _stands_alone(registries, entry)]
    bare = (
        [{"enum": words, "description": "; ".join(f"{word}: {registries[kind][word].summary}" for word in words)}]
        if words
        else []
    )
    return {"anyOf": [*bare, *(_mapping(entry, kind, definitions) for entry in entries)]}


def _stands_alone(registries: Registries, entry: Entry[Any]) -> bool:
    """Whether the bare word is enough: every parameter has a default."""
    try:
        registries[entry.kind].resolve(entry.name)
    except Flawed:
        return False
    return True


def _mapping(entry: Entry[Any], kind: str, definitions: dict[str, Json]) -> Json:
    """One kind with its parameters, closed."""
    plain = entry.params.model_json_schema(ref_template=f"#/$defs/{kind}.{entry.name}.{{model}}")
    definitions |= {f"{kind}.{entry.name}.{name}": value for name, value in plain.get("$defs", {}).items()}
    fields, required = _fields(kind)
    nested = {name: _with_default(entry, name, registry.kind) for name, registry in entry.nested.items()}
    missing = [name for name in entry.nested if entry.keywords[name].default is entry.keywords[name].empty]
    inherited = _INHERITED if kind == "claim" else ()
    stated = [name for name in plain.get("required", []) if name not in inherited]
    return {
        "type": "object",
        "title": entry.name,
        "description": entry.summary,
        "properties": {"kind": {"const": entry.name}, **fields, **plain.get("properties", {}), **nested},
        "required": ["kind", *required, *stated, *missing],
        "additionalProperties": False,
    }


def _with_default(entry: Entry[Any], name: str, kind: str) -> Json:
    default = entry.keywords[name].default
    return _ref(kind) if default is entry.keywords[name].empty else {**_ref(kind), "default": default}


def _fields(kind: str) -> tuple[dict[str, Json], list[str]]:
    """The fields of a choice besides its parameters, and which of them are required."""
    if kind == "model":
        return {"layers": _LAYERS}, []
    if kind not in _TEXTS:
        return {}, []
    text = _model_schema(_TEXTS[kind])
    fields = {name: value for name, value in text["properties"].items() if name != "kind"}
    if kind == "claim":
        needed = {"type": "object", "required": ["kind"]}
        fields["requires"] = {"anyOf": [needed, {"type": "array", "items": needed}]}
        fields["for_each"] = _FOR_EACH
    if kind == "section":
        fields["claims"] = {"type": "array", "items": {"anyOf": [{"type": "string"}, _ref("claim")]}}
    return fields, [name for name in text.get("required", []) if name != "kind"]


def _setting(definitions: dict[str, Json]) -> dict[str, Json]:
    """The top-level keys that determine a run."""
    settings: dict[str, Json] = {key: _ref(key) for key in SETTING if key in definitions}
    for key in ("optimizer", "schedule"):
        settings[key] = {"anyOf": [_ref(key), {"type": "null"}]}
    for stack in STACKS:
        properties = {"layers": _LAYERS, **{word: _ref(word) for word in STACK_CHOICES}}
        properties |= {"cross_attention": {"type": "boolean", "default": True}} if stack == "decoder" else {}
        settings[stack] = {"type": "object", "properties": properties, "additionalProperties": False}
    train = _model_schema(Train)
    train["properties"] |= {"stop": _ref("stop"), "epochs": {"type": "integer", "minimum": 1}}
    interventions = {"type": "array", "items": _ref("intervention")}
    return settings | {"train": train, INTERVENTIONS: {"anyOf": [{"const": NONE}, _ref("intervention"), interventions]}}


def _requests(definitions: dict[str, Json]) -> dict[str, Json]:
    """Probes, sections and claims; and what is chosen on tuning seeds, by a rule."""
    lists = {key: {"type": "array", "items": _ref(kind)} for key, kind in _LISTS.items()}
    text = _model_schema(SelectText)
    rule = _ref("rule") if "rule" in definitions else _NOT_YET
    select = {**_by_path(rule, **text["properties"]), "required": text["required"], "minProperties": 2}
    return {**lists, "select": {"anyOf": [select, {"type": "null"}], "description": text["description"]}}


def _overlays() -> dict[str, Json]:
    """``methods``, ``sweep`` and ``profiles``: dotted paths of what determines a run, in profiles also whole lists."""
    named = {"type": "object", "minProperties": 1, "additionalProperties": _grid()}
    grids = {"type": "array", "minItems": 1, "items": _grid()}
    sweep = {"anyOf": [named, grids], "description": "a union of grids, by name or as a list"}
    methods = {
        "type": "object",
        "propertyNames": {"pattern": METHOD_NAME_PATTERN},
        "additionalProperties": _by_path({}),
        "description": f"names for several settings at once, which the axis '{METHOD}' takes: dotted path -> value",
    }
    maps: Mapping[str, Json] = {METHODS: methods, "sweep": sweep, METHOD: {}}
    whole: Mapping[str, Json] = {key: _ref_of_list(key) for key in REPLACEABLE if key not in maps}
    profiles = {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9_]*$"},
        "additionalProperties": _by_path({}, **whole, **maps),
        "description": "overlays by name: dotted path -> value",
    }
    return {METHODS: methods, "sweep": sweep, "profiles": profiles}


def _grid() -> Json:
    axis: Json = {"type": "array", "minItems": 1}
    without = {**axis, "items": {"type": "object", "minProperties": 1}}
    single: Json = {"type": ["string", "number", "boolean"]}
    names: Json = {"anyOf": [{**axis, "items": {"type": "string"}}, {"type": "string"}]}
    names["description"] = f"names that stand under '{METHODS}'"
    return {**_by_path({"anyOf": [axis, single]}, **{EXCEPT: without, METHOD: names}), "minProperties": 1}


def _by_path(value: Json, **others: Json) -> Json:
    """A flat map from dotted paths of what determines a run, with ``others`` as further keys."""
    keys = "|".join(SETTING)
    return {
        "type": "object",
        "properties": others,
        "patternProperties": {f"^({keys})$": value, _BELOW.format(keys): value},
        "additionalProperties": False,
    }


def _ref_of_list(key: str) -> Json:
    return {"$ref": f"#/properties/{key}"}
