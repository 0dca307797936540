"""The state that a probe measures, a model at one step with its task, and the registry of probes.

A probe is ``(state, *, ...) -> rows`` of a table, without the column ``measurement``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from polars.exceptions import PolarsError
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.compile.cost.cost import Workload
from lnlab.curvature.ranks import Ranks
from lnlab.errors import LabError, nearest
from lnlab.facts import Facts, QuantityWords, never
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.nn.modes import in_mode
from lnlab.nn.site import AddressedModel
from lnlab.randomness import Draw
from lnlab.registry import Choice, Registry, Roots
from lnlab.tables import Row, frame
from lnlab.tasks.task import Batch, Task


@dataclass(frozen=True)
class ProbeFacts(Facts):
    """The facts of a probe. Functions take its parameters.

    Attributes:
        table: the table of its rows.
        passes: its forward passes of one batch, summed over its batches (a gradient is 3).
        quantities: all that it may measure, each with its words for pages, or only their names. None means not known.
        memory: maps its parameters and a ``Workload`` to its peak bytes beside the state, if these may exceed those of
            a gradient.
        frugal: parameters with which it needs least memory and gives bit-identical results.
        trained: whether it measures nothing before the first update.
        update: whether it reads the last update.
        ahead: whether it reads the next update.
        initial: whether it reads the parameters at step 0.
        reads: number of batches that it reads, None for a whole epoch.
        whole_split: whether it reads every batch of its ``split``. ``passes`` are then those of one batch.
        translates: whether it needs a model and a task that translate.
        causal: whether it needs a model with a causal stack.
        revision: revision of the definition with these parameters, None for the first. It is part of the key, so that
            only the keys of measurements whose numbers change are new.
        sites: maps a model and its parameters to every place at which each quantity may have a number: the columns of
            its rows (``stack layer sublayer tensor index x``), so that a claim that reads none or several of them is
            refused before anything is computed. A quantity that is left out, and every quantity of a probe with None,
            may have numbers anywhere.
        any_model: whether with these parameters it needs only the loss of a model, its parameters and the optimizer's
            changes of them, so that it measures models from elsewhere.
        any_stream: whether it also needs the residual stream, at any sites, and no order of the tokens, so that it
            measures models from elsewhere whose stream is known.
        of_training: whether with these parameters it reads only the gradient of the next update or the change by the
            last one, and never the model. The model is then not compared before and after, which would cost more than
            the probe.
        on_ranks: whether it sums over the batches of several processes, ``State.ranks``, or reads no batch.
        in_float32: whether it computes only in float32, so that it runs on a device without float64.
    """

    table: Literal["sites", "curves", "lines", "histograms", "spectra", "texts"]
    passes: Callable[[Choice], float]
    quantities: Mapping[str, QuantityWords] | tuple[str, ...] | None = None
    memory: Callable[[Choice, Workload], int] | None = None
    frugal: Mapping[str, Json] = field(default_factory=dict)
    trained: bool = False
    update: bool = False
    ahead: Callable[[Choice], bool] = never
    initial: bool = False
    reads: Callable[[Choice], int | None] | None = None
    whole_split: bool = False
    translates: bool = False
    causal: bool = False
    revision: Callable[[Choice], int | None] | None = None
    sites: Callable[[nn.Module, Choice], Mapping[str, Sequence[Mapping[str, Any]]]] | None = None
    any_model: Callable[[Choice], bool] = never
    any_stream: bool = False
    of_training: Callable[[Choice], bool] = never
    on_ranks: bool = False
    in_float32: bool = False

    def content(self, roots: Roots, choice: Choice) -> str | None:  # noqa: ARG002
        """The revision, if there is one."""
        number = None if self.revision is None else self.revision(choice)
        return None if number is None else f"revision {number}"


probes: Registry[Callable[..., Iterator[Row]]] = Registry("probe", ProbeFacts)


def rows_of_probe(registry: Registry[Callable[..., Iterator[Row]]], choice: Choice, state: "State") -> list[Row]:
    """The rows that a resolved probe yields of a state.

    Raises:
        LabError: one does not fit the table of the probe, or is of a quantity that the probe does not declare.
    """
    facts: ProbeFacts = registry[choice["kind"]].facts
    rows = list(registry.builder(choice)(state))
    try:
        made = frame(facts.table, rows)
        if "value" in made.columns and made["value"].null_count():
            raise ValueError("it has no value")
    except (ValueError, TypeError, PolarsError) as error:
        what = f"the probe '{choice['kind']}' yields a row that does not fit its table: {str(error).splitlines()[0]}"
        raise LabError(Issue("failed", "", what, "yield the columns of the table, with numbers as value")) from error
    known = facts.quantities
    named = dict.fromkeys(made["quantity"]) if "quantity" in made.columns and known is not None else {}
    if wrong := [name for name in named if name not in (known or ())]:
        what = f"the probe '{choice['kind']}' yields rows of '{wrong[0]}', which it does not declare"
        raise LabError(Issue("failed", "", what, f"name it in quantities=; {nearest(str(wrong[0]), known or ())}"))
    return rows


@dataclass
class State:
    """A run at one step.

    Attributes:
        model: maps a batch to logits.
        task: batches and their loss.
        draw: the randomness of the replicate.
        step: number of updates made.
        optimizer: the optimizer, or None before training.
        schedule: step -> factor on the learning rate, or None.
        initial: computes the named parameters at step 0 again.
        next_gradient: returns the gradient that the next update will use, by parameter name, in training mode and
            before clipping. Calling it costs nothing, as the update uses it again.
        next_batches: returns the batches of the next update's gradient, in their order. Dropout in batch n is addressed
            as ("dropout", step + 1, n). Calling it costs nothing.
        last_update: the change by the last update, by parameter name. Only probes with the fact ``update`` have it.
        last_rate: the learning rate of that update.
        ranks: the processes that hold batches, of which this one has its own.
    """

    model: nn.Module
    task: Task
    draw: Draw
    step: int
    optimizer: Optimizer | None = None
    schedule: Callable[[int], float] | None = None
    initial: Callable[[], dict[str, Tensor]] | None = None
    next_gradient: Callable[[], dict[str, Tensor]] | None = None
    next_batches: Callable[[], Sequence[Batch]] | None = None
    last_update: dict[str, Tensor] | None = None
    last_rate: float | None = None
    ranks: Ranks = field(default_factory=Ranks)

    def batches(self, n: int, split: str = "train", purpose: str = "probe") -> list[Batch]:
        """The first ``n`` batches of a split for a purpose: the same at every state of a seed and in every variant.

        With several ranks each has those at its ``Ranks.positions(n)``.

        Raises:
            LabError: the split has fewer.
        """
        own = len(self.ranks.positions(n))
        sampled = list(islice(self.task.batches(split, purpose), own))
        if len(sampled) < own:
            where = "" if self.ranks.size == 1 else f" on rank {self.ranks.number}"
            what = f"a probe asks for {own} batches, and the split '{split}' has {len(sampled)}{where}"
            most = len(sampled) * self.ranks.size + self.ranks.number  # of all ranks, up to the first that is missing
            raise LabError(Issue("too-large", "", what, f"ask for at most {most}, or make the batches smaller"))
        return sampled

    def forward(self, batch: Batch) -> None:
        """Make a forward pass for its hooks. A model from elsewhere is called by its loss."""
        if isinstance(self.model, AddressedModel):
            self.task.loss(self.model, batch)
        else:
            self.model(batch)

    def read(self, n: int | None, split: str = "train", purpose: str = "probe") -> Iterable[Batch]:
        """As ``batches``, with None for every batch of one epoch, one at a time."""
        return self.task.batches(split, purpose) if n is None else self.batches(n, split, purpose)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put the model into evaluation mode, in which batch norms use the statistics of the batch, as in ``in_mode``.

    Dropout is off. The norms of a model from elsewhere that is measured with its running statistics use these.
    """
    with in_mode(model, training=False, remembered=isinstance(model, AddressedModel) and model.remembered):
        yield


def once(params: dict[str, Any]) -> float:
    """The fact ``passes`` of a probe that needs one forward pass per batch, and one alone if it counts no batches."""
    return float(params.get("batches", 1))


def with_gradient(params: dict[str, Any]) -> float:
    """The fact ``passes`` of a probe that needs one gradient per batch, or none where it reads the next update's."""
    return 0.0 if params.get("batches") == "step" else 3 * once(params)


def reads_next_update(params: dict[str, Any]) -> bool:
    """The fact ``ahead`` of a probe whose ``batches: step`` is the gradient of the next update."""
    return bool(params.get("batches") == "step")
