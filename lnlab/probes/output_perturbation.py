"""``E ‖F(x, W + δ) - F(x, W)‖²``: what a small step of all weights does to the output (Liu et al., 2020, Section 4.2).

δ is a step of the same size at every entry, in a random direction or against the sign of the gradient (Adam's first
step), over every matrix and table; biases, norms and gates stay. F is what a stack gives on, after its last norm. A law
in the depth can be read from ‖ΔF‖² only while ‖ΔF‖²/ε² does not move with ε; and, for such steps, ΔF ≈ J δ.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.func import functional_call

from lnlab.nn.sites import weights
from lnlab.probes.double import StackOutputs, SummedLoss, differentiable, doubles, value_and_change
from lnlab.probes.probe import State, probes
from lnlab.probes.tokens import present
from lnlab.randomness import Draw
from lnlab.tables import Row
from lnlab.tasks.task import Batch

Size = Annotated[float, Field(gt=0)] | None
STEPS = ("random", "random_relative", "gradient", "gradient_relative")
MEASURES = ("output_change", "output_change_invariance", "first_order_error")
QUANTITIES = tuple(f"{measure}_{step}" for step in STEPS for measure in MEASURES)
SMALLER = 3.0


def _passes(params: dict[str, Any]) -> float:
    """Each step is taken twice and differentiated forward once; the gradient is one more."""
    asked = [step.partition("_")[0] for step in STEPS if params[step] is not None]
    steps = asked.count("random") * params["draws"] + asked.count("gradient")
    return float(params["batches"] * (5 * steps + 3 * ("gradient" in asked)))


@probes.register("output_perturbation", table="sites", passes=_passes, quantities=QUANTITIES)
def output_perturbation(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
    random: Size = 1e-4,
    random_relative: Size = 1e-3,
    gradient: Size = 1e-6,
    gradient_relative: Size = 1e-5,
    tables: bool = True,
    draws: Annotated[int, Field(ge=1)] = 4,
) -> Iterator[Row]:
    """``E‖F(W + δ) - F(W)‖²``: change of each stack's output by a small step of all weights (Liu et al., 2020).

    Four steps, each with its size ε, or null to leave it out: ±ε in a ``random`` direction or against the sign of the
    ``gradient`` of all batches, at every matrix and table; ``..._relative``: ±ε times the matrix's root mean square.
    Of each step: ``output_change``, the squared change per token; ``output_change_invariance``, ‖ΔF‖²/ε² at ε over
    the same at ε/3; ``first_order_error``, ‖ΔF - Jδ‖/‖ΔF‖ over all tokens. Without ``tables`` the embeddings, and so
    x_0, stay. Random steps are averaged over ``draws`` directions: one alone varies by 20 to 30 %. In float64; dropout
    is off.
    """
    given = dict(zip(STEPS, (random, random_relative, gradient, gradient_relative), strict=True))
    sizes = {step: size for step, size in given.items() if size is not None}
    for step, sums in _measure(state, state.batches(batches, split), sizes, draws, tables=tables).items():
        yield from _rows(step, sums)


def _measure(
    state: State, batches: list[Batch], sizes: Mapping[str, float], draws: int, *, tables: bool
) -> dict[str, dict[str, Tensor]]:
    """What ``changes`` finds of each step, summed over its directions."""
    with differentiable(state.model):
        f = StackOutputs(state.model)
        names = _moving(f, tables=tables)
        rms = {name: f.get_parameter(name).detach().double().square().mean().sqrt() for name in names}
        downhill = [_downhill(state, names, batches)] if any(step.startswith("gradient") for step in sizes) else []
        found: dict[str, dict[str, Tensor]] = {}
        for step, size in sizes.items():
            random = (_random(f, names, state.draw, number) for number in range(draws))
            for signs in downhill if step.startswith("gradient") else random:
                relative = step.endswith("relative")
                delta = {name: size * sign * (rms[name] if relative else 1) for name, sign in signs.items()}
                sums = changes(f, delta, batches)
                found[step] = {stack: told + found.get(step, {}).get(stack, 0) for stack, told in sums.items()}
        return found


def changes(f: StackOutputs, delta: Mapping[str, Tensor], batches: list[Batch]) -> dict[str, Tensor]:
    """By stack, over all tokens: Σ‖ΔF(δ)‖², Σ‖ΔF(δ/3)‖², Σ‖ΔF(δ) - Jδ‖², and how many tokens."""
    at = doubles(f)
    moving = {name: at[name] for name in delta}
    sums: dict[str, Tensor] = {}
    for batch in batches:

        def outputs(moved: Mapping[str, Tensor], batch: Batch = batch) -> dict[str, Tensor]:
            found: dict[str, Tensor] = functional_call(f, at | dict(moved), (batch,))
            return found

        with torch.no_grad():
            before, first = value_and_change(outputs, moving, delta)
            after, less = (outputs({n: p + delta[n] / by for n, p in moving.items()}) for by in (1.0, SMALLER))
        for stack, here in present(batch).items():
            if stack in before:
                change = after[stack] - before[stack]
                parts = (change, less[stack] - before[stack], change - first[stack], torch.ones_like(change[..., :1]))
                told = torch.stack([part[here].square().sum() for part in parts])
                sums[stack] = sums.get(stack, torch.zeros(())) + told
    return sums


def _moving(f: nn.Module, *, tables: bool) -> dict[str, tuple[Any, ...]]:
    """The address by which each tensor that moves is drawn, by its name; a tied one by its first use."""
    names = {id(p): name for name, p in f.named_parameters()}
    uses = reversed(weights(f.get_submodule("model")))
    return {names[id(p)]: tuple(site.row().values()) for site, p in uses if tables or site.tensor != "table"}


def _random(f: nn.Module, names: Mapping[str, tuple[Any, ...]], draw: Draw, number: int) -> dict[str, Tensor]:
    """±1 at every entry, alike for the weights that two variants share."""
    found = {}
    for name, address in names.items():
        generator = Generator().manual_seed(draw("perturbation", number, *address))
        p = f.get_parameter(name)
        found[name] = (2 * torch.randint(2, p.shape, generator=generator) - 1).to(p.device, torch.float64)
    return found


def _downhill(state: State, names: Mapping[str, tuple[Any, ...]], batches: list[Batch]) -> dict[str, Tensor]:
    """Minus the sign of the gradient of the loss of all batches, 0 where there is none."""
    loss = SummedLoss(state.model, state.task)
    at = doubles(loss)
    leaves = {name: at[name].requires_grad_() for name in names}
    sums = {name: torch.zeros_like(p) for name, p in leaves.items()}
    with torch.enable_grad():
        for batch in batches:
            value = functional_call(loss, at, (batch,))
            parts = torch.autograd.grad(value, list(leaves.values()), allow_unused=True, materialize_grads=True)
            sums = {name: total + part for (name, total), part in zip(sums.items(), parts, strict=True)}
    return {name: -total.sign() for name, total in sums.items()}


def _rows(step: str, sums: Mapping[str, Tensor]) -> Iterator[Row]:
    """An output that did not change has a change, and nothing else."""
    for stack, told in sums.items():
        change, less, error, tokens = told.tolist()
        values = {"output_change": change / tokens}
        if change and less:
            ratio, wrong = change / (SMALLER**2 * less), (error / change) ** 0.5
            values |= {"output_change_invariance": ratio, "first_order_error": wrong}
        for measure, value in values.items():
            where = {"stack": stack, "layer": None, "sublayer": None, "tensor": "out"}
            yield {"quantity": f"{measure}_{step}", **where, "value": value}
