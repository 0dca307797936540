"""The reference of the spec language, in Markdown, made from the registries."""

import json
from collections.abc import Sequence
from typing import Any

from lnlab.compile.reference.examples import SpecExamples
from lnlab.compile.reference.grammar import GRAMMAR
from lnlab.compile.reference.key_words import SITE_WORDS
from lnlab.compile.resolve.choices import Registries
from lnlab.keys import Json
from lnlab.meanings import meaning, remaining_text
from lnlab.registry import Entry, Registry

_HEADINGS = {
    "task": "Tasks",
    "corpus": "Corpora",
    "labelled_corpus": "Corpora of labelled sentences",
    "text_corpus": "Corpora of running text",
    "tokenizer": "Tokenizers",
    "model": "Models",
    "norm": "Norms",
    "placement": "Placements",
    "attention": "Attentions",
    "linear": "Linear maps",
    "feed_forward": "Feed-forward networks",
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
_LIST = "list of "
SITES = "Stacks, sublayers and tensors"
_BAR = "\\|"
"""A bar within a cell of a Markdown table."""


def reference(registries: Registries, examples: SpecExamples | None = None) -> str:
    """The grammar in brief, the words of sites, then every kind with its formula, parameters, types and defaults.

    Args:
        registries: of every kind.
        examples: of kinds, see ``shortest_examples``.
    """
    kinds = sorted(registries, key=lambda kind: (list(_HEADINGS).index(kind) if kind in _HEADINGS else 99, kind))
    title, _, grammar = GRAMMAR.partition("\n")
    lines = [title, "", *_contents([registries[kind] for kind in kinds]), grammar, *_sites()]
    return "\n".join([*lines, *(line for kind in kinds for line in _kind(registries[kind], examples or {}))]) + "\n"


def _contents(registries: Sequence[Registry[Any]]) -> list[str]:
    """A line for each kind, with its names."""
    parts = [f"- [{heading}](#{_fragment(heading)})" for heading in ("A spec", "Rules", SITES)]
    for registry in registries:
        heading = _HEADINGS.get(registry.kind, registry.kind)
        names = ", ".join(f"[{entry.name}](#{registry.kind}-{entry.name})" for entry in registry)
        parts.append(f"- [{heading}](#{_fragment(heading)}){': ' if names else ''}{names}")
    return [*parts, ""]


def _fragment(heading: str) -> str:
    return heading.lower().replace(" ", "-").replace(",", "")


def _sites() -> list[str]:
    lines = [f"## {SITES}", "", "Columns by which a selection names a place in a model. `layer` counts from 1.", ""]
    rows = [
        f"| `{column}` | {', '.join(f'`{word}`' for word in words.split(', '))} | {what} |"
        for column, meanings in SITE_WORDS.items()
        for words, what in meanings.items()
    ]
    return [*lines, "| column | value | is |", "|---|---|---|", *rows, ""]


def _kind(registry: Registry[Any], examples: SpecExamples) -> list[str]:
    lines = [f"## {_HEADINGS.get(registry.kind, registry.kind)}", ""]
    entries = list(registry)
    if not entries:
        return [*lines, "None yet.", ""]
    return [*lines, *(line for entry in entries for line in _entry(entry, examples.get((entry.kind, entry.name))))]


def _entry(entry: Entry[Any], example: tuple[str, str] | None) -> list[str]:
    """One kind: what it says of itself, what it measures or is made of, a table of what a spec may set, an example."""
    paragraphs = [entry.summary.replace("``", "`"), remaining_text(entry.build, entry.keywords), *_measured(entry)]
    lines = [f'<a id="{entry.kind}-{entry.name}"></a>', "", f"### `{entry.name}`", ""]
    lines += [line for paragraph in paragraphs if paragraph for line in (paragraph, "")]
    if entry.keywords:
        rows = [
            (f"`{name}`", kind, default, meaning(entry.build, name)) for name, kind, default in parameter_rows(entry)
        ]
        lines += ["| parameter | type | default | meaning |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', _BAR) for cell in row)} |" for row in rows] + [""]
    return [*lines, f"For example, in [{example[1]}]({example[1]}.yaml): `{example[0]}`", ""] if example else lines


def _measured(entry: Entry[Any]) -> list[str]:
    """The quantities of a probe with their table, or those that a derived quantity is made of."""
    if measured := getattr(entry.facts, "quantities", None):
        names = ", ".join(f"`{name}`" for name in measured)
        return [f"{'Quantity' if len(measured) == 1 else 'Quantities'}, in the table `{entry.facts.table}`: {names}."]
    if made_of := getattr(entry.facts, "of", None):
        return [f"Made of {', '.join(f'`{name}`' for name in made_of)}."]
    return []


def parameter_rows(entry: Entry[Any]) -> list[tuple[str, str, str]]:
    """What a spec may set of an entry: name, type in words, and default as a spec would write it, or ``required``."""
    properties = entry.model.model_json_schema()
    return [(name, _type(entry, name, properties), _default(entry, name)) for name in entry.keywords]


def _default(entry: Entry[Any], name: str) -> str:
    default = entry.keywords[name].default
    if default is entry.keywords[name].empty:
        return "required"
    if isinstance(default, dict) and list(default) == ["kind"]:
        default = default["kind"]
    if name not in entry.nested:
        default = entry.model.model_json_schema()["properties"][name]["default"]
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _type(entry: Entry[Any], name: str, properties: Json) -> str:
    if name in entry.nested:
        return f"a {entry.nested[name].kind}"
    return schema_in_words(properties["properties"][name], properties.get("$defs", {}))


def schema_in_words(schema: Json, definitions: Json) -> str:
    """A JSON Schema in words: ``integer ≥ 1``, ``number in [0, 1), or a list of them``, ``one of `a`, `b` ``."""
    if "$ref" in schema:
        return schema_in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return _alternatives([schema_in_words(option, definitions) for option in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        # a tab is written as its escape: nobody sees it, and a terminal prints spaces in its place
        words = ", ".join(f"`{word}`".replace("\t", "\\t") for word in schema.get("enum", [schema.get("const")]))
        return words if "const" in schema else f"one of {words}"
    if "prefixItems" in schema:
        return f"list of {len(schema['prefixItems'])}: " + ", ".join(
            schema_in_words(item, definitions) for item in schema["prefixItems"]
        )
    if schema.get("type") == "array":
        return f"{_LIST}{schema_in_words(schema.get('items', {}), definitions)}"
    if schema.get("type") == "object" and "properties" in schema:
        return f"mapping of {', '.join(f'`{key}`' for key in schema['properties'])}"
    names = {"string": "text", "boolean": "true or false", "object": "mapping", None: "anything"}
    return str(names.get(schema.get("type"), schema.get("type"))) + _bounds(schema)


def _alternatives(options: list[str]) -> str:
    """The options, a list of what another option is said in brief."""
    brief = [
        "a list of them" if option.startswith(_LIST) and option.removeprefix(_LIST) in options else option
        for option in options
    ]
    return (", or " if "a list of them" in brief else " or ").join(brief)


def _bounds(schema: Json) -> str:
    """``≥ 1``, ``in [0, 1)``, ``like ^[a-z]+$``; nothing without bounds."""
    low, high = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    text = f" like `{schema['pattern']}`" if "pattern" in schema else ""
    if low is not None and high is not None:
        return f"{text} in {'[' if 'minimum' in schema else '('}{low}, {high}{']' if 'maximum' in schema else ')'}"
    if low is not None:
        return f"{text} {'≥' if 'minimum' in schema else '>'} {low}"
    return f"{text} {'≤' if 'maximum' in schema else '<'} {high}" if high is not None else text
