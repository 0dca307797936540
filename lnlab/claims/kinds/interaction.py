"""``(a - b) - part (c - d)`` within the seed: how much more one effect is than another, or than a part of another.

With the same setting changed by ``to`` under two conditions it is the interaction of a two-by-two design (Fisher, 1935,
Section 41). It is linear in the four numbers, so Student's interval over seeds is that of a difference. The parts for
which 0 lies in it are Fieller's (1954) interval of the ratio of the two effects.
"""

from typing import Annotated

from pydantic import Field

from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.region import declared_region
from lnlab.claims.sample import arm_names, weighted_sample
from lnlab.claims.student import judge_sample
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.selection import selections_by_word
from lnlab.select.series import select_series
from lnlab.tables import Results


def without_effect(part: float) -> float | None:
    """The interaction without an effect. Less a part, 0 is an edge like any other: the part is the threshold."""
    return 0.0 if part == 1 else None


@claims.register("interaction", measure="difference", no_effect=lambda claim: without_effect(claim["part"]))
def interaction(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    to: dict[str, Json],
    less: dict[str, Json],
    less_to: dict[str, Json] | None = None,
    part: Annotated[float, Field(gt=0)] = 1.0,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Finding:
    """``(a - b) - part (c - d)``: one effect less a part of another, paired by seed (Fisher, 1935).

    a is ``of``. b is a with what ``to`` changes. c is a with what ``less`` changes. d has both changes and those of
    ``less_to``. With ``part: 0.5`` and 0 as the edge it says whether one effect is at least half of another. Trained
    sides are compared where all finish; with ``about: median`` or ``share`` a failed seed ranks as the largest number.
    """
    allowed = declared_region(between, at_least, at_most)
    selections = selections_by_word({"of": of, "to": to, "less": less, "less_to": less_to or {}})
    identities = {word: canonical(selection) for word, selection in selections.items()}
    if identities["less"] == identities["less_to"]:
        what = "the second effect is zero: both of its selections are the same"
        raise LabError(Issue("no-effect", "less", what, "say in less_to what its second selection changes"))
    weights: dict[str, float] = {}  # a selection on both sides is one number with one weight
    words: dict[str, str] = {}
    for word, weight in zip(selections, (1.0, -1.0, -part, part), strict=True):
        identity = identities[word]
        weights[identity] = weights.get(identity, 0.0) + weight
        words.setdefault(identity, word)
    sides = {words[identity]: weight for identity, weight in weights.items() if weight}
    itself = all(identities[word] == identities[other] for word, other in (("of", "less"), ("to", "less_to")))
    if itself or not sides:
        raise LabError(Issue("no-effect", "less", "it subtracts the effect from itself", "change `of` or `to`"))
    changed = {**to, **less, **(less_to or {})}
    names = {  # by all that tells the four apart, as two of them may differ in any of it
        word: arm_names({}, {path: selections[word].get(path) for path in changed})[1] or f"the selection '{word}'"
        for word in sides
    }
    series = [select_series(results, selections[word]) for word in sides]
    sample = weighted_sample(series, list(sides.values()), list(names.values()))
    statistic = "difference of differences" if part == 1 else f"difference less {part:.3g} of another"
    null = criterion.null(without_effect(part), allowed, ratio=False)
    return judge_sample(statistic, sample, allowed, None, criterion, null)
