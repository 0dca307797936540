"""From a claim back to what it was judged on: quantity and formula, selections, rows, runs, states, settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.app.why.quantities import QuantityDefinition, condition_text, define_quantity
from lnlab.app.why.sources import TracedExperiment
from lnlab.claims.claim import Verdict
from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.compile.selection.inheritance import whole_spec
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.words.verdict_words import statistic_text
from lnlab.select.aligned import alone_in_words
from lnlab.select.axes import variant_names
from lnlab.select.select import Selected
from lnlab.select.selection import value_list
from lnlab.select.settings import NothingSelected
from lnlab.specfile.citations import citations_of
from lnlab.specfile.load import parse_leniently
from lnlab.specfile.seeds import seeds_text
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

_ROW_COLUMNS = ("seed", "step", "split", "quantity", "stack", "layer", "sublayer", "tensor", "index", "x", "value")


@dataclass(frozen=True)
class TracedVariant:
    """The runs of one variant that a selection takes: its axes in words, its key, its seeds, and how many ended how."""

    variant: str
    key: str
    seeds: str
    runs: tuple[str, ...]
    statuses: str


@dataclass(frozen=True)
class TracedSelection:
    """What a claim reads with one of its selections.

    Attributes:
        role: ``of``, ``to``, or ``requires 1``.
        conditions: the selection in words.
        quantities: the definition of each quantity that it names.
        steps: states that are measured, by their training step.
        variants: whose runs they are.
        rows: how many rows of the results it takes.
        first_rows: the first of them, for a reader.
        problem: why nothing is selected, or nothing.
    """

    role: str
    conditions: str
    quantities: tuple[QuantityDefinition, ...]
    steps: tuple[int, ...]
    variants: tuple[TracedVariant, ...]
    rows: int
    first_rows: tuple[Mapping[str, Json], ...]
    problem: str = ""


@dataclass(frozen=True)
class ClaimTrace:
    """Where a verdict comes from.

    Attributes:
        experiment: in words.
        number: of the claim on its page, from 1.
        verdict: what was judged.
        numbers: the estimate with its interval, the accepted region and the seeds inside, in words.
        declared: ``file:line:column`` of the claim in its spec.
        judged: the file that holds the verdict, with its row, or the plan of the store.
        page: the address of the claim on its page, or nothing.
        plan: the digest of the plan.
        selections: what it reads.
        cites: claims of other experiments that it was judged from.
    """

    experiment: str
    number: int
    verdict: Verdict
    numbers: str
    declared: str
    judged: str
    page: str
    plan: str
    selections: tuple[TracedSelection, ...]
    cites: tuple[str, ...]


def trace_claim(source: TracedExperiment, name: str, known: "Registries", most_rows: int) -> ClaimTrace:
    """Everything behind the verdict of a claim.

    Args:
        source: the experiment.
        name: id of the claim, or its number on the page.
        known: the registries of both wings.
        most_rows: how many rows are shown of each selection.

    Raises:
        LabError: there is no such claim.
    """
    ids = [verdict.claim for verdict in source.verdicts]
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        number = int(name)
    elif name in ids:
        number = ids.index(name) + 1
    else:
        raise LabError(Issue("unknown-name", source.name, f"no claim is called '{name}'", nearest(name, ids)))
    verdict = source.verdicts[number - 1]
    claim = source.claims.get(verdict.claim)
    document, _ = parse_leniently(source.facts.spec, Path(source.facts.path))
    facts = source.facts
    folder = source.folder
    written = whole_spec(document, facts.profile, facts.overrides, known).written(("claims", verdict.claim))
    declared = written if isinstance(written, str) else document.where(written)
    results = source.results if claim is None else results_of_claim(claim, source.results)
    statements = [] if claim is None else [("", claim)]
    statements += [(f"requires {n} ", part) for n, part in enumerate((claim or {}).get("requires") or (), 1)]
    selections = [
        (f"{prefix}{role}", selection)
        for prefix, statement in statements
        for role, selection in zip(("of", "to", "less", "less_to"), selections_of_claim(statement), strict=False)
    ]
    stored = f"plan {source.plan.digest[:16]} of the store"
    return ClaimTrace(
        experiment=source.name,
        number=number,
        verdict=verdict,
        numbers=statistic_text(verdict),
        declared=declared,
        judged=f"{(folder / 'data/verdicts.parquet').as_posix()}, row {number}" if folder else stored,
        page=f"{(folder / 'index.html').as_posix()}#claim-{number}"
        if folder and (folder / "index.html").is_file()
        else "",
        plan=facts.digest,
        selections=tuple(_traced(role, s, results, known, most_rows) for role, s in selections),
        cites=tuple(f"{c.spec}:{c.claim} (profile {c.profile})" for c in citations_of(claim)) if claim else (),
    )


def _traced(
    role: str, selection: Mapping[str, Json], results: Results, known: "Registries", most_rows: int
) -> TracedSelection:
    names = [name for name in value_list(selection.get("quantity")) if isinstance(name, str)]
    definitions = tuple(define_quantity(name, known) for name in names)
    text = condition_text(selection)
    try:
        selected = Selected(results, selection)
        rows, runs = selected.rows, selected.runs
    except NothingSelected as error:
        return TracedSelection(
            role=role,
            conditions=text,
            quantities=definitions,
            steps=(),
            variants=(),
            rows=0,
            first_rows=(),
            problem="; ".join(map(str, error.issues)),
        )
    if left_out := alone_in_words(results, selection, rows):
        definitions = tuple(replace(one, origin=f"{one.origin}; {left_out}") for one in definitions)
    names_in_words = variant_names(results)
    variants = []
    for (variant,), part in runs.filter(pl.col("variant").is_in(rows["variant"].unique().implode())).group_by(
        "variant", maintain_order=True
    ):
        counts = part["status"].fill_null("not run").value_counts(sort=True).iter_rows()
        variants.append(
            TracedVariant(
                variant=names_in_words[str(variant)],
                key=str(variant),
                seeds=seeds_text(part["seed"].to_list()),
                runs=tuple(part["run"]),
                statuses=", ".join(f"{number} {status}" for status, number in counts),
            )
        )
    columns = [name for name in _ROW_COLUMNS if name in rows.columns and rows[name].null_count() < rows.height]
    return TracedSelection(
        role=role,
        conditions=text,
        quantities=definitions,
        steps=tuple(sorted(rows["step"].unique().drop_nulls().to_list())),
        variants=tuple(variants),
        rows=rows.height,
        first_rows=tuple(rows.select(columns).head(most_rows).to_dicts()),
    )
