"""No quantity depends on the last digit of a gradient, which another CPU rounds otherwise.

Entries of a gradient that are 0 in exact arithmetic are stored as rounding noise, and Adam divides noise by itself.
"""

from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor

from lnlab.catalogue import REGISTRIES
from tests.catalogue.measured import numbers_of_a_probe
from tests.catalogue.records import TOLERANCE, moves
from tests.support import trained
from tests.support.pieces import sees_training, smallest

PROBES = REGISTRIES["probe"]
OWN = [entry.name for entry in PROBES if entry.origin.name == "lnlab"]
FURTHER = [
    {"kind": "gradient_histogram", "of": "sites"},
    {"kind": "gradient_histogram", "of": "sites", "batches": "step"},
    {"kind": "gradient_norm", "batches": 2, "biases": True},
    {"kind": "gradient_norm", "batches": "step", "biases": True},
    {"kind": "hessian_spectrum", "operator": "preconditioned_hessian"},
    {"kind": "sharpness", "coordinates": "adam"},
    {"kind": "sharpness", "coordinates": "adam_at_rest", "moments": 3},
    {"kind": "update_histogram", "of": "sites", "rate": True},
]
CHOICES = [smallest(PROBES[name]) for name in OWN] + [smallest(PROBES[c["kind"]]) | c for c in FURTHER]
ADAMS_EPSILON = 1e-8
"""That of Kingma and Ba; a large one hides what this is about."""


IN_EVERY_RUN = ("gradient_norm", "gradient_histogram", "sharpness", "hessian_spectrum", "update_effect")


def said(choice) -> str:
    """A probe, and what is not as in the kept numbers."""
    plain = smallest(PROBES[choice["kind"]])
    return " ".join([choice["kind"], *(f"{k}={v}" for k, v in choice.items() if plain.get(k) != v)])


class Rounding:
    """``torch.autograd.grad`` on a machine that rounds the last digit of every gradient otherwise.

    An entry moves by one unit in the last place of itself, and of what its sum is made of: as large as the entries of
    its row of a matrix are, and for a vector those of the matrix before it. What no term has reached, 0, stays 0.
    """

    def __init__(self) -> None:
        self._exact = torch.autograd.grad
        self._generator = torch.Generator().manual_seed(1)

    def __call__(self, *args, **kwargs) -> tuple[Tensor | None, ...]:
        return tuple(self._nudged(self._exact(*args, **kwargs)))

    def _nudged(self, gradients: Sequence[Tensor | None]) -> Iterator[Tensor | None]:
        before = torch.zeros(())
        for g in gradients:
            if g is None:
                yield None
                continue
            size = g.detach().abs()
            terms = before
            if g.dim() > 1:
                terms = size.square().mean(-1, keepdim=True).sqrt()
                before = size.square().mean().sqrt()
            sign = torch.randint(2, g.shape, generator=self._generator) * 2 - 1
            yield g + torch.where(size > 0, torch.finfo(g.dtype).eps * sign * torch.maximum(size, terms), 0.0)


def marks(choice):
    """Those that rounding moved once stay in every run, as plain as their probes can be."""
    return () if said(choice) in IN_EVERY_RUN else pytest.mark.nightly


@pytest.mark.parametrize("choice", [pytest.param(c, id=said(c), marks=marks(c)) for c in CHOICES])
def test_another_rounding_of_gradients_moves_no_quantity(choice, roots, monkeypatch):
    """With the large ε of the kept numbers, and what is no curvature of a state in training also with Adam's own.

    For by 1e-8 three updates make some coordinates so steep that curvature in them follows every digit of the weights.
    """
    both = sees_training(choice) and not {"operator", "coordinates"} & choice.keys()
    for epsilon in (trained.EPSILON, ADAMS_EPSILON) if both else (trained.EPSILON,):
        with monkeypatch.context() as patched:
            patched.setattr(trained, "EPSILON", epsilon)
            _, exact = numbers_of_a_probe(choice, roots)
            patched.setattr(torch.autograd, "grad", Rounding())
            _, other = numbers_of_a_probe(choice, roots)
        moved = moves(exact, other, TOLERANCE["probe"])
        assert [name for name in moved if not bounds(name, exact, other)] == [], f"epsilon {epsilon}"


def bounds(name: str, *numbers: dict[str, list[float]]) -> bool:
    """Whether it is the error bound of an eigenvalue, and negligible beside it: then its own digits mean nothing."""
    value = name.removesuffix("_residual")
    return value != name and all(n[name][1] <= TOLERANCE["probe"] * n[value][1] for n in numbers)


@pytest.mark.parametrize(
    ("kind", "plain", "other"),
    [
        ("gradient_norm", {}, {"biases": True}),
        ("sharpness", {}, {"coordinates": "adam_at_rest"}),
        ("hessian_spectrum", {"operator": "ggn"}, {"operator": "preconditioned_ggn"}),
    ],
)
def test_only_parameters_whose_numbers_moved_have_a_revision(kind, plain, other):
    """What was measured with the others keeps its key."""
    facts = PROBES[kind].facts
    assert facts.content((), PROBES.resolve({"kind": kind} | plain)) is None
    assert facts.content((), PROBES.resolve({"kind": kind} | other)) == "revision 2"
