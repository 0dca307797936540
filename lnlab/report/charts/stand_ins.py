"""Lay out marks that the converter's fonts lack as characters of about their width, without the fonts of the system.

A drawing is laid out by the widths of its texts. The converter brings Liberation Sans with it, and measures a character
that this lacks with whatever font the machine has, so that the same drawing would be wider on one than on another.
Such marks are replaced by characters of about their width while the drawing is laid out. Scripts that lnlab writes
nothing in (Chinese, say) are measured with the fonts of the machine.
"""

import json
from collections.abc import Mapping

from lnlab.keys import Json

NARROW_MARKS, WIDE_MARKS = "⁰⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉·\u202f\u0302\u0303\u0304", "✓✗‖∇"
"""Marks a third of an em wide (including dots, narrow spaces and accents) and about 0.8 em wide."""
_NARROW_POOL = "ŕŗřťţŧĩīĭįĺļľłˆˇˉ˘˙˚˛˜˝ıìíîï" + "śŝşšźżž"
_WIDE_POOL = "ŌŎŐĜĞĠĢĎĐŃŅŇ"


def with_stand_ins(drawing: Mapping[str, Json]) -> tuple[dict[str, Json], dict[int, str]]:
    """A drawing whose texts the converter's fonts hold, and the table that gives its texts back (``str.translate``).

    Stand-ins are characters that occur nowhere in the drawing.
    """
    text = json.dumps(drawing, ensure_ascii=False)
    present = set(text)
    stand_ins: dict[int, str] = {}
    for marks, pool in ((NARROW_MARKS, _NARROW_POOL), (WIDE_MARKS, _WIDE_POOL)):
        free = [character for character in pool if character not in present]
        stand_ins |= zip((ord(mark) for mark in marks if mark in present), free, strict=False)
    replaced: dict[str, Json] = json.loads(text.translate(stand_ins))
    return replaced, {ord(stand_in): chr(mark) for mark, stand_in in stand_ins.items()}
