"""How runs end: k of n seeds train, and one setting trains on more seeds than another.

    share of seeds: B⁻¹(a; k, n-k+1) to B⁻¹(1-a; k+1, n-k), a half the level            (Clopper & Pearson, 1934)
    two settings: the same of b among the b + c seeds on which only one of them trains          (McNemar, 1947)

Every seed counts. A seed that diverged or has no finite number has not trained. A seed whose outcome is unknown (time,
memory or an error ended the run, or a rule before there was a number) counts against either verdict. At a level of 5 %
6 of 6 decide, and 5 of 5 do not. No other kind of claim reads runs that a stop rule ended.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion, interval_word
from lnlab.claims.outlook import alike_seeds, outlook_text
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import one_number_per_seed, reason_pending
from lnlab.claims.student import HALF_OF_SEEDS, fewest_alike, share_interval
from lnlab.claims.verdict_text import coverage_text
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.seed_words import seed_word, seeds_word
from lnlab.select.run_status import STOPPED, ending_text
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions
from lnlab.select.series import select_series, varying_columns
from lnlab.select.settings import NothingSelected
from lnlab.tables import Results

EndStatus = Literal["finished", "stopped", "diverged", "failed", "timed_out", "out_of_memory"]


@dataclass(frozen=True)
class SeedTally:
    """What became of each seed of one setting.

    Attributes:
        met: whether it did what the claim counts.
        unknown: seeds that cannot be counted on either side, with the reason.
        pending: seeds that have not run to their end.
        fates: in words how a seed ended that did not simply finish.
    """

    met: Mapping[int, bool]
    unknown: Mapping[int, str]
    pending: tuple[int, ...]
    fates: Mapping[int, str]

    @property
    def total(self) -> int:
        """Every seed."""
        return len(self.met) + len(self.unknown) + len(self.pending)


@claims.register("status", measure="share", about=("share",), law=False)
def status(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    to: dict[str, Json] | None = None,
    status: EndStatus | list[EndStatus] | None = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    expect: Literal["trains", "fails"] = "trains",
) -> Finding:
    """``k of n``: more than half of the seeds train, or more than with what ``to`` changes (Clopper & Pearson, 1934).

    A seed trains if its number lies in the region (``of: {quantity: learned_fraction, ...}, at_least: 0.9``), and no
    seed that failed does. With ``status`` in place of a region, the seeds are counted whose run ended so (``stopped``
    by its rule, ``finished`` after all updates). ``expect: fails``: fewer than half do. With ``to``, only seeds count
    on which one of the two does and the other does not (McNemar, 1947).
    """
    statuses = None if status is None else [status] if isinstance(status, str) else list(status)
    allowed = None if statuses else declared_region(between, at_least, at_most)
    if statuses and (between, at_least, at_most) != (None, None, None):
        raise LabError(Issue("conflict", "status", "declares both a status and a range", "keep one of them"))
    statement = f"ended {' or '.join(statuses)}" if statuses else f"{of.get('quantity', 'value')} {allowed}"
    sides = [of] if to is None else [of, {**of, **to}]
    tallies = [
        tally_by_status(results, side, statuses or ()) if allowed is None else tally_by_number(results, side, allowed)
        for side in sides
    ]
    half = Region(low=HALF_OF_SEEDS) if expect == "trains" else Region(high=HALF_OF_SEEDS)
    return (
        share_finding(tallies[0], statement, half, criterion)
        if to is None
        else mcnemar_finding(tallies[0], tallies[1], statement, half, criterion)
    )


def tally_by_number(results: Results, of: Conditions, allowed: Region) -> SeedTally:
    """Seeds whose number lies in the region."""
    observed = select_series(results, of, include_stopped=True)
    met = {seed: number is not None and number in allowed for seed, number in one_number_per_seed(observed).items()}
    runs = Selected(results, of).endings.filter(status=STOPPED)
    stopped = {
        seed: ending_text(STOPPED, why) for seed, why in runs.select("seed", "reason").iter_rows() if seed in met
    }
    failed = dict.fromkeys(observed.failed, False)
    fates = stopped | dict(observed.failed) | dict(observed.excluded)
    return SeedTally(met | failed, observed.excluded, observed.pending, fates)


def tally_by_status(results: Results, of: Conditions, statuses: Sequence[EndStatus]) -> SeedTally:
    """Seeds whose run ended in one of the ways.

    Raises:
        NothingSelected: no run is selected.
        LabError: a seed has several runs.
    """
    runs = Selected(results, of).endings
    if runs.is_empty():
        raise NothingSelected(
            Issue("empty-selection", "of", "no run matches the whole selection", "lnlab plan prints the runs there are")
        )
    if runs["seed"].is_duplicated().any():
        differing = [
            f"{axis} ({', '.join(labels)})"
            for axis, labels in varying_columns(results, runs).items()
            if len(labels) > 1
        ]
        raise LabError(
            Issue("ambiguous", "of", f"a {seed_word()} has several runs: {'; '.join(differing)}", "select one of each")
        )
    met: dict[int, bool] = {}
    fates: dict[int, str] = {}
    pending: list[int] = []
    for seed, run_status, reason in runs.select("seed", "status", "reason").sort("seed").iter_rows():
        if run_status in (None, "interrupted"):
            pending.append(seed)
            continue
        met[seed] = run_status in statuses
        if run_status != "finished":
            fates[seed] = ending_text(run_status, reason)
    return SeedTally(met, {}, tuple(pending), fates)


def share_finding(tally: SeedTally, statement: str, half: Region, criterion: Criterion = ONE_LOOK) -> Finding:
    """Whether more, or fewer, than half of all seeds do it."""
    k = sum(tally.met.values())
    seeds = {seed: float(met) for seed, met in sorted(tally.met.items())}
    finding = Finding("undecided", f"share of {seeds_word()}", "", inside=k, n=len(tally.met), seeds=seeds)
    return _share_verdict(
        finding, f"{k} of {tally.total} {seeds_word()}: {statement}", len(tally.unknown), half, [tally], criterion
    )


def mcnemar_finding(
    a: SeedTally, b: SeedTally, statement: str, half: Region, criterion: Criterion = ONE_LOOK
) -> Finding:
    """Whether the first of two settings does it more, or less, often than the second, on seeds where only one does.

    A seed counts 1 if only the first does it, 0 if only the second does, and a half where they do not differ.
    """
    both = sorted(a.met.keys() & b.met.keys())
    seeds = {seed: (1 + a.met[seed] - b.met[seed]) / 2 for seed in both}
    k, other = (list(seeds.values()).count(x) for x in (1.0, 0.0))
    # A seed that is still to run on one side is pending, and not unknown.
    unknown = len((a.unknown.keys() | b.unknown.keys()) - {*a.pending, *b.pending})
    contrast = f"{statement}: only with 'of' on {k} {seeds_word()}, only with 'to' on {other}"
    contrast += f", alike on {len(both) - k - other}"
    finding = Finding("undecided", f"share of {seeds_word()} that differ", "", inside=k, n=k + other, seeds=seeds)
    return _share_verdict(finding, contrast, unknown, half, [a, b], criterion)


def _share_verdict(
    counts: Finding,
    statement: str,
    unknown: int,
    half: Region,
    tallies: Sequence[SeedTally],
    criterion: Criterion,
) -> Finding:
    """The finding of a share. Unknown seeds stand on the side that makes its interval wider."""
    pending = sorted({seed for tally in tallies for seed in tally.pending})
    total = max(tally.total for tally in tallies)
    k = counts.inside
    n = counts.n + unknown
    n_by_ending = Counter(why for tally in tallies for why in tally.fates.values())
    endings_text = "".join(f"; {n} {why}" for why, n in sorted(n_by_ending.items()))
    finding = replace(counts, n=n, region_low=half.low, region_high=half.high)
    if n:
        low, high = share_interval(k, n, unknown, criterion)
        finding = replace(finding, estimate=k / n, low=low, high=high)
    if pending:
        return replace(finding, reason=reason_pending(pending, total) + endings_text)
    if total < (least := fewest_alike(criterion.level)):
        reason = f"{statement}; {total} {seeds_word()}; a verdict needs {least}, by rule"
        level = criterion.next_level if criterion.seen else criterion.level
        needed = _deciding_seeds(k, n, total, 1 - level, fewest_alike(level)) if n else least
        if needed != least:
            reason += f"; {outlook_text(needed, total, criterion, first=not criterion.seen)}"
        return replace(finding, reason=reason + endings_text)
    if not n:
        return replace(finding, reason=f"{statement}; no {seed_word()} tells them apart" + endings_text, tested=True)
    reason = (
        f"{statement}; {coverage_text(criterion.level)} interval of the share {low:.2f} to {high:.2f}, to be {half}"
    )
    verdict, _ = interval_word(low, high, half)
    if verdict == "undecided":
        reason += f"; {outlook_text(_deciding_seeds(k, n, total, 1 - criterion.next_level), total, criterion)}"
    return replace(finding, verdict=verdict, reason=reason + endings_text, tested=True)


def _deciding_seeds(k: int, n: int, total: int, coverage: float, least: int = 0) -> int | None:
    """Of how many seeds enough tell the two sides apart, if as large a share does as n of these, k of them alike."""
    telling = alike_seeds(k, n, coverage)
    return None if telling is None else max(math.ceil(telling * total / n), least)
