"""All that a spec reads of registered pieces, as plain values."""

import json
from dataclasses import fields


def described(registries):
    """By kind and name: version, summary, defaults, nested choices, schema and the facts that are no functions."""
    found = {}
    for kind, registry in registries.items():
        for entry in registry:
            facts = {field.name: getattr(entry.facts, field.name) for field in fields(entry.facts)}
            found[f"{kind} {entry.name}"] = [
                entry.version,
                entry.summary,
                {name: str(parameter.default) for name, parameter in entry.keywords.items()},
                sorted(entry.nested),
                json.dumps(entry.model.model_json_schema(), sort_keys=True),
                {name: getattr(value, "__name__", None) or repr(value) for name, value in facts.items()},
            ]
    return found
