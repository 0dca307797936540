"""Verdicts of a plan: read from the store where the rows behind them are the same, judged and stored where not."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue
from lnlab.store.looks import add_looks, read_looks

if TYPE_CHECKING:
    from lnlab.claims.claim import Claim, Verdict
    from lnlab.claims.look_book import LookBook
    from lnlab.specfile.load import SpecDocument
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results


def plan_verdicts(
    store: "Store",
    stored: "StoredPlan",
    results: "Results",
    plugins: Sequence[Path] = (),
    looks: "LookBook | None" = None,
) -> "list[Verdict]":
    """The verdict of every claim of a plan, in order.

    Each is judged at the level of its look: how often its criterion has been judged on other seeds the store remembers,
    and ``looks``, the record of a report, to which what the store knows and the looks of today are added.

    Imports scipy only where something is judged anew, or is about a quantity that is derived.

    A claim that no rows could answer is ill-posed; it takes none of the others with it.
    """
    if plugins:
        from lnlab.record.registries import load_registries

        load_registries(plugins)
    from lnlab.claims.verdict_rows import verdict_from_row

    claims: list[Claim] = stored.facts["claims"]
    _register_quantities(claims, results)
    book = _book(store, stored, looks)
    names = [(claim["id"], _rows(claim, results, book)) for claim in claims]
    stored_rows = {(row["claim"], row["rows"]): row for row in store.verdicts(stored.digest).iter_rows(named=True)}
    unjudged = [claim for claim, name in zip(claims, names, strict=True) if name not in stored_rows]
    if unjudged:
        known = [verdict_from_row(stored_rows[name]) for name in names if name in stored_rows]
        new_names = [name for name in names if name not in stored_rows]
        stored_rows |= _judge(store, stored, results, unjudged, new_names, known, book)
    with suppress(StoreError):
        add_looks(store.root, stored.name, book.to_json())
    return [verdict_from_row(stored_rows[name]) for name in names]


def _register_quantities(claims: "Sequence[Claim]", results: "Results") -> None:
    """Import the derived quantities where a claim names one: the digest of its verdict covers their rows."""
    from lnlab.claims.claim_scope import selections_of_claim
    from lnlab.select.measured_quantities import measured_quantities
    from lnlab.select.selection import value_list

    statements = [statement for claim in claims for statement in (claim, *(claim.get("requires") or ()))]
    selections = [selection for statement in statements for selection in selections_of_claim(statement)]
    named = {name for selection in selections for name in value_list(selection.get("quantity", ()))}
    if named - measured_quantities(results, named):
        from lnlab.report.registries import FRAME_REGISTRIES

        _ = FRAME_REGISTRIES["quantity"]  # importing it is what makes them known


def _book(store: "Store", stored: "StoredPlan", looks: "LookBook | None") -> "LookBook":
    """The looks of a report, with those that the store remembers of the spec and the commit of the spec's folder."""
    from lnlab.claims.look_book import LookBook
    from lnlab.record.commits import head_commit

    book = LookBook() if looks is None else looks
    merged = LookBook.from_json(book.to_json(), read_looks(store.root, stored.name))
    book.looks, book.commit = merged.looks, head_commit(Path(stored.spec).parent)
    return book


def _rows(claim: "Claim", results: "Results", book: "LookBook") -> str:
    """The digest of the rows that a claim reads, and of its look after the first.

    Empty where it reads none, or verdicts of other claims.
    """
    from lnlab.claims.look_book import claim_criterion
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


def _judge(
    store: "Store",
    stored: "StoredPlan",
    results: "Results",
    claims: "Sequence[Claim]",
    names: list[tuple[str, str]],
    known: "Sequence[Verdict]",
    book: "LookBook",
) -> dict[tuple[str, str], dict[str, Any]]:
    """Judge claims, store their verdicts where the store can be written, and return them as rows."""
    from lnlab.claims.claim import judge_all
    from lnlab.claims.verdict_rows import verdict_row
    from lnlab.report.registries import FRAME_REGISTRIES
    from lnlab.tables import frame

    _ = FRAME_REGISTRIES["claim"]  # importing it is what makes the kinds of claims known
    verdicts = judge_all(claims, results, _claim_locator(stored), known, book)
    rows = [verdict_row(verdict, name[1]) for verdict, name in zip(verdicts, names, strict=True)]
    with suppress(StoreError):
        store.keep_verdicts(stored.digest, frame("verdicts", [row for row in rows if row["rows"]]))
    return dict(zip(names, rows, strict=True))


def _claim_locator(stored: "StoredPlan") -> Callable[[Issue], Issue]:
    """``locate_claim_problem`` for the plan's spec, which is read only when there is a problem."""

    def locate(problem: Issue) -> Issue:
        from lnlab.specfile.load import parse_leniently

        report = stored.facts["report"]
        document, _ = parse_leniently(report["spec"], Path(report["path"]))
        return locate_claim_problem(problem, document, report["profile"], report["overrides"])

    return locate


def locate_claim_problem(
    problem: Issue, document: "SpecDocument", profile: str | None, overrides: Sequence[str]
) -> Issue:
    """The problem with ``file:line:col`` of the spec in front of its place.

    Args:
        problem: of a claim or what one requires, ``claims.<id>.<key>``; or of a section, ``report.<number>.<key>``.
        document: the spec.
        profile: its profile.
        overrides: the arguments of ``-s``.
    """
    from lnlab.compile.front import claim_location, section_location
    from lnlab.report.registries import FRAME_REGISTRIES

    part, claim, *keys = problem.where.split(".")
    words = [int(key) if key.isdecimal() else key for key in keys]
    if part == "report":
        place = section_location(document, FRAME_REGISTRIES, profile, overrides, (part, int(claim), *words))
    else:
        place = claim_location(document, FRAME_REGISTRIES, profile, overrides, claim, words)
    return Issue(problem.code, f"{place}: {problem.where}", problem.what, problem.remedy)
