"""What further seeds would decide, how long they take on this machine, and ``lnlab run --decide``, which runs them.

Each further look is one that ``claims.looks`` pays for, of as many seeds as the verdict itself states: it decides about
half of the claims for which it is made. The next look is therefore the one with the most claims a second.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from lnlab.app.compute import next_plan, plan_here
from lnlab.app.formats import format_count, format_duration
from lnlab.app.planning.pace import expected_pace, no_pace
from lnlab.app.request import Request, judged_plan
from lnlab.claims.claim_scope import results_of_claim, variants_of_claim
from lnlab.claims.outlook import ON_THE_EDGE
from lnlab.claims.verdict_text import further_seeds, of_fresh_seeds
from lnlab.committed.registries import load_registries
from lnlab.errors import LabError
from lnlab.execute.machine import ThisMachine
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.specfile.seeds import seeds_text, short_list

if TYPE_CHECKING:
    from lnlab.app.run_options import RunOptions
    from lnlab.app.run_summary import RunResult
    from lnlab.claims.claim import Verdict
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.specfile.experiment import Experiment
    from lnlab.store.store import Store
    from lnlab.tables import Results

_NAMED = 4


class FurtherLook(NamedTuple):
    """A look that would decide a claim.

    Attributes:
        claim: its id.
        more: how many seeds it takes beside those of today, or alone.
        seeds: all that it judges.
        runs: a variant and a seed for each run that was not made yet.
    """

    claim: str
    more: int
    seeds: tuple[int, ...]
    runs: frozenset[tuple[str, int]]


def further_looks(
    claims: Iterable[Mapping[str, Json]],
    results: "Results",
    verdicts: "Iterable[Verdict]",
    taken: Collection[int] = (),
) -> list[FurtherLook]:
    """The looks that would decide the undecided claims of an experiment, as their verdicts state them.

    Args:
        claims: resolved.
        results: of the experiment.
        verdicts: of the claims.
        taken: seeds that no look may have, as values were chosen or margins set on them.
    """
    reasons = {verdict.claim: verdict.reason for verdict in verdicts if verdict.verdict == "undecided"}
    made = set(results.runs.filter(pl.col("status").is_not_null()).select("variant", "seed").iter_rows())
    last = max(results.runs["seed"], default=0)
    looks = []
    for claim in claims:
        reason = reasons.get(claim["id"], "")
        if not (more := further_seeds(reason)):
            continue
        own = results_of_claim(claim, results)
        today = () if of_fresh_seeds(reason) else tuple(sorted(set(own.runs["seed"])))
        free = (seed for seed in count(max(today, default=last) + 1) if seed not in taken)
        seeds = (*today, *islice(free, more))
        runs = {(variant, seed) for variant in variants_of_claim(claim, own) for seed in seeds}
        looks.append(FurtherLook(claim["id"], more, seeds, frozenset(runs - made)))
    return looks


def seconds_of_variants(results: "Results") -> dict[str, float]:
    """Variant -> how long one of its runs took, on average. Without those of which no time is known."""
    timed = results.runs.filter(pl.col("seconds") > 0).group_by("variant").agg(pl.col("seconds").mean())
    return dict(timed.iter_rows())


def next_looks(looks: Sequence[FurtherLook], seconds: Mapping[str, float], room: float) -> list[FurtherLook]:
    """The look with which most claims are looked at a second, and those that its runs pay for. Empty if none fits.

    Args:
        looks: which there may be.
        seconds: variant -> how long a run of it takes. One of which no time is known takes as long as the longest.
        room: seconds that the runs may take, one after another.
    """
    unknown = max(seconds.values(), default=0.0)

    def price(runs: Collection[tuple[str, int]]) -> float:
        return sum(seconds.get(variant, unknown) for variant, _ in runs)

    best: list[FurtherLook] = []
    worth = -1.0
    for look in looks:
        paid = [other for other in looks if other.runs <= look.runs]
        cost = price(look.runs)
        a_second = len(paid) / cost if cost else math.inf
        if cost <= room and a_second > worth:
            best, worth = paid, a_second
    return best


def decide_request(
    store: "Store",
    request: Request,
    options: "RunOptions",
    run: "Callable[[Store, Request, RunOptions], RunResult]",
) -> "RunResult":
    """Run a request, then further seeds where they decide most claims a minute, until all that can be are decided.

    A look that is estimated to take longer than is left of ``options.minutes`` is not begun. Where there is no such
    limit, a claim on the edge, which takes more than ``claims.outlook.ON_THE_EDGE`` seeds, is left as it is.

    Args:
        store: where rows are kept.
        request: the question.
        options: how units are computed, and for how long.
        run: runs a request and judges it.

    Returns:
        The results of all seeds. Its request names them, so that ``report`` draws what was decided.

    Raises:
        LabError: as ``run``, or the runs of the spec itself take longer than the time that there is.
    """
    begun = monotonic()
    known = load_registries(request.plugins)
    workers, minutes = ThisMachine(options.workers).workers, options.minutes
    following, _ = next_plan(request, known, store)
    # a stage that chooses judges nothing: it has neither the claims nor their seeds
    plan = judged_plan(request, known, following)
    if minutes is not None:
        _require_minutes(minutes, _own_seconds(store, known, following, plan, options))
    outcome = run(store, request, options)
    seeds = dict(plan.experiment.claim_seeds)
    taken = _seeds_of_choices(plan.experiment)
    while not (outcome.summary.interrupted or outcome.summary.stored.undecided):
        room = math.inf if minutes is None else workers * (60 * minutes - (monotonic() - begun))
        looks = further_looks(outcome.summary.stored.facts["claims"], outcome.results, outcome.verdicts, taken)
        within = [look for look in looks if minutes is not None or len(look.seeds) <= ON_THE_EDGE]
        chosen = next_looks(within, seconds_of_variants(outcome.results), room)
        if not chosen:
            break
        seeds |= {look.claim: look.seeds for look in chosen}
        if not options.quiet:
            options.console.print(
                "\n".join(f"deciding {look.claim}: seeds {seeds_text(look.seeds)}" for look in chosen)
            )
        lists = json.dumps({claim: short_list(own) for claim, own in seeds.items()})
        further = replace(request, overrides=(*request.overrides, f"claim_seeds={lists}"))
        before, outcome = outcome.summary, run(store, further, options)
        summary = replace(
            outcome.summary,
            units=before.units + outcome.summary.units,
            seconds=before.seconds + outcome.summary.seconds,
            tuned=before.tuned + outcome.summary.tuned,
        )
        outcome = replace(outcome, summary=summary)
    return outcome


def _own_seconds(store: "Store", known: "Registries", following: "Plan", plan: "Plan", options: "RunOptions") -> float:
    """How long the runs take that the store lacks, those of the stage that comes first among them.

    Raises:
        LabError: no time of such a run is known.
    """
    stages = (following, plan) if following.undecided else (plan,)
    pending = [unit for stage in stages for unit, _ in store.pending(stage)]
    pace = expected_pace(store, plan, known)
    if pace is None:
        what = f"the time of a run is {no_pace(plan)}"
        raise LabError(Issue("not-measured", "--minutes", what, "run one seed without it first: -s seeds=1"))
    planned = plan_here(pending, known, options.workers, options.memory)
    return pace.seconds(planned.units, known, planned.workers)


def _require_minutes(minutes: float, seconds: float) -> None:
    """Refuse a limit that the spec's own runs do not keep, before anything is run."""
    if seconds > 60 * minutes:
        what = f"the spec's own runs take about {format_duration(seconds)}"
        remedy = f"give at least {seconds / 60:.2g} minutes, or fewer seeds with -s seeds=3"
        raise LabError(Issue("out-of-range", f"--minutes {minutes:g}", what, remedy))


def _seeds_of_choices(experiment: "Experiment") -> set[int]:
    """The seeds on which values are chosen or margins set."""
    of_margins = [claim.calibration.seeds for claim in experiment.claims if claim.calibration]
    return {seed for seeds in (*(choice.seeds for choice in experiment.choose), *of_margins) for seed in seeds}


def further_seeds_lines(looks: Sequence[FurtherLook], seconds: Mapping[str, float]) -> list[str]:
    """``to decide post_grows: 5 more seeds, 10 runs, about 35 min 10 s on one worker``, a line a number of seeds."""
    lines = []
    for more in sorted({look.more for look in looks}):
        alike = [look for look in looks if look.more == more]
        named = ", ".join(look.claim for look in alike[:_NAMED])
        named += f" and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
        runs = frozenset[tuple[str, int]]().union(*(look.runs for look in alike))
        known = all(variant in seconds for variant, _ in runs)
        time = sum(seconds.get(variant, 0.0) for variant, _ in runs)
        words = f", about {format_duration(time)} on one worker" if known else ""
        lines.append(f"to decide {named}: {format_count(more, 'more seed')}, {format_count(len(runs), 'run')}{words}")
    return lines
