"""The sections of a page whose author wrote none: what the claims are about first, then training, then the probes.

a claim about the spectrum of a matrix:                its density, at each step that was measured
a claim about a loss, or where a run ends:             its curves
a claim over a size of the model:                      the quantity against that size
a claim about what several layers have:                the quantity along the layers
any other claim:                                       a table, by the axes that vary
training runs on a grid of learning rates:             a table of how many seeds converge at each
training runs:                                         the curves of their validation loss
runs recorded or tabulated elsewhere:                  the curves of each of their quantities
each probe:                                            the same by what it measured, place by place

Where a spec names probes, it asks about them: they come before the losses, which keep their place on the page. Runs
that lnlab has not trained begin with their curves, of which none is left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from lnlab.analyse.quantities.rates import RATE_PATH
from lnlab.claims.claim import Claim, Verdict
from lnlab.errors import LabError
from lnlab.keys import Json, canonical
from lnlab.report.compose import build_parts
from lnlab.report.facts import ReportFacts
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.words.path_names import site_name
from lnlab.report.words.quantity_words import quantity_name, using_words
from lnlab.report.words.wording import axis_value_name, moment_in_words
from lnlab.select.quantity import quantity_facts
from lnlab.select.select import select_measured_rows
from lnlab.specfile.columns import CURVES_OF_TRAINING
from lnlab.specfile.values import value_label
from lnlab.tables import Results

MOST_SECTIONS = 12
"""The most sections of a page whose author wrote none, but for the numbers of a table from elsewhere."""
_FEWEST_LAYERS = 2
_FEWEST_SIZES = 3
_FEWEST_RATES = 3
_FINAL = "final_"
_PLACE = ("stack", "sublayer", "tensor", "index", "split")
"""Keys of a claim's selection that say where, and not which runs."""


@dataclass
class _Candidate:
    """A section before it is known whether it can be drawn, and the claims that stand beside it."""

    section: dict[str, Json]
    claims: list[str]


def with_default_sections(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict], claims: Sequence[Claim]
) -> ReportFacts:
    """The facts with sections of the claims and of what was measured, where the author wrote none."""
    if facts.sections:
        return facts
    chosen: list[dict[str, Json]] = []
    with using_words(facts.words):
        candidates = list(_candidates(results, claims, asks_probes=bool(facts.probes)))
    room, tabulated = MOST_SECTIONS, set(results.tables["curves"]["quantity"])
    for candidate in candidates:
        free = not _is_of_lnlab(results) and candidate.section.get("quantity") in tabulated
        if not (room or free):
            continue
        section = {"title": None, "heading": None, "claims": candidate.claims, **candidate.section}
        resolved = FRAME_REGISTRIES["section"].resolve({k: v for k, v in candidate.section.items() if k != "title"})
        whole = {**resolved, **{name: section[name] for name in ("title", "heading", "claims")}}
        # whether there is something to draw is known by drawing it
        parts = build_parts(replace(facts, sections=(whole,)), results, verdicts)
        if parts and not parts[0].error:
            chosen.append(whole)
            room -= not free
    return replace(facts, sections=tuple(chosen))


def _candidates(results: Results, claims: Sequence[Claim], *, asks_probes: bool) -> list[_Candidate]:
    """Every section once, in the order in which it is first asked for. Claims that ask for one section share it."""
    candidates: dict[str, _Candidate] = {}
    for claim in claims:
        for section in _sections_of_claim(results, claim):
            candidate = candidates.setdefault(canonical(section), _Candidate(section, []))
            candidate.claims += [claim["id"]] if claim["id"] not in candidate.claims else []
    grids: list[dict[str, Json]] = []
    losses: list[dict[str, Json]] = []
    if not _is_of_lnlab(results):
        losses += table_sections(results)
    elif not results.runs.filter(pl.col("steps") > 0).is_empty():
        losses += _curves(results, "nll", None)
        if _levels(results, RATE_PATH) >= _FEWEST_RATES:
            # what can be learned is known where the entropy of the words was recorded
            learned = (results.tables["curves"]["quantity"] == "unigram_entropy").any()
            where = {"rule": "learned" if learned else "stable", "split": "train"}
            title = "Learning rates at which the runs converge"
            others = [axis for axis in _varying_axes(results) if axis != RATE_PATH]
            columns = (*others[:1], "quantity")[0]
            table = {"kind": "table", "quantity": "converged", "rows": RATE_PATH, "columns": columns}
            for shared in _combinations(results, others[1:]):
                grids.append({**table, "where": {**where, **shared}, "title": _title_of(title, shared)})
    of_quantities = [list(_densities(results))]
    of_quantities += [list(_places(results, quantity)) for quantity in _first_quantities(results, "sites")]
    for quantity in _first_quantities(results, "histograms"):
        of_quantities.append([{"kind": "histogram", "quantity": quantity, "title": _title(quantity, {})}])
    room = max(1, MOST_SECTIONS - len(candidates) - len(grids) - (len(losses) if _is_of_lnlab(results) else 0))
    # where there is no room for all, each quantity has its first places
    turns = sorted((turn, i) for i, group in enumerate(of_quantities) for turn in range(len(group)))[:room]
    probed = [of_quantities[i][turn] for i, turn in sorted((i, turn) for turn, i in turns)]
    asks_probes = asks_probes and _is_of_lnlab(results)
    for section in [*grids, *probed, *losses] if asks_probes else [*grids, *losses, *probed]:
        candidates.setdefault(canonical(section), _Candidate(section, []))
    return list(candidates.values())


def _sections_of_claim(results: Results, claim: Claim) -> Iterator[dict[str, Json]]:
    of = claim.get("of") or {}
    quantity = of.get("quantity")
    if not isinstance(quantity, str):
        return
    derived = quantity_facts(quantity)
    if derived is not None and derived.table == "spectra":
        yield from _densities(results)
        return
    course = quantity.removeprefix(_FINAL)
    if course in results.tables["curves"]["quantity"] and not _is_of_lnlab(results):
        yield from table_sections(results, [course])
        return
    if course in CURVES_OF_TRAINING:
        yield from _curves(results, course, of.get("split"))
        return
    where = {name: of[name] for name in _PLACE if name in of}
    try:
        rows = select_measured_rows(results, {"quantity": quantity, **where})
    except LabError:
        return
    over = claim.get("over")
    if isinstance(over, str) and _levels(results, over) >= _FEWEST_SIZES:
        if isinstance(of.get("layer"), str | int):
            where["layer"] = of["layer"]
        yield from _at_steps(rows, {"kind": "size_plot", "quantity": quantity, "x": over}, where)
    elif rows["layer"].n_unique() >= _FEWEST_LAYERS:
        yield from _at_steps(rows, {"kind": "depth_profile", "quantity": quantity, "scale": _scale(rows)}, where)
    elif axes := _varying_axes(results):  # by the first two axes that vary; of a single one by training step
        section = {"kind": "table", "quantity": quantity, "rows": axes[0], "columns": (*axes[1:2], "step")[0]}
        yield {**section, **({"where": dict(where)} if where else {}), "title": _title(quantity, where)}


def _is_of_lnlab(results: Results) -> bool:
    """Whether lnlab has trained or measured: of a table from elsewhere there are curves alone, and no word loss."""
    curves = results.tables["curves"]
    return "nll" in curves["quantity"] or curves.is_empty()


def table_sections(results: Results, quantities: Sequence[str] | None = None) -> Iterator[dict[str, Json]]:
    """A section for each quantity and split of a table from elsewhere: its curves, or its means where no step is.

    Means stand by the first two axes that vary, in a table for each combination of the values of others.
    A loss comes first. What is the same in all runs, as their learning rate may be, is left out unless it is named.
    """
    curves = results.tables["curves"]
    found = curves.select("quantity", "split").unique(maintain_order=True)
    axis, axes = _common_axis(results), _varying_axes(results)
    for quantity, split in found.sort(pl.col("quantity") != "loss", maintain_order=True).rows():
        rows = curves.filter(pl.col("quantity") == quantity, pl.col("split") == split)
        alike = rows.group_by("step").agg(pl.col("value").n_unique())["value"].max() == 1
        if (alike and results.runs.height > 1) if quantities is None else quantity not in quantities:
            continue
        several = found.filter(pl.col("quantity") == quantity).height > 1
        title = _title(quantity, {}, split if several else "")
        where = {"split": split} if several else {}
        if rows["step"].n_unique() > 1:
            yield {"kind": "curves", "quantity": quantity, "title": title, **({"where": where} if where else {})}
            continue
        table = {"kind": "table", "quantity": quantity, "rows": axis, "columns": (*axes[1:2], "quantity")[0]}
        for shared in _combinations(results, axes[2:]):
            conditions = {**where, **shared}
            yield {**table, "title": _title_of(title, shared), **({"where": conditions} if conditions else {})}


def _curves(results: Results, quantity: str, split: Json) -> Iterator[dict[str, Json]]:
    """The course of a loss or another quantity of training: of the split that is named, else where it is validated."""
    splits = results.tables["curves"].filter(pl.col("quantity") == quantity)["split"].unique().to_list()
    named = split if split in splits else "validation" if "validation" in splits else next(iter(sorted(splits)), None)
    if named is not None:
        yield {"kind": "curves", "quantity": quantity, "where": {"split": named}, "title": _title(quantity, {})}


def _first_quantities(results: Results, table: str) -> list[str]:
    """The first quantity of each measurement, which is the one that its probe is named for."""
    if table not in results.tables:
        return []
    firsts = results.tables[table].group_by("measurement", maintain_order=True).agg(pl.col("quantity").first())
    return firsts["quantity"].unique(maintain_order=True).to_list()


def _densities(results: Results) -> Iterator[dict[str, Json]]:
    """The spectrum of each matrix, at the first and at the last of its steps."""
    if "spectra" not in results.tables:
        return
    spectra = results.tables["spectra"]
    for operator, scope in spectra.select("operator", "scope").unique(maintain_order=True).rows():
        rows = spectra.filter(pl.col("operator") == operator, pl.col("scope") == scope)
        yield from _at_steps(rows, {"kind": "spectral_density", "operator": operator, "scope": scope}, {})


def _places(results: Results, quantity: str) -> Iterator[dict[str, Json]]:
    """A profile for each sublayer that several layers have, and tables of what stands in no layer."""
    rows = results.tables["sites"].filter(pl.col("quantity") == quantity)
    layered = pl.col("layer").is_not_null()
    for (stack, sublayer), of_place in rows.filter(layered).group_by("stack", "sublayer", maintain_order=True):
        if of_place["layer"].n_unique() >= _FEWEST_LAYERS:
            profile = {"kind": "depth_profile", "quantity": quantity, "scale": _scale(rows)}
            yield from _at_steps(of_place, profile, {"stack": stack, "sublayer": sublayer})
    alone = rows.filter(~layered)
    shared, listed = "tensor", "sublayer"
    # a row for each of what there are more of
    if alone["tensor"].n_unique() > alone["sublayer"].n_unique():
        shared, listed = listed, shared
    axis = _common_axis(results)
    for stack, place in alone.select("stack", shared).unique(maintain_order=True).rows():
        of_place = alone.filter(pl.col("stack").eq_missing(stack), pl.col(shared).eq_missing(place))
        # A number of the whole model stands in no place that a row could be named by.
        row = "quantity" if of_place[listed].null_count() == of_place.height else listed
        where = {"layer": None, "stack": stack, shared: place}
        if row == "quantity" and of_place["step"].n_unique() >= _FEWEST_SIZES:
            course = {"kind": "depth_profile", "quantity": quantity, "x": "step", "where": where}
            yield {**course, "title": _title(quantity, where)}
            continue
        table = {"kind": "table", "quantity": quantity, "rows": row, "columns": axis}
        yield from _at_steps(alone, table, where)


def _at_steps(rows: pl.DataFrame, section: dict[str, Json], where: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """The section at the first and at the last step of the rows, or once if they have one step."""
    steps = sorted(rows["step"].unique())
    quantity = section.get("quantity") or "spectrum"
    for step in dict.fromkeys((steps[0], steps[-1])) if steps else ():
        conditions = {**where, **({"step": step} if len(steps) > 1 else {})}
        moment = "" if len(steps) == 1 else moment_in_words(step)
        yield {**section, **({"where": conditions} if conditions else {}), "title": _title(quantity, where, moment)}


def _title(quantity: str, where: Mapping[str, Json], moment: str = "") -> str:
    """``Gradient norm, decoder feed-forward network w2, before training``."""
    place = " ".join(site_name(str(where[name])) for name in ("stack", "sublayer", "tensor") if where.get(name))
    text = ", ".join(filter(None, (quantity_name(quantity), place, moment)))
    return text[:1].upper() + text[1:]


def _title_of(title: str, shared: Mapping[str, Json]) -> str:
    """A title and what all of a section share: ``Loss, Post-LN``."""
    return ", ".join([title, *(axis_value_name(path, value, value_label(value)) for path, value in shared.items())])


def _scale(rows: pl.DataFrame) -> str:
    return "log" if (rows["value"] > 0).all() else "linear"


def _varying_axes(results: Results) -> list[str]:
    counts = results.axes.group_by("axis", maintain_order=True).agg(pl.col("value").n_unique())
    return counts.filter(pl.col("value") > 1)["axis"].to_list()


def _common_axis(results: Results) -> str:
    """An axis of every table: the first that varies, else any, else the training step."""
    return next(iter([*_varying_axes(results), *results.axes["axis"]]), "step")


def _combinations(results: Results, axes: Sequence[str]) -> list[dict[str, Json]]:
    """The values that runs have at some axes, each combination once, in the order of the runs."""
    of_run: dict[str, dict[str, Json]] = {run: {} for run in results.runs["run"]}
    for run, axis, value in results.axes.select("run", "axis", "value").iter_rows():
        of_run[run] |= {axis: json.loads(value)} if axis in axes else {}
    return list({canonical(values): values for values in of_run.values()}.values())


def _levels(results: Results, axis: str) -> int:
    """How many numbers an axis has."""
    return int(results.axes.filter(pl.col("axis") == axis)["number"].drop_nulls().n_unique())
