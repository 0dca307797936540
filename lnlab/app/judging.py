"""Verdicts of a plan: read from the store where the rows behind them are the same, judged and stored where not."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.committed.evidence import cited_row, evidence_table, verdicts_in
from lnlab.committed.judging import locate_claim_problem
from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.specfile.citations import Citation, find_verdicts, verdicts_path
from lnlab.store.looks import add_looks, question_of_looks, read_looks

if TYPE_CHECKING:
    from lnlab.claims.claim import Claim, Verdict
    from lnlab.claims.look_book import LookBook
    from lnlab.compile.resolve.choices import Registries
    from lnlab.report.facts import ReportFacts
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results


def plan_results(store: "Store", stored: "StoredPlan") -> "Results":
    """The results of a plan, with the verdicts that its claims cite.

    Raises:
        LabError: a report that is cited is damaged, or not what it was when the plan was made.
    """
    results = store.results(stored.digest)
    digests = {Path(file.path): file.sha256 for file in stored.inputs}

    def row(_: str, citation: Citation) -> dict[str, Any]:
        # reports/<spec>/<profile>/data/verdicts.parquet: the fourth parent is the folder of all reports.
        path = next((path for path in digests if path == verdicts_path(path.parents[3], citation)), None)
        path = path or find_verdicts(Path(stored.spec), citation)
        content = verdicts_in(path)
        before = digests.get(path, "")
        if (digest_bytes(content) if content is not None else "") != before:
            what = "has changed since this was run" if before else "did not exist when this was run"
            raise LabError(Issue("differs", str(path), what, "run the spec again with lnlab run, which reads it again"))
        return cited_row(content, citation, path)

    return replace(results, evidence=evidence_table((stored.facts or {}).get("claims", ()), row))


def plan_verdicts(
    store: "Store",
    stored: "StoredPlan",
    results: "Results",
    plugins: Sequence[Path] = (),
    looks: "LookBook | None" = None,
) -> "list[Verdict]":
    """The verdict of every claim of a plan, in order.

    Each is judged at the level of its look, which depends on how often its criterion has been judged on other seeds.
    The store remembers that, and so does ``looks``, the record of a report. The looks of the store and of today are
    added to ``looks``.

    A claim that no rows could answer is ill-posed. The others are still judged.

    Imports scipy only if something is judged anew, or is about a derived quantity.
    """
    if plugins:
        from lnlab.committed.registries import load_registries

        load_registries(plugins)
    from lnlab.claims.claim_scope import selections_of_claim
    from lnlab.claims.look_book import LookBook
    from lnlab.claims.verdict_rows import verdict_from_row, verdict_row
    from lnlab.committed.commits import head_commit
    from lnlab.select.measured_quantities import measured_quantities
    from lnlab.select.selection import value_list

    claims: list[Claim] = stored.facts["claims"]
    statements = [statement for claim in claims for statement in (claim, *(claim.get("requires") or ()))]
    selections = [selection for statement in statements for selection in selections_of_claim(statement)]
    named = {name for selection in selections for name in value_list(selection.get("quantity", ()))}
    if named - measured_quantities(results, named):
        # A claim names a derived quantity, and the digest of its verdict covers those rows.
        from lnlab import analyse
        from lnlab.registry import import_pieces

        import_pieces(analyse)  # the derived quantities alone, as sections would import all that draws
    book = LookBook() if looks is None else looks
    question = question_of_looks(stored.profile, stored.overrides)
    book.looks = LookBook.from_json(book.to_json(), read_looks(store.root, stored.name, question)).looks
    book.commit = head_commit(Path(stored.spec).parent)
    names = [(claim["id"], _rows(claim, results, book)) for claim in claims]
    stored_rows = {(row["claim"], row["rows"]): row for row in store.verdicts(stored.digest).iter_rows(named=True)}
    unjudged = [claim for claim, name in zip(claims, names, strict=True) if name not in stored_rows]
    if unjudged:
        from lnlab.claims.judging import judge_all
        from lnlab.report.registries import FRAME_REGISTRIES
        from lnlab.tables import frame

        def locate(problem: Issue) -> Issue:
            from lnlab.specfile.load import parse_leniently  # the spec is read only where there is a problem

            report = stored.facts["report"]
            document, _ = parse_leniently(report["spec"], Path(report["path"]))
            return locate_claim_problem(problem, document, report["profile"], report["overrides"])

        _ = FRAME_REGISTRIES["claim"]  # importing it is what makes the kinds of claims known
        known = [verdict_from_row(stored_rows[name]) for name in names if name in stored_rows]
        new_names = [name for name in names if name not in stored_rows]
        verdicts = judge_all(unjudged, results, locate, known, book)
        rows = [verdict_row(verdict, name[1]) for verdict, name in zip(verdicts, new_names, strict=True)]
        with suppress(StoreError):  # a store that cannot be written: they are judged again next time
            store.keep_verdicts(stored.digest, frame("verdicts", [row for row in rows if row["rows"]]))
        stored_rows |= dict(zip(new_names, rows, strict=True))
    with suppress(StoreError):
        add_looks(store.root, stored.name, question, book.to_json())  # somebody else's store may be read-only
    return [verdict_from_row(stored_rows[name]) for name in names]


def _rows(claim: "Claim", results: "Results", book: "LookBook") -> str:
    """The digest of the rows that a claim reads, and of its look after the first.

    Empty where it reads none, or verdicts of other claims.
    """
    from lnlab.claims.criterion_digest import claim_criterion
    from lnlab.claims.row_digest import rows_digest
    from lnlab.keys import digest

    if "edges" in claim:  # its kind is not asked, as this must not wait for the kinds to be imported
        return ""
    try:
        rows = rows_digest(claim, results)
    except LabError:
        return ""
    look = book.number(claim["id"], *claim_criterion(claim, results))
    return rows if look == 1 else digest([rows, look])


def claims_as_judged(facts: "ReportFacts", known: "Registries") -> "dict[str, Claim]":
    """Return the claims of the spec in a report by id. Claims that today's grammar refuses are left out."""
    from lnlab.compile.check import sound_claims
    from lnlab.report.question import claims_with_choices
    from lnlab.specfile.load import parse_leniently

    document, _ = parse_leniently(facts.spec, Path(facts.path))
    claims = claims_with_choices(*sound_claims(document, known, facts.profile, facts.overrides))
    return {claim["id"]: claim for claim in claims}
