"""How runs end: k of n seeds train.

    share of seeds: B⁻¹(a; k, n-k+1) to B⁻¹(1-a; k+1, n-k), a half the level            (Clopper & Pearson, 1934)

Every seed counts. A seed that diverged or has no finite number has not trained. A seed whose outcome is unknown (time,
memory or an error ended the run, or a rule before there was a number) counts against either verdict. At a level of 5 %
6 of 6 decide, and 5 of 5 do not. No other kind of claim reads runs that a stop rule ended.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion, interval_word
from lnlab.claims.outlook import alike_seeds, outlook_text
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import one_number_per_seed, reason_pending
from lnlab.claims.student import HALF_OF_SEEDS, fewest_alike, share_interval
from lnlab.claims.verdict_text import coverage_text
from lnlab.keys import Json
from lnlab.seed_words import seeds_word
from lnlab.select.run_status import STOPPED, ending_text
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions
from lnlab.select.series import select_series
from lnlab.tables import Results


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
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    expect: Literal["trains", "fails"] = "trains",
) -> Finding:
    """``k of n``: more than half of the seeds train (Clopper & Pearson, 1934).

    A seed trains if its number lies in the region (``of: {quantity: learned_fraction, ...}, at_least: 0.9``), and no
    seed that failed does. ``expect: fails``: fewer than half do.
    """
    allowed = declared_region(between, at_least, at_most)
    half = Region(low=HALF_OF_SEEDS) if expect == "trains" else Region(high=HALF_OF_SEEDS)
    statement = f"{of.get('quantity', 'value')} {allowed}"
    return share_finding(tally_by_number(results, of, allowed), statement, half, criterion)


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


def share_finding(tally: SeedTally, statement: str, half: Region, criterion: Criterion = ONE_LOOK) -> Finding:
    """Whether more, or fewer, than half of all seeds do it. Unknown ones are on the side that makes it less certain."""
    k, total = sum(tally.met.values()), tally.total
    n = len(tally.met) + len(tally.unknown)
    endings = Counter(tally.fates.values())
    endings_text = "".join(f"; {count} {why}" for why, count in sorted(endings.items()))
    seeds = {seed: float(met) for seed, met in sorted(tally.met.items())}
    finding = Finding("undecided", f"share of {seeds_word()}", "", inside=k, n=n, seeds=seeds)
    finding = replace(finding, region_low=half.low, region_high=half.high)
    if n:
        low, high = share_interval(k, n, len(tally.unknown), criterion)
        finding = replace(finding, estimate=k / n, low=low, high=high)
    if tally.pending:
        return replace(finding, reason=reason_pending(sorted(tally.pending), total) + endings_text)
    statement = f"{k} of {total} {seeds_word()}: {statement}"
    if total < (least := fewest_alike(criterion.level)):
        reason = f"{statement}; {total} {seeds_word()}; a verdict needs {least}, by rule"
        level = criterion.next_level if criterion.seen else criterion.level
        needed = alike_seeds(k, n, 1 - level, fewest_alike(level)) if n else least
        if needed != least:
            reason += f"; {outlook_text(needed, total, criterion, first=not criterion.seen)}"
        return replace(finding, reason=reason + endings_text)
    reason = (
        f"{statement}; {coverage_text(criterion.level)} interval of the share {low:.2f} to {high:.2f}, to be {half}"
    )
    verdict, _ = interval_word(low, high, half)
    if verdict == "undecided":
        reason += f"; {outlook_text(alike_seeds(k, n, 1 - criterion.next_level), total, criterion)}"
    return replace(finding, verdict=verdict, reason=reason + endings_text, tested=True)
