"""Compute what the store lacks of a plan, on all cores, and report progress: between the spec and the verdicts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.analyse.tuning.decide import decide_tuning
from lnlab.app.missing_work import work_to_do
from lnlab.app.plan_facts import plan_facts
from lnlab.app.provenance import provenance_of_run
from lnlab.app.rehearsal.judgeable import require_judgeable
from lnlab.app.request import Request, compile_request
from lnlab.app.rounds.sources import compute_sources, with_weights
from lnlab.app.rounds.units import compute_units
from lnlab.app.run_options import RunOptions
from lnlab.app.run_summary import RunSummary
from lnlab.committed.registries import load_registries
from lnlab.compile.cost.memory import MemoryPlan, plan_memory
from lnlab.compile.decisions import Decision, decision_from_json
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.errors import LabError, SpecError
from lnlab.execute.devices import device_kind
from lnlab.execute.machine import ThisMachine
from lnlab.keys import Json
from lnlab.store.plans import StoredPlan, plans_newest_first
from lnlab.store.store import Store
from lnlab.training_extra import absent_packages

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries
    from lnlab.specfile.load import SpecDocument


def compute_missing(
    store: Store,
    request: Request,
    options: RunOptions,
    decisions: tuple[Decision, ...] = (),
    part: "Callable[[Plan, Registries], Plan]" = lambda plan, _: plan,
) -> RunSummary:
    """Compile a request, store the plan, compute what the store lacks of it, and decide, until no choice is open.

    Args:
        store: where rows are kept.
        request: the question.
        options: how units are computed.
        decisions: choices that are made already.
        part: what is computed of a plan. All of it if not given.

    Raises:
        LabError: every problem of the spec, or something that it asks and could not be judged.
        CorpusError: a corpus is absent or damaged.
        StoreError: the store cannot be written.
        LabError: a unit needs more memory than there is.
    """
    known = load_registries(request.plugins)
    require_judgeable(request, known)
    tuned = 0
    while True:
        plan, document = compile_request(request, known, decisions)
        if made := remembered_decisions(plan, store):
            decisions = (*decisions, *made)
            continue
        provenance = provenance_of_run(plan.inputs) if store.pending(plan) else stored_provenance(store, plan.name)
        facts = plan_facts(request, plan, document, known, provenance)
        plan = part(plan, known)
        stored = store.keep_plan(plan, request.spec, facts, content=request.content)
        done = compute_round(store, plan, stored, request, known, options)
        new_decisions = decide_open_choices(plan, store)
        if done.interrupted or not new_decisions:
            return replace(done, tuned=tuned)
        decisions = (*decisions, *new_decisions)
        tuned += done.units


def next_plan(
    request: Request, known: "Registries", store: Store, decisions: tuple[Decision, ...] = ()
) -> "tuple[Plan, SpecDocument]":
    """The plan of the first stage that is not complete in the store, with its document.

    The choices of the stages before it are ``decisions``, or are decided by their stored runs.
    """
    while True:
        plan, document = compile_request(request, known, decisions)
        new_decisions = decide_open_choices(plan, store)
        if not new_decisions:
            return plan, document
        decisions += new_decisions


def plan_of_stored_runs(store: Store, request: Request) -> StoredPlan | None:
    """Compile a request and store its plan, or return None if the store holds no run of it or a corpus is absent.

    Raises:
        SpecError: every problem of the spec.
    """
    known = load_registries(request.plugins)
    decisions: tuple[Decision, ...] = ()
    try:
        plan, document = next_plan(request, known, store, decisions)
        if store.found(plan).runs["status"].null_count() == len(plan.runs):
            return None
        facts = plan_facts(request, plan, document, known, stored_provenance(store, plan.name))
        return store.keep_plan(plan, request.spec, facts, content=request.content)
    except SpecError:
        raise
    except LabError:
        return None


def stored_provenance(store: Store, name: str) -> Json:
    """What the plan of this name that was used last states of the start of its runs. Empty if none does."""
    for stored in plans_newest_first(store.root):
        if stored.name == name and (found := ((stored.facts or {}).get("report") or {}).get("provenance")):
            return found
    return {}


def decide_open_choices(plan: Plan, store: Store) -> tuple[Decision, ...]:
    """The decisions on the open choices of a plan, of its runs or as remembered. Empty while these runs are to come."""
    results = store.found(plan) if plan.undecided else None
    return decide_tuning(plan.undecided, results) if results and results.ended else remembered_decisions(plan, store)


def remembered_decisions(plan: Plan, store: Store) -> tuple[Decision, ...]:
    """The decisions that a plan of the store states on all open choices of this one, whose runs are not all there.

    A report has no tuning runs: it says what they chose. What was chosen among other candidates, by another rule or on
    other seeds has another key.
    """
    if not plan.undecided or store.found(plan).ended:
        return ()
    for stored in plans_newest_first(store.root):
        stated = ((stored.facts or {}).get("report") or {}).get("decisions", ())
        made = {entry["key"]: entry for entry in stated}
        if all(question.key in made for question in plan.undecided):
            return tuple(decision_from_json(made[question.key]) for question in plan.undecided)
    return ()


def compute_round(
    store: Store,
    plan: Plan,
    stored: StoredPlan,
    request: Request,
    known: "Registries",
    options: RunOptions,
) -> RunSummary:
    """Compute what the store lacks of the plan of one stage."""
    misses = work_to_do(store.lacks(stored), retry_failed=options.retry_failed)
    missing_keys = {key: set(miss.measurements) for key, miss in misses.items()}
    due_units = [
        replace(unit, measurements=tuple(m for m in unit.measurements if m.key in missing_keys[unit.key]))
        for unit in plan.trajectories
        if unit.key in missing_keys
    ]
    if due_units:
        # A plan that is held in memory means a store that cannot be written: it would keep no row either.
        store.require_stored(stored)
    before = compute_sources(store, plan, due_units, request, known, options)
    if before is not None:
        store.used(stored)
        if before.interrupted:
            return replace(before, stored=stored)
    # Only now, as the states that these units begin with were computed above.
    due_units = with_weights(store, plan, due_units)
    return compute_units(store, plan, stored, due_units, request, known, options)


def plan_here(
    units: Sequence[Trajectory], known: "Registries", workers: int | None, memory: int | None = None
) -> MemoryPlan:
    """How units would be run on this machine.

    Args:
        units: what is to be done.
        known: the registries.
        workers: asked for. None means as many as cores.
        memory: bytes that they may have. None means all of this machine.
    """
    here = ThisMachine(workers)
    room = min(here.memory, memory or here.memory)
    gpus = () if absent_packages() else here.gpus({device_kind(unit.setting) for unit in units})
    return plan_memory(units, known, here.workers, room, gpus)
