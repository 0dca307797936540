"""``U(a, b)`` for matrices of any shape, a scale without a theory (as in Zaremba et al., 2014)."""

from torch import Generator, Tensor, nn

from lnlab.nn.inits import fill, inits, normal_rows
from lnlab.randomness import Draw


@inits.register("uniform", bounds=("a", "b"))
def uniform(model: nn.Module, draw: Draw, *, a: float = -0.1, b: float = 0.1, tables: bool = False) -> None:
    """``U(a, b)``: every matrix of a layer; ``tables`` too, if asked, else N(0, 1/d) (Zaremba et al., 2014)."""

    def fill_in_place(tensor: Tensor, generator: Generator) -> None:
        tensor.uniform_(a, b, generator=generator)

    fill(model, draw, lambda _: fill_in_place, lambda _: fill_in_place if tables else normal_rows())
