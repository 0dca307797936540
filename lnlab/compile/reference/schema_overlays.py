"""The JSON Schema of what names settings by dotted paths: sweeps, methods, profiles and choices on tuning seeds."""

from collections.abc import Callable, Mapping, Sequence

from lnlab.compile.reference.schema_parts import nullable
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.training import TRAIN_KEYS
from lnlab.compile.setting_paths import INTERVENTIONS, STACK_CHOICES
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import EXCEPT
from lnlab.keys import Json
from lnlab.setting import STACKS
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import METHOD_NAME_PATTERN, REPLACEABLE, SETTING

_FURTHER = r"(\.[A-Za-z][A-Za-z0-9_]*)*$"
_OPTIONAL = ("optimizer", "schedule")
"""Choices that may be null: without them nothing is trained, or the learning rate stays."""


def path_patterns(registries: Registries, derived: Sequence[str] = ()) -> list[str]:
    """Patterns of the paths below each key that determines a run.

    Args:
        registries: of every kind.
        derived: words that a model and a stack have as well.
    """
    words: dict[str, list[str]] = {}
    for key in SETTING:
        if key in STACKS:
            words[key] = ["layers", *STACK_CHOICES, *(["cross_attention"] if key == "decoder" else []), *derived]
        elif key == "train":
            words[key] = list(TRAIN_KEYS)
        elif key == INTERVENTIONS:  # entered by the kind of one of them
            words[key] = [entry.name for entry in registries.get("intervention", ())]
        else:
            parameters = sorted({name for entry in registries.get(key, ()) for name in entry.keywords})
            words[key] = ["kind", *(["layers"] if key == "model" else []), *parameters]
            words[key] += derived if key == "model" else ()
    return [rf"^{key}\.({'|'.join(following)}){_FURTHER}" for key, following in words.items() if following]


_DOTTED: dict[str, Json] = {
    rf"^(model|{'|'.join(STACKS)})\.layers$": {"$ref": "#/$defs/model:layers"},
    **{rf"^train\.{word}$": {"$ref": f"#/$defs/train:{word}"} for word in TRAIN_KEYS},
}
"""Patterns of paths whose values do not depend on the kind that another line chooses."""


def by_path(registries: Registries, value: Callable[[Json], Json], **others: Json) -> Json:
    """A flat map from dotted paths of what determines a run.

    Args:
        registries: of every kind.
        value: from what fits the whole of a key to what stands in the map.
        others: further keys.
    """
    whole: dict[str, Json] = {}
    for key in SETTING:
        fitting: Json = {}  # anything, where no piece of that kind is registered
        if key in (*STACKS, "train", INTERVENTIONS):
            fitting = _ref(key)
        elif list(registries.get(key, ())):
            fitting = {"$ref": f"#/$defs/{key}"}
            fitting = nullable(fitting) if key in _OPTIONAL else fitting
        whole[key] = value(fitting)
    # What fits below a choice depends on its kind, which another line or the base may choose: it is not checked here.
    below = {pattern: value({}) for pattern in path_patterns(registries)}
    below |= {pattern: value(schema) for pattern, schema in _DOTTED.items()}
    return {"type": "object", "properties": whole | others, "patternProperties": below, "additionalProperties": False}


def overlay_schemas(registries: Registries) -> dict[str, Json]:
    """The schemas of ``methods``, ``sweep`` and ``profiles``. A profile may also replace whole lists."""
    without = {"type": "array", "minItems": 1, "items": {"type": "object", "minProperties": 1}}
    names: Json = _axis({"type": "string"}) | {"description": f"names that stand under '{METHODS}'"}
    grid: Json = {**by_path(registries, _axis, **{EXCEPT: without, METHOD: names}), "minProperties": 1}
    # The same grid, but for its name: written out twice it would be a thirtieth of the schema.
    named = {"type": "object", "minProperties": 1, "additionalProperties": _ref("sweep/then/items")}
    sweep: dict[str, Json] = {"if": {"type": "array"}, "then": {"minItems": 1, "items": grid}, "else": named}
    sweep["description"] = "a union of grids, by name or as a list"
    methods = {
        "type": "object",
        "propertyNames": {"pattern": METHOD_NAME_PATTERN},
        "additionalProperties": by_path(registries, lambda value: value),
        "description": f"names for several settings at once, which the axis '{METHOD}' takes: dotted path -> value",
    }
    maps: Mapping[str, Json] = {METHODS: _ref(METHODS), "sweep": _ref("sweep"), METHOD: {}}
    whole: Mapping[str, Json] = {key: _ref(key) for key in REPLACEABLE if key not in maps}
    overlay = by_path(registries, _pin_or_axis, **whole, **maps)
    overlay["patternProperties"][rf"^{METHODS}\..+\.[^.]+$"] = {}
    profiles = {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9_]*$"},
        "additionalProperties": overlay,
        "description": "overlays by name: dotted path -> value",
    }
    return {METHODS: methods, "sweep": sweep, "profiles": profiles}


def _pin_or_axis(value: Json) -> Json:
    """A value, or in a list the new values of an axis."""
    several = {"anyOf": [value, {"items": value}]}
    return {"if": {"type": "array"}, "then": several, "else": value} if value else {}


def _axis(value: Json) -> Json:
    """The values of an axis, or the only one as it is."""
    single = {"type": ["string", "number", "boolean"]} | ({"allOf": [value]} if value else {})
    several = {"minItems": 1} | ({"items": value} if value else {})
    return {"if": {"type": "array"}, "then": several, "else": single}


def _ref(key: str) -> Json:
    return {"$ref": f"#/properties/{key}"}
