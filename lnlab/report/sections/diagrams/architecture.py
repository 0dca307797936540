"""What a sublayer computes in each variant, as a table of formulas, or whole models as boxes and arrows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.report.data.labels import label_series
from lnlab.report.figures.drawing import ModuleGraph, diagram_data
from lnlab.report.section import Section, Table, sections
from lnlab.report.words.placement_formulas import printed_formula, stated_formulas, without_norms
from lnlab.report.words.wording import count_noun, join_words
from lnlab.select.select import runs_with
from lnlab.select.settings import settings_of
from lnlab.setting import STACKS
from lnlab.tables import Results

_HEADINGS = {"variant": "variant", "formula": "sublayer", "norm": "norm", "init": "initialization"}
_HEADINGS_OF_MODULES = {
    "panel": "panel",
    "box": "box",
    "detail": "size",
    "module": "module",
    "parameters": "parameters",
    "times": "times",
}
_SUBJECT = (
    "One sublayer f, attention or feed-forward, on the residual stream x; x_in is the stream below the layer. A layer "
    "has two or three sublayers"
)
_NO_NORM = "none"


@dataclass(frozen=True)
class Design:
    """What the drawing of a sublayer depends on, and the initialization.

    Attributes:
        placement: its kind.
        norm: its kind.
        init: its kind.
    """

    placement: str
    norm: str
    init: str


@sections.register("architecture")
def architecture(
    results: Results,
    formulas: Mapping[str, str],
    models: Mapping[str, Json],
    *,
    where: dict[str, Json] | None = None,
    whole: bool = False,
) -> Section:
    """``x = norm(x + f(x))``: what a sublayer of each variant computes (Xiong et al., 2020, Figure 1).

    A row has the formula with which the variant's placement is registered. Variants that differ in nothing but sizes
    or training have one row; where the two stacks of a model differ, each has its own. ``whole`` draws each model
    that differs in its modules instead, as boxes and arrows from its tokens to its output,
    with attention and feed-forward network opened.
    """
    if whole:
        return _whole_models(models.get(canonical(where or {}), ()))
    designs = _named_designs(results, where or {})
    rows = []
    for name, design in designs:
        stated_of_design = stated_formulas(formulas.get(design.placement, ""))
        if not stated_of_design:
            what = f"{design.placement!r} states no formula of a sublayer f in the first line of its documentation"
            raise ReportError(Issue("unsupported", "placement", what, "write one, such as ``x = norm(x + f(x))``"))
        for number, stated in enumerate(stated_of_design, 1):
            title = name if number == 1 else f"{name} ({number})"
            formula = without_norms(stated) if design.norm == _NO_NORM else stated
            rows.append(
                {
                    "variant": title,
                    "formula": f"x = {printed_formula(formula)}",
                    "norm": design.norm,
                    "init": design.init,
                }
            )
    kinds = list(dict.fromkeys(row["formula"] for row in rows))
    finding = f"{count_noun(len(kinds), 'way')} to pass a sublayer: {join_words(kinds)}"
    return Section(finding, tables=(Table(pl.DataFrame(rows), _HEADINGS, _SUBJECT),))


def _whole_models(models: Sequence[Mapping[str, Json]]) -> Section:
    """Two figures: the stacks of all models, and the sublayers in them opened, equal ones once."""
    if not models:
        what = "this report has no boxes of whole models"
        raise ReportError(Issue("not-found", "architecture", what, "write it again with lnlab report"))
    stacks: list[Mapping[str, Json]] = []
    opened: dict[str, Mapping[str, Json]] = {}
    rows = []
    words = []
    for model in models:
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
                headings=_HEADINGS_OF_MODULES,
            )
        )
    return Section(f"{count_noun(len(models), 'model')} drawn whole, and the sublayers in them opened", tuple(figures))


def _named_designs(results: Results, where: Mapping[str, Json]) -> list[tuple[str, Design]]:
    """The designs of a selection, each once, named by what varies among the first runs that have them."""
    runs = runs_with(results, where)
    first: dict[tuple[tuple[str, Design], ...], str] = {}
    settings = settings_of(results).by_variant
    for run, variant in runs.select("run", "variant").iter_rows():
        setting = settings[variant].parts
        by_design: dict[Design, str] = {}  # once where the stacks agree
        for stack in STACKS:
            if parts := setting.get(stack):
                design = Design(parts["placement"]["kind"], parts["norm"]["kind"], str(setting["init"]["kind"]))
                by_design.setdefault(design, stack)
        first.setdefault(tuple((stack, design) for design, stack in by_design.items()), run)
    chosen = runs.filter(pl.col("run").is_in(list(first.values())))
    _, _, labels = label_series(results, chosen, "")
    names = dict(labels.select("run", "series").iter_rows())
    return [
        (names[run] if len(designs) == 1 else f"{names[run]}, {stack}", design)
        for designs, run in first.items()
        for stack, design in designs
    ]
