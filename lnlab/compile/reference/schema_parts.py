"""Parts of the JSON Schema: choices by their kind, selections, and descriptions.

Alternatives are told apart by ``if`` and ``then``, so that one mistake is one error: ``anyOf`` would list what is wrong
with each of the others.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from lnlab.keys import Json
from lnlab.specfile.columns import COLUMNS, GRID, METHOD, TIMES, VOCABULARY
from lnlab.specfile.expressions import FUNCTIONS, LONGEST, PINNED
from lnlab.specfile.references import BEST, REFERENCE

_CONDITIONS: Json = {"type": "object", "minProperties": 1}
SELECTION: Json = {"$ref": "#/$defs/selection"}


def by_kind(names: Mapping[str, str], bare: Sequence[str], definitions: Mapping[str, Json]) -> Json:
    """A mapping whose ``kind`` says which definition holds, or a word where that is enough.

    Args:
        names: of the kinds, each with its description.
        bare: names that may stand as a word.
        definitions: what each of them is.
    """
    branches = [
        {
            "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": definitions[name],
        }
        for name in names
    ]
    mapping: Json = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": described_words(names)},
        "allOf": branches,
    }
    if not bare:
        return mapping
    return {"if": {"type": "string"}, "then": described_words({name: names[name] for name in bare}), "else": mapping}


def described_words(words: Mapping[str, str]) -> Json:
    """One of several words, each with what editors show beside it."""
    return {"enum": list(words), "markdownEnumDescriptions": list(words.values())}


def nullable(schema: Json) -> Json:
    """Null, or what fits the schema."""
    return {"if": {"type": "null"}, "else": schema}


NAMED_QUANTITY: Json = {"$ref": "#/$defs/quantity"}


def quantity_schema(quantities: Iterable[str] | None) -> Json:
    """The name of a quantity: one of these, or any text where not all of them are known."""
    return {"type": "string"} if quantities is None else {"enum": sorted(set(quantities))}


def expression_schema() -> Json:
    """A quantity: its name, or an expression over others."""
    text: Json = {"type": "string", "minLength": 1}
    expression: Json = {
        "type": "object",
        "description": "a quantity made of others, row by row",
        "properties": {
            "expr": {
                **text,
                "maxLength": LONGEST,
                "description": "such as gradient_norm / loss[step: 0]: quantities, numbers, + - * / **, "
                f"{', '.join(FUNCTIONS)}; brackets pin {', '.join(PINNED)}",
            },
            "unit": {**text, "maxLength": 80, "description": "of its values, for axes and captions"},
            "label": {**text, "maxLength": 80, "description": "what pages call it; else its formula"},
        },
        "required": ["expr", "unit"],
        "additionalProperties": False,
    }
    return {"if": {"type": "object"}, "then": expression, "else": {"$ref": "#/$defs/quantity_name"}}


def selection_schema(setting_paths: str) -> Json:
    """What selects rows: columns with their closed vocabularies, what fits the pattern of paths, and nothing else."""
    columns: dict[str, Json] = dict.fromkeys((*COLUMNS, METHOD, GRID, TIMES), _one_or_several({}))
    named = {"if": {"type": "string"}, "then": {"const": BEST}, "else": _one_or_several(_CONDITIONS)}
    columns[REFERENCE] = {**nullable(named), "description": "the variants that derived numbers are measured against"}
    columns |= {column: _one_or_several({"enum": [*words, None]}) for column, words in VOCABULARY.items()}
    columns["quantity"] = _one_or_several(nullable(NAMED_QUANTITY))
    return {
        "type": "object",
        "description": "selection of rows: column or path of the setting -> value, or list of values",
        "properties": columns,
        "patternProperties": {setting_paths: {}},
        "additionalProperties": False,
    }


def _one_or_several(allowed: Json) -> Json:
    several = {"minItems": 1} | ({"items": allowed} if allowed else {})
    return {"if": {"type": "array"}, "then": several} | ({"else": allowed} if allowed else {})


def described(schema: Json, words: Mapping[str, str]) -> Json:
    """The schema with a description by name for each property without one, and without titles."""
    if isinstance(schema, list):
        return [described(item, words) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # Values are left as they are: a key in them that reads ``properties`` describes nothing.
    parts = {
        key: value if key in ("enum", "default", "const") else described(value, words) for key, value in schema.items()
    }
    properties = parts.get("properties")
    if not isinstance(properties, dict):
        return parts
    for name, inner in properties.items():
        if not isinstance(inner, dict):  # a schema may be true or false
            continue
        # A title that pydantic makes is text and repeats the name; a mapping is a property that is called title.
        plain = {key: value for key, value in inner.items() if key != "title" or not isinstance(value, str)}
        if "description" not in plain and "const" not in plain and name in words:
            plain["description"] = words[name]
        properties[name] = plain
    return parts


def schema_text(schema: Mapping[str, Json]) -> str:
    """The schema as JSON with a line for each property and definition: small, and yet readable where it changes."""
    lines = []
    for key, value in schema.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"{json.dumps(name)}: {_compact(part)}" for name, part in value.items())
            lines.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        else:
            lines.append(f"{json.dumps(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def without_unused(definitions: Mapping[str, Json], roots: Json) -> dict[str, Json]:
    """The definitions that something refers to, directly or not."""
    used: dict[str, Json] = {}
    waiting = list(_references(roots))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting += _references(definitions[name])
    return {name: definitions[name] for name in definitions if name in used}


def _references(schema: Json) -> Iterable[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str) and value.startswith("#/$defs/"):
                yield value.removeprefix("#/$defs/")
            yield from _references(value)
