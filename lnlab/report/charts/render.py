"""Render Vega-Lite to SVG, PNG and PDF without a network. Equal drawings give equal bytes."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import altair as alt
import vl_convert
from platformdirs import user_cache_path

from lnlab.errors import ReportError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.keys import Json, digest, digest_bytes
from lnlab.report.charts.lean_svg import lean_svg
from lnlab.report.charts.stand_ins import with_stand_ins
from lnlab.report.words.control_characters import without_control_characters

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
_ID = re.compile(r'\bid="([^"]*)"')


def to_svg(spec: Mapping[str, Json]) -> str:
    """The drawing as SVG on a transparent background. Its ids are renumbered from 1, as the converter counts on.

    ``lean_svg`` says what is left out, and ``stand_ins`` why the layout hardly depends on the fonts of the machine.

    Raises:
        ReportError: the drawing is not valid Vega-Lite.
    """
    description = without_control_characters(str(spec.get("description", "")))
    drawing, marks = with_stand_ins(spec)
    svg = lean_svg(_convert(vl_convert.vegalite_to_svg, drawing).translate(marks), description)
    for number, old in enumerate(dict.fromkeys(_ID.findall(svg)), 1):
        svg = svg.replace(f'id="{old}"', f'id="d{number}"').replace(f"url(#{old})", f"url(#d{number})")
        svg = svg.replace(f'href="#{old}"', f'href="#d{number}"')
    return svg


def to_png(spec: Mapping[str, Json], scale: float = 2.0) -> bytes:
    """The drawing as PNG on white, ``scale`` pixels to the point.

    Raises:
        ReportError: the drawing is not valid Vega-Lite.
    """
    # the theme is transparent, and what shows a PNG may be dark
    return bytes(
        _convert(
            vl_convert.vegalite_to_png,
            {**spec, "config": {**spec.get("config", {}), "background": "white"}},
            scale=scale,
        )
    )


def svg_to_png(svg: str, scale: float = 2.0) -> bytes:
    """An SVG as PNG on white, ``scale`` pixels to the point."""
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return bytes(vl_convert.svg_to_png(re.sub("<svg[^>]*>", lambda tag: tag[0] + ground, svg, count=1), scale=scale))


def svg_to_pdf(svg: str) -> bytes:
    """An SVG as PDF 1.5 with its fonts: later versions make LaTeX warn, and the drawing uses nothing of them."""
    pdf = bytes(vl_convert.svg_to_pdf(svg))
    return b"%PDF-1.5" + pdf[8:]


def _convert(convert: Any, spec: Mapping[str, Json], **params: float) -> Any:
    # a control character in a text stops the converter, and with it this process
    try:
        # no address is allowed, so that a drawing never fetches anything
        return convert(without_control_characters(spec), vl_version=VEGA_LITE, allowed_base_urls=[], **params)
    except (ValueError, OverflowError) as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ReportError(
            Issue("unsupported", "figure", f"cannot be drawn: {what}", "look at the data behind it")
        ) from error


@lru_cache(maxsize=2)
def vega_bundle(snippet: str) -> str:
    """One script with Vega, Vega-Lite and Vega-Embed of the version that drew the figures, and with ``snippet``.

    Raises:
        RuntimeError: the script could end the element that holds it.
    """
    # To put it together takes as long as ten drawings, and it is the same for every page: the user's cache keeps it,
    # behind the digest of what it holds, so that a file that somebody cut or changed is made again.
    made_of = ["vega", version("vl-convert-python"), VEGA_LITE, snippet]
    path = user_cache_path("lnlab") / "scripts" / f"{digest(made_of)[:32]}.js"
    with suppress(OSError):
        name, _, kept = path.read_bytes().partition(b"\n")
        if name.decode("ascii", "replace") == digest_bytes(kept):
            return kept.decode()
    script = str(vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE))
    if "</script" in script.lower() or "<!--" in script:
        raise RuntimeError("the Vega bundle holds </script or <!--")
    content = script.encode()
    with suppress(OSError):  # where the folder cannot be written it is made again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(digest_bytes(content).encode() + b"\n" + content)
    return script


def spec_text(spec: Mapping[str, Json]) -> str:
    """The drawing as a JSON file: sorted keys, a line for each of its parts and for each row of data, no NaN."""
    parts = {name: _compact(part) for name, part in spec.items() if name != "datasets"}
    datasets = []
    for name, rows in sorted(spec["datasets"].items()):
        text = "[\n" + ",\n".join(map(_compact, rows)) + "\n]" if rows else "[]"
        datasets.append(f"{json.dumps(name)}: {text}")
    parts["datasets"] = "{\n" + ",\n".join(datasets) + "\n}"
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {part}" for name, part in sorted(parts.items())) + "\n}\n"


def _compact(part: Json) -> str:
    return json.dumps(part, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
