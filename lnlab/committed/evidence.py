"""Verdicts of other experiments, read from their reports for the claims that cite them.

A plan depends on the files that it read: their digests join its own. So what a claim was judged on can be told from the
plan, and a file that has changed since is refused. A report keeps what it read, and is made again from it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.keys import Json, digest_bytes
from lnlab.report.contents import read_file
from lnlab.specfile.citations import AUTHORED, Citation, citations_of, find_verdicts, verdicts_path
from lnlab.tables import frame

_Claims = Sequence[Mapping[str, Json]]
_Row = dict[str, Any]
_COPIED = ("verdict", "says", "statistic", "estimate", "low", "high", "n", "reason")


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
        if (content := verdicts_in(path)) is not None:
            return cited_row(content, citation, path)
        spec, profile, claim = citation.spec, citation.profile, citation.claim
        before = kept.filter(citing=citing, spec=spec, profile=profile, claim=claim).to_dicts()
        return before[0] if before else cited_row(None, citation, path)

    return evidence_table(claims, row)


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
    content = verdicts_in(path)
    if content is None:
        return {}
    from lnlab.report.folder import parse_verdicts  # late: with it comes scipy

    sentences = {verdict.claim: verdict.says for verdict in verdicts}
    found = parse_verdicts(content, path.parents[1])
    return {verdict.claim: verdict for verdict in found if sentences.get(verdict.claim) == verdict.says}


def evidence_table(claims: _Claims, row: Callable[[str, Citation], _Row]) -> pl.DataFrame:
    """The table ``evidence`` of claims: each citation of each claim once."""
    cited = [(claim["id"], citation) for claim in claims for citation in dict.fromkeys(citations_of(claim))]
    return frame("evidence", [{**row(citing, citation), "citing": citing} for citing, citation in cited])


def verdicts_in(path: Path) -> bytes | None:
    """The file of verdicts of a report, if it has one.

    Raises:
        ReportError: it is no regular file, or too large.
    """
    return read_file(path.parents[1], f"data/{path.name}")


def cited_row(content: bytes | None, citation: Citation, path: Path) -> _Row:
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
