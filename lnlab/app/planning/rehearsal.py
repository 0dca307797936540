"""Claims judged on made-up rows before anything is run: what the judge refuses then, it would refuse of real ones.

Of each variant one run is taken as finished, with a row for every number that the plan will measure. The sites of these
rows follow from the model, as probes state them. A quantity whose sites no probe states has one row a state, so that
its sites alone are left to the verdict.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.claims.claim import finding_of, reads_verdicts
from lnlab.claims.claim_scope import with_compared_reference
from lnlab.claims.order_chain import parse_order
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.quantity import SITE, quantity_facts
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions, parse_selection, selections_by_word, value_list
from lnlab.select.settings import NothingSelected
from lnlab.specfile.columns import COLUMNS, EVALUATIONS, RECORDED
from lnlab.specfile.expressions import named_expressions
from lnlab.store.plans import plan_frames
from lnlab.tables import Results, table_schema

if TYPE_CHECKING:
    from lnlab.app.planning.models import Places
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries

_Claim = Mapping[str, Any]
_MAX_SHOWN = 6
_FIRST_UPDATES = 40
"""Updates after which made-up training has records: enough for whatever is fitted to a curve."""
_STATE = ("run", "variant", "seed", "step")
_BINS = ((0.5, 1.0), (1.0, 2.0))
_OF_NUMBERS = frozenset(
    {
        "run",
        "variant",
        "status",
        "value",
        "left",
        "right",
        "count",
        "part",
        "draw",
        "node",
        "weight",
        "residual",
        "text",
    }
    | {"size", "squared_norm", "orthogonality_loss"}
)
"""Columns whose values only runs can give."""


@dataclass(frozen=True)
class Rehearsal:
    """Made-up rows of a plan.

    Attributes:
        results: with a finished run of every variant.
        unplaced: the quantities of which nobody says at which sites they will be.
    """

    results: Results
    unplaced: frozenset[str]

    def places_known(self, quantity: str) -> bool:
        """Whether it is known where a quantity will have rows: stored, derived or an expression."""
        facts = quantity_facts(quantity)
        if facts is None:
            return quantity not in self.unplaced
        if facts.parts:
            return all(map(self.places_known, facts.parts))
        # what a quantity of unknown origin is made of may be anywhere
        return (
            not self.unplaced if facts.of is None and facts.table is None else self.unplaced.isdisjoint(facts.of or ())
        )


def rehearse(plan: "Plan", claims: Sequence[_Claim], places: "Mapping[str, Places]", known: "Registries") -> Rehearsal:
    """Make up the rows that the plan will measure.

    Args:
        plan: of the runs that are judged.
        claims: every claim, resolved.
        places: by variant the places of what each probe measures in its model.
        known: the registries.
    """
    frames = plan_frames(plan)
    named = _whole([*_at(claims, "seed"), *_at(claims, "seeds")])
    runs = frames["runs"]
    # Of their first seeds, which variants share: two of one seed are then as ambiguous as they will be.
    taken = runs.sort("seed", maintain_order=True).unique("variant", keep="first", maintain_order=True)["run"]
    runs = runs.filter(pl.col("run").is_in(taken.implode()) | pl.col("seed").is_in(list(named)))
    no_reason = pl.lit(None, pl.String)
    runs = runs.with_columns(status=pl.lit("finished"), reason=no_reason, done="steps", seconds=pl.lit(1.0))
    states = frames["needs"].join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")

    texts = states["probe"].unique(maintain_order=True).to_list()
    choices = {text: json.loads(text) for text in texts}
    models: dict[int, list[str]] = {}  # variants of one structure share their places, the same object
    for variant in runs["variant"].unique(maintain_order=True):
        models.setdefault(id(places.get(variant)), []).append(variant)
    templates: dict[str, list[pl.DataFrame]] = {}
    of_model = []
    unplaced: set[str] = set()
    read = _stored_names(claims, plan.sections)
    for number, variants in enumerate(models.values()):
        of_model += [(variant, number) for variant in variants]
        placed = places.get(variants[0]) or {}
        for text, choice in choices.items():
            facts = known["probe"][choice["kind"]].facts
            rows, missing = _rows_of_probe(choice, facts, placed.get(text), read)
            unplaced |= missing
            if rows:
                table = pl.DataFrame(rows, schema=_columns(facts.table), orient="row")
                templates.setdefault(facts.table, []).append(
                    table.with_columns(probe=pl.lit(text), model=pl.lit(number))
                )
    numbered = pl.DataFrame(of_model, schema={"variant": pl.String, "model": pl.Int32}, orient="row")
    states = states.join(numbered, on="variant", maintain_order="left")
    tables = {}
    for name in ("sites", "curves", "lines", "spectra", "histograms", "texts"):
        columns = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64} | _columns(name)
        parts = [pl.DataFrame(schema=columns)]
        if name in templates:
            joined = states.join(pl.concat(templates[name]), on=["probe", "model"], maintain_order="left")
            parts.append(joined.select(*columns))
        if name == "curves":
            parts.append(_recorded(runs, _whole(_at(claims, "step"))).select(*columns))
        tables[name] = _with_values(pl.concat(parts), name)
    axes = frames["axes"].filter(pl.col("run").is_in(runs["run"].implode()))
    return Rehearsal(Results(runs, axes, {**tables, "needs": frames["needs"]}), frozenset(unplaced))


def _columns(table: str) -> dict[str, Any]:
    """The columns of a table behind those of the state."""
    schema: Mapping[str, Any] = table_schema(table)
    return {name: kind for name, kind in schema.items() if name not in ("trajectory", *_STATE)}


def _rows_of_probe(
    choice: Mapping[str, Any],
    facts: Any,
    placed: "Mapping[str, Sequence[Mapping[str, Json]]] | None",
    read: Collection[str] | None,
) -> tuple[list[dict[str, Json]], set[str]]:
    """What a probe has of a state, without values, and the quantities whose places are not known."""
    rows: list[dict[str, Json]] = []
    missing: set[str] = set()
    if choice["kind"] in EVALUATIONS:
        return [{"split": choice["split"], "quantity": name} for name in facts.quantities or ()], missing
    if facts.table == "spectra":
        of = {"operator": choice.get("operator", "hessian"), "scope": str(choice.get("scope", "all"))}
        nodes = {"weight": 1 / 3, "residual": 0.01, "size": 100, "squared_norm": 1.0, "orthogonality_loss": 0.0}
        parts = range(1, choice["parts"] + 1) if choice.get("parts") else (None,)
        places = product(parts, (1, 2), (-0.5, 0.5, 2.0))
        return [{**of, "part": part, "draw": draw, "node": node, **nodes} for part, draw, node in places], missing
    for name in facts.quantities or ():
        if read is not None and name not in read:
            continue
        if placed is None or name not in placed:
            missing.add(name)
        for place in (placed or {}).get(name, ({},)):
            row = {"quantity": name, **place}
            if facts.table == "histograms":
                rows += [{**row, "left": left, "right": right, "count": 10} for left, right in _BINS]
            elif facts.table == "lines" and name in missing:
                rows += [{**row, "x": x} for x in (0.5, 1.0)]
            else:
                rows.append(row)
    return rows, missing


def _stored_names(claims: Iterable[_Claim], sections: Iterable[Mapping[str, Json]]) -> set[str] | None:
    """The stored quantities that claims and expressions of sections are made of. None means that any may be."""
    names = {name for claim in claims for one in (claim, *(claim.get("requires") or ())) for name in _names(one)}
    names |= {name for section in sections for name in named_expressions(section)}
    stored: set[str] = set()
    for name in names:
        facts = quantity_facts(name)
        for part in (name,) if facts is None else facts.parts or (name,):
            of_part = quantity_facts(part)
            if of_part is not None and of_part.of is None and of_part.table is None:
                return None
            stored |= {part} if of_part is None else set(of_part.of or ())
    return stored


def _recorded(runs: pl.DataFrame, named: Collection[int]) -> pl.DataFrame:
    """The curves that training itself records."""
    steps = pl.DataFrame({"step": sorted({*range(1, _FIRST_UPDATES + 1), *named})}, schema={"step": pl.Int64})
    trained = runs.select("run", "variant", "seed", _end="steps").filter(pl.col("_end") > 0)
    at = trained.join(steps, how="cross").filter(pl.col("step").is_between(1, pl.col("_end")))
    at = pl.concat([at, trained.with_columns(step=pl.col("_end"))], how="diagonal_relaxed").unique(maintain_order=True)
    names = pl.DataFrame({"quantity": RECORDED}).with_columns(split=pl.lit("train"))
    empty = [
        pl.lit(None, kind).alias(name) for name, kind in _columns("curves").items() if name not in ("quantity", "split")
    ]
    return at.join(names, how="cross").with_columns(*empty)


def _with_values(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Positive values, no two alike. Losses fall from the entropy of the labels, as of a run that learns."""
    if "value" not in table.columns:
        return table
    noise = pl.struct(pl.all().exclude("value", "measurement")).hash(7) % 997 / 9970
    if name != "curves":
        return table.with_columns(value=1 + noise)
    level = pl.when(pl.col("quantity") == "unigram_entropy").then(4.0).otherwise(1 + 3 / (1 + pl.col("step")))
    epochs = pl.when(pl.col("quantity") == "epoch").then(pl.col("step") / 10.0)
    return table.with_columns(value=epochs.otherwise(level + noise))


def _at(value: Any, key: str) -> Iterator[Json]:
    """What stands at a key, at any depth, each of a list for itself."""
    if isinstance(value, Mapping):
        for word, one in value.items():
            yield from value_list(one) if word == key else _at(one, key)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _at(one, key)


def _whole(values: Iterable[Json]) -> set[int]:
    return {value for value in values if isinstance(value, int) and not isinstance(value, bool)}


def rehearsed_issues(rehearsal: Rehearsal, claims: Sequence[_Claim], *, absent: bool) -> list[Issue]:
    """Why claims could not be judged, whatever the numbers will be. The place of an issue is ``claims.<id>.<key>``.

    Args:
        rehearsal: of the runs that are judged.
        claims: every claim, resolved.
        absent: whether it is a mistake that no row is there: what a profile leaves without is none.
    """
    issues = []
    for claim in claims:
        if claim.get("of") is None or reads_verdicts(claim):
            continue
        issues += _issues_of(rehearsal, f"claims.{claim['id']}", claim, absent=absent)
        for number, required in enumerate(claim.get("requires") or ()):
            if required.get("of") is not None:
                test = {"id": claim["id"], "looks": claim.get("looks"), **required}
                issues += _issues_of(rehearsal, f"claims.{claim['id']}.requires.{number}", test, absent=absent)
    return issues


def _issues_of(rehearsal: Rehearsal, where: str, claim: _Claim, *, absent: bool) -> list[Issue]:
    """What the kind of a claim refuses, in the words of the selection that is the cause where there is one."""
    try:
        claim = with_compared_reference(claim)
        levels = parse_order(claim["order"])[0] if "order" in claim else []
    except LabError as error:
        return [replace(issue, place=f"{where}.{issue.where}") for issue in error.issues]
    if any(not _OF_NUMBERS.isdisjoint(selection) for selection in selections_by_word(claim).values()):
        return []
    known = all(map(rehearsal.places_known, _names(claim)))
    along_sites = {claim.get("over"), claim.get("along"), *(claim.get("each") or ())} & set(SITE)
    if not known and along_sites:  # whether there are several is left to the verdict
        return []
    judged = claim if known else _without_places(claim)
    try:
        finding = finding_of(judged, rehearsal.results)
    except NothingSelected as error:
        issues, empty = list(error.issues), True
    except LabError as error:
        issues, empty = list(error.issues), False
    else:
        if finding.verdict != "not testable here":
            return []
        issues, empty = [Issue("empty-selection", "of", finding.reason)], True
    if not known:  # which of several places is meant is left to the verdict
        issues = [issue for issue in issues if issue.code not in ("ambiguous", "duplicate") or " step (" in issue.what]
    needs = any(facts is not None and facts.needs for facts in map(quantity_facts, _names(claim)))
    if needs:  # numbers decide whether there is such a quantity, as in a run that learns
        issues = [issue for issue in issues if issue.code != "not-measured"]
    if (empty and not absent) or not issues:
        return []
    readings = list(_readings(where, judged, levels))
    found = {issue.what: issue for one in reversed(readings) if (issue := _issue_of(one, rehearsal.results))}
    return [*reversed(found.values())] or [_placed(issue, where, claim) for issue in issues]


def _placed(issue: Issue, where: str, claim: _Claim) -> Issue:
    """An issue of the judge below its claim: a key of a selection stands in it, and a path that varies in ``over``."""
    key = issue.where
    sides = [word for word in ("less_to", "less", "to", "of") if key in (claim.get(word) or {})]
    varied = [word for word in ("over", "along") if key and claim.get(word) == key]
    below = f"{sides[0]}.{key}" if sides else varied[0] if varied else key
    return replace(issue, place=f"{where}.{below}".rstrip("."))


def _names(claim: _Claim) -> list[str]:
    return [name for s in selections_by_word(claim).values() for name in parse_selection(s).names]


def _without_places(claim: _Claim) -> dict[str, Any]:
    """A claim without its conditions on sites, for quantities of which nobody knows where they are."""
    sides = {word: claim[word] for word in ("of", "to", "less", "less_to") if isinstance(claim.get(word), Mapping)}
    return {**claim, **{word: {k: v for k, v in side.items() if k not in SITE} for word, side in sides.items()}}


def section_issues(rehearsal: Rehearsal, sections: Sequence[Mapping[str, Json]]) -> list[Issue]:
    """Expressions of sections whose quantities share no site. The place of an issue is ``report.<number>.<key>``."""
    issues = []
    for number, section in enumerate(sections):
        key = "quantity" if isinstance(section.get("quantity"), str) else "of"
        for name in named_expressions(section):
            if rehearsal.places_known(name):
                selected = Selected(rehearsal.results, {"quantity": name})
                if selected.rows.is_empty():
                    issues.append(replace(selected.why_empty, place=f"report.{number}.{key}"))
    return issues


@dataclass(frozen=True)
class _Reading:
    """A selection that a claim, or what it requires, reads.

    Attributes:
        where: how messages name it: ``claims.<id>`` or ``claims.<id>.requires.0``.
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

    def issue(self, key: str, what: str, remedy: str) -> Issue:
        """An issue of the value of a key, or of the selection as a whole."""
        parameter = self.parameter if not key or key in self.changed else "of"
        return Issue("empty-selection", f"{self.where}.{parameter}.{key}".rstrip("."), what, remedy)


def _readings(where: str, claim: _Claim, levels: Sequence[Json]) -> Iterator[_Reading]:
    over, along = claim.get("over"), claim.get("along")
    of = {**claim["of"], over: list(levels)} if levels and over is not None else claim["of"]
    apart = [column for column in SITE if column in (over, along, *(claim.get("each") or ()))]
    # An exact bound holds of every number and a status of every run: neither needs a single site.
    single = not (claim.get("exact") or claim.get("status"))
    x = along if "order" in claim else over
    for word, selection in selections_by_word({**claim, "of": of}).items():
        yield _Reading(where, word, tuple(claim[word] or ()), selection, x=x, apart=apart, single=single)


def _issue_of(reading: _Reading, results: Results) -> Issue | None:
    """What is wrong with the rows that a selection takes: none of them, or several sites where one is needed."""
    path = [reading.x] if reading.x is not None and reading.x not in COLUMNS else []
    selected = Selected(results, reading.selection, columns=path)
    try:
        rows = selected.rows.drop_nulls([*path, *([reading.x] if reading.x in selected.rows.columns else [])])
    except LabError:  # the judge has said it
        return None
    if rows.is_empty() and not selected.rows.is_empty():
        what = f"no selected site has a {reading.x}"
        return Issue("no-effect", f"{reading.where}.over", what, "select sites that have one, or leave it out")
    if rows.is_empty():
        why = selected.why_empty
        if why.where in SITE and why.where in reading.selection:
            values = " or ".join(map(_text, value_list(reading.selection[why.where])))
            what = f"no site of '{reading.selection['quantity']}' has {why.where} = {values}"
            return reading.issue(why.where, what, why.remedy)
        if why.where == "step":
            values = " or ".join(map(_text, value_list(reading.selection["step"])))
            return reading.issue("step", f"no row has step = {values}", why.remedy)
        return reading.issue(why.where, why.what, why.remedy)
    kept = [column for column in (*_STATE, "split", "rule", "x") if column in rows.columns]
    site_key = [*dict.fromkeys([*kept, "quantity", *reading.apart])]
    several = rows.filter(pl.len().over(site_key) > 1)
    if several.is_empty() or not reading.single:
        return None
    first = several.join(several.head(1).select(site_key), on=site_key, nulls_equal=True, maintain_order="left")
    return _ambiguous(reading, first)


def _ambiguous(reading: _Reading, rows: pl.DataFrame) -> Issue:
    """The issue that several sites are left, with their differences and the conditions that would tell them apart."""
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
    return reading.issue("", what, f"add {', and '.join(choices)}")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)
