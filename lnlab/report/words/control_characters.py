"""Replace control characters, which would break a line, a page or a drawing, by spaces."""

import re
from collections.abc import Mapping

from lnlab.keys import Json

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")


def without_control_characters(value: Json) -> Json:
    """Replace control characters by spaces in a text, or in all texts of a list or a mapping."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub(" ", value)
    if isinstance(value, Mapping):
        return {without_control_characters(key): without_control_characters(inner) for key, inner in value.items()}
    return [without_control_characters(inner) for inner in value] if isinstance(value, list | tuple) else value
