"""Verdicts of a plan: read from the store where the rows behind them are the same, judged and stored where not."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.store.looks import add_looks, question_of_looks, read_looks

if TYPE_CHECKING:
    from lnlab.claims.claim import Claim, Verdict
    from lnlab.claims.look_book import LookBook
    from lnlab.compile.resolve.choices import Registries
    from lnlab.report.facts import ReportFacts
    from lnlab.specfile.load import SpecDocument
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results


_UNCOMPARED_FIELDS = ("seeds", "measure", "quantity")
"""Fields of a verdict that are compared apart, or say only what its numbers are."""
_ROUNDING = 1e-9
"""Numbers that differ by less, relative to their size, are those of another machine."""


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


def equal_verdicts(one: "Verdict", other: "Verdict") -> bool:
    """Whether two verdicts have the same words, and the same numbers up to rounding."""
    if one.seeds.keys() != other.seeds.keys():
        return False
    names = one.__dataclass_fields__.keys() - set(_UNCOMPARED_FIELDS)
    pairs: list[tuple[Json, Json]] = [(getattr(one, name), getattr(other, name)) for name in names]
    pairs += [(one.seeds[seed], other.seeds[seed]) for seed in one.seeds]
    return all(
        math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=_ROUNDING) or (math.isnan(a) and math.isnan(b))
        if isinstance(a, float) and isinstance(b, float)
        else a == b
        for a, b in pairs
    )


def claims_as_judged(facts: "ReportFacts", known: "Registries") -> "dict[str, Claim]":
    """Return the claims of the spec in a report by id. Claims that today's grammar refuses are left out."""
    from lnlab.compile.check import sound_claims
    from lnlab.report.question import claims_with_choices
    from lnlab.specfile.load import parse_leniently

    document, _ = parse_leniently(facts.spec, Path(facts.path))
    claims = claims_with_choices(*sound_claims(document, known, facts.profile, facts.overrides))
    return {claim["id"]: claim for claim in claims}


def locate_claim_problem(
    problem: Issue, document: "SpecDocument", profile: str | None, overrides: Sequence[str]
) -> Issue:
    """The problem with ``file:line:col`` of the spec in front of its place.

    Args:
        problem: of a claim or what one requires, ``claims.<id>.<key>``, or of a section, ``report.<number>.<key>``.
        document: the spec.
        profile: its profile.
        overrides: the arguments of ``-s``.
    """
    from lnlab.compile.check import located_issues
    from lnlab.report.registries import FRAME_REGISTRIES

    part, claim, *keys = problem.where.split(".", 2)
    words = [int(key) if key.isdecimal() else key for key in ".".join(keys).split(".") if key]
    path = (part, int(claim) if part == "report" else claim, *words)
    (located,) = located_issues([replace(problem, place=path)], document, FRAME_REGISTRIES, profile, overrides)
    return located
