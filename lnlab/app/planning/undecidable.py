"""Claims that the declared seeds can never decide, by the rules of their kinds. This is a note, no mistake."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.keys import Json

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Choice
    from lnlab.specfile.experiment import ClaimText


def judged_seeds(plan: "Plan", text: "ClaimText", claim: "Choice") -> int:
    """How many seeds a claim is judged on."""
    run_seeds = plan.experiment.seeds_of_claim(text.id) or plan.experiment.seeds
    seeds = (claim.get("of") or {}).get("seed", run_seeds)
    return len(set(run_seeds) & set(seeds if isinstance(seeds, list | tuple) else [seeds]))


def undecidable_seeds(plan: "Plan", known: "Registries") -> list[int]:
    """The numbers of seeds of those claims that have too few seeds for any verdict, in the order of the spec."""
    from lnlab.claims.criterion import criterion_of
    from lnlab.claims.least_seeds import fewest_seeds

    steps_by_probe: dict[str, set[int]] = {}
    for _, step, probe, _ in plan.needs:
        steps_by_probe.setdefault(probe["kind"], set()).add(step)
    all_train = all(setting["train"]["steps"] for setting in plan.settings.values())
    too_few = []
    for text, claim in zip(plan.experiment.claims, plan.claims, strict=True):
        n = judged_seeds(plan, text, claim)
        stated = {"looks": text.looks or plan.experiment.looks, "about": text.about, **claim}
        facts = known["claim"][claim["kind"]].facts
        criterion = criterion_of(stated, facts.about, 1, names_law=facts.law)
        of = claim.get("of") or {}
        at, named = of.get("step"), of.get("quantity")
        if isinstance(at, int):
            trained = at > 0
        else:
            names = named if isinstance(named, list | tuple) else [named]
            trained = all_train and all(_after_updates(name, at, steps_by_probe, known) for name in names)
        if n < fewest_seeds(claim, trained=trained, criterion=criterion):
            too_few.append(n)
    return too_few


def undecidable_note(too_few: list[int], claims: int) -> str:
    """``2 seeds; 4 of 6 claims stay undecided, as ...``, or empty where every claim can be decided."""
    from lnlab.claims.least_seeds import min_share_seeds
    from lnlab.claims.sample import N_INIT, N_TRAINED

    if not too_few:
        return ""
    seeds = format_count(too_few[0], "seed") if len(set(too_few)) == 1 else f"{min(too_few)} to {max(too_few)} seeds"
    which = "the claim stays" if claims == 1 else f"{len(too_few)} of {claims} claims stay"
    if 1 == len(too_few) < claims:
        which = f"1 of {claims} claims stays"
    rule = (
        f"a verdict needs at least {N_INIT} seeds at initialization, {N_TRAINED} after training and for an order, a "
        f"fit or a table, and {min_share_seeds()} for a share or a median"
    )
    return f"note: {seeds}; {which} undecided: {rule}"


def _after_updates(name: Json, step: Json, steps: Mapping[str, set[int]], known: "Registries") -> bool:
    """Whether every probe that a quantity needs measures it after updates, at ``last`` or at any step.

    A quantity that no probe measures is recorded by training, and counts as measured after updates.
    """
    entries = known["quantity"].entries
    sources = set(entries[name].facts.of or ()) | {name} if name in entries else {name}
    probes = known["probe"]
    step_sets = [
        probe_steps for kind, probe_steps in steps.items() if sources & set(probes[kind].facts.quantities or sources)
    ]
    return all(max(probe_steps) > 0 if step == "last" else any(probe_steps) for probe_steps in step_sets)
