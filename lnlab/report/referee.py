"""What a referee would ask of a report: the facts of its folder as the rules of ``lnlab.review`` read them."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.verdict_rows import verdicts_from_frame
from lnlab.compile.decisions import TuningCandidate
from lnlab.compile.sweep.overlay import merge_spec
from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.referee.review import review_report
from lnlab.referee.rule import ReviewLine
from lnlab.referee.study import Neighbour, Study, Tuning
from lnlab.report.contents import EXPERIMENT_FILE, read_file
from lnlab.report.facts import ReportFacts
from lnlab.specfile.load import parse_leniently
from lnlab.tables import Results

_VERDICTS_FILE = "data/verdicts.parquet"


def with_review(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict], claims: Sequence[Claim], folder: Path
) -> ReportFacts:
    """The facts with what a referee would ask. ``folder`` is that of the report, which has the others beside it."""
    lines = review_of_facts(facts, results, verdicts, claims, folder)
    return replace(facts, review=tuple(line.as_plain() for line in lines))


def review_of_facts(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict], claims: Sequence[Claim], folder: Path
) -> list[ReviewLine]:
    """What a referee would ask of a report that is, or would be, in a folder."""
    return review_report(study_of_report(facts, results, verdicts, claims, neighbours_of(folder, facts)))


def study_of_report(
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    claims: Sequence[Claim],
    neighbours: Sequence[Neighbour] = (),
) -> Study:
    """The facts of a report as rules read them."""
    known = [claim["id"] for claim in claims]

    def ordered(by_claim: Mapping[str, Any]) -> dict[str, Any]:
        """In the order of the claims: a mapping that was stored is sorted, and one in a spec is not."""
        return {claim: by_claim[claim] for claim in known if claim in by_claim}

    said = [answer for answer in facts.answers if answer.get("profile") in (None, facts.profile)]
    return Study(
        name=facts.name,
        declared=claims,
        results=results,
        tunings=tunings_of(facts.decisions, _selects(facts)),
        verdicts={verdict.claim: verdict for verdict in verdicts if verdict.claim in known},
        answers=[{**answer, "while": ordered(answer.get("while") or {})} for answer in said],
        because=ordered(facts.because),
        source_setting=facts.source_setting,
        neighbours=neighbours,
    )


def tunings_of(decisions: Sequence[Mapping[str, Json]], selects: Sequence[Mapping[str, Json]]) -> tuple[Tuning, ...]:
    """What was chosen on tuning seeds, from the decisions of a report and the ``choose`` of its spec."""
    return tuple(
        Tuning(
            path=decision["path"],
            key=decision["key"],
            rule=decision["rule"],
            about=decision["about"],
            where=decision.get("where") or {},
            of=_deciding_runs(decision, selects),
            seeds=tuple(decision["seeds"]),
            candidates=tuple(
                TuningCandidate(candidate["value"], candidate["score"], tuple(candidate["losses"]))
                for candidate in sorted(decision["candidates"], key=lambda candidate: _place(candidate["value"]))
            ),
            chosen=decision["value"],
        )
        for decision in decisions
    )


def _place(value: Json) -> tuple[bool, float, str]:
    """The place of a candidate: numbers rising, then words."""
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, "" if number else json.dumps(value)


def _deciding_runs(decision: Mapping[str, Json], selects: Sequence[Mapping[str, Json]]) -> Mapping[str, Json]:
    """The conditions of the runs that decided, where ``choose`` names some."""
    for select in selects:
        grids = select.get("grid")
        named = {grids} if isinstance(grids, str) else set(grids or ())
        if decision["path"] in select and (not named or named & set(decision.get("grid") or ())):
            of = select.get("of")
            return of if isinstance(of, Mapping) else {}
    return {}


def _selects(facts: ReportFacts) -> list[Mapping[str, Json]]:
    """The entries of ``choose`` in the spec of a report, as written."""
    with suppress(LabError):
        document, _ = parse_leniently(facts.spec, Path(facts.path))
        merged = merge_spec(document, facts.profile, facts.overrides).data.get("choose")
        entries = merged if isinstance(merged, list) else [merged]
        return [entry for entry in entries if isinstance(entry, Mapping)]
    return []


def neighbours_of(folder: Path, facts: ReportFacts) -> list[Neighbour]:
    """The claims of the other reports of the same folder, in the same profile."""
    inside = (facts.profile,) if facts.profile else ()
    reports = folder.resolve().parent.parent if facts.profile else folder.resolve().parent
    neighbours: list[Neighbour] = []
    for other in sorted(reports.iterdir()) if reports.is_dir() else ():
        page = other.joinpath(*inside)
        with suppress(LabError, pl.exceptions.PolarsError, ValueError, KeyError, TypeError):  # another's damage
            if json.loads(read_file(page, EXPERIMENT_FILE) or b"")["name"] == facts.name:
                continue  # the same experiment under another name of its folder
            table = pl.read_parquet(read_file(page, _VERDICTS_FILE) or b"")
            neighbours += [Neighbour(other.name, verdict) for verdict in verdicts_from_frame(table)]
    return neighbours
