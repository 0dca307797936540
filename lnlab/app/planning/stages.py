"""The plans of a request whose choices are made on tuning seeds: of the next stage, and of the judged runs."""

from typing import TYPE_CHECKING

from lnlab.app.request import Request, compile_request

if TYPE_CHECKING:
    from lnlab.compile.decisions import Decision
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.store.store import Store


def next_plan(request: Request, known: "Registries", store: "Store") -> "Plan":
    """The plan of the first stage that is not complete in the store.

    The choices of the stages before it are decided by their stored runs.
    """
    from lnlab.app.compute import decide_open_choices

    decisions: tuple[Decision, ...] = ()
    while True:
        plan, _ = compile_request(request, known, decisions)
        new_decisions = decide_open_choices(plan, store)
        if not new_decisions:
            return plan
        decisions += new_decisions


def judged_plan(request: Request, known: "Registries", plan: "Plan") -> "Plan":
    """The plan of the judged runs. For each choice that ``plan`` still has to make, a value is assumed."""
    from lnlab.compile.decisions import assumed_decision

    if not plan.undecided:
        return plan
    judged, _ = compile_request(request, known, [*plan.decisions, *map(assumed_decision, plan.undecided)])
    return judged
