"""What initial states take over from runs of other specs, counted by building both models without memory."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.compile.plan import Plan
from lnlab.errors import LabError
from lnlab.execute.meta import INITIALIZED_PARTS, build_on_meta
from lnlab.keys import canonical
from lnlab.nn.from_run import Transfer, take_over
from lnlab.specfile.load import SpecDocument

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def transfer_sentences(plan: Plan, document: SpecDocument, known: "Registries") -> tuple[str, ...]:
    """A sentence for each run of another spec that runs of a plan begin with: what is taken over, and what is not.

    Raises:
        LabError: the models do not fit each other, with the line of the spec.
    """
    try:
        return tuple(dict.fromkeys(_sentences(plan, known)))
    except LabError as error:
        problems = (
            replace(problem, place=f"{document.where(tuple(problem.where.split('.')))}: {problem.where}")
            for problem in error.issues
        )
        raise LabError(*problems) from error


def _sentences(plan: Plan, known: "Registries") -> Iterator[str]:
    origins = {unit.key: (source.name, unit) for source in plan.sources for unit in source.trajectories}
    counted: set[str] = set()
    for unit in plan.trajectories:
        if unit.origin is None:
            continue
        name, before = origins[unit.origin.trajectory]
        shapes = {word: unit.setting.get(word) for word in INITIALIZED_PARTS}
        if (text := canonical([shapes, before.setting])) in counted:
            continue
        counted.add(text)
        other = build_on_meta(before.setting, known)
        weights = dict(other.named_parameters()) | dict(other.named_buffers())
        transfer = take_over(build_on_meta(unit.setting, known), weights, unit.setting["init"]["parts"], name)
        yield _sentence(transfer, name, unit.origin.step)


def _sentence(transfer: Transfer, name: str, step: int) -> str:
    loaded, fresh, unused = (len(names) for names in (transfer.loaded, transfer.fresh, transfer.unused))
    return (
        f"Runs begin with weights of a run of {name} after {step} training steps: {loaded} of {loaded + fresh} "
        f"parameter tensors are taken over, {fresh} begin anew, and {unused} of that run are not used."
    )
