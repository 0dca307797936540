"""``reference`` in a selection: the variants that a derived number is measured against.

reference: best                                   all variants with the same task
reference: {method: Post-LN}                      those whose setting meets these conditions
reference: {model.layers: 2, same: method}        of these, those with the variant's own method
reference: [{...}, {...}]                         those of any of them
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lnlab.keys import Json

REFERENCE = "reference"
BEST = "best"
SAME = "same"
SEPARATING = ("encoder.placement", "decoder.placement", "init")
"""Where variants differ in one of these, "the best of all" is no reference that anybody may leave out."""


@dataclass(frozen=True)
class ReferenceGroup:
    """One mapping of a reference.

    Attributes:
        conditions: on the settings of the reference variants.
        same: paths at which a reference variant must have what the measured variant has.
    """

    conditions: Mapping[str, Json]
    same: tuple[str, ...] = ()


def parse_reference(reference: Json) -> tuple[ReferenceGroup, ...]:
    """The mappings of a reference. ``best`` is one without conditions.

    Raises:
        ValueError: it is none of the forms above.
    """
    if reference == BEST:
        return (ReferenceGroup({}),)
    mappings = list(reference) if isinstance(reference, list | tuple) else [reference]
    if not mappings or not all(isinstance(mapping, Mapping) and mapping for mapping in mappings):
        raise ValueError("a reference is 'best', a mapping of conditions, or a list of such mappings")
    groups = []
    for mapping in mappings:
        same = mapping.get(SAME, ())
        paths = (same,) if isinstance(same, str) else tuple(same) if isinstance(same, list | tuple) else (None,)
        if not all(isinstance(path, str) for path in paths):
            raise ValueError(f"'{SAME}' is a path, or a list of paths")
        groups.append(ReferenceGroup({path: value for path, value in mapping.items() if path != SAME}, paths))
    return tuple(groups)
