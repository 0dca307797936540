"""The boxes of the models that a page draws whole, built without memory when the page is written."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lnlab.keys import Json, canonical
from lnlab.registry import Choice
from lnlab.select.variants import Variants
from lnlab.specfile.columns import METHOD
from lnlab.specfile.values import value_label
from lnlab.training_extra import absent_packages

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

_DRAWN = "architecture"
_MODEL_PARTS = ("model", "encoder", "decoder")


def model_graphs(
    sections: Iterable[Choice],
    settings: Sequence[tuple[Mapping[str, Json], Mapping[str, Json]]],
    known: "Registries",
    before: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """By the selection of each section that draws whole models, as canonical text: these models and their panels.

    Args:
        sections: resolved.
        settings: resolved, each with the values of its axes.
        known: the registries of both wings.
        before: what an earlier drawing had. It stays where torch, which builds models, is not installed.

    Returns:
        a list of ``{"name": ..., "panels": [...]}`` for each. Settings that differ in nothing but training have one
        model, and a model is named by what varies among those that are drawn.

    Raises:
        LabError: a model cannot be built, or is not of lnlab's parts.
    """
    selections = [section.get("where") or {} for section in sections if section["kind"] == _DRAWN]
    if not selections:
        return {}
    if before and "torch" in absent_packages() and all(canonical(where) in before for where in selections):
        return {canonical(where): before[canonical(where)] for where in selections}
    from lnlab.execute.meta import initialized_on_meta  # late: torch, which no other page waits for
    from lnlab.nn.module_graph import module_panels, panels_to_json  # late: as above

    variants = Variants([dict(s) for s, _ in settings], [point.get(METHOD) for _, point in settings])
    graphs: dict[str, Json] = {}
    for where in selections:
        chosen = [settings[number] for number in sorted(variants.selected(where))]
        models = {
            canonical([setting.get(part) for part in _MODEL_PARTS]): (setting, point) for setting, point in chosen
        }
        points = [point for _, point in models.values()]
        varying = [
            path for path in (points[0] if points else ()) if len({canonical(point.get(path)) for point in points}) > 1
        ]
        if len({canonical(point.get(METHOD)) for point in points}) == len(points):
            varying = [path for path in varying if path == METHOD]
        graphs[canonical(where)] = [
            {
                "name": ", ".join(value_label(point[path]) for path in varying if path in point),
                "panels": panels_to_json(module_panels(initialized_on_meta(dict(setting), known))),
            }
            for setting, point in models.values()
        ]
    return graphs
