"""Claims that the declared seeds can never decide, as the rules of their kinds say: a note, no mistake."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lnlab.cli.terminal import count
from lnlab.keys import Json

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.compile.plan import Plan
    from lnlab.registry import Choice


def judged_seeds(made: "Plan", claim: "Choice") -> int:
    """How many seeds a claim is judged on."""
    asked = (claim.get("of") or {}).get("seed", made.experiment.seeds)
    return len(set(made.experiment.seeds) & set(asked if isinstance(asked, list | tuple) else [asked]))


def undecidable(made: "Plan", known: "Registries") -> list[int]:
    """The seeds of each claim of a plan that has too few for any verdict, in the order of the spec."""
    from lnlab.claims.least_seeds import fewest

    steps = _steps(made)
    found = []
    for claim in made.claims:
        n = judged_seeds(made, claim)
        if n < fewest(claim, trained=_trained(claim, made, steps, known)):
            found.append(n)
    return found


def note(few: list[int], claims: int) -> str:
    """``2 seeds; 4 of 6 claims stay undecided, as ...``; nothing where every claim can be decided."""
    from lnlab.claims.least_seeds import N_SHARES
    from lnlab.claims.sample import N_INIT, N_TRAINED

    if not few:
        return ""
    seeds = count(few[0], "seed") if len(set(few)) == 1 else f"{min(few)} to {max(few)} seeds"
    which = "the claim stays" if claims == 1 else f"{len(few)} of {claims} claims stay"
    if 1 == len(few) < claims:
        which = f"1 of {claims} claims stays"
    rule = f"a verdict on trained runs needs at least {N_TRAINED} ({N_INIT} at initialization, {N_SHARES} on how many"
    return f"note: {seeds}; {which} undecided: {rule} runs train)"


def _steps(made: "Plan") -> Mapping[str, set[int]]:
    """Kind of probe -> the steps at which it looks at any run."""
    found: dict[str, set[int]] = {}
    for _, step, probe, _ in made.needs:
        found.setdefault(probe["kind"], set()).add(step)
    return found


def _trained(claim: "Choice", made: "Plan", steps: Mapping[str, set[int]], known: "Registries") -> bool:
    """Whether it is certain that all that a claim reads was measured after an update."""
    of: Mapping[str, Json] = claim.get("of") or {}
    trains = all(setting["train"]["steps"] for setting in made.settings.values())
    pinned = of.get("step")
    if pinned == "last" or not isinstance(pinned, int):
        return trains and all(_after_updates(name, pinned, steps, known) for name in _names(of))
    return pinned > 0


def _after_updates(name: Json, pinned: Json, steps: Mapping[str, set[int]], known: "Registries") -> bool:
    """Whether no probe that measures a quantity looks at initial states alone; what no probe measures is a curve."""
    entries = known["quantity"].entries
    sources = set(entries[name].facts.of or ()) | {name} if name in entries else {name}
    looking = [each for kind, each in steps.items() if sources & set(known["probe"][kind].facts.quantities or sources)]
    return all(max(each) > 0 if pinned == "last" else any(each) for each in looking)


def _names(of: Mapping[str, Json]) -> Iterable[Any]:
    named = of.get("quantity")
    return named if isinstance(named, list | tuple) else [named]
