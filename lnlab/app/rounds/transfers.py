"""What initial states take over from runs of other specs, counted by building both models without memory."""

from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.compile.plan import Plan
from lnlab.errors import LabError
from lnlab.execute.meta import INITIALIZED_PARTS, build_on_meta
from lnlab.keys import canonical
from lnlab.nn.from_run import take_over
from lnlab.specfile.load import SpecDocument

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def transfer_sentences(plan: Plan, document: SpecDocument, known: "Registries") -> tuple[str, ...]:
    """A sentence for each run of another spec that runs of a plan begin with: what is taken over, and what is not.

    Raises:
        LabError: the models do not fit each other, with the line of the spec.
    """
    origins = {unit.key: (source.name, unit) for source in plan.sources for unit in source.trajectories}
    counted: set[str] = set()
    sentences = []
    for unit in plan.trajectories:
        if unit.origin is None:
            continue
        name, before = origins[unit.origin.trajectory]
        shapes = {word: unit.setting.get(word) for word in INITIALIZED_PARTS}
        if (text := canonical([shapes, before.setting])) in counted:
            continue
        counted.add(text)
        try:
            other = build_on_meta(before.setting, known)
            weights = dict(other.named_parameters()) | dict(other.named_buffers())
            transfer = take_over(build_on_meta(unit.setting, known), weights, unit.setting["init"]["parts"], name)
        except LabError as error:
            problems = (
                replace(problem, place=f"{document.where(tuple(problem.where.split('.')))}: {problem.where}")
                for problem in error.issues
            )
            raise LabError(*problems) from error
        loaded, fresh, unused = (len(names) for names in (transfer.loaded, transfer.fresh, transfer.unused))
        sentences.append(
            f"Runs begin with weights of a run of {name} after {unit.origin.step} training steps: {loaded} of "
            f"{loaded + fresh} parameter tensors are copied, {fresh} are initialized anew, and {unused} of that run "
            "are not used."
        )
    return tuple(dict.fromkeys(sentences))
