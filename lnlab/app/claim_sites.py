"""Claims that read several sites of a probe where they need one, or none, reported before anything is computed.

The sites follow from the model, for probes that state the fact ``sites``. Selections are applied to rows of all these
sites that have no value yet, as they will be to measured rows. Whatever else a claim reads is left to its verdict.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.claims.order_chain import parse_order
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.quantity import SITE, named_parts, quantities
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions, parse_selection, selections_by_word, value_list
from lnlab.select.settings import NothingSelected
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.expressions import named_expressions
from lnlab.store.plans import plan_frames
from lnlab.tables import Results, frame

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.nn.sites import Site

    Sites = Mapping[str, tuple[Site, ...]]

_Claim = Mapping[str, Any]
STATE_COLUMNS = ("step", "seed")
"""Columns that distinguish states and never sites."""
_MAX_SHOWN = 6


@dataclass(frozen=True)
class _Reading:
    """A selection that a claim, or what it requires, reads.

    Attributes:
        where: how problems name it: ``claims.<id>`` or ``claims.<id>.requires.0``.
        parameter: of the claim, ``of`` or one that changes what ``of`` says (``lnlab.select.selection``).
        changed: the keys of that parameter.
        selection: all its conditions.
        x: the column or path along which it may have several numbers.
        apart: further columns of a site that distinguish its numbers.
        single: whether one number is needed per run and x.
    """

    where: str
    parameter: str
    changed: Collection[str]
    selection: Conditions
    x: str | None
    apart: Sequence[str]
    single: bool

    @property
    def conditions(self) -> Conditions:
        """The conditions except those on the state, which say nothing of sites."""
        return {key: condition for key, condition in self.selection.items() if key not in STATE_COLUMNS}

    @property
    def decidable(self) -> bool:
        """Whether sites and settings alone decide which rows are selected."""
        return {*self.selection, self.x} & set(COLUMNS) <= {"quantity", *SITE, *STATE_COLUMNS}

    def problem(self, key: str, what: str, remedy: str) -> Issue:
        """A problem with the value of a key, or with the selection as a whole."""
        parameter = self.parameter if not key or key in self.changed else "of"
        return Issue("empty-selection", f"{self.where}.{parameter}.{key}".rstrip("."), what, remedy)


def site_problems(plan: "Plan", claims: Sequence[_Claim], sites: "Mapping[str, Sites]", *, absent: bool) -> list[Issue]:
    """What is wrong with the sites that claims read. The place of a problem is ``claims.<id>.<key>``.

    Args:
        plan: of the runs that are judged.
        claims: every claim, resolved.
        sites: by variant those of its model, as ``sites_by_quantity``.
        absent: whether a selection that no site meets is a problem: what a profile leaves without is none.
    """
    all_problems: list[Issue] = []
    measured = set.intersection(*(set(variant_sites) for variant_sites in sites.values())) if sites else set()
    stated = measured - set(quantities.entries)
    results: Results | None = None
    statements: list[tuple[str, _Claim]] = []
    for claim in claims:
        where = f"claims.{claim['id']}"
        statements += [(where, claim)]
        statements += [(f"{where}.requires.{i}", required) for i, required in enumerate(claim.get("requires") or ())]
    for where, statement in statements:
        of, over, along = (statement.get(word) for word in ("of", "over", "along"))
        if of is None:
            continue
        try:  # an order reads the values that it names
            whole = {**of, over: parse_order(statement["order"])[0]} if "order" in statement else of
        except LabError as error:
            all_problems += [replace(problem, place=f"{where}.{problem.where}") for problem in error.issues]
            continue
        x = along if "order" in statement else over
        apart = [column for column in SITE if column in (over, along, *(statement.get("each") or ()))]
        # An exact bound holds of every number and a status of every run: neither needs a single site.
        single = not (statement.get("exact") or statement.get("status"))
        readings = [
            _Reading(where, word, tuple(statement[word] or ()), selection, x=x, apart=apart, single=single)
            for word, selection in selections_by_word({**statement, "of": whole}).items()
        ]
        problems_by_text: dict[str, Issue] = {}
        for reading in readings:
            names = parse_selection(reading.selection).names
            if reading.decidable and names and stated.issuperset(part for name in names for part in named_parts(name)):
                results = results or _unmeasured(plan, sites, stated)
                if problem := _problem(reading, results, absent=absent):
                    problems_by_text.setdefault(problem.what, problem)  # what 'of' leaves open, 'to' does too
        all_problems += problems_by_text.values()
    return all_problems


def section_site_problems(
    plan: "Plan", sections: Sequence[Mapping[str, Json]], sites: "Mapping[str, Sites]"
) -> list[Issue]:
    """Expressions of sections whose quantities share no site. The place of a problem is ``report.<number>.<key>``.

    Args:
        plan: of the runs that are judged.
        sections: every section, resolved.
        sites: by variant those of its model.
    """
    stated = set.intersection(*(set(variant_sites) for variant_sites in sites.values())) if sites else set()
    stated -= set(quantities.entries)
    problems = []
    for number, section in enumerate(sections):
        key = "quantity" if isinstance(section.get("quantity"), str) else "of"
        for name in named_expressions(section):
            if stated.issuperset(named_parts(name)):
                selected = Selected(_unmeasured(plan, sites, stated), {"quantity": name})
                if selected.rows.is_empty():
                    problems.append(replace(selected.why_empty, place=f"report.{number}.{key}"))
    return problems


def _unmeasured(plan: "Plan", sites: "Mapping[str, Sites]", named: Collection[str]) -> Results:
    """A run of every variant with a row for every site, without a value."""
    # Reversed, so that the first run of each variant is the one that stays.
    first = {run.variant: run for run in reversed(plan.runs)}
    tables = plan_frames(replace(plan, runs=tuple(first.values()), needs=()))
    models: dict[int, list[str]] = {}
    for variant, variant_sites in sites.items():
        # Variants of one structure share their sites, the same object: rows are made once for all of them.
        models.setdefault(id(variant_sites), []).append(variant)
    runs = tables["runs"]
    parts = [frame("sites", []).drop("measurement")]
    for variants in models.values():
        model_sites = sites[variants[0]].items()
        rows = [
            {"quantity": name, **site.row()}
            for name, quantity_sites in model_sites
            if name in named
            for site in quantity_sites
        ]
        run_rows = runs.filter(pl.col("variant").is_in(variants)).select("run", "variant", "seed", step=pl.lit(0))
        parts.append(run_rows.join(frame("sites", rows).drop("measurement"), how="cross"))
    return Results(runs, tables["axes"], {"sites": pl.concat(parts, how="diagonal")})


def _problem(reading: _Reading, results: Results, *, absent: bool) -> Issue | None:
    """What is wrong with the sites that a selection takes: none of them, or several where one is needed."""
    path = [reading.x] if reading.x is not None and reading.x not in COLUMNS else []
    selected = Selected(results, reading.conditions, columns=path)
    try:
        rows = selected.rows.drop_nulls([*path, *([reading.x] if reading.x in SITE else [])])
    except NothingSelected:  # no setting of these runs has the path
        return None
    if rows.is_empty() and not absent:
        return None
    if rows.is_empty() and not selected.rows.is_empty():
        what = f"no selected site has a {reading.x}"
        return Issue("no-effect", f"{reading.where}.over", what, "select sites that have one, or leave it out")
    if rows.is_empty():
        why = selected.why_empty
        if why.where == "quantity":  # quantities of an expression that have no site in common
            return reading.problem("quantity", why.what, why.remedy)
        values = " or ".join(map(_text, value_list(reading.conditions[why.where])))
        what = f"no site of '{reading.selection['quantity']}' has {why.where} = {values}"
        return reading.problem(why.where, what, why.remedy)
    site_key = ["variant", "quantity", *reading.apart]
    several = rows.filter(pl.len().over(site_key) > 1)
    if several.is_empty() or not reading.single:
        return None
    first = several.join(several.head(1).select(site_key), on=site_key, nulls_equal=True, maintain_order="left")
    return _ambiguous(reading, first)


def _ambiguous(reading: _Reading, rows: pl.DataFrame) -> Issue:
    """The problem that several sites are left, with their differences and the conditions that would tell them apart."""
    differing = [column for column in SITE if rows[column].n_unique() > 1]
    values = {column: rows[column].unique(maintain_order=True).to_list() for column in differing}
    shown = {column: [_text(v) for v in distinct[:_MAX_SHOWN]] for column, distinct in values.items()}
    more = {column: ["..."] if len(distinct) > _MAX_SHOWN else [] for column, distinct in values.items()}
    differences = "; ".join(f"{column} ({', '.join([*texts, *more[column]])})" for column, texts in shown.items())
    places = ", ".join(f"{column} {_text(rows[column][0])}" for column in reading.apart)
    what = f"leaves {rows.height} sites{f' at {places}' if places else ''}: {differences}"
    # A column without which the sites still differ is left out, so that the remedy is short.
    distinguishing = list(differing)
    for column in differing:
        without_column = [other for other in distinguishing if other != column]
        if without_column and rows.select(without_column).is_unique().all():
            distinguishing = without_column
    choices = (" or ".join(f"{column}: {text}" for text in shown[column]) for column in distinguishing)
    return reading.problem("", what, f"add {', and '.join(choices)}")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)
