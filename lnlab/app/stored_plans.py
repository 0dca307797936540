"""The plan that the store has of a request, whose runs a report or a query is about."""

from typing import TYPE_CHECKING

from lnlab.app.request import Request, refuse_absent_profile, remembered_plan
from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store


def stored_plan(store: "Store", request: Request) -> "StoredPlan":
    """The plan that a report or a query is about. lnlab itself may have changed since.

    A spec that was renamed, or whose claims or sections were changed, is compiled and keeps the runs that the store
    has of it.

    Raises:
        LabError: the spec has no such profile, or a mistake.
        StoreError: the store has no run of it.
    """
    from lnlab.store.plans import find_plan

    refuse_absent_profile(request)
    stored = remembered_plan(store, request)
    if stored is not None:
        return stored
    error: LabError = LabError(
        Issue("not-run", str(request.spec), "was never run with these options", f"{request.command('run')} first")
    )
    # With overrides another plan of the same file would answer another question.
    if not request.overrides:
        try:
            stored = find_plan(store.root, request.spec, request.profile, content=request.content)
        except StoreError as unfound:
            error = unfound
    # Page and lock are called after the file: under a new name the plan is made anew.
    if stored is None or stored.name != request.spec.stem:
        from lnlab.app.compute import plan_of_stored_runs  # late: what is remembered needs no compiler

        stored = plan_of_stored_runs(store, request) or stored
    if stored is None:
        raise error
    return stored


def last_plan(store: "Store") -> "StoredPlan":
    """The plan that was used last.

    Raises:
        LabError: nothing was run in this store.
    """
    stored = store.last()
    if stored is None:
        raise LabError(Issue("not-run", str(store.root), "nothing was run in this store", "lnlab run SPEC first"))
    return stored
