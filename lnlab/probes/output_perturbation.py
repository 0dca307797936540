"""``E ‖F(x, W + δ) - F(x, W)‖²``: how a small step of all weights changes the output (Liu et al., 2020, Section 4.2).

δ is a step of the same size at every entry, in a random direction or against the sign of the gradient (Adam's first
step), over every matrix and table. Biases, norms and gates stay. F is the output of a stack after its last norm. A
scaling law in the depth can be read from ‖ΔF‖² only while ‖ΔF‖²/ε² does not depend on ε. For such steps ΔF ≈ J δ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.func import functional_call

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.site import Site
from lnlab.nn.sites import weights
from lnlab.nn.transformer import stacks
from lnlab.probes.probe import State, probes
from lnlab.probes.support.float64_copy import StackOutputs, SummedLoss, doubles, forward_differentiable
from lnlab.probes.support.known_sites import PlacesByQuantity, at_all_sites
from lnlab.probes.support.loss_gradients import accumulator, gradients_of
from lnlab.probes.support.weight_step import Start, Step, change, remainder
from lnlab.randomness import Draw
from lnlab.registry import Choice
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.outputs import OUTPUT_PERTURBATION

_Size = Annotated[float, Field(gt=0)] | None
_STEPS = ("random", "random_relative", "gradient", "gradient_relative")
SMALLER = 3.0


@dataclass(frozen=True)
class PerturbationSums:
    """Sums over all tokens for one step, by stack.

    Attributes:
        change: Σ‖ΔF(δ)‖².
        smaller_change: Σ‖ΔF(δ/3)‖² of the first direction.
        remainder: Σ‖ΔF(δ) - Jδ‖² of the first direction.
    """

    change: Mapping[str, float]
    smaller_change: Mapping[str, float]
    remainder: Mapping[str, float]


def _passes(params: dict[str, Any]) -> float:
    """Forward passes of the probe.

    There is one pass without a step and one per step. Each kind of step adds one for the smaller step, and six for the
    remainder. The gradient costs three.
    """
    requested = [step.partition("_")[0] for step in _STEPS if params[step] is not None]
    steps = requested.count("random") * params["draws"] + requested.count("gradient")
    checks = (1 + 6 * params["first_order"]) * len(requested)
    return float(params["batches"] * (bool(requested) + steps + checks + 3 * ("gradient" in requested)))


def _places(model: nn.Module, choice: Choice) -> PlacesByQuantity:
    measures = ("output_change", "output_change_invariance", *(["first_order_error"] if choice["first_order"] else []))
    steps = [step for step in _STEPS if choice[step] is not None]
    measured = list(stacks(model)) if choice["stack"] is None else [choice["stack"]]
    names = [f"{measure}_{step}" for measure in measures for step in steps]
    return at_all_sites(names, [Site(stack, None, None, "out") for stack in measured])


@probes.register(
    "output_perturbation",
    version=2,
    table="sites",
    passes=_passes,
    quantities=OUTPUT_PERTURBATION,
    sites=_places,
)
def output_perturbation(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
    stack: Literal["encoder", "decoder"] | None = None,
    random: _Size = 1e-4,
    random_relative: _Size = 1e-3,
    gradient: _Size = 1e-6,
    gradient_relative: _Size = 1e-5,
    tables: bool = True,
    draws: Annotated[int, Field(ge=1)] = 4,
    first_order: bool = True,
) -> Iterator[Row]:
    """``E ‖F(x, W + δ) - F(x, W)‖²``: change of a stack's output, δ = ±ε at every weight (Liu et al., 2020, 4.2).

    ``random`` and ``gradient`` are ε of a step along random signs and against the sign of the gradient; ``.._relative``
    are in units of the tensor's own rms; null leaves one out. ``output_change`` is the mean over tokens of the squared
    norm, and over ``draws`` random directions, as one alone varies by 20 to 30 %. Of the first direction there are also
    ``output_change_invariance``, ‖ΔF‖²/ε² over the same at ε/3, and, if ``first_order``, ``first_order_error``,
    ‖ΔF - Jδ‖/‖ΔF‖ over all tokens. Without ``tables`` the embeddings, and so x_0, stay. ``stack`` is the only one
    looked at; if nothing is said, all are. Dropout is off.

    Raises:
        LabError: the model has no such stack.
    """
    requested = dict(zip(_STEPS, (random, random_relative, gradient, gradient_relative), strict=True))
    sizes = {step: size for step, size in requested.items() if size is not None}
    following = {step: size for step, size in sizes.items() if step.startswith("gradient")}
    others = {step: size for step, size in sizes.items() if step not in following}
    measured = list(stacks(state.model))
    if stack is not None and stack not in measured:
        what = f"output_perturbation looks at the {stack}, and the model has {' and '.join(measured)}"
        raise LabError(Issue("no-effect", "", what, f"say stack: {measured[0]}, or leave it out"))
    measured = measured if stack is None else [stack]
    sampled = state.batches(batches, split)
    with forward_differentiable(state.model):
        f = StackOutputs(state.model, measured)
        start = Start(f, sampled)
        names = moving_tensors(f, tables=tables)
        signs = (random_signs(f, names, state.draw, number) for number in range(draws))
        yield from _rows_of(start, others, signs, first_order=first_order)
        downhill = [_gradient_signs(state, names, sampled)] if following else []
        yield from _rows_of(start, following, downhill, first_order=first_order)


def moving_tensors(f: StackOutputs, *, tables: bool) -> dict[str, tuple[Any, ...]]:
    """Map the name of each tensor that moves to the address by which its signs are drawn.

    A tied tensor has the address of its first use. Stacks above the last measured one change no output and stay.
    """
    names = {id(p): name for name, p in f.named_parameters()}
    all_stacks = list(stacks(f.model))
    feeding = all_stacks[: 1 + max(map(all_stacks.index, f.stack_names))]
    uses = [(site, p) for site, p in weights(f.model) if site.stack in feeding and (tables or site.tensor != "table")]
    # Reversed, as the last entry of a key stays: that of the first use of a tied tensor.
    return {names[id(p)]: tuple(site.row().values()) for site, p in reversed(uses)}


def random_signs(f: nn.Module, names: Mapping[str, tuple[Any, ...]], draw: Draw, number: int) -> dict[str, Tensor]:
    """Draw ±1 for every entry, by its address, so that weights shared by two variants move alike."""
    signs = {}
    for name, address in names.items():
        generator = Generator().manual_seed(draw("perturbation", number, *address))
        p = f.get_parameter(name)
        bits = torch.randint(2, p.shape, generator=generator, dtype=torch.uint8)
        signs[name] = bits.to(p.device, torch.float64).mul_(2).sub_(1)
    return signs


def _gradient_signs(state: State, names: Mapping[str, tuple[Any, ...]], batches: list[Batch]) -> dict[str, Tensor]:
    """Return minus the sign of the gradient of the loss over all batches, 0 where there is no gradient."""
    loss = SummedLoss(state.model, state.task)
    at = doubles(loss)
    leaves = {name: at[name].requires_grad_() for name in names}
    sums = {name: accumulator(p) for name, p in leaves.items()}
    with torch.enable_grad():
        for batch in batches:
            value = functional_call(loss, at, (batch,))
            parts = gradients_of(value, list(leaves.values()))
            sums = {name: total + part for (name, total), part in zip(sums.items(), parts, strict=True)}
    return {name: -total.sign() for name, total in sums.items()}


def _rows_of(
    start: Start, sizes: Mapping[str, float], directions: Iterable[Mapping[str, Tensor]], *, first_order: bool
) -> Iterator[Row]:
    """Measure steps of several sizes along the same directions."""
    changes: dict[str, list[PerturbationSums]] = {step: [] for step in sizes}
    for signs in directions if sizes else ():
        for step, size in sizes.items():
            units = {n: float(start.at[n].square().mean().sqrt()) if step.endswith("relative") else 1.0 for n in signs}
            taken = Step(signs, {n: size * unit for n, unit in units.items()})
            # Invariance and remainder cost seven more passes and vary less than the change: one direction is enough.
            closely = not changes[step]
            less = change(start, taken, SMALLER) if closely else {}
            rest = remainder(start, taken) if closely and first_order else {}
            changes[step].append(PerturbationSums(change(start, taken), less, rest))
    for step, step_changes in changes.items():
        yield from rows_of_step(step, step_changes, start.tokens)


def rows_of_step(step: str, changes: Sequence[PerturbationSums], tokens: Mapping[str, float]) -> Iterator[Row]:
    """Yield the mean change over all directions, and invariance and error of the first one."""
    first = changes[0]
    for stack, n in tokens.items():
        values = {"output_change": fmean(direction.change[stack] for direction in changes) / n}
        # An output that did not change has neither an invariance nor an error.
        if smaller := first.smaller_change[stack]:
            values["output_change_invariance"] = first.change[stack] / (SMALLER**2 * smaller)
            if stack in first.remainder:
                values["first_order_error"] = (first.remainder[stack] / first.change[stack]) ** 0.5
        for measure, value in values.items():
            where = {"stack": stack, "layer": None, "sublayer": None, "tensor": "out"}
            yield {"quantity": f"{measure}_{step}", **where, "value": value}
