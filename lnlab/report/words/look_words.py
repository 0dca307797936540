"""The looks at a claim in words: each of them, and how its criterion stands to them in time."""

from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.criterion_digest import covers
from lnlab.claims.look_book import Look, looks_before
from lnlab.claims.verdict_text import counted_word, coverage_text
from lnlab.keys import Json
from lnlab.report.words.path_names import number_ranges
from lnlab.report.words.wording import count_noun, region_in_words


def look_lines(stated: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    """Every look in words: ``Look 1: seeds 1–5 (n = 5), 97.5 %, 2026-11-20, undecided``."""
    lines = []
    for look in map(Look.from_json, stated):
        seeds = f"Look {look.look}: seeds {number_ranges(look.seeds)} (n = {len(look.seeds)})"
        level = coverage_text(look.alpha) if look.alpha else ""
        lines.append(", ".join(filter(None, (seeds, level, look.date, look.verdict))))
    return tuple(lines)


def changed_criterion(stated: Sequence[Mapping[str, Json]], verdict: Verdict) -> str:
    """A sentence where the criterion of a verdict is newer than a look at seeds that it is judged on, else "".

    ``The accepted range was changed from at most -0.1 to at most -0.3 by 2026-11-26, after a first look (contradicted)
    on the same seeds; this is look 2, at 98.75 %.``
    """
    looks = [Look.from_json(look) for look in stated]
    own = [look for look in looks if look.look == verdict.look and set(look.seeds) >= set(verdict.seeds)]
    if not own:
        return ""
    now = own[-1]
    before = looks_before(looks[: looks.index(now)], now.criterion, now.seeds)
    others = [look for look in before if not covers(look.criterion, now.criterion)]
    if not others:
        return ""
    first, last = others[0], others[-1]
    since = min(look.date for look in [*before, now] if look not in others)
    what = "What is tested was changed"
    if last.accepted and now.accepted and last.accepted != now.accepted:
        what = (
            f"The accepted range was changed from {region_in_words(*last.accepted)} to {region_in_words(*now.accepted)}"
        )
    word = f" ({counted_word(first.verdict)})" if first.verdict else ""
    looked = f"a first look{word}" if len(others) == 1 else f"{count_noun(len(others), 'look')}, the first{word},"
    same = all(set(look.seeds) == set(now.seeds) for look in others)
    where = "on the same seeds" if same else "on seeds that are judged again"
    return f"{what} by {since}, after {looked} {where}; this is look {now.look}, at {coverage_text(now.alpha)}."
