"""Notes on schedules and optimizers that at first do something other than their names say. They are no mistakes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.keys import Json
from lnlab.rectification import ADAPTIVE_ABOVE, rectification

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan

_MOST_UPDATES = 10_000


def schedule_notes(plan: "Plan") -> list[str]:
    """What a reader of the spec may not expect of its schedules and optimizers, a sentence each."""
    settings = [setting for setting in plan.settings.values() if setting["train"]["steps"]]
    unfinished = [setting for setting in settings if _warmup(setting) > setting["train"]["steps"]]
    notes = []
    if unfinished:
        warmup, steps = _warmup(unfinished[0]), unfinished[0]["train"]["steps"]
        which = "" if len(unfinished) == len(settings) else f" in {len(unfinished):,} of {len(settings):,} variants"
        notes.append(
            f"note: warmup_steps ({warmup:,}) is more than the run has ({format_count(steps, 'step')}){which}: "
            "the learning rate never reaches its peak"
        )
    for beta2 in sorted({s["optimizer"]["beta2"] for s in settings if (s["optimizer"] or {}).get("kind") == "radam"}):
        plain = updates_without_rectification(beta2)
        which = "all updates are" if plain is None else f"the first {format_count(plain, 'update')} are"
        notes.append(f"note: radam with beta2 {beta2:g}: {which} momentum SGD at the full learning rate")
    return notes


def updates_without_rectification(beta2: float) -> int | None:
    """Return after how many updates RAdam first divides by the second moment, or None if it never does."""
    if rectification(1, beta2).rho_inf <= ADAPTIVE_ABOVE:
        return None
    first = next(t for t in range(1, _MOST_UPDATES) if rectification(t, beta2).rho_t > ADAPTIVE_ABOVE)
    return first - 1


def _warmup(setting: Mapping[str, Json]) -> int:
    return int((setting["schedule"] or {}).get("warmup_steps") or 0)
