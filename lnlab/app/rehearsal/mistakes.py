"""Claims and sections judged on made-up rows before anything is run: what the judge refuses of them, it always would.

The sites of these rows follow from the models (``lnlab.app.rehearsal.made_up_rows``). Where those of a quantity are not
known, as of every probe where torch is absent, conditions on sites are held to the words that sites have, and which of
several sites is meant is left to the verdict. All else is judged as ever.

Paths of issues begin with ``claims.<id>`` and ``report.<number>``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from lnlab.app.rehearsal.made_up_rows import Claim, Rehearsal, quantities_of, statements
from lnlab.claims.claim import finding_of, reads_verdicts
from lnlab.claims.claim_scope import with_compared_reference
from lnlab.claims.order_chain import parse_order
from lnlab.claims.sample import BY_RULE
from lnlab.errors import LabError, listed, nearest, sites_left_out
from lnlab.issues import Issue, Where
from lnlab.keys import Json, canonical
from lnlab.select.quantity import SITE, quantity_fact, quantity_facts
from lnlab.select.references import reference_mistakes
from lnlab.select.rows import reference_of
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions, Selection, parse_selection, selections_by_word, value_list
from lnlab.select.settings import settings_of
from lnlab.specfile.columns import COLUMNS, CURVES_OF_TRAINING, LAYER_ENDS, TIMES, VOCABULARY
from lnlab.specfile.expressions import UNREADABLE, Expression, expression_of
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.values import kind_label

_MAX_SHOWN = 6
_STATE = ("run", "variant", "seed", "step")
_PATHS = ("over", "along", "rows", "columns", "panels", "lines")
"""Parameters that name a path of the setting or a column."""
_OF_NUMBERS = frozenset(
    {"run", "variant", "status", "value", "left", "right", "count", "part", "draw", "node", "weight", "residual"}
    | {"text", "size", "squared_norm", "orthogonality_loss"}
)
"""Columns whose values only runs can give."""


def mistakes_in_claim(rehearsal: Rehearsal, claim: Claim, seeds: Sequence[int]) -> tuple[list[Issue], bool]:
    """Why a claim could not be judged, whatever the numbers will be, and whether its seeds are too few by rule.

    Args:
        rehearsal: of the runs that are judged.
        claim: resolved.
        seeds: on which it will be judged.
    """
    if claim.get("of") is None or reads_verdicts(claim):
        return [], False
    too_few = False
    issues: list[Issue] = []
    for number, statement in enumerate(statements(claim)):
        where: Where = ("requires", number - 1) if number else ()
        found, few = _mistakes_in_statement(rehearsal, statement, seeds)
        issues += [issue.below("claims", claim["id"], *where) for issue in found]
        too_few = too_few or few
    return issues, too_few


def _mistakes_in_statement(rehearsal: Rehearsal, claim: Claim, seeds: Sequence[int]) -> tuple[list[Issue], bool]:
    if issues := _unknown_paths(rehearsal, claim):
        return issues, False  # what a selection leaves cannot be told while an axis is misspelt
    try:
        levels = parse_order(claim["order"])[0] if "order" in claim else []
        complete = with_compared_reference(claim)
    except LabError as error:
        return [_as_path(issue) for issue in error.issues], False
    readings = list(_readings(claim, levels))
    issues = [
        replace(issue, place=reading.place(issue.path))
        for reading in readings
        for issue in _mistakes_in_selection(rehearsal, reading.selection)
    ]
    if issues:
        return list(dict.fromkeys(issues)), False
    if any(not _OF_NUMBERS.isdisjoint(reading.selection) for reading in readings):
        return [], False
    return _judged(rehearsal, complete, readings, seeds)


def _judged(
    rehearsal: Rehearsal, claim: Claim, readings: Sequence["_Reading"], seeds: Sequence[int]
) -> tuple[list[Issue], bool]:
    """What the kind of a claim refuses, in the words of the selection that is the cause where there is one."""
    names = quantities_of(claim)
    known = all(map(rehearsal.places_known, names))
    along_sites = {claim.get("over"), claim.get("along"), *(claim.get("each") or ())} & set(SITE)
    if not known and along_sites:  # whether there are several is left to the verdict
        return [], False
    judged = claim if known else _without_sites(claim)
    try:
        finding = finding_of(judged, rehearsal.judged_on(judged, seeds))
        # A small model has the layers that it has: a trend over them is no mistake, and its page says what it lacks.
        if finding.unfit and (claim["kind"] != "trend" or claim["over"] not in COLUMNS):
            return [Issue("wrong-length", ("over",), finding.reason, f"select more values of {claim['over']}")], False
        if finding.verdict == "undecided" and not finding.tested and BY_RULE not in finding.reason and known:
            gaps = [gap for reading in readings if (gap := _gap(rehearsal, reading))]
            return list(dict.fromkeys(gaps))[:1], False
        if finding.verdict != "not testable here":
            return [], BY_RULE in finding.reason
        issues = [Issue("empty-selection", ("of",), finding.reason)]
    except LabError as error:
        issues = list(error.issues)
    # Numbers decide whether there is a quantity that needs something, as a run that learns.
    if not rehearsal.complete or any(facts is not None and facts.needs for facts in map(quantity_facts, names)):
        issues = [issue for issue in issues if issue.code not in ("not-measured", "empty-selection")]
    found = [issue for reading in readings if issues and (issue := _cause(rehearsal, reading, known=known))]
    causes = {issue.what: issue for issue in reversed(found)}  # what is wrong with ``of`` is wrong with ``to``
    if not known:  # which of several places is meant is left to the verdict
        issues = [issue for issue in issues if issue.code not in ("ambiguous", "duplicate") or " step (" in issue.what]
    return [*reversed(causes.values())] or [_placed(issue, claim) for issue in issues], False


def mistakes_in_section(rehearsal: Rehearsal, section: Mapping[str, Any], implied: Collection[str]) -> list[Issue]:
    """What a section selects and nothing has. Paths of issues are those of the section.

    Args:
        rehearsal: of the runs that are drawn.
        section: resolved.
        implied: derived quantities that it shows without naming them.
    """
    if issues := _unknown_paths(rehearsal, section):
        return issues
    if isinstance(section.get("of"), Mapping):
        issues = [
            replace(issue, place=reading.place(issue.path))
            for reading in _readings(section, [])
            for issue in _mistakes_in_selection(rehearsal, reading.selection, implied, drawn=True)
        ]
        return list(dict.fromkeys(issues))
    shared = section.get("where") or {}
    named = [
        (word, name)
        for word in ("quantity", "numbers", "closed_form")
        for name in value_list(section.get(word))
        if isinstance(name, str)
    ]
    if not any(word != "closed_form" for word, _ in named):
        issues += [issue.below("where") for issue in _mistakes_in_selection(rehearsal, shared, implied, drawn=True)]
    for word, name in named:
        others = [other for _, other in named if other != name]
        selection = {**shared, "quantity": name}
        for issue in _mistakes_in_selection(rehearsal, selection, (*implied, *others), drawn=True):
            own = issue.path[:1] == ("quantity",)
            issues.append(replace(issue, place=(word, *issue.path[1:]) if own else ("where", *issue.path)))
    return list(dict.fromkeys(issues))


def _unknown_paths(rehearsal: Rehearsal, choice: Mapping[str, Any]) -> list[Issue]:
    """The axes that a claim or section names and no run has."""
    named = {word: choice[word] for word in _PATHS if isinstance(choice.get(word), str)}
    if isinstance(choice.get("x"), str) and "." in choice["x"]:  # without a dot it may be a quantity, or the epoch
        named["x"] = choice["x"]
    unknown = {word: path for word, path in named.items() if path not in COLUMNS and not rehearsal.variants.has(path)}
    return [replace(rehearsal.variants.unknown_path(path), place=(word,)) for word, path in unknown.items()]


def _mistakes_in_selection(
    rehearsal: Rehearsal, conditions: Conditions, implied: Collection[str] = (), *, drawn: bool = False
) -> list[Issue]:
    """Everything that a selection names and no row has, or why nothing has all of it. Paths begin with its keys.

    Args:
        rehearsal: of the runs.
        conditions: the selection.
        implied: further quantities that are read.
        drawn: whether it is that of a section. Sections share lists of sites and steps, of which some may be missing.
    """
    selection = parse_selection(conditions)
    issues = [_chosen(rehearsal, path) for path in selection.setting if path in rehearsal.chosen]
    issues += rehearsal.variants.mistakes({k: v for k, v in selection.setting.items() if k not in rehearsal.chosen})
    relative = [name for name in (*selection.names, *implied) if quantity_fact({"quantity": name}, "reference")]
    if REFERENCE in conditions:
        issues += reference_mistakes(rehearsal.variants, conditions[REFERENCE])
        # A misspelt quantity, which is told as that, needs no reference either.
        if not (relative or any(_mistakes_in_quantity(rehearsal, name, selection) for name in selection.names)):
            what = "nothing selected is measured against a reference"
            issues.append(Issue("empty-selection", (REFERENCE,), what, "leave it out"))
    if issues:
        return issues
    for name in selection.names:
        issues += _mistakes_in_quantity(rehearsal, name, selection)
    try:
        return issues or _mistakes_in_columns(rehearsal, selection, drawn=drawn) or _whole(rehearsal, selection)
    except LabError as error:  # an expression whose quantities meet nowhere, or without its reference
        return [_as_path(issue) for issue in error.issues]


def _chosen(rehearsal: Rehearsal, path: str) -> Issue:
    known = ", ".join(kind_label(value) for value, _ in rehearsal.variants.at(TIMES))
    what = "is chosen on tuning seeds and not known before"
    return Issue("no-effect", (path,), what, f"leave it out, or write {TIMES}: what was chosen times {known}")


def _mistakes_in_quantity(rehearsal: Rehearsal, name: str, selection: Selection) -> list[Issue]:
    """Whether a quantity is there at all, and its selection can be met by it."""
    if name.startswith(UNREADABLE):
        return []
    if expression := expression_of(name):
        return _mistakes_in_expression(rehearsal, expression, selection)
    facts = quantity_facts(name)
    if facts is not None and facts.over:
        if facts.over in selection.setting:
            return [Issue("no-effect", (facts.over,), f"'{name}' is taken over it", "leave it out")]
        taken = rehearsal.variants.selected(selection.setting)
        if sum(bool(members & taken) for _, members in rehearsal.variants.at(facts.over)) < 2:
            what = f"'{name}' is taken over {facts.over}, of which these runs have not two values"
            return [Issue("empty-selection", ("quantity",), what, f"sweep {facts.over}")]
    if not rehearsal.complete or (facts is not None and facts.needs):
        return []
    try:
        if not rehearsal.rows_of(name, reference_of({**selection.written, "quantity": name})).is_empty():
            return []
    except LabError as error:
        return [_as_path(issue) for issue in error.issues]
    return [Issue("empty-selection", ("quantity",), f"no row has quantity = {name}", _where_from(rehearsal, name))]


def _mistakes_in_expression(rehearsal: Rehearsal, expression: Expression, selection: Selection) -> list[Issue]:
    """What is wrong with an expression: what it is made of, one of its quantities, or a condition on it."""
    facts = {name: quantity_facts(name) for name in expression.quantities}
    over = {name: of.over if of is not None else None for name, of in facts.items()}
    if len(set(over.values())) > 1:
        grid = next(name for name, path in over.items() if path)
        run = next(name for name, path in over.items() if path != over[grid])
        what = f"'{grid}' is one number of all runs that differ in {over[grid]}, and '{run}' is not"
        return [Issue("conflict", ("quantity", "expr", grid), what, "take quantities of the same runs")]
    against = {name: of.reference for name, of in facts.items() if of is not None and of.reference}
    if len(kinds := set(against.values())) > 1:
        what = f"its quantities are measured against two references, {' and '.join(sorted(kinds))}"
        return [Issue("conflict", ("quantity", "expr", next(iter(against))), what, "write two claims")]
    issues = []
    shared = {key: value for key, value in selection.written.items() if key == REFERENCE}
    for operand in expression.operands:
        one = parse_selection({**shared, "quantity": operand.quantity, **dict(operand.pins)})
        found = _mistakes_in_quantity(rehearsal, operand.quantity, one)
        issues += [replace(issue, place=("quantity", "expr", operand.quantity)) for issue in found]
        pinned = _mistakes_in_columns(rehearsal, one, drawn=False) if operand.pins and not found else []
        issues += [replace(issue, place=("quantity", "expr", *issue.path)) for issue in pinned]
    if not (issues or expression.unit):
        what = "an expression needs a unit"
        issues.append(Issue("missing", ("quantity",), what, "write {expr: ..., unit: ...}, such as unit: ratio"))
    return issues


def _where_from(rehearsal: Rehearsal, name: str) -> str:
    """What to do to measure a quantity, or what there is in its place."""
    probes, facts = rehearsal.known["probe"], quantity_facts(name)
    parts = (name,) if facts is None else facts.of or ()
    missing = [part for part in parts if rehearsal.rows_of(part).is_empty()]
    if kinds := dict.fromkeys(p.name for part in missing for p in probes if part in (p.facts.quantities or ())):
        trains = not CURVES_OF_TRAINING.isdisjoint(missing)
        return "give the runs updates (train.steps)" if trains else f"add the probe {' or '.join(kinds)}"
    if facts is not None:
        return "give the runs updates (train.steps)" if facts.trained else "measure what it is derived from"
    stored = {
        str(one)
        for table in rehearsal.results.tables.values()
        if "quantity" in table.columns
        for one in table["quantity"].unique()
    }
    return nearest(name, stored | set(rehearsal.known["quantity"].entries))


def _mistakes_in_columns(rehearsal: Rehearsal, selection: Selection, *, drawn: bool) -> list[Issue]:
    """The values of columns that no row of these quantities has."""
    issues = []
    placed = all(map(rehearsal.places_known, selection.names))
    frames = _frames(rehearsal, selection)
    for key, condition in selection.rows.items():
        if key == "quantity" or key in _OF_NUMBERS:
            continue
        if drawn and not selection.names and not any(key in rows.columns for rows in frames):
            continue  # of a quantity that the section makes itself, as the rule of a table of convergence
        if condition == []:
            issues.append(Issue("wrong-type", (key,), "found []", "give at least one value, or leave the key out"))
        values = value_list(condition)
        if drawn and not any(map(partial(_is_no_word_of, key), values)):
            values = [condition]
        for value in values:
            if value is None or value == [None]:
                continue
            if key == "seed":
                absent = not set(value_list(value)) & set(rehearsal.seeds)
            elif not frames or (key in SITE and not placed):  # where there are any is not known
                absent = any(_is_no_word_of(key, one) for one in value_list(value)) and not rehearsal.variants.own_sites
            else:
                absent = not any(rehearsal.has_row(rows, key, value) for rows in frames)
            if absent:
                what = f"no row has {key} = {kind_label(value)}"
                issues.append(Issue("empty-selection", (key,), what, _there_is(rehearsal, frames, key, value, placed)))
    return issues


def _frames(rehearsal: Rehearsal, selection: Selection) -> list[pl.DataFrame]:
    """The rows of each quantity of a selection that has some, and of all where it names none."""
    if not selection.names:
        return [rehearsal.all_rows]
    reference = reference_of(selection.written) if quantity_fact(selection.written, "reference") else None
    relative = {name: quantity_fact({"quantity": name}, "reference") for name in selection.names}
    frames = [rehearsal.rows_of(name, reference if relative[name] else None) for name in selection.names]
    return [rows for rows in frames if rows.height]


def _is_no_word_of(key: str, value: Json) -> bool:
    """Whether no model has a site with this word."""
    if key == "layer":
        number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return not number and value not in LAYER_ENDS
    return key in VOCABULARY and value not in VOCABULARY[key]


def _there_is(rehearsal: Rehearsal, frames: Sequence[pl.DataFrame], key: str, value: Json, placed: bool) -> str:
    """The values that a column has, the likeliest first."""
    if key in SITE and not placed:
        words = {str(word) for word in (*VOCABULARY.get(key, ()), *(LAYER_ENDS if key == "layer" else ()))}
    elif key == "seed":
        return f"there is {listed(map(str, rehearsal.seeds))}"
    else:
        columns = [rows[key].drop_nulls().unique().sort().to_list() for rows in frames if key in rows.columns]
        present = [one for values in columns for one in values]
        if not present:
            return f"leave it out: these numbers have no {key}"
        if not all(isinstance(one, str) for one in present):
            texts = list(map(_shown, present))
            ends = f", or {' and '.join(LAYER_ENDS)}" if key == "layer" else ", or last" if key == "step" else ""
            return f"there is {listed(texts, str(value))}{ends}"
        words = set(present)
    return nearest(str(value), words) + (sites_left_out(words) if key in SITE else "")


def _whole(rehearsal: Rehearsal, selection: Selection) -> list[Issue]:
    """Why no row meets all conditions of a selection, though each is met by some."""
    numbers = {*_OF_NUMBERS, "seed"}
    if not rehearsal.complete or not selection.names or quantity_fact(selection.written, "needs"):
        return []
    placed = all(map(rehearsal.places_known, selection.names))
    left_out = numbers if placed else numbers | set(SITE)
    conditions = {key: value for key, value in selection.written.items() if key not in left_out}
    if any(
        rehearsal.results.tables[name].filter(pl.col("quantity").is_in(selection.names)).height
        for name in ("histograms", "texts")
    ):
        return []
    selected = Selected(rehearsal.results, conditions)
    try:
        if not selected.rows.is_empty():
            return []
        issue = _as_path(selected.why_empty)
    except LabError as error:
        return [_as_path(issue) for issue in error.issues]
    if issue.path and issue.path[0] in (*SITE, "step") and issue.path[0] in selection.written:
        stated = " or ".join(map(_text, value_list(selection.written[str(issue.path[0])])))
        whose = f"no site of '{selection.names[0]}' has" if issue.path[0] in SITE else "no row has"
        issue = replace(issue, what=f"{whose} {issue.path[0]} = {stated}")
    return [issue if issue.path[:1] and issue.path[0] in selection.written else replace(issue, place=())]


def _as_path(issue: Issue) -> Issue:
    """An issue of the judge with the path of what it names."""
    return issue if isinstance(issue.place, tuple) else replace(issue, place=(issue.where,) if issue.where else ())


def _placed(issue: Issue, claim: Claim) -> Issue:
    """An issue of the judge: a key of a selection stands in it, and a path that varies in ``over``."""
    issue = _as_path(issue)
    key = issue.path[0] if issue.path else ""
    sides = [word for word in ("less_to", "less", "to", "of") if key in (claim.get(word) or {})]
    varied = [word for word in ("over", "along") if key and claim.get(word) == key]
    if sides:
        return issue.below(sides[0])
    return replace(issue, place=(varied[0],)) if varied else issue


def _without_sites(claim: Claim) -> dict[str, Any]:
    """A claim without its conditions on sites, for quantities of which nobody knows where they are."""
    sides = {word: claim[word] for word in ("of", "to", "less", "less_to") if isinstance(claim.get(word), Mapping)}
    return {**claim, **{word: {k: v for k, v in side.items() if k not in SITE} for word, side in sides.items()}}


@dataclass(frozen=True)
class _Reading:
    """A selection that a claim, or what it requires, reads.

    Attributes:
        parameter: of the claim, ``of`` or one that changes what ``of`` says (``lnlab.select.selection``).
        changed: the keys of that parameter.
        inherited: the keys of ``of``.
        ordered: the path whose values stand in the claim's order, or None.
        selection: all its conditions.
        x: the column or path along which it may have several numbers.
        apart: further columns of a site that distinguish its numbers.
        single: whether one number is needed per run and x.
    """

    parameter: str
    changed: Collection[str]
    inherited: Collection[str]
    ordered: str | None
    selection: Conditions
    x: str | None
    apart: Sequence[str]
    single: bool

    def place(self, path: Where) -> Where:
        """The path in the claim of what stands at a path of the selection."""
        if path and path[0] in self.changed:
            return (self.parameter, *path)
        if path and path[0] in self.inherited:
            return ("of", *path)
        if path and path[0] == self.ordered:
            return ("order",)
        return (self.parameter,)


def _readings(claim: Claim, levels: Sequence[Json]) -> Iterator[_Reading]:
    over, along = claim.get("over"), claim.get("along")
    ordered = over if levels and over not in COLUMNS else None
    of = {**claim["of"], ordered: list(levels)} if ordered is not None else claim["of"]
    apart = [column for column in SITE if column in (over, along, *(claim.get("each") or ()))]
    # An exact bound holds of every number and a status of every run: neither needs a single site.
    single = not (claim.get("exact") or claim.get("status"))
    x = along if "order" in claim else over
    for word, selection in selections_by_word({**claim, "of": of}).items():
        yield _Reading(
            parameter=word,
            changed=tuple(claim.get(word) or ()),
            inherited=tuple(claim["of"]),
            ordered=ordered,
            selection=selection,
            x=x,
            apart=apart,
            single=single,
        )


def _cause(rehearsal: Rehearsal, reading: _Reading, *, known: bool) -> Issue | None:
    """Several sites where a claim needs one, or none that has its x."""
    left_out = set() if known else set(SITE)
    conditions = {key: value for key, value in reading.selection.items() if key not in {*left_out, "seed"}}
    path = [reading.x] if reading.x is not None and reading.x not in COLUMNS else []
    try:
        selected = Selected(rehearsal.results, conditions, columns=path)
        rows = selected.rows.drop_nulls([*path, *([reading.x] if reading.x in selected.rows.columns else [])])
    except LabError:  # the judge has said it
        return None
    if rows.is_empty() and not selected.rows.is_empty():
        what = f"no selected site has a {reading.x}"
        return Issue("no-effect", ("over",), what, "select sites that have one, or leave it out")
    if rows.is_empty() or not reading.single:
        return None
    if not known:
        return _several_variants(rehearsal, reading, rows)
    kept = [column for column in (*_STATE, "split", "rule", "x") if column in rows.columns]
    site_key = [*dict.fromkeys([*kept, "quantity", *reading.apart])]
    several = rows.filter(pl.len().over(site_key) > 1)
    if several.is_empty():
        return _several_variants(rehearsal, reading, rows)
    first = several.join(several.head(1).select(site_key), on=site_key, nulls_equal=True, maintain_order="left")
    return _ambiguous(reading, first)


def _gap(rehearsal: Rehearsal, reading: _Reading) -> Issue | None:
    """A condition on sites that some of the selected runs meet nowhere, so that no seed has all its numbers."""
    path = None if reading.x in COLUMNS else reading.x
    conditions = {key: value for key, value in reading.selection.items() if key != "seed"}
    selected = Selected(rehearsal.results, conditions, path)
    lacking = selected.leading.filter(pl.col("variant").is_in(selected.rows["variant"].implode()).not_())
    for key in (key for key in SITE if key in conditions):
        elsewhere = {word: value for word, value in conditions.items() if word != key}
        rows = Selected(rehearsal.results, elsewhere).rows
        present = rows.filter(pl.col("variant").is_in(lacking["variant"].implode()))[key].drop_nulls()
        if present.len():
            at = f" where {path} is {_shown(lacking[path][0])}" if path else ""
            there = listed(map(str, present.unique().sort()), str(conditions[key]))
            what = f"no row has {key} = {kind_label(conditions[key])}{at}"
            return Issue("empty-selection", reading.place((key,)), what, f"there is {there}; or leave these runs out")
    return None


def _several_variants(rehearsal: Rehearsal, reading: _Reading, rows: pl.DataFrame) -> Issue | None:
    """Several settings that give numbers at one x, with what tells them apart."""
    settings = settings_of(rehearsal.results)
    x = [column for column in (reading.x,) if column is not None]
    at_one_x = rows.filter(pl.col("variant").n_unique().over(x) > 1) if x else rows
    if at_one_x.is_empty() or at_one_x["variant"].n_unique() < 2:
        return None
    first = at_one_x.join(at_one_x.head(1).select(x), on=x, maintain_order="left") if x else at_one_x
    variants = first["variant"].unique(maintain_order=True)
    axes = settings.axes.filter(
        pl.col("variant").is_in(variants.implode()), pl.col("axis").is_in([*x, *rehearsal.chosen]).not_()
    )
    labels = axes.group_by("axis", maintain_order=True).agg(pl.col("label").unique(maintain_order=True))
    differing = [f"{axis} ({' or '.join(of)})" for axis, of in labels.iter_rows() if len(of) > 1]
    where = f" at {x[0]} = {_text(first[x[0]][0])}" if x else ""
    what = f"takes {len(variants)} variants{where}; pin {', '.join(differing) or 'the selection'}"
    return Issue("conflict", (reading.parameter,), what, "a claim reads one number per seed and x")


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
    return Issue("empty-selection", (reading.parameter,), what, f"add {', and '.join(choices)}")


def _shown(value: Json) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)
