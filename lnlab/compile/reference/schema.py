"""The whole spec language as JSON Schema (draft 2020-12), made from the registries: editors complete and check with it.

Editors read ``# yaml-language-server: $schema=...`` in the first line of a spec.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from lnlab.compile.reference.key_words import KEY_WORDS
from lnlab.compile.reference.meanings import COMMON_MEANINGS, meaning
from lnlab.compile.reference.schema_overlays import by_path, overlay_schemas, path_patterns
from lnlab.compile.reference.schema_parts import (
    QUANTITY_NAME,
    SELECTION,
    by_kind,
    described,
    nullable,
    quantity_schema,
    selection_schema,
    without_unused,
)
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.stacks import MOST_LAYERS
from lnlab.compile.resolve.training import Train
from lnlab.compile.setting_paths import INTERVENTIONS, STACK_CHOICES
from lnlab.keys import Json
from lnlab.registry import Entry, Flawed
from lnlab.setting import STACKS
from lnlab.specfile.columns import EVALUATED, RECORDED
from lnlab.specfile.experiment import (
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
_SELECTING = ("claim", "section")
_SPECIAL = {"of": SELECTION, "to": SELECTION, "where": SELECTION, "quantity": QUANTITY_NAME}
_INHERITED = ("of", "over", "edges")
"""Parameters that a claim may have from its section."""
_FOR_EACH: Json = {"type": "object", "minProperties": 1}
_ONE_ANSWER: Json = {"$ref": "#/$defs/AuthorAnswer"}
_ANSWER = {"answer": {"if": {"type": "array"}, "then": {"items": _ONE_ANSWER}, "else": _ONE_ANSWER}}
"""One answer, or one for each of several profiles."""
_LAYERS: Json = {"type": "integer", "minimum": 1, "maximum": MOST_LAYERS, "description": "layers of the stack"}
_NOT_YET: Json = {"not": {}, "description": "none is known yet"}


def spec_schema(registries: Registries) -> dict[str, Json]:
    """The JSON Schema of a spec, of what ``registries`` hold."""
    grammar = _model_schema(Experiment)
    definitions: dict[str, Json] = grammar.pop("$defs")
    texts: list[type[BaseModel]] = [*_TEXTS.values(), SelectText]
    for text in texts:
        del definitions[text.__name__]
    for registry in registries.values():
        definitions |= _choice(registries, registry.kind)
    definitions |= _common_fields([entry.name for entry in registries.get("claim", ())])
    paths = [f"^({'|'.join(SETTING)})$", *path_patterns(registries, derived=("sublayers",))]
    definitions["selection"] = selection_schema(paths)
    definitions["quantity_name"] = quantity_schema(_quantities(registries))
    properties = (
        grammar["properties"] | _ANSWER | _setting(definitions) | _requests(registries) | overlay_schemas(registries)
    )
    words = {**COMMON_MEANINGS, **KEY_WORDS}
    return {
        "$schema": DIALECT,
        "title": "An lnlab experiment",
        "description": "One experiment on Transformer training. The reference of the language: lnlab list --reference.",
        "type": "object",
        **described({"properties": properties}, words),
        "required": ["lnlab", "title", "task", "model"],
        "additionalProperties": False,
        "$defs": described(without_unused(definitions, properties), words),
    }


def _model_schema(model: type[BaseModel]) -> dict[str, Json]:
    return model.model_json_schema(ref_template=_REFERENCE)


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _choice(registries: Registries, kind: str) -> dict[str, Json]:
    """The definition of a kind, a word or a mapping with that word under ``kind``, and those of its entries."""
    entries = list(registries[kind])
    if not entries:
        return {kind: _NOT_YET}
    bare = [entry.name for entry in entries if kind not in _TEXTS and _stands_alone(registries, entry)]
    definitions = {kind: by_kind({entry.name: entry.summary.replace("``", "`") for entry in entries}, bare, kind)}
    for entry in entries:
        definitions |= _mapping(entry, kind)
    return definitions


def _stands_alone(registries: Registries, entry: Entry[Any]) -> bool:
    """Whether the bare word is enough: every parameter has a default."""
    try:
        registries[entry.kind].resolve(entry.name)
    except Flawed:
        return False
    return True


def _mapping(entry: Entry[Any], kind: str) -> dict[str, Json]:
    """One kind with its parameters, closed, and the definitions that these need."""
    name = f"{kind}.{entry.name}"
    plain = entry.params.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
    nested = {word: _with_default(entry, word, registry.kind) for word, registry in entry.nested.items()}
    missing = [word for word in entry.nested if entry.keywords[word].default is entry.keywords[word].empty]
    inherited = _INHERITED if kind == "claim" else ()
    stated = [word for word in plain.get("required", []) if word not in inherited]
    parameters = {word: _parameter(entry, word, value) for word, value in plain.get("properties", {}).items()}
    fields = {word: _ref(f"{kind}:{word}") for word in _field_names(kind)}
    schema = {
        "type": "object",
        "properties": {"kind": {"const": entry.name}, **fields, **parameters, **nested},
        "required": ["kind", *_required_fields(kind), *stated, *missing],
        "additionalProperties": False,
    }
    return {name: schema} | {f"{name}.{word}": value for word, value in plain.get("$defs", {}).items()}


def _parameter(entry: Entry[Any], name: str, schema: Json) -> Json:
    """One parameter with what it means; one that selects rows has the keys of a selection."""
    text = meaning(entry, name)
    described_schema = schema | ({"description": text} if text else {})
    special = _SPECIAL.get(name) if entry.kind in _SELECTING else None
    if special is None:
        return described_schema
    keep = {key: value for key, value in described_schema.items() if key in ("description", "default")}
    return {**(nullable(special) if "anyOf" in schema else special), **keep}


def _quantities(registries: Registries) -> list[str] | None:
    """Every name that is measured or derived, or None where a probe does not say what it measures."""
    measured = [entry.facts.quantities for entry in registries.get("probe", ()) if hasattr(entry.facts, "quantities")]
    if None in measured or "quantity" not in registries:
        return None
    derived = [entry.name for entry in registries["quantity"]]
    return [*RECORDED, *EVALUATED, *derived, *(name for names in measured for name in names)]


def _with_default(entry: Entry[Any], name: str, kind: str) -> Json:
    default = entry.keywords[name].default
    return _ref(kind) if default is entry.keywords[name].empty else {**_ref(kind), "default": default}


def _field_names(kind: str) -> list[str]:
    """The fields of a choice besides its parameters."""
    if kind == "model":
        return ["layers"]
    text = _TEXTS.get(kind)
    several = ["for_each"] if kind == "claim" else []
    return [] if text is None else [*(name for name in text.model_fields if name != "kind"), *several]


def _required_fields(kind: str) -> list[str]:
    text = _TEXTS.get(kind)
    return [] if text is None else [name for name in _model_schema(text).get("required", []) if name != "kind"]


def _common_fields(claims: Sequence[str]) -> dict[str, Json]:
    """The fields of every probe, section, claim and model, each once.

    Args:
        claims: the kinds of claims.
    """
    fields: dict[str, Json] = {"model:layers": _LAYERS}
    for kind, text in _TEXTS.items():
        schema = _model_schema(text)
        fields |= {f"{kind}:{name}": value for name, value in schema["properties"].items() if name != "kind"}
    condition = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": list(claims)}}}
    needed = {"if": {"type": "string"}, "else": condition}
    fields["claim:requires"] = {"if": {"type": "array"}, "then": {"items": needed}, "else": needed}
    fields["claim:for_each"] = _FOR_EACH
    one = {"if": {"type": "string"}, "else": _ref("claim")}
    fields["section:claims"] = {"type": "array", "items": one}
    return {name: {"description": KEY_WORDS[name.partition(":")[2]], **value} for name, value in fields.items()}


def _setting(definitions: dict[str, Json]) -> dict[str, Json]:
    """The top-level keys that determine a run."""
    settings: dict[str, Json] = {key: _ref(key) for key in SETTING if key in definitions}
    settings |= {key: nullable(_ref(key)) for key in ("optimizer", "schedule")}
    for stack in STACKS:
        properties = {"layers": _LAYERS, **{word: _ref(word) for word in STACK_CHOICES}}
        properties |= {"cross_attention": {"type": "boolean", "default": True}} if stack == "decoder" else {}
        settings[stack] = {"type": "object", "properties": properties, "additionalProperties": False}
    train = _model_schema(Train)
    train["properties"] |= {"stop": _ref("stop"), "epochs": {"type": "integer", "minimum": 1}}
    one = {"if": {"enum": [NONE, None]}, "else": _ref("intervention")}
    several = {"if": {"type": "array"}, "then": {"items": _ref("intervention")}, "else": one}
    return settings | {"train": train, INTERVENTIONS: several}


def _requests(registries: Registries) -> dict[str, Json]:
    """Probes, sections and claims; and what is chosen on tuning seeds, by a rule."""
    lists = {key: {"type": "array", "items": _ref(kind)} for key, kind in _LISTS.items()}
    text = _model_schema(SelectText)
    rule = _ref("rule") if "rule" in registries else _NOT_YET
    select = by_path(registries, lambda _: rule, **text["properties"])
    select |= {"required": text["required"], "minProperties": 2}
    return {**lists, "select": {**nullable(select), "description": text["description"]}}
