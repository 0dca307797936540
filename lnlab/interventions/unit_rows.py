"""``w <- w / ‖w‖`` after every update: rows, and the columns of matrices that write to the stream, keep length 1."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import around_steps, require_optimizer
from lnlab.nn.ngpt import to_unit_rows


@interventions.register("unit_rows", acts_on="update")
@contextmanager
def unit_rows(model: nn.Module, optimizer: Optimizer | None) -> Iterator[None]:
    """``w <- w / ‖w‖``: after each update, rows of matrices and tables, columns of o and w2 (Loshchilov et al., 2024).

    Adam then moves directions alone. Begin with the init ``unit_rows``.
    """

    def before() -> Callable[[], None]:
        # There is nothing to do ahead of a step: rows are rescaled after it.
        return lambda: to_unit_rows(model)

    with around_steps(require_optimizer(optimizer), before):
        yield
