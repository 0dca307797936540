"""How every drawing looks: one Vega-Lite theme, the colours of Okabe and Ito (2008), dashes and shapes beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from lnlab.keys import Json

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00", "#882255")
"""Seven of Okabe and Ito (2008), and a wine red of Tol (2021) in place of their yellow, which paper swallows."""
_SHADES: Mapping[str, tuple[str, ...]] = {
    "#D55E00": ("#D55E00", "#7A3300", "#F2955A"),
    "#0072B2": ("#0072B2", "#003250", "#8FAEE0"),
    "#009E73": ("#009E73", "#004D38", "#5DC0A0"),
    "#CC79A7": ("#CC79A7", "#7D3E61", "#E3A0C6"),
    "#000000": ("#000000", "#6B6B6B", "#A8A8A8"),
    "#56B4E9": ("#56B4E9", "#174E68", "#3D90B9"),
    "#E69F00": ("#E69F00", "#6E5A00", "#AD7A1E"),
    "#882255": ("#882255", "#430A25", "#BC6A90"),
}
"""Each colour and two other shades: for series of one family. All have a contrast of 2 on the page, light or dark."""
GREY, MOST_INKED = "#9a958c", 4
"""The colour of series that stand back, and the most that have one of their own where others stand back."""
MOST_TOLD_APART = 8
"""The most series of one panel: each has a hue of its own where no family shares one."""
MOST_PANELS = sum(len(shades) for shades in _SHADES.values())
"""The most series that have a panel each, with all others in grey: beyond, the page would grow with their square."""
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
    "Peri-LN": "#009E73",
    "DeepNorm": "#CC79A7",
    "T-Fixup": "#56B4E9",
    "Admin": "#E69F00",
    "DT-Fixup": "#E69F00",
    "Fixup": "#CC79A7",
    "LayerNorm": "#009E73",
    "BatchNorm": "#CC79A7",
    "RMSNorm": "#56B4E9",
    "InstanceNorm": "#E69F00",
    "GroupNorm": "#0072B2",
    "frozen BatchNorm": "#D55E00",
    "no norm": "#000000",
    "no warm-up": "#D55E00",
    "warm-up": "#0072B2",
    "RAdam": "#009E73",
}
"""What has the same colour in every figure. Of two that would share one in a figure, the first here has it."""
_SCHEDULES = ("no warm-up", "warm-up")
TEXT_COLOUR, MUTED_COLOUR, _RULE = "#222222", "#555555", "#dedede"
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
    """Choose a hue for each family and a shade for each of its members. Dashes and shapes go by place in the list.

    A family is what begins with a name of ``SERIES_COLOURS``, else a value of the first axis that varies. Of a family
    with more than three members, two share its hue and the others have hues that are left.

    Args:
        series: the names, in the order of the legend.
        families: for each series, the index of its family.
    """
    keys: list[str | int] = []
    for name, family in zip(series, families, strict=True):
        words = name.partition(",")[0].casefold() + " "
        # "Post-LN after warm-up" is of Post-LN, but "warm-up 40" and "warm-up 300" are two
        own = (
            word
            for word in SERIES_COLOURS
            if words.startswith(f"{word.casefold()} ") and (word not in _SCHEDULES or words.strip() == word)
        )
        keys.append(next(own, family))
    beyond = [n for n, key in enumerate(keys) if keys.count(key) > 3 and keys[:n].count(key) > 1]
    if len({*keys}) + len(beyond) <= len(COLOURS):
        for n in beyond:
            keys[n] = f"{n} alone"
    hues: dict[str | int, str] = {}
    for name, colour in SERIES_COLOURS.items():
        if name in keys and colour not in hues.values():
            hues[name] = colour
    if not hues:  # a value has its colour also where its neighbours are left out
        for number in sorted({key for key in keys if isinstance(key, int)}):
            if COLOURS[number % len(COLOURS)] not in hues.values():
                hues[number] = COLOURS[number % len(COLOURS)]
    for key in dict.fromkeys(sorted(keys, key=lambda key: (isinstance(key, str), isinstance(key, int) and key))):
        if key not in hues:  # with more families than hues, some share one
            given = list(hues.values())
            # beside one placement, what is no placement has not the colour of the other
            hues[key] = min(COLOURS[2:] + COLOURS[:2] if {"Post-LN", "Pre-LN"} & {*keys} else COLOURS, key=given.count)
    shades = {colour: cycle(_SHADES[colour]) for colour in COLOURS}
    positions = range(len(series))
    return SeriesStyle(
        tuple(series),
        tuple(next(shades[hues[key]]) for key in keys),
        tuple(DASHES[position % len(DASHES)] for position in positions),
        tuple(SHAPES[position % len(SHAPES)] for position in positions),
    )


def colour_ramp(count: int) -> tuple[str, ...]:
    """``count`` colours in an order that a reader sees, from orange to blue."""
    last = len(_RAMP) - 1
    return tuple(_RAMP[round(place * last / max(count - 1, 1))] for place in range(count))
