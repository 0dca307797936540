"""Which rows a report keeps: all of every quantity that its spec names.

So what a report can answer is a set of names. A claim or a section that is changed, or is new, can be judged and drawn
from the folder alone where the report has the quantities that it names, whatever it selects of them.

Further seeds of single claims are drawn by no section: of their runs it keeps the quantities of these claims. Of
quantities measured at every tensor it keeps only the places that the claims name.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import polars as pl

from lnlab.claims.claim import Claim
from lnlab.claims.claim_scope import selections_of_claim
from lnlab.keys import Json, canonical, texts_in
from lnlab.measured.vocabulary import MEASURED
from lnlab.registry import Flawed
from lnlab.report.facts import COMMON_FIELDS
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.select.quantity import quantities, quantity_facts
from lnlab.select.rows import narrow_rows
from lnlab.select.seeds import results_where
from lnlab.select.selection import QUANTITY_TABLES, Conditions, value_list
from lnlab.specfile.expressions import named_expressions, named_parts
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.seeds import short_list
from lnlab.tables import Results

WHOLE_TABLES = ("spectra",)
"""Small tables that a section reads without naming a quantity. Of texts it keeps those that it shows."""
LONG_CURVE = 50
"""Of a curve with more points that no claim reads, a report keeps those that are drawn."""
_ROW = "_row"
_PLACE = ("stack", "sublayer", "tensor")
"""What says where in a layer a number is from. All layers are kept, as which is the last one depends on the model."""


def claim_selections(claim: Claim) -> list[Conditions]:
    """Every selection that a claim reads, those of its requirements included, on its own seeds if it has any."""
    own: Conditions = {"seed": claim["seeds"]} if claim.get("seeds") else {}
    parts = (claim, *(claim.get("requires") or ()))
    return [{**own, **selection} for part in parts for selection in selections_of_claim(part)]


def quantities_of_claim(claim: Claim) -> set[str]:
    """The quantities that a claim is about. An expression counts as the quantities that it names."""
    selections = list(claim_selections(claim))
    names = [name for selection in selections for name in value_list(selection.get("quantity"))]
    return {part for name in names if isinstance(name, str) for part in named_parts(name)}


def quantities_of_section(section: Mapping[str, Json], others: Collection[str] = ()) -> set[str]:
    """The quantities that a section names, those that its defaults name or its kind implies included.

    An expression counts as the quantities that it names.

    Args:
        section: resolved.
        others: measured quantities that lnlab has no words for.
    """
    asked = {name: value for name, value in section.items() if name not in COMMON_FIELDS}
    registry = FRAME_REGISTRIES["section"]
    with suppress(Flawed):  # the section says so where it is built
        asked = registry.resolve(asked)
    implied = registry.entries[asked["kind"]].facts.implied if asked["kind"] in registry.entries else ()
    known = quantities.entries.keys() | MEASURED.keys() | set(others)
    named = [asked["quantity"]] if isinstance(asked.get("quantity"), str) else []
    parts = {part for name in (*named, *named_expressions(asked)) for part in named_parts(name)}
    return (known & set(texts_in(asked))) | set(implied) | parts


def measured_names(results: Results) -> set[str]:
    """The quantities of which some table has rows."""
    tables = [table for table in results.tables.values() if "quantity" in table.columns]
    return {name for table in tables for name in table["quantity"].unique()}


def entry_of_runs(runs: pl.DataFrame, rows: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The record of rows that are kept of these runs alone: ``runs``, from variants to seeds, and ``rows``."""
    seeds = runs.group_by("variant", maintain_order=True).agg("seed").iter_rows()
    return {
        "runs": {key: short_list(of_variant) for key, of_variant in seeds},
        "rows": list(rows),
    }


def rows_of_further_seeds(
    results: Results, drawn: Results, claims: Collection[Claim]
) -> tuple[Results, list[Mapping[str, Json]]]:
    """The results with only those rows of further seeds that claims read, and the record of these rows.

    Args:
        results: of an experiment.
        drawn: the same, as sections draw them. The other runs are those of further seeds.
        claims: resolved.
    """
    further = results.runs.join(drawn.runs, on="run", how="anti", maintain_order="left")
    seeds_by_rows: dict[str, list[int]] = {}  # by the canonical text of the rows, as these cannot be keys
    for seed in further["seed"].unique().sort():
        own = [claim for claim in claims if seed in (claim.get("seeds") or [seed])]
        seeds_by_rows.setdefault(canonical(_rows_of_claims(own)), []).append(seed)
    tables = dict(drawn.tables)
    entries: list[Mapping[str, Json]] = []
    for text, seeds in seeds_by_rows.items():
        kept: list[Conditions] = json.loads(text)
        runs = further.filter(pl.col("seed").is_in(seeds))
        of_runs = results_where(results, pl.col("run").is_in(runs["run"].implode()))
        own_rows = rows_of_quantities(of_runs, [rows["quantity"] for rows in kept if len(rows) == 1])
        for place in (rows for rows in kept if len(rows) > 1):
            own_rows = with_rows(of_runs, own_rows, _rows_at(of_runs, place))
        tables = {name: pl.concat([table, own_rows[name]]) for name, table in tables.items()}
        entries.append(entry_of_runs(runs, [rows if len(rows) == 1 else {"selection": rows} for rows in kept]))
    return replace(results, tables=in_order_of_runs(tables, results.runs)), entries


def _rows_of_claims(claims: Iterable[Claim]) -> list[Conditions]:
    """What these claims read: whole quantities, and of those of which they name stack or tensor these alone."""
    whole: set[str] = set()
    placed: dict[str, Conditions] = {}
    for claim in claims:
        for selection in claim_selections(claim):
            place = _place_of(selection)
            if place is None:
                whole |= quantities_of_claim(claim)
            else:
                placed[canonical(place)] = place
    kept = [placed[text] for text in sorted(placed) if placed[text]["quantity"] not in whole]
    return [{"quantity": name} for name in sorted(whole)] + kept


def _place_of(selection: Conditions) -> Conditions | None:
    """The quantity and the place that a selection names, or None where it names none or may read other rows."""
    quantity = selection.get("quantity")
    if not isinstance(quantity, str) or quantity_facts(quantity) is not None or named_parts(quantity) != (quantity,):
        return None
    if selection.get(REFERENCE) is not None:
        return None
    named = {key: selection[key] for key in _PLACE if key in selection}
    if not named or any(not isinstance(value, str) for values in named.values() for value in value_list(values)):
        return None
    return {"quantity": quantity, **named}


def _rows_at(results: Results, place: Conditions) -> dict[str, pl.DataFrame]:
    """The rows of every table that meet these conditions on its own columns."""
    tables = {name: table for name, table in results.tables.items() if place.keys() <= set(table.columns)}
    for key, condition in place.items():
        tables = {name: narrow_rows(results, table, key, condition) for name, table in tables.items()}
    return tables


def in_order_of_runs(tables: Mapping[str, pl.DataFrame], runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables with the rows of a run together, and the runs in this order, as a store has them."""
    order = runs.select("run").with_row_index("place")
    return {
        name: table.join(order, on="run", maintain_order="left").sort("place", maintain_order=True).drop("place")
        for name, table in tables.items()
    }


def rows_of_quantities(results: Results, names: Iterable[str]) -> dict[str, pl.DataFrame]:
    """The stored rows of these quantities, of derived ones those that they are made of, in the order of the store."""
    indexed = {name: table.with_row_index(_ROW) for name, table in results.tables.items()}
    rows: dict[str, list[pl.Series]] = {name: [] for name in indexed}
    for table in WHOLE_TABLES:
        if table in indexed:
            rows[table].append(indexed[table][_ROW])
    kinds = [kind for kind in (*QUANTITY_TABLES, "histograms") if kind in indexed]
    parts = {part for name in names for part in named_parts(name)}
    for name in sorted(parts):
        facts = quantity_facts(name)
        if facts is not None and facts.table is not None:
            if facts.table in indexed:
                rows[facts.table].append(indexed[facts.table][_ROW])
            continue
        for kind in kinds:
            kept = indexed[kind]
            if facts is None:
                kept = kept.filter(quantity=name)
            elif facts.of is not None:  # a derived quantity that does not say what it is made of may read every row
                kept = kept.filter(pl.col("quantity").is_in(facts.of))
            if facts is not None and facts.reads is not None and kind == "curves":
                kept = facts.reads(kept)
            rows[kind].append(kept[_ROW])
    return {
        name: table.filter(pl.int_range(pl.len()).is_in(pl.concat(rows[name]).unique().implode()))
        if rows[name]
        else table.clear()
        for name, table in results.tables.items()
    }


def has_long_curves(results: Results, names: Iterable[str]) -> bool:
    """Whether some run has more than ``LONG_CURVE`` points of what one of these quantities is made of."""
    curves = rows_of_quantities(results, names).get("curves")
    if curves is None or curves.is_empty():
        return False
    longest = curves.group_by("run", "split", "quantity").len()["len"].max()
    return isinstance(longest, int) and longest > LONG_CURVE


def with_rows(
    results: Results, tables: Mapping[str, pl.DataFrame], others: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Add further rows of the results to these tables, each once, in the order of the store."""
    joined = dict(tables)
    for name, rows in others.items():
        if not rows.is_empty():
            both = pl.concat([tables[name], rows]).unique()
            table = results.tables[name]
            joined[name] = table.join(both, on=table.columns, how="semi", nulls_equal=True, maintain_order="left")
    return joined


def curves_beyond(tables: Mapping[str, pl.DataFrame], rows: Mapping[str, pl.DataFrame]) -> set[str]:
    """The quantities of which a section read curves that are not in these tables."""
    if "curves" not in rows:
        return set()
    curves = rows["curves"]
    return set(curves.join(tables["curves"], on=curves.columns, how="anti", nulls_equal=True)["quantity"])


def has_quantities(names: Iterable[str], kept: Collection[str]) -> bool:
    """Whether a report with all rows of the ``kept`` quantities can answer what is asked of others."""
    complete = set(kept)
    for name in kept:  # with a derived quantity a report keeps all rows of those that it is made of
        facts = quantity_facts(name)
        if facts is not None and facts.of is not None and facts.reads is None:
            complete |= set(facts.of)

    def is_there(name: str) -> bool:
        facts = quantity_facts(name)
        parts = (facts.parts or facts.of) if facts else None
        return name in complete or bool(parts and all(is_there(part) for part in parts))

    return all(map(is_there, names))
