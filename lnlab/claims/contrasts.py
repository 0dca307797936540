"""The two sides of a contrast by name."""

from collections.abc import Mapping

from lnlab.keys import Json
from lnlab.specfile.values import value_label


def arm_names(of: Mapping[str, Json], to: Mapping[str, Json]) -> tuple[str, str]:
    """What tells the two sides of a contrast apart: ``norm none`` and ``norm layer``."""
    sides = ({path: of.get(path) for path in to}, to)
    first, second = (
        ", ".join(
            f"{path.rpartition('.')[2]} {value_label(value)}" for path, value in side.items() if value is not None
        )
        for side in sides
    )
    return first or "the selection 'of'", second
