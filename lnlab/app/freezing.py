"""Freeze the criteria of a spec before it runs, and note which of its claims had been looked at."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.request import Request, compile_request, open_store
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.specfile.load import load_spec, text_states_results

if TYPE_CHECKING:
    from lnlab.committed.frozen import FrozenCriterion
    from lnlab.compile.resolve.choices import Registries
    from lnlab.store.store import Store


@dataclass(frozen=True)
class FrozenSpec:
    """The criteria of a spec in one of its profiles, as they are frozen now.

    Attributes:
        path: of the file that holds them.
        criteria: by claim.
        kept: how many had been frozen before, and keep their date.
    """

    path: Path
    criteria: "dict[str, FrozenCriterion]"
    kept: int


def freeze_spec(request: Request, known: "Registries") -> FrozenSpec:
    """Freeze the criteria of a request in the file beside its spec.

    Raises:
        LabError: a mistake in the spec, it has no claim, its results are a table, or the file there cannot be read.
        OSError: the file cannot be written.
    """
    from lnlab.app.known_looks import LooksByClaim, known_looks
    from lnlab.claims.look_book import LookBook
    from lnlab.committed.frozen import freeze_criteria, frozen_path, planned_criteria, read_frozen
    from lnlab.committed.locks.lock_report import report_of_spec
    from lnlab.store.looks import question_of_looks, read_looks

    spec, profile = request.spec, request.profile
    document = load_spec(spec)
    if text_states_results(document.text):
        what, remedy = "its results are a table: no run is to come", "freeze the criteria of a spec that runs"
        raise LabError(Issue("unsupported", str(spec), what, remedy))
    criteria = planned_criteria(document, known, profile)
    if not criteria:
        raise LabError(Issue("empty-selection", str(spec), "has no claim", "write a claim first"))
    store = open_store(None, spec)
    records: list[LooksByClaim] = [read_looks(store.root, spec.stem, question_of_looks(profile, ()))]
    reported = True
    try:
        records += known_looks(report_of_spec(spec, profile), spec, profile)
    except LabError:
        reported = False
        records += known_looks(spec.parent, spec, profile)  # the lock alone
    looked = LookBook.from_json(*records).to_json()
    ran = reported or _has_ended(store, request, known)
    before = read_frozen(spec, profile)
    frozen = freeze_criteria(spec, profile, criteria, looked=looked, ran=ran)
    return FrozenSpec(frozen_path(spec), frozen, sum(before.get(claim) == entry for claim, entry in frozen.items()))


def _has_ended(store: "Store", request: Request, known: "Registries") -> bool:
    """Whether the store has the end of a run of a request, of its tuning runs where there are any."""
    if not store.root.is_dir():
        return False
    try:
        plan, _ = compile_request(request, known, assume_data=True)
        return store.found(plan).runs["status"].count() > 0
    except LabError:
        return False
