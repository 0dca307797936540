"""Names that no line break may split: ``Post-LN`` is one word to its reader."""

import re

from markupsafe import Markup, escape

_PLACEMENT = re.compile(r"((?:\w+-)+LN\b)")


def unbroken_names(text: str) -> Markup:
    """The text, escaped, with each name of a placement in a span that keeps it on one line."""
    return Markup("").join(
        Markup('<span class="name">{}</span>').format(piece) if place % 2 else escape(piece)
        for place, piece in enumerate(_PLACEMENT.split(text))
    )
