"""What further seeds would decide, and how long they take on this machine by the seconds that its runs have taken."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from lnlab.app.formats import format_count, format_duration
from lnlab.claims.claim_scope import results_of_claim, variants_of_claim
from lnlab.claims.verdict_text import further_seeds
from lnlab.keys import Json

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.tables import Results

_NAMED = 4


class FurtherSeeds(NamedTuple):
    """Seeds that would decide claims.

    Attributes:
        seeds: how many.
        claims: the ids of the claims.
        runs: of these seeds. A variant that several of the claims read runs once.
        seconds: on one worker. None where no run of one of the variants has taken a known time.
    """

    seeds: int
    claims: tuple[str, ...]
    runs: int
    seconds: float | None


def further_seeds_of_claims(
    claims: Iterable[Mapping[str, Json]], results: "Results", verdicts: "Iterable[Verdict]"
) -> list[FurtherSeeds]:
    """The seeds that would decide the undecided claims of an experiment, fewest first.

    Args:
        claims: resolved.
        results: of the experiment.
        verdicts: of the claims.
    """
    reasons = {verdict.claim: verdict.reason for verdict in verdicts if verdict.verdict == "undecided"}
    timed = results.runs.filter(pl.col("seconds") > 0).group_by("variant").agg(pl.col("seconds").mean())
    seconds = dict(timed.iter_rows())
    groups: dict[int, dict[str, set[str]]] = {}
    for claim in claims:
        if seeds := further_seeds(reasons.get(claim["id"], "")):
            groups.setdefault(seeds, {})[claim["id"]] = set(variants_of_claim(claim, results_of_claim(claim, results)))
    found = []
    for seeds, variants_by_claim in sorted(groups.items()):
        variants = set().union(*variants_by_claim.values())
        known = variants <= seconds.keys()
        price = seeds * sum(seconds[variant] for variant in variants) if known else None
        found.append(FurtherSeeds(seeds, tuple(variants_by_claim), seeds * len(variants), price))
    return found


def further_seeds_lines(found: Sequence[FurtherSeeds]) -> list[str]:
    """``to decide post_grows: 5 more seeds, 10 runs, about 35 min 10 s on one worker``, a line each."""
    lines = []
    for seeds, claims, runs, seconds in found:
        named = ", ".join(claims[:_NAMED]) + (f" and {len(claims) - _NAMED} more" if len(claims) > _NAMED else "")
        time = "" if seconds is None else f", about {format_duration(seconds)} on one worker"
        lines.append(f"to decide {named}: {format_count(seeds, 'more seed')}, {format_count(runs, 'run')}{time}")
    return lines
