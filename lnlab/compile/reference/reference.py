"""The reference of the spec language, in Markdown, made from the registries."""

import json
from typing import Any

from lnlab.compile.reference.grammar import GRAMMAR
from lnlab.compile.reference.key_words import SITE_WORDS
from lnlab.compile.resolve.choices import Registries
from lnlab.keys import Json
from lnlab.meanings import meaning, remaining_text
from lnlab.registry import Entry

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


def reference(registries: Registries) -> str:
    """The grammar in brief, the words of sites, then every kind with its formula, parameters, types and defaults."""
    # A kind that has no heading yet comes last, under its own name.
    kinds = sorted(registries, key=lambda kind: (list(_HEADINGS).index(kind) if kind in _HEADINGS else 99, kind))
    headings = {kind: _HEADINGS.get(kind, kind) for kind in kinds}
    title, _, grammar = GRAMMAR.partition("\n")

    lines = [title, "", *(f"- [{heading}](#{_fragment(heading)})" for heading in ("A spec", "Rules", SITES))]
    for kind in kinds:
        names = ", ".join(f"[{entry.name}](#{kind}-{entry.name})" for entry in registries[kind])
        lines.append(f"- [{headings[kind]}](#{_fragment(headings[kind])}){': ' if names else ''}{names}")
    lines += ["", grammar]

    lines += [f"## {SITES}", "", "Columns by which a selection names a place in a model. `layer` counts from 1.", ""]
    lines += ["| column | value | is |", "|---|---|---|"]
    for column, meanings in SITE_WORDS.items():
        for words, what in meanings.items():
            lines.append(f"| `{column}` | {', '.join(f'`{word}`' for word in words.split(', '))} | {what} |")
    lines.append("")

    for kind in kinds:
        lines += [f"## {headings[kind]}", ""]
        entries = list(registries[kind])
        lines += [] if entries else ["None yet.", ""]
        for entry in entries:
            lines += _entry(entry)
    return "\n".join(lines) + "\n"


def _fragment(heading: str) -> str:
    """The anchor that a Markdown renderer gives a heading."""
    return heading.lower().replace(" ", "-").replace(",", "")


def _entry(entry: Entry[Any]) -> list[str]:
    """One kind: what it says of itself, what it measures or is made of, and a table of what a spec may set."""
    paragraphs = [entry.summary.replace("``", "`"), remaining_text(entry.build, entry.keywords)]
    if measured := getattr(entry.facts, "quantities", None):  # a probe
        names = ", ".join(f"`{name}`" for name in measured)
        word = "Quantity" if len(measured) == 1 else "Quantities"
        paragraphs.append(f"{word}, in the table `{entry.facts.table}`: {names}.")
    elif made_of := getattr(entry.facts, "of", None):  # a derived quantity
        paragraphs.append(f"Made of {', '.join(f'`{name}`' for name in made_of)}.")
    lines = [f'<a id="{entry.kind}-{entry.name}"></a>', "", f"### `{entry.name}`", ""]
    lines += [line for paragraph in paragraphs if paragraph for line in (paragraph, "")]
    if entry.keywords:
        rows = [
            (f"`{name}`", kind, default, meaning(entry.build, name)) for name, kind, default in parameter_rows(entry)
        ]
        lines += ["| parameter | type | default | meaning |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', _BAR) for cell in row)} |" for row in rows] + [""]
    return lines


def parameter_rows(entry: Entry[Any]) -> list[tuple[str, str, str]]:
    """What a spec may set of an entry: name, type in words, and default as a spec would write it, or ``required``."""
    schema = entry.model.model_json_schema()
    rows = []
    for name in entry.keywords:
        nested = entry.nested.get(name)
        words = schema_in_words(schema["properties"][name], schema.get("$defs", {})) if nested is None else ""
        stated = entry.keywords[name].default
        if stated is entry.keywords[name].empty:
            default = "required"
        else:
            if isinstance(stated, dict) and list(stated) == ["kind"]:
                stated = stated["kind"]
            if nested is None:  # as JSON has it: a signature may have tuples and types of its own
                stated = schema["properties"][name]["default"]
            default = f"`{stated if isinstance(stated, str) else json.dumps(stated)}`"
        rows.append((name, words if nested is None else f"a {nested.kind}", default))
    return rows


def schema_in_words(schema: Json, definitions: Json) -> str:
    """A JSON Schema in words: ``integer ≥ 1``, ``number in [0, 1), or a list of them``, ``one of `a`, `b` ``."""
    if "$ref" in schema:
        return schema_in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        options = [schema_in_words(option, definitions) for option in schema["anyOf"]]
        # A list of what another option is already is said in brief: ``number in [0, 1), or a list of them``.
        brief = [
            "a list of them" if option.startswith(_LIST) and option.removeprefix(_LIST) in options else option
            for option in options
        ]
        return (", or " if "a list of them" in brief else " or ").join(brief)
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
    text = str(names.get(schema.get("type"), schema.get("type")))
    text += f" like `{schema['pattern']}`" if "pattern" in schema else ""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is not None and high is not None:
        return f"{text} in {'[' if 'minimum' in schema else '('}{low}, {high}{']' if 'maximum' in schema else ')'}"
    if low is not None:
        return f"{text} {'≥' if 'minimum' in schema else '>'} {low}"
    return f"{text} {'≤' if 'maximum' in schema else '<'} {high}" if high is not None else text
