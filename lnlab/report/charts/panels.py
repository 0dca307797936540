"""Place the panels of one figure side by side, with letters in their order and no axis where there is no panel."""

import json
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from lnlab.report.charts.altair_late import alt
from lnlab.report.words.control_characters import without_control_characters

_MOST_LETTERED = 12
"""The most panels that have letters by which a text may refer to them."""


def side_by_side(
    panel: Any, panels: Sequence[str], columns: int, *, spacing: float | None = None, padding: float | None = None
) -> Any:
    """A chart repeated for each value of ``panel`` in its data.

    Args:
        panel: of one place.
        panels: the values, in order.
        columns: panels beside each other, at most.
        spacing: between panels, in pixels. None means the default of Vega-Lite.
        padding: below their names, in pixels. None means the default of Vega-Lite.
    """
    shown = min(columns, len(panels))
    header = alt.Header(labelAnchor="start", labelPadding=alt.Undefined if padding is None else padding)
    if len(panels) <= _MOST_LETTERED:
        names = {name: f"({letter}) {name}" for letter, name in zip(ascii_lowercase, panels, strict=False)}
        # a JSON object is an object of Vega's expressions as well
        header.labelExpr = f"({json.dumps(without_control_characters(names), ensure_ascii=False)})[datum.value]"
    facet = alt.Facet("panel:N", sort=list(panels), title=None, header=header)
    chart = panel.facet(facet, columns=shown, spacing=alt.Undefined if spacing is None else spacing)
    # else the place of a panel that is not there has an axis
    return chart.resolve_axis(x="independent") if len(panels) % shown else chart
