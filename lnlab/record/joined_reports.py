"""The tables of several reports as those of one: each run with the rows that any of them has of it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.claims.criterion_digest import claim_criterion, criterion_digest
from lnlab.claims.look_book import LookBook
from lnlab.compile.front import setting_namer
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.record.held_rows import with_comparators
from lnlab.record.judge_again import JudgedReport
from lnlab.record.judging import claims_as_judged
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import read_folder
from lnlab.report.kept_rows import entry_of_runs, in_order_of_runs
from lnlab.select.seeds import results_where
from lnlab.select.select import runs_with
from lnlab.select.selection import parse_selection
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

_NUMBERS = {"curves": "value", "sites": "value", "lines": "value", "histograms": "count", "texts": "text"}
"""The column of a table that was measured, where the others say of what. A spectrum has no such column."""
_UPDATES = "done"
_SAME_RUN = ("steps", "seed", "setting", "status", _UPDATES)
_ROUNDING = 1e-9
"""Relative. Numbers that differ by less are those of another machine."""


class ReportTables(NamedTuple):
    """What stands in the folder of a report, or would stand there."""

    folder: Path
    facts: ReportFacts
    results: Results
    verdicts: Sequence[Verdict]


@dataclass(frozen=True)
class _JudgedPart(JudgedReport):
    """One of the reports. Its results have one key for each setting, whichever lnlab wrote which of the reports.

    Attributes:
        folder: of the report.
        facts: as they stand there, with these keys.
        as_written: its tables with the keys that they were written with.
    """

    folder: Path
    facts: ReportFacts
    as_written: Results


@dataclass(frozen=True)
class JoinedReports:
    """Several reports as one.

    Attributes:
        facts: those of the first report, with the decisions, probes and plugins of all.
        results: the runs of all, each once, with all rows.
        parts: the reports.
    """

    facts: ReportFacts
    results: Results
    parts: tuple[_JudgedPart, ...]

    def kept(self, runs: pl.DataFrame) -> tuple[Mapping[str, Json], ...]:
        """Which rows of these runs are there. What a report keeps is said of its own runs."""
        of_parts = [part.results.runs.join(runs, on="run", how="semi", maintain_order="left") for part in self.parts]
        if all(set(own["run"]) == set(of_parts[0]["run"]) for own in of_parts):
            return _distinct(entry for part in self.parts for entry in part.kept_rows)
        joined: list[Mapping[str, Json]] = []
        for part, own in zip(self.parts, of_parts, strict=True):
            entries = part.kept_rows
            joined += [entry for entry in entries if "runs" in entry]  # it was drawn from the tables of several itself
            if whole := [entry for entry in entries if "runs" not in entry]:
                joined.append(entry_of_runs(own, whole))
        return _distinct(joined)

    def held(self, runs: pl.DataFrame) -> tuple[Mapping[str, Json], ...]:
        """The same, with the runs of an entry in place of conditions by which its own spec tells them apart."""
        entries_of_parts: list[Mapping[str, Json]] = []
        for part in self.parts:
            own = part.results.runs.join(runs, on="run", how="semi", maintain_order="left")
            of_runs: dict[frozenset[str], list[Mapping[str, Json]]] = {}
            for entry in part.kept_rows:
                selection = entry.get("selection") or (entry.get("section") or {}).get("where") or {}
                by_setting = parse_selection(selection).setting
                if "runs" in entry:
                    entries_of_parts.append(entry)
                    continue
                with suppress(NothingSelected):
                    selected = runs_with(part.results, by_setting)["run"]
                    of_rows = {word: value for word, value in selection.items() if word not in by_setting}
                    whole = {"selection": of_rows} if "selection" in entry else entry
                    if "section" in entry and by_setting:
                        whole = {**entry, "section": {**entry["section"], "where": of_rows}}
                    entries = of_runs.setdefault(frozenset(own["run"]) & frozenset(selected), [])
                    entries.append(whole)
                    if "section" in entry and (resolved := with_comparators(part.results, selection)):
                        of_rows = {word: value for word, value in resolved.items() if word not in by_setting}
                        entries.append({**entry, "section": {**entry["section"], "where": of_rows}})
            for selected_runs, entries in of_runs.items():
                entries_of_parts.append(entry_of_runs(own.filter(pl.col("run").is_in(list(selected_runs))), entries))
        return tuple(entries_of_parts)

    def before(self, claims: Sequence[Claim], results: Results) -> tuple[JudgedReport, LookBook]:
        """The last verdicts and the looks of these claims, whatever each was called in the reports.

        A claim is the one of a report that asks the same of the same runs, by whatever name and conditions. Where none
        does, it has the looks of the claim with its name. The looks of claims that are no longer asked stay: one that
        comes back has been looked at.

        Args:
            claims: of today, resolved.
            results: of the runs that today's spec asks for.
        """
        asked_before: dict[str, list[tuple[int, Claim]]] = {}
        for place, part in enumerate(self.parts):
            for claim in part.claims.values():
                asked_before.setdefault(criterion_digest(claim, part.results), []).append((place, claim))
        known: dict[str, Claim] = {}
        verdicts: dict[str, Verdict] = {}
        looks: dict[str, list[Mapping[str, Any]]] = {}
        continued: set[tuple[int, str]] = set()
        names = {claim["id"] for claim in claims}
        for claim in claims:
            name: str = claim["id"]
            same = asked_before.get(criterion_digest(claim, results), [])
            for place, earlier in same:
                part = self.parts[place]
                continued.add((place, earlier["id"]))
                criteria = claim_criterion(earlier, part.as_written)[0], claim_criterion(claim, results)[0]
                for look in part.facts.looks.get(earlier["id"], ()):
                    # Its digest depends on how the runs are named, which is another way here.
                    is_of_today = look.get("criterion") == criteria[0]
                    looks.setdefault(name, []).append({**look, "criterion": criteria[1]} if is_of_today else look)
                # On other seeds the sentence is the same and the verdict another.
                on_same_runs = _runs(earlier, part.results) == _runs(claim, results)
                if earlier["id"] in part.verdicts and name not in verdicts and on_same_runs:
                    known[name] = claim
                    verdicts[name] = replace(part.verdicts[earlier["id"]], claim=name)
            if not same:
                looks[name] = [look for part in self.parts for look in part.facts.looks.get(name, ())]
                continued |= {(place, name) for place in range(len(self.parts))}
        for place, part in enumerate(self.parts):
            for name, entries in part.facts.looks.items():
                # Under the name of a claim of today another was judged: on the same seeds that was a look, too.
                of_name = [entry for entry in entries if name not in names or entry.get("criterion")]
                looks.setdefault(name, []).extend([] if (place, name) in continued else of_name)
        before = JudgedReport(results, claims=known, verdicts=verdicts, kept_rows=self.held(results.runs))
        return before, LookBook.from_json(looks)


def join_reports(folders: Sequence[Path], known: "Registries", stored: ReportTables | None = None) -> JoinedReports:
    """Read several reports as one.

    Args:
        folders: of the reports.
        known: the registries of both wings.
        stored: what a store holds of their question. The runs that no report has are taken from it.

    Raises:
        ReportError: one cannot be read, they are of different profiles or overrides, or two of them have different
            numbers of the same run.
    """
    parts: list[_JudgedPart] = []
    name = setting_namer(known)
    variants: dict[str, str] = {}
    read = [ReportTables(folder, *read_folder(folder)) for folder in folders]
    for folder, written_facts, as_written, verdicts in [*read, *([stored] if stored is not None else [])]:
        by_claim = {verdict.claim: verdict for verdict in verdicts}
        settings = as_written.runs.select("variant", "setting").unique("variant", maintain_order=True).iter_rows()
        # A later lnlab may have another key for the same setting, and runs of the same variant are compared.
        keys = {variant: variants.setdefault(name(json.loads(setting)), variant) for variant, setting in settings}
        results = as_written
        if any(old != new for old, new in keys.items()):
            renamed = pl.col("^variant$").replace(keys)
            tables = {name: table.with_columns(renamed) for name, table in as_written.tables.items()}
            results = replace(as_written, runs=as_written.runs.with_columns(renamed), tables=tables)
        if _UPDATES not in results.runs.columns:  # a report of before lnlab counted updates
            results = replace(results, runs=results.runs.with_columns(pl.lit(None, pl.Int64).alias(_UPDATES)))
        if len(parts) == len(folders):  # of the store: what a report has is the report's
            of_reports = pl.concat([part.results.runs.select("variant", "seed") for part in parts])
            own = results.runs.join(of_reports, on=("variant", "seed"), how="anti", maintain_order="left")
            results = results_where(results, pl.col("run").is_in(own["run"].implode()))
        kept_rows = [
            {**entry, "runs": {keys.get(old, old): seeds for old, seeds in entry["runs"].items()}}
            if entry.get("runs") is not None
            else entry
            for entry in written_facts.kept
        ]
        facts = replace(written_facts, kept=tuple(kept_rows))
        claims = claims_as_judged(facts, known)
        parts.append(
            _JudgedPart(
                results,
                claims=claims,
                verdicts=by_claim,
                kept_rows=facts.kept,
                folder=folder,
                facts=facts,
                as_written=as_written,
            )
        )
    first = parts[0]
    for part in parts[1:]:
        if (part.facts.profile, part.facts.overrides) != (first.facts.profile, first.facts.overrides):
            profiles = [" ".join(p.facts.command[1:]) or "no profile" for p in (first, part)]
            what = f"is of {profiles[1]}, and {first.folder} of {profiles[0]}"
            raise ReportError(Issue("differs", str(part.folder), what, "name reports of one profile"))
    results = first.results
    for place, part in enumerate(parts[1:], 1):
        results = _with_part(results, part, parts[:place])
    probes = {canonical(probe): probe for part in parts for probe in part.facts.probes}
    facts = replace(
        first.facts,
        probes=tuple(probes.values()),
        decisions=_distinct(entry for part in parts for entry in part.facts.decisions),
        plugins=tuple(dict.fromkeys(plugin for part in parts for plugin in part.facts.plugins)),
        transfers=tuple(dict.fromkeys(sentence for part in parts for sentence in part.facts.transfers)),
        words={name: words for part in reversed(parts) for name, words in part.facts.words.items()},
    )
    return JoinedReports(facts, results, tuple(parts))


def _distinct(entries: Any) -> tuple[Mapping[str, Json], ...]:
    return tuple({canonical(entry): entry for entry in entries}.values())


def _with_part(results: Results, part: _JudgedPart, before: Sequence[_JudgedPart]) -> Results:
    """The results with the runs and rows of a further report.

    Raises:
        ReportError: it has different numbers of a run that is there.
    """

    def refuse(run: str, what: str) -> NoReturn:
        other = next(p.folder for p in before if run in p.results.runs["run"])
        remedy = "make one of them again from its store with lnlab report"
        raise ReportError(Issue("differs", str(part.folder), f"{what}, otherwise than {other}", remedy))

    same = part.results.runs.join(results.runs, on="run", suffix="_before", maintain_order="left")
    for row in same.iter_rows(named=True):
        for word in _SAME_RUN:
            unknown = word == _UPDATES and None in (row[word], row[f"{word}_before"])
            if row[word] != row[f"{word}_before"] and not unknown:
                refuse(row["run"], f"has {word} = {row[word]} of run {row['run']} (seed {row['seed']})")
    tables = {}
    for name, table in results.tables.items():
        more = part.results.tables[name]
        column = _NUMBERS.get(name)
        keys = [word for word in table.columns if word not in ("trajectory", column)]
        if column is None:  # whole spectra: the nodes of a run say nothing one by one
            new = more.join(table, on="run", how="anti", maintain_order="left")
            for run in sorted(set(more["run"]) & set(table["run"])):
                if not more.filter(run=run).equals(table.filter(run=run)):
                    refuse(run, f"has other {name} of run {run}")
        else:
            new = more.join(table, on=keys, how="anti", nulls_equal=True, maintain_order="left")
            both = more.join(table, on=keys, suffix="_before", nulls_equal=True, maintain_order="left")
            one, other = pl.col(column), pl.col(f"{column}_before")
            is_other = one.ne_missing(other)
            if both.schema[column].is_float():
                near = (one - other).abs() <= _ROUNDING * pl.max_horizontal(one.abs(), other.abs())
                is_other &= ~near.fill_null(value=False)
            for row in both.filter(is_other).head(1).iter_rows(named=True):
                of = row.get("quantity", name)
                value, earlier = row[column], row[f"{column}_before"]
                place = f"run {row['run']} (seed {row['seed']}, step {row['step']})"
                refuse(row["run"], f"has {of} = {value} for {earlier} of {place}")
        tables[name] = pl.concat([table, new])
    new_runs = part.results.runs.join(results.runs, on="run", how="anti", maintain_order="left")
    counted = results.runs.update(part.results.runs.select("run", _UPDATES), on="run", how="left")
    runs = pl.concat([counted, new_runs])
    return Results(
        runs,
        pl.concat([results.axes, part.results.axes.join(results.runs, on="run", how="anti", maintain_order="left")]),
        in_order_of_runs(tables, runs),
        pl.concat([results.evidence, part.results.evidence]).unique(maintain_order=True),
    )


def _runs(claim: Claim, results: Results) -> set[tuple[str, int]]:
    """The variant and the seed of each run that a claim reads."""
    own = results_of_claim(claim, results)
    runs: set[tuple[str, int]] = set()
    for selection in selections_of_claim(claim):
        with suppress(NothingSelected):
            runs |= set(runs_with(own, selection, claim.get("over")).select("variant", "seed").iter_rows())
    return runs
