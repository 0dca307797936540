"""Verdicts of other experiments, read from their reports for the claims that cite them.

A plan depends on the files that it read: their digests join its own. So what a claim was judged on can be told from the
plan, and a file that has changed since is refused. A report keeps what it read, and is made again from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, digest_bytes
from lnlab.report.contents import read_file
from lnlab.specfile.citations import AUTHORED, Citation, citations_of, find_verdicts, verdicts_path
from lnlab.tables import Results, frame

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store

_Claims = Sequence[Mapping[str, Json]]
_Row = dict[str, Any]
_COPIED = ("verdict", "says", "statistic", "estimate", "low", "high", "n", "reason")


def plan_results(store: "Store", stored: "StoredPlan") -> Results:
    """The results of a plan, with the verdicts that its claims cite.

    Raises:
        LabError: a report that is cited is damaged, or not what it was when the plan was made.
    """
    results = store.results(stored.digest)
    digests = {Path(file.path): file.sha256 for file in stored.inputs}

    def row(_: str, citation: Citation) -> _Row:
        # reports/<spec>/<profile>/data/verdicts.parquet: the fourth parent is the folder of all reports.
        path = next((path for path in digests if path == verdicts_path(path.parents[3], citation)), None)
        path = path or find_verdicts(Path(stored.spec), citation)
        content = _verdicts_in(path)
        before = digests.get(path, "")
        if (digest_bytes(content) if content is not None else "") != before:
            what = "has changed since this was run" if before else "did not exist when this was run"
            raise LabError(Issue("differs", str(path), what, "run the spec again with lnlab run, which reads it again"))
        return _cited_row(content, citation, path)

    return replace(results, evidence=_evidence((stored.facts or {}).get("claims", ()), row))


def renewed_evidence(claims: _Claims, folder: Path, profile: str | None, kept: pl.DataFrame) -> pl.DataFrame:
    """The verdicts that claims cite, for a report that is made again: of the reports beside it, or else as it has them.

    Args:
        claims: resolved.
        folder: of the report.
        profile: of the report.
        kept: the table ``evidence`` of the report.

    Raises:
        ReportError: a report beside it is damaged.
    """
    folder = folder.resolve()
    reports = folder.parent.parent if folder.name == profile else folder.parent

    def row(citing: str, citation: Citation) -> _Row:
        path = verdicts_path(reports, citation)
        if (content := _verdicts_in(path)) is not None:
            return _cited_row(content, citation, path)
        spec, profile, claim = citation.spec, citation.profile, citation.claim
        before = kept.filter(citing=citing, spec=spec, profile=profile, claim=claim).to_dicts()
        return before[0] if before else _cited_row(None, citation, path)

    return _evidence(claims, row)


def committed_verdicts(spec: Path, profile: str | None, verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """The verdicts of a spec's committed report on the same claims, by id, for a reader of another profile.

    Args:
        spec: its file. The report lies below ``reports`` as one that is cited does.
        profile: of ``verdicts``. Nothing is read for that of the committed report itself.
        verdicts: of claims; one whose sentence has changed since has none in the report.

    Raises:
        ReportError: the report is damaged.
    """
    path = find_verdicts(spec, Citation(spec.stem, AUTHORED, ""))
    if profile == AUTHORED:
        return {}
    content = _verdicts_in(path)
    if content is None:
        return {}
    from lnlab.report.folder import parse_verdicts  # late: with it comes scipy

    sentences = {verdict.claim: verdict.says for verdict in verdicts}
    found = parse_verdicts(content, path.parents[1])
    return {verdict.claim: verdict for verdict in found if sentences.get(verdict.claim) == verdict.says}


def _evidence(claims: _Claims, row: Callable[[str, Citation], _Row]) -> pl.DataFrame:
    """The table ``evidence`` of claims: each citation of each claim once."""
    cited = [(claim["id"], citation) for claim in claims for citation in dict.fromkeys(citations_of(claim))]
    return frame("evidence", [{**row(citing, citation), "citing": citing} for citing, citation in cited])


def _verdicts_in(path: Path) -> bytes | None:
    """The file of verdicts of a report, if it has one.

    Raises:
        ReportError: it is no regular file, or too large.
    """
    return read_file(path.parents[1], f"data/{path.name}")


def _cited_row(content: bytes | None, citation: Citation, path: Path) -> _Row:
    """The verdict on a claim from a file of verdicts. Without it, the reason why it is absent.

    Raises:
        ReportError: the file is damaged.
    """
    place = {"spec": citation.spec, "profile": citation.profile, "claim": citation.claim}
    report = f"reports/{citation.spec}/{citation.profile}"
    if content is None:
        return {**place, "reason": f"{report} is not there"}
    from lnlab.report.folder import parse_table  # late, as above

    verdicts = (
        parse_table(content, "verdicts", path.parents[1])
        .with_row_index("number", offset=1)
        .filter(claim=citation.claim)
    )
    place["sha256"] = digest_bytes(content)
    if verdicts.is_empty():
        return {**place, "reason": f"{report} is older than this claim"}
    return {**place, **verdicts.select("number", *_COPIED).row(0, named=True)}
