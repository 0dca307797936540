"""Made-up rows of a plan: a finished run of each variant, with a row for every number that the plan will measure.

The sites of these rows follow from the models, as probes state them. A quantity whose sites nobody knows has one row a
state: of a probe that states none, and of every probe where torch is absent, as then no model is built.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.claims.claim_scope import variants_of_claim
from lnlab.keys import Json, canonical
from lnlab.select.quantity import quantity_facts
from lnlab.select.rows import narrow_rows, plain_rows
from lnlab.select.select import quantity_rows
from lnlab.select.selection import parse_selection, selections_by_word, value_list
from lnlab.select.settings import settings_of
from lnlab.select.variants import Variants
from lnlab.specfile.columns import EVALUATIONS, RECORDED
from lnlab.specfile.expressions import named_expressions
from lnlab.specfile.references import REFERENCE
from lnlab.store.plans import plan_frames
from lnlab.tables import Results, table_schema

if TYPE_CHECKING:
    from lnlab.app.rehearsal.models import Places
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries

Claim = Mapping[str, Any]
_FIRST_UPDATES = 40
"""Updates after which made-up training has records: enough for whatever is fitted to a curve."""
_STATE = ("run", "variant", "seed", "step")
_BINS = ((0.5, 1.0), (1.0, 2.0))
_TABLES = ("sites", "curves", "lines", "spectra", "histograms", "texts")


@dataclass(frozen=True)
class Rehearsal:
    """Made-up rows of a plan.

    Attributes:
        results: with a finished run of every variant, of its first seed.
        unplaced: the quantities of which nobody says at which sites they will be.
        complete: whether every probe says what it measures.
        seeds: on which anything runs.
        chosen: the paths whose values are chosen on tuning seeds, so that no selection can know them.
        known: the registries.
        rows: those of each quantity that was asked for, by its name and its reference.
        met: whether any of such rows meets a condition, by these rows and the condition.
        judged: the results that claims read, by their variants, quantities and seeds.
    """

    results: Results
    unplaced: frozenset[str]
    complete: bool
    seeds: tuple[int, ...]
    chosen: frozenset[str]
    known: "Registries"
    rows: dict[str, pl.DataFrame] = field(default_factory=dict)
    met: dict[tuple[int, str, str], bool] = field(default_factory=dict)
    judged: dict[str, Results] = field(default_factory=dict)

    @cached_property
    def variants(self) -> Variants:
        """The settings of the runs that are judged."""
        return settings_of(self.results).index

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

    def rows_of(self, quantity: str, reference: Json = None) -> pl.DataFrame:
        """The rows of one quantity of any table, at every state and site.

        Raises:
            NothingSelected: it is measured against a reference, and there is none.
        """
        place = canonical([quantity, reference])
        if place not in self.rows:
            conditions = {"quantity": quantity} | ({} if reference is None else {REFERENCE: reference})
            others = [self.results.tables[name].filter(quantity=quantity) for name in ("histograms", "texts")]
            rows = quantity_rows(self.results, parse_selection(conditions))
            self.rows[place] = pl.concat([rows, *(one for one in others if one.height)], how="diagonal_relaxed")
        return self.rows[place]

    @cached_property
    def all_rows(self) -> pl.DataFrame:
        """The rows of every stored quantity, and of what a section makes a quantity of."""
        others = [self.results.tables[name] for name in ("spectra", "histograms", "texts")]
        return pl.concat([plain_rows(self.results, parse_selection({})), *others], how="diagonal_relaxed")

    def has_row(self, rows: pl.DataFrame, key: str, value: Json) -> bool:
        """Whether any of the rows of a quantity, as ``rows_of`` and ``all_rows`` have them, meets a condition."""
        place = id(rows), key, canonical(value)
        if place not in self.met:
            self.met[place] = key in rows.columns and not narrow_rows(self.results, rows, key, value).is_empty()
        return self.met[place]

    def judged_on(self, claim: Claim, seeds: Sequence[int]) -> Results:
        """The results that a claim reads, as if every run were there on each of these seeds.

        Raises:
            LabError: a path or a reference of the claim is not there.
        """
        facts = [quantity_facts(name) for one in statements(claim) for name in quantities_of(one)]
        runs = self.results.runs
        if not any(of_one is not None and of_one.across for of_one in facts):
            runs = runs.filter(pl.col("variant").is_in(variants_of_claim(claim, self.results).implode()))
        stored = stored_names([claim], ())
        place = canonical([runs["variant"].to_list(), None if stored is None else sorted(stored), list(seeds)])
        if place not in self.judged:
            self.judged[place] = _on_seeds(self.results, runs, stored, seeds)
        return self.judged[place]


def rehearse(
    plan: "Plan",
    claims: Sequence[Claim],
    places: "Mapping[str, Places]",
    known: "Registries",
) -> Rehearsal:
    """Make up the rows that the plan will measure.

    Args:
        plan: of the runs that are judged.
        claims: every claim, resolved.
        places: by variant the places of what each probe measures in its model. Empty where no model can be built.
        known: the registries.
    """
    frames = plan_frames(plan)
    runs = frames["runs"].sort("seed", maintain_order=True).unique("variant", keep="first", maintain_order=True)
    no_reason = pl.lit(None, pl.String)
    runs = runs.with_columns(status=pl.lit("finished"), reason=no_reason, done="steps", seconds=pl.lit(1.0))
    states = frames["needs"].join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")
    texts = states["probe"].unique(maintain_order=True).to_list()
    choices = {text: json.loads(text) for text in texts}
    facts = {text: known["probe"][choice["kind"]].facts for text, choice in choices.items()}
    models: dict[int, list[str]] = {}  # variants of one structure share their places, the same object
    for variant in runs["variant"].unique(maintain_order=True):
        models.setdefault(id(places.get(variant)), []).append(variant)
    templates: dict[str, list[pl.DataFrame]] = {}
    of_model = []
    unplaced: set[str] = set()
    read = None if any(_reads_anything(section) for section in plan.sections) else stored_names(claims, plan.sections)
    for number, variants in enumerate(models.values()):
        of_model += [(variant, number) for variant in variants]
        placed = places.get(variants[0]) or {}
        for text, choice in choices.items():
            table = facts[text].table
            rows, missing = _rows_of_probe(choice, facts[text], placed.get(text), read)
            unplaced |= missing
            if rows:
                columns = {
                    name: [row.get(name) for row in rows] for name in dict.fromkeys(k for row in rows for k in row)
                }
                template = pl.DataFrame(columns, schema_overrides=_known_columns(table, columns), strict=False)
                template = template.with_columns(probe=pl.lit(text), model=pl.lit(number, pl.Int32))
                templates.setdefault(table, []).append(template)
    numbered = pl.DataFrame(of_model, schema={"variant": pl.String, "model": pl.Int32}, orient="row")
    states = states.join(numbered, on="variant", maintain_order="left")
    tables = {}
    for name in _TABLES:
        schema = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64} | _columns(name)
        parts = [pl.DataFrame(schema=schema)]
        if name in templates:
            joined = states.join(pl.concat(templates[name], how="diagonal_relaxed"), on=["probe", "model"])
            absent = [pl.lit(None, kind).alias(word) for word, kind in schema.items() if word not in joined.columns]
            parts.append(joined.with_columns(*absent).select(*schema))
        if name == "curves":
            parts.append(_recorded(runs, _whole(values_at(claims, "step"))).select(*schema))
        tables[name] = _with_values(pl.concat(parts, how="vertical_relaxed"), name)
    axes = frames["axes"].filter(pl.col("run").is_in(runs["run"].implode()))
    return Rehearsal(
        Results(runs, axes, {**tables, "needs": frames["needs"]}),
        frozenset(unplaced),
        complete=all(of_probe.quantities is not None for of_probe in facts.values()),
        seeds=tuple(dict.fromkeys(run.seed for run in plan.runs)),
        chosen=frozenset(decision.path for decision in plan.decisions),
        known=known,
    )


def _on_seeds(results: Results, runs: pl.DataFrame, stored: Collection[str] | None, seeds: Sequence[int]) -> Results:
    """Results in which every run is there once a seed, with rows of some runs and stored quantities alone."""
    of_seeds = pl.DataFrame({"seed": seeds}, schema={"seed": pl.Int64})
    named = pl.format("{}-{}", "run", "seed")
    copies = runs.select("run").join(of_seeds, how="cross").with_columns(_copy=named).lazy()

    def copied(table: pl.DataFrame) -> pl.DataFrame:
        columns = table.columns
        rows = table.lazy().drop("seed", strict=False)
        if table.is_empty():
            return table
        if "quantity" in columns and stored is not None:
            rows = rows.filter(pl.col("quantity").is_in(list(stored)))
        rows = rows.join(copies, on="run", maintain_order="left_right").with_columns(run="_copy").drop("_copy")
        if "value" in columns and "axis" not in columns:
            differing = pl.struct(pl.all().exclude("value", "measurement")).hash(3) % 997 / 99700
            rows = rows.with_columns(value=pl.col("value") * (1 + differing))
        return rows.select(columns).collect()

    tables = {name: copied(table) for name, table in results.tables.items()}
    every_run = results.runs.drop("seed").join(of_seeds, how="cross").with_columns(run=named)
    judged = Results(every_run.select(results.runs.columns), copied(results.axes), tables)
    judged.once(settings_of.__qualname__, lambda _: settings_of(results))  # the same settings, read once for all
    return judged


def statements(claim: Claim) -> list[Claim]:
    """A claim and what it requires, each as a claim that reads rows with the seeds and looks of the whole."""
    shared = {"id": claim["id"], "looks": claim.get("looks")}
    return [claim, *({**shared, **required} for required in claim.get("requires") or ())]


def quantities_of(claim: Claim) -> list[str]:
    """The quantities that the selections of a claim name."""
    return [name for s in selections_by_word(claim).values() for name in parse_selection(s).names]


def stored_names(claims: Iterable[Claim], sections: Iterable[Mapping[str, Json]]) -> set[str] | None:
    """The stored quantities that claims and sections are made of. None means that any may be."""
    names = {name for claim in claims for one in statements(claim) for name in quantities_of(one)}
    for section in sections:
        named = [*values_at(section, "quantity"), *values_at(section, "numbers"), *values_at(section, "closed_form")]
        names |= {name for name in (*named, *named_expressions(section)) if isinstance(name, str)}
    stored: set[str] = set()
    for name in names:
        facts = quantity_facts(name)
        for part in (name,) if facts is None else facts.parts or (name,):
            of_part = quantity_facts(part)
            if of_part is not None and of_part.of is None and of_part.table is None:
                return None
            stored |= {part} if of_part is None else set(of_part.of or ())
    return stored


def _reads_anything(section: Mapping[str, Json]) -> bool:
    """Whether a section has conditions on rows and names no quantity, so that the rows of any may meet them."""
    named = any(section.get(word) for word in ("quantity", "numbers"))
    return not named and bool(parse_selection(section.get("where") or {}).rows)


def _columns(table: str) -> dict[str, Any]:
    """The columns of a table behind those of the state."""
    schema: Mapping[str, Any] = table_schema(table)
    return {name: kind for name, kind in schema.items() if name not in ("trajectory", *_STATE)}


def _known_columns(table: str, columns: Collection[str]) -> dict[str, Any]:
    return {name: kind for name, kind in _columns(table).items() if name in columns}


def _rows_of_probe(
    choice: Mapping[str, Any],
    facts: Any,
    placed: "Mapping[str, Sequence[Mapping[str, Json]]] | None",
    read: Collection[str] | None,
) -> tuple[list[Mapping[str, Json]], set[str]]:
    """What a probe has of a state, without values, and the quantities whose places are not known."""
    rows: list[Mapping[str, Json]] = []
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
            rows.append({"quantity": name})  # nobody asks where it is
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


def values_at(value: Any, key: str) -> Iterator[Json]:
    """What stands at a key, at any depth, each of a list for itself."""
    if isinstance(value, Mapping):
        for word, one in value.items():
            yield from value_list(one) if word == key else values_at(one, key)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from values_at(one, key)


def _whole(values: Iterable[Json]) -> set[int]:
    return {value for value in values if isinstance(value, int) and not isinstance(value, bool)}
