"""The looks at a claim in words: each of them, and how its criterion stands to them in time."""

from collections.abc import Mapping, Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.criterion_digest import covers
from lnlab.claims.look_book import Look, looks_before
from lnlab.claims.verdict_text import counted_word, coverage_text
from lnlab.keys import Json
from lnlab.report.words.path_names import number_ranges
from lnlab.report.words.wording import count_noun, region_in_words
from lnlab.seed_words import seeds_word


def look_lines(stated: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    """Every look in words: ``Look 1: seeds 1–5 (n = 5), 97.5 %, 2026-11-20, undecided``."""
    lines = []
    for look in map(Look.from_json, stated):
        seeds = f"Look {look.look}: {seeds_word()} {number_ranges(look.seeds)} (n = {len(look.seeds)})"
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
    before_it = f"a first look{word}" if len(others) == 1 else f"{count_noun(len(others), 'look')}, the first{word},"
    same = all(set(look.seeds) == set(now.seeds) for look in others)
    on_seeds = f"on the same {seeds_word()}" if same else f"on {seeds_word()} that are judged again"
    level = coverage_text(now.alpha)
    return f"{what} by {since}, after {before_it} {on_seeds}; this is look {now.look}, at {level}."


def frozen_criterion(frozen: Mapping[str, str], stated: Sequence[Mapping[str, Json]]) -> str:
    """``Its criterion was frozen on 2026-11-28, before the first run.``, with the day by which it was changed if so."""
    if not frozen:
        return ""
    when = f"after {frozen['after']}" if frozen.get("after") else "before the first run"
    looks = [Look.from_json(look) for look in stated]
    days = [look.date for look in looks if look.date and look.criterion == looks[-1].criterion]
    changed = f", and changed {f'by {min(days)}' if days else 'since'}" if frozen["state"] == "changed" else ""
    return f"Its criterion was frozen on {frozen['date']}, {when}{changed}."


def frozen_sentence(frozen: Mapping[str, Mapping[str, str]], claims: Sequence[str]) -> str:
    """``Criteria frozen on 2026-11-28, before the first run.``, with the claims of which that is not so.

    Empty where no criterion is frozen.

    Args:
        frozen: by claim, as a report keeps it.
        claims: the ids of all.
    """
    if not frozen:
        return ""
    days = sorted({entry["date"] for entry in frozen.values()})
    when = f"on {days[0]}" if len(days) == 1 else f"between {days[0]} and {days[-1]}"
    entries = {claim: frozen[claim] for claim in claims if claim in frozen}
    late = {after: [c for c, entry in entries.items() if entry.get("after") == after] for after in ("a run", "a look")}
    exceptions = {
        **{f"after {after}": names for after, names in late.items()},
        "changed since": [claim for claim, entry in entries.items() if entry["state"] == "changed"],
        "not frozen": [claim for claim in claims if claim not in entries],
    }
    before = "" if len(entries) == sum(map(len, late.values())) else ", before the first run"
    statements = [f"{what}: {', '.join(names)}" for what, names in exceptions.items() if names]
    return "; ".join([f"Criteria frozen {when}{before}", *statements]) + "."
