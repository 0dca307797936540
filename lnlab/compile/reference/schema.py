"""The whole spec language as JSON Schema (draft 2020-12), from the model of a spec: editors complete and check with it.

Editors read ``# yaml-language-server: $schema=...`` in the first line of a spec.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from lnlab.compile.reference.key_words import KEY_WORDS
from lnlab.compile.reference.meanings import COMMON_MEANINGS
from lnlab.compile.reference.schema_overlays import by_path, overlay_schemas, path_patterns
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
from lnlab.compile.setting_paths import INTERVENTIONS
from lnlab.keys import Json
from lnlab.registry import Entry, Flawed
from lnlab.specfile.columns import EVALUATED, RECORDED
from lnlab.specfile.experiment import SETTING, SelectText
from lnlab.specfile.values import NONE

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SPECIAL = {"of": SELECTION, "to": SELECTION, "where": SELECTION, "quantity": NAMED_QUANTITY}
"""Parameters of claims and sections that select rows."""
_NOT_YET: Json = {"not": {}, "description": "none is known yet"}


class EditorSchema(GenerateJsonSchema):
    """pydantic's generator, whose unions are told apart by ``if`` and ``then``, so that one mistake is one error."""

    registries: ClassVar[Registries] = {}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """A choice, by its kind; or what may also be named by a word."""
        members = {tag: self.generate_inner(member) for tag, member in schema["choices"].items() if str(tag).strip()}
        if (context := schema.get("custom_error_context")) is None:
            return {"if": {"type": "string"}, "else": members["claim"]}
        kind = str(context["kind"])
        entries = list(self.registries[kind])
        if not entries:
            return dict(_NOT_YET)
        bare = [entry.name for entry in entries if kind not in TEXTS and self._stands_alone(entry)]
        words = {entry.name: entry.summary.replace("``", "`") for entry in entries}
        made: JsonSchemaValue = by_kind(words, bare, {name: members[name] for name in words})
        return made

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Null, or a choice."""
        inner = self.generate_inner(schema["schema"])
        return dict(nullable(inner)) if "$ref" in inner else super().nullable_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A value that need not be given. Of none an empty list is shown, or a null that may not be written."""
        made = super().default_schema(schema)
        if made.get("default", "") in (None, []) and schema["schema"]["type"] != "nullable":
            del made["default"]
        return made

    def _stands_alone(self, entry: Entry[Any]) -> bool:
        """Whether the bare word is enough: every parameter has a default."""
        try:
            self.registries[entry.kind].resolve(entry.name)
        except Flawed:
            return False
        return True


def spec_schema(registries: Registries) -> dict[str, Json]:
    """The JSON Schema of a spec, of what ``registries`` hold."""
    generator = type("EditorSchema", (EditorSchema,), {"registries": registries})
    grammar = spec_model(registries).model_json_schema(ref_template="#/$defs/{model}", schema_generator=generator)
    definitions: dict[str, Json] = grammar.pop("$defs")
    for kind, registry in registries.items():
        for entry in registry:
            if (piece := definitions.get(f"{kind}_{entry.name}")) is not None:
                piece.pop("description", None), piece.pop("title", None)  # they stand beside the word
                piece["properties"]["kind"] = {"const": entry.name}
                piece["required"] = ["kind", *piece.get("required", ())]
                _share_common_fields(entry, piece, definitions)
    definitions["claim:requires"] = _requirement([entry.name for entry in registries.get("claim", ())])
    definitions |= {f"train:{word}": schema for word, schema in definitions["Train"]["properties"].items()}
    definitions["model:layers"] = definitions["encoder"]["properties"]["layers"]
    paths = [f"^({'|'.join(SETTING)})$", *path_patterns(registries, derived=("sublayers",))]
    definitions["selection"] = selection_schema(paths)
    definitions["quantity"] = expression_schema()
    definitions["quantity_name"] = quantity_schema(_quantities(registries))
    properties = grammar["properties"] | _forms(registries) | overlay_schemas(registries)
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


def _share_common_fields(entry: Entry[Any], piece: Json, definitions: dict[str, Json]) -> None:
    """Put the fields that all probes, sections or claims have into one definition each, and selections in place."""
    kind = entry.kind
    common = {*TEXTS[kind].model_fields, "for_each"} - {"kind", *entry.keywords} if kind in TEXTS else set[str]()
    for name, schema in piece["properties"].items():
        if name in common:
            plain = {key: value for key, value in schema.items() if key != "title"}
            definitions[f"{kind}:{name}"] = {"description": KEY_WORDS[name], **plain}
            piece["properties"][name] = {"$ref": f"#/$defs/{kind}:{name}"}
        elif kind in ("claim", "section") and name in _SPECIAL:
            special = nullable(_SPECIAL[name]) if "anyOf" in schema else _SPECIAL[name]
            kept = {key: value for key, value in schema.items() if key in ("description", "default")}
            piece["properties"][name] = {**special, **kept}


def _quantities(registries: Registries) -> list[str] | None:
    """Every name that is measured or derived, or None where a probe does not say what it measures."""
    measured = [entry.facts.quantities for entry in registries.get("probe", ()) if hasattr(entry.facts, "quantities")]
    if None in measured or "quantity" not in registries:
        return None
    derived = [entry.name for entry in registries["quantity"]]
    return [*RECORDED, *EVALUATED, *derived, *(name for names in measured for name in names)]


def _requirement(claims: Sequence[str]) -> Json:
    """What a claim requires: another one by its id, a test, or a list of these."""
    condition = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": list(claims)}}}
    one = {"if": {"type": "string"}, "else": condition}
    return {"if": {"type": "array"}, "then": {"items": one}, "else": one, "description": KEY_WORDS["requires"]}


def _forms(registries: Registries) -> dict[str, Json]:
    """Keys that may be written in several forms: one without a list, or none; and the choice on tuning seeds."""
    answer: Json = {"$ref": "#/$defs/AuthorAnswer"}
    intervention: Json = {"$ref": "#/$defs/intervention"}
    one = {"if": {"enum": [NONE, None]}, "else": intervention}
    text = SelectText.model_json_schema()
    rule: Json = {"$ref": "#/$defs/rule"} if "rule" in registries else _NOT_YET
    select = by_path(registries, lambda _: rule, **text["properties"])
    select |= {"required": text["required"], "minProperties": 2}
    return {
        "answer": {"if": {"type": "array"}, "then": {"items": answer}, "else": answer},
        INTERVENTIONS: {"if": {"type": "array"}, "then": {"items": intervention}, "else": one},
        "select": {**nullable(select), "description": text["description"]},
    }
