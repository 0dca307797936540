"""Replace by spaces what would break a line, a page or a drawing, and what reverses or hides the text around it."""

import re
from collections.abc import Mapping

from lnlab.keys import Json

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\U000e0000-\U000e007f]+"
)


def without_control_characters(value: Json) -> Json:
    """Replace control and invisible characters by spaces in a text, or in all texts of a list or a mapping."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub(" ", value)
    if isinstance(value, Mapping):
        return {without_control_characters(key): without_control_characters(inner) for key, inner in value.items()}
    return [without_control_characters(inner) for inner in value] if isinstance(value, list | tuple) else value
