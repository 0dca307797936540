"""The JSON Schema of what names settings by dotted paths: sweeps, methods, profiles and choices on tuning seeds."""

from collections.abc import Callable, Mapping

from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import EXCEPT
from lnlab.keys import Json
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import METHOD_NAME_PATTERN, REPLACEABLE, SETTING

PATHS = rf"^({'|'.join(SETTING)})(\.[A-Za-z][A-Za-z0-9_]*)*$"
"""The paths of a setting. Which words there are below a choice depends on its kind: the compiler knows them."""


def by_path(value: Callable[[Json], Json], **others: Json) -> Json:
    """A flat map from dotted paths of what determines a run.

    Args:
        value: from what fits the whole of a key to what stands in the map.
        others: further keys.
    """
    whole = {key: value(_ref(key)) for key in SETTING}
    below = {PATHS: value({})}
    return {"type": "object", "properties": whole | others, "patternProperties": below, "additionalProperties": False}


def overlay_schemas() -> dict[str, Json]:
    """The schemas of ``methods``, ``sweep`` and ``profiles``. A profile may also replace whole lists."""
    without = {"type": "array", "minItems": 1, "items": {"type": "object", "minProperties": 1}}
    names: Json = _axis({"type": "string"}) | {"description": f"names that stand under '{METHODS}'"}
    grid: Json = {**by_path(_axis, **{EXCEPT: without, METHOD: names}), "minProperties": 1}
    # The same grid, but for its name: written out twice it would be a thirtieth of the schema.
    named = {"type": "object", "minProperties": 1, "additionalProperties": _ref("sweep/then/items")}
    sweep: dict[str, Json] = {"if": {"type": "array"}, "then": {"minItems": 1, "items": grid}, "else": named}
    sweep["description"] = "a union of grids, by name or as a list"
    methods = {
        "type": "object",
        "propertyNames": {"pattern": METHOD_NAME_PATTERN},
        "additionalProperties": by_path(lambda value: value),
        "description": f"names for several settings at once, which the axis '{METHOD}' takes: dotted path -> value",
    }
    maps: Mapping[str, Json] = {METHODS: _ref(METHODS), "sweep": _ref("sweep"), METHOD: {}}
    whole: Mapping[str, Json] = {key: _ref(key) for key in REPLACEABLE if key not in maps}
    overlay = by_path(_pin_or_axis, **whole, **maps)
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
