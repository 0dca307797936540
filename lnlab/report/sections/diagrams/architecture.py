"""Whole models as boxes and arrows, and the sublayers in them opened."""

from collections.abc import Mapping

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.report.figures.drawing import ModuleGraph, diagram_data
from lnlab.report.section import Section, sections
from lnlab.report.words.wording import count_noun

_HEADINGS = {
    "panel": "panel",
    "box": "box",
    "detail": "size",
    "module": "module",
    "parameters": "parameters",
    "times": "times",
}


@sections.register("architecture")
def architecture(models: Mapping[str, Json], *, where: dict[str, Json] | None = None) -> Section:
    """``tokens -> layers -> logits``: whole models, module by module as they are built (Xiong et al., 2020, Figure 1).

    Each model of the selection that differs in its modules is drawn as boxes and arrows. A second figure has attention
    and feed-forward network opened, equal ones once.
    """
    drawn_models = models.get(canonical(where or {}), ())
    if not drawn_models:
        what = "this report has no boxes of whole models"
        raise ReportError(Issue("not-found", "architecture", what, "write it again with lnlab report"))
    stacks: list[Mapping[str, Json]] = []
    opened: dict[str, Mapping[str, Json]] = {}
    rows = []
    words = []
    for model in drawn_models:
        said = []
        for panel in model["panels"]:
            is_stack = bool(panel["frames"])
            name = f"{model['name']}, {panel['name']}" if model["name"] else panel["name"]
            boxes = canonical([{**node, "module": ""} for node in panel["nodes"]])
            if not is_stack and boxes in opened:
                continue
            several = sum(other["name"].endswith(panel["name"]) for other in opened.values())
            drawn = {**panel, "name": name if is_stack or several else panel["name"]}
            if is_stack:
                stacks.append(drawn)
                labels = [node["label"] for node in panel["nodes"] if node["operation"] != "input"]
                repeated = ", ".join(str(text) for *_, text in panel["frames"])
                said.append(f"{panel['name']} ({repeated}): {', '.join(labels)}")
            else:
                opened[boxes] = drawn
            times = {i: count for first, last, count, _ in panel["frames"] for i in range(first, last + 1)}
            rows += [
                {
                    "panel": drawn["name"],
                    "box": node["label"],
                    "detail": node["detail"],
                    "module": node["module"],
                    "parameters": node["parameters"],
                    "times": times.get(place, 1),
                }
                for place, node in enumerate(panel["nodes"])
                if node["operation"] != "input"
            ]
        words.append(f"{model['name']}: {'; '.join(said)}" if model["name"] else "; ".join(said))
    inside = list(opened.values())
    labels_inside = [[str(node["label"]) for node in panel["nodes"]] for panel in inside]
    crosses = any("x or encoder" in labels for labels in labels_inside)
    memory = ", and an arrow on the left is the encoder's output" if crosses else ""
    frozen = any(node["label"] == "features" for panel in stacks for node in panel["nodes"])
    memory += ". Features are the output of the frozen stack, which no gradient reaches" if frozen else ""
    whose = ". x is the stream; keys and values of cross-attention are of the encoder's output" if crosses else ""
    drawn_inside = (
        f"{panel['name']}: {', '.join(label for label in labels if not label.startswith('x'))}"
        for panel, labels in zip(inside, labels_inside, strict=True)
    )
    frame = pl.DataFrame(rows)
    figures = []
    for panels, subject, shows, finding in (
        (
            stacks,
            "The modules of each model as it is built, from the tokens at the bottom upward. A dashed frame is a "
            f"layer, marked with its number of repetitions; + adds{memory}",
            "Whole models, as boxes and arrows",
            ". ".join(words),
        ),
        (
            inside,
            f"The sublayers opened. An arrow in a box stands for a matrix, with its input and output dimensions{whose}",
            "The sublayers of these models opened, as boxes and arrows",
            "; ".join(drawn_inside),
        ),
    ):
        of_figure = pl.col("panel").is_in([panel["name"] for panel in panels])
        figures.append(
            ModuleGraph(
                data=diagram_data(frame.filter(of_figure)),
                panels=panels,
                subject=subject,
                shows=shows,
                finding=finding,
                headings=_HEADINGS,
            )
        )
    return Section(
        f"{count_noun(len(drawn_models), 'model')} drawn whole, and the sublayers in them opened", tuple(figures)
    )
