"""The whole spec language as JSON Schema (draft 2020-12), from the model of a spec: editors complete and check with it.

Editors read ``# yaml-language-server: $schema=...`` in the first line of a spec.
"""

from contextlib import suppress
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from lnlab.compile.reference.key_words import KEY_WORDS
from lnlab.compile.reference.schema_overlays import PATHS, by_path, overlay_schemas
from lnlab.compile.reference.schema_parts import (
    NAMED_QUANTITY,
    SELECTION,
    by_kind,
    described,
    expression_schema,
    nullable,
    quantity_schema,
    selection_schema,
    without_unused,
)
from lnlab.compile.reference.spec_model import TEXTS, spec_model
from lnlab.compile.resolve.choices import Registries
from lnlab.keys import Json
from lnlab.meanings import COMMON_MEANINGS
from lnlab.registry import Flawed, Registry
from lnlab.specfile.columns import EVALUATED, RECORDED
from lnlab.specfile.experiment import TuningText

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SPECIAL = {**dict.fromkeys(("of", "to", "less", "less_to", "where"), SELECTION), "quantity": NAMED_QUANTITY}
"""Parameters of claims and sections that select rows."""
_NOT_YET: Json = {"not": {}, "description": "none is known yet"}


class EditorSchema(GenerateJsonSchema):
    """pydantic's generator, which tells null apart by ``if`` and states no default for values that were not given."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Null, or what has a definition."""
        inner = self.generate_inner(schema["schema"])
        return dict(nullable(inner)) if "$ref" in inner else super().nullable_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """The schema of an optional value, without a default that is an empty list or a null that is no valid value."""
        made = super().default_schema(schema)
        if made.get("default", "") in (None, []) and schema["schema"]["type"] != "nullable":
            del made["default"]
        return made


def spec_schema(registries: Registries) -> dict[str, Json]:
    """The JSON Schema of a spec, of what ``registries`` hold."""
    model = spec_model(registries)
    pieces = [piece for kind in registries for piece in vars(getattr(model.pieces, kind)).values()]
    models: Any = [(one, "validation") for one in (model, *pieces)]
    _, made = models_json_schema(models, ref_template="#/$defs/{model}", schema_generator=EditorSchema)
    definitions: dict[str, Json] = _with_references(made["$defs"])
    grammar = definitions.pop("Spec")
    for kind, registry in registries.items():
        definitions[kind] = _choice(registry)
        for entry in registry:
            piece = definitions[f"{kind}_{entry.name}"]
            piece.pop("description", None), piece.pop("title", None)  # they stand beside the word
            piece["properties"]["kind"] = {"const": entry.name}
            piece["required"] = ["kind", *piece.get("required", ())]
            # What all probes, sections or claims have is one definition each, as each of their kinds repeats it.
            fields = {*TEXTS[kind].model_fields, "for_each"} if kind in TEXTS else set[str]()
            common = fields - {"kind", *entry.keywords}
            for name, schema in piece["properties"].items():
                if name in common:
                    plain = {key: value for key, value in schema.items() if key != "title"}
                    definitions[f"{kind}:{name}"] = {"description": KEY_WORDS[name], **plain}
                    piece["properties"][name] = {"$ref": f"#/$defs/{kind}:{name}"}
                elif kind in ("claim", "section") and name in _SPECIAL:
                    special = nullable(_SPECIAL[name]) if "anyOf" in schema else _SPECIAL[name]
                    kept = {key: value for key, value in schema.items() if key in ("description", "default")}
                    piece["properties"][name] = {**special, **kept}
    # What a claim requires: another one by its id, a test, or a list of these.
    tests = {"enum": [entry.name for entry in registries.get("claim", ())]}
    condition: Json = {"type": "object", "required": ["kind"], "properties": {"kind": tests}}
    one: Json = {"if": {"type": "string"}, "else": condition}
    several: Json = {"if": {"type": "array"}, "then": {"items": one}, "else": one}
    definitions["claim:requires"] = {**several, "description": KEY_WORDS["requires"]}
    definitions["selection"] = selection_schema(PATHS)
    definitions["quantity"] = expression_schema()
    definitions["quantity_name"] = quantity_schema(_quantities(registries))

    # Keys with several forms: answers may stand without a list, and null takes a choice on tuning seeds away.
    answer: Json = {"$ref": "#/$defs/AuthorAnswer"}
    tuning_text = TuningText.model_json_schema()
    rule: Json = {"$ref": "#/$defs/rule"} if "rule" in registries else _NOT_YET
    choose = by_path(lambda _: rule, **tuning_text["properties"])
    choose |= {"required": tuning_text["required"], "minProperties": 2}
    properties = grammar["properties"] | overlay_schemas()
    properties["answer"] = {"if": {"type": "array"}, "then": {"items": answer}, "else": answer}
    several = {"type": "array", "minItems": 1, "items": choose}
    alone = nullable({"$ref": "#/properties/choose/then/items"})
    properties["choose"] = {"if": {"type": "array"}, "then": several, "else": alone}
    properties["choose"]["description"] = tuning_text["description"]
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


def _with_references(schema: Json) -> Json:
    """The schema with a reference to the definition of each choice, which stands in it once."""
    if isinstance(schema, list):
        return [_with_references(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # ``choice`` is no word of JSON Schema: types of choices put it there, and it becomes a reference.
    parts = {
        key: _with_references(value) for key, value in schema.items() if key != "choice" or isinstance(value, dict)
    }
    return parts | {"$ref": f"#/$defs/{schema['choice']}"} if isinstance(schema.get("choice"), str) else parts


def _choice(registry: Registry[Any]) -> Json:
    """A word, or a choice by its kind. ``if`` and ``then`` tell kinds apart, so that one mistake is one error."""
    entries = list(registry)
    if not entries:
        return dict(_NOT_YET)
    bare = []
    for entry in entries if registry.kind not in TEXTS else ():
        with suppress(Flawed):  # some parameter has no default
            registry.resolve(entry.name)
            bare.append(entry.name)
    words = {entry.name: entry.summary.replace("``", "`") for entry in entries}
    return by_kind(words, bare, {name: {"$ref": f"#/$defs/{registry.kind}_{name}"} for name in words})


def _quantities(registries: Registries) -> list[str] | None:
    """Every name that is measured or derived, or None where a probe does not say what it measures."""
    measured = [entry.facts.quantities for entry in registries.get("probe", ()) if hasattr(entry.facts, "quantities")]
    if None in measured or "quantity" not in registries:
        return None
    derived = [entry.name for entry in registries["quantity"]]
    return [*RECORDED, *EVALUATED, *derived, *(name for names in measured for name in names)]
