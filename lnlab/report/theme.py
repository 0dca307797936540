"""How every drawing looks: one Vega-Lite theme, the colours of Okabe and Ito (2008), dashes and shapes beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnlab.keys import Json

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
_RAMP = ("#fca636", "#f2844b", "#e16462", "#cc4778", "#b12a90", "#8f0da4", "#6a00a8", "#41049d", "#0d0887")
"""Ever darker, from orange to blue: a stretch of the map plasma (Smith and van der Walt, 2015)."""
HEATMAP_COLOURS = ("#e1f3f0", "#a1e0e2", "#64c8db", "#2dacd4", "#128dc7", "#256db0", "#324f90", "#313668", "#26223d")
"""From pale to dark in equal steps of Oklab's lightness, the hue turning from green to violet (Ottosson, 2020)."""
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 3), (4, 1), (1, 3), (10, 2, 2, 2, 2, 2))
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
SERIES_COLOURS: Mapping[str, str] = {
    "Post-LN": "#D55E00",
    "Pre-LN": "#0072B2",
    "ReZero": "#009E73",
    "DeepNorm": "#CC79A7",
    "T-Fixup": "#56B4E9",
    "Admin": "#E69F00",
    "LayerNorm": "#009E73",
    "BatchNorm": "#CC79A7",
    "RMSNorm": "#56B4E9",
    "instance": "#E69F00",
    "frozen BatchNorm": "#D55E00",
    "no norm": "#000000",
}
"""What has the same colour in every figure: each placement, and each norm (no figure mixes the two)."""
TEXT_COLOUR, MUTED_COLOUR, _RULE, REGION_COLOUR = "#222222", "#555555", "#dedede", "#cfe6d6"
PAPER_COLOUR = "#fdfcf8"
"""Background of a page, used around words that lie on lines. Drawings themselves are transparent."""
_FONT = "Liberation Sans, Helvetica, Arial, sans-serif"

THEME: Mapping[str, Json] = {
    "background": "transparent",
    "font": _FONT,
    "padding": {"left": 4, "right": 12, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "axis": {
        "domainColor": MUTED_COLOUR,
        "gridColor": _RULE,
        "gridWidth": 0.7,
        "labelColor": MUTED_COLOUR,
        "labelFontSize": 12,
        "labelPadding": 5,
        "tickColor": MUTED_COLOUR,
        "tickSize": 4,
        "titleColor": TEXT_COLOUR,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
    },
    "axisX": {"grid": False, "titlePadding": 8},
    "axisY": {
        "domain": False,
        "ticks": False,
        # above the axis and level, to be read without turning the head
        "titleAlign": "left",
        "titleAnchor": "end",
        "titleAngle": 0,
        "titleX": -34,
        "titleY": -12,
    },
    "header": {"labelColor": TEXT_COLOUR, "labelFontSize": 13, "titleColor": TEXT_COLOUR, "labelPadding": 32},
    "legend": {
        "labelColor": TEXT_COLOUR,
        "labelFontSize": 13,
        "labelLimit": 420,
        "orient": "top",
        # the title of the y-axis stands between legend and panel
        "offset": 34,
        "symbolSize": 90,
        "symbolStrokeWidth": 2,
        "title": None,
    },
    "line": {"strokeWidth": 2.2, "strokeJoin": "round"},
    "point": {"filled": True, "size": 56, "opacity": 1},
}


@dataclass(frozen=True)
class SeriesStyle:
    """Colour, dash and shape of each series, so that colour alone never distinguishes two of them."""

    series: tuple[str, ...]
    colours: tuple[str, ...]
    dashes: tuple[tuple[int, ...], ...]
    shapes: tuple[str, ...]


def series_style(series: Sequence[str], families: Sequence[int]) -> SeriesStyle:
    """Choose colours by ``SERIES_COLOURS``, else by family. Dashes and shapes go by place in the list.

    A family is a value of the first axis that varies. Those without a colour of their own share what is left in order.

    Args:
        series: the names, in the order of the legend.
        families: for each series, the index of its family. Equal families share a colour.
    """
    own_colours = []
    for name in series:  # "Post-LN after warm-up" has the colour of Post-LN
        words = name.partition(",")[0].casefold() + " "
        own = (colour for known, colour in SERIES_COLOURS.items() if words.startswith(f"{known.casefold()} "))
        own_colours.append(next(own, None))
    free = [colour for colour in COLOURS if colour not in own_colours] or COLOURS
    unnamed = sorted({family for family, colour in zip(families, own_colours, strict=True) if colour is None})
    places = dict(zip(unnamed, range(len(unnamed)), strict=True)) if any(own_colours) else {f: f for f in unnamed}
    positions = range(len(series))
    return SeriesStyle(
        tuple(series),
        tuple(own or free[places[family] % len(free)] for own, family in zip(own_colours, families, strict=True)),
        tuple(DASHES[position % len(DASHES)] for position in positions),
        tuple(SHAPES[position % len(SHAPES)] for position in positions),
    )


def colour_ramp(count: int) -> tuple[str, ...]:
    """``count`` colours in an order that a reader sees, from orange to blue."""
    last = len(_RAMP) - 1
    return tuple(_RAMP[round(place * last / max(count - 1, 1))] for place in range(count))
