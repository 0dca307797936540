"""A number of whole runs against the learning rate: how wide the basin is, where its floor lies, and where runs end."""

from collections.abc import Mapping, Sequence

from lnlab.keys import Json
from lnlab.report.charts.axes import axis_at_values
from lnlab.report.data.basin_runs import BetterEnd, choices_sentences, judged_runs, tuning_runs
from lnlab.report.data.figure import estimate_headings
from lnlab.report.figures.basin import Basin, at_the_edge, basin_finding
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.words.quantity_words import axis_title, quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import MEDIAN_AND_RANGE
from lnlab.select.select import runs_with
from lnlab.tables import Results

_AXIS_NAMES = {"lr": "learning rate", "batch_sentences": "batch size"}


@sections.register("basin")
def basin(
    results: Results,
    decisions: Sequence[Mapping[str, Json]] = (),
    *,
    quantity: str = "final_nll",
    where: dict[str, Json] | None = None,
    over: str = "optimizer.lr",
    best: BetterEnd = "lowest",
) -> Section:
    """``median over seeds of the quantity at each learning rate``: runs as dots, and where runs diverged, how many.

    A run that diverged ranks worst. ``over`` may be another path of the setting; ``best`` says which end of the
    quantity is good. The heading says where the optimum lies, and whether that is an edge of the grid. Where ``over``
    was chosen on tuning seeds, the tuning runs are drawn, a line per decision, with the chosen value marked.

    Raises:
        ReportError: another quantity than ``final_nll`` of tuning runs.
    """
    selection = {"quantity": quantity, **(where or {})}
    runs = tuning_runs(decisions, results, selection, over) or judged_runs(results, selection, over, best)
    if runs.seeds.is_empty():
        return unmeasured(runs, quantity)
    leaf = over.rpartition(".")[2]
    name = _AXIS_NAMES.get(leaf, leaf.replace("_", " "))
    log = min(runs.points["x"]) > 0
    title = f"{name}{' η' if leaf == 'lr' else ''}{' (log scale)' if log else ''}"
    crosses = (
        f"Crosses at the {'top' if best == 'lowest' else 'bottom'}: number of diverged runs. They rank worst; where "
        "half of the runs diverged, no median is drawn."
    )
    shown = runs_with(results, where or {})
    notes = [] if runs.diverged.is_empty() else [crosses]
    notes.append(choices_sentences(decisions, results, shown, over, f"{name}s"))
    if not runs.chosen and (edges := at_the_edge(runs, best)):
        where_edge = "" if len(edges) == len(runs.names) else f" ({'; '.join(edges)})"
        notes.append(f"The best lies at the edge of the grid{where_edge}; a better one may lie beyond it.")
    return Basin(
        data=runs,
        # the counts of runs stand to the right of their crosses
        x=axis_at_values(title, runs.points["x"], log=log, right_margin=0.08),
        title=axis_title(quantity, where),
        best=best,
        statistic=MEDIAN_AND_RANGE,
        subject=f"{quantity_definition(quantity)} against the {name}. Dots: {runs.dots}",
        notes=tuple(notes),
        shows=f"Line chart of the {quantity_with_unit(quantity)}, against the {title}",
        finding=basin_finding(runs, name, best, quantity),
        headings={
            "series": "variant",
            "x": name,
            **estimate_headings(f"median {quantity_name(quantity)}", "lowest", "highest", "runs"),
        },
    ).section()
