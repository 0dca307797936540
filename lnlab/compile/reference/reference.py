"""The reference of the spec language, in Markdown, made from the registries: ``specs/README.md`` is this text."""

import json
from typing import Any

from lnlab.compile.reference.grammar import GRAMMAR
from lnlab.compile.resolve.choices import Registries
from lnlab.keys import Json
from lnlab.registry import Entry, Registry

_HEADINGS = {
    "task": "Tasks",
    "corpus": "Corpora",
    "labelled_corpus": "Corpora of labelled sentences",
    "tokenizer": "Tokenizers",
    "model": "Models",
    "norm": "Norms",
    "placement": "Placements",
    "attention": "Attentions",
    "linear": "Linear maps",
    "init": "Inits",
    "optimizer": "Optimizers",
    "schedule": "Schedules",
    "stop": "Stop rules",
    "intervention": "Interventions",
    "probe": "Probes",
    "claim": "Claims",
    "section": "Sections",
    "quantity": "Derived quantities",
    "rule": "Rules that choose a value",
    "convergence": "Rules of convergence",
}


def reference(registries: Registries) -> str:
    """The grammar in brief, then every kind with its formula, parameters, types and defaults."""
    kinds = sorted(registries, key=lambda kind: (list(_HEADINGS).index(kind) if kind in _HEADINGS else 99, kind))
    return "\n".join([GRAMMAR, *(line for kind in kinds for line in _kind(registries[kind]))]) + "\n"


def _kind(registry: Registry[Any]) -> list[str]:
    lines = [f"## {_HEADINGS.get(registry.kind, registry.kind)}", ""]
    entries = list(registry)
    return [*lines, *(line for entry in entries for line in _entry(entry))] if entries else [*lines, "None yet.", ""]


def _entry(entry: Entry[Any]) -> list[str]:
    """One kind: its first sentence, and a table of what a spec may set."""
    lines = [f"### `{entry.name}`", ""]
    lines += [entry.summary, ""] if entry.summary else []
    if not entry.keywords:
        return lines
    cells = [[f"`{name}`", kind.replace("|", "\\|"), default] for name, kind, default in parameter_rows(entry)]
    rows = [f"| {' | '.join(row)} |" for row in cells]
    return [*lines, "| parameter | type | default |", "|---|---|---|", *rows, ""]


def parameter_rows(entry: Entry[Any]) -> list[tuple[str, str, str]]:
    """What a spec may set of an entry: name, type in words, and default as a spec would write it, or ``required``."""
    properties = entry.params.model_json_schema()
    return [(name, _type(entry, name, properties), _default(entry, name)) for name in entry.keywords]


def _default(entry: Entry[Any], name: str) -> str:
    default = entry.keywords[name].default
    if default is entry.keywords[name].empty:
        return "required"
    if isinstance(default, dict) and list(default) == ["kind"]:
        default = default["kind"]
    if name not in entry.nested:
        default = entry.params.model_json_schema()["properties"][name]["default"]
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _type(entry: Entry[Any], name: str, properties: Json) -> str:
    if name in entry.nested:
        return f"a {entry.nested[name].kind}"
    return schema_in_words(properties["properties"][name], properties.get("$defs", {}))


def schema_in_words(schema: Json, definitions: Json) -> str:
    """A JSON Schema in words: ``integer, at least 1``, ``one of `a`, `b` ``, ``2 numbers``."""
    if "$ref" in schema:
        return schema_in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return " or ".join(schema_in_words(option, definitions) for option in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        words = ", ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
        return words if "const" in schema else f"one of {words}"
    if "prefixItems" in schema:
        return f"list of {len(schema['prefixItems'])}: " + ", ".join(
            schema_in_words(item, definitions) for item in schema["prefixItems"]
        )
    if schema.get("type") == "array":
        return f"list of {schema_in_words(schema.get('items', {}), definitions)}"
    if schema.get("type") == "object" and "properties" in schema:
        return f"mapping of {', '.join(f'`{key}`' for key in schema['properties'])}"
    names = {"string": "text", "boolean": "true or false", "object": "mapping", None: "anything"}
    return str(names.get(schema.get("type"), schema.get("type"))) + _bounds(schema)


def _bounds(schema: Json) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
        "pattern": "like",
    }
    return "".join(f", {word} {schema[key]}" for key, word in words.items() if key in schema)
