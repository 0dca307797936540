"""Along a trajectory: from a state to the last step that is asked for, with what is measured on the way.

At each state the measurements due there are taken; then the gradient of the next update is computed, its loss recorded
at this state, and the update made. After each loss and each evaluation the stop rule looks at the curves so far. Where
it ends a run may depend on nothing that is not in the key of the trajectory: it sees what training recorded, and if it
has the fact ``evaluations`` those that ``train.evaluate`` asks for, never what other probes happened to look at.

A long walk is cut into stretches: their rows and a state are kept every now and then, so that a killed one goes on from
there, and ends with the same numbers to the last bit.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, isfinite
from typing import Any

from lnlab.compile.work import Measurement, Trajectory, looks_ahead
from lnlab.errors import CorpusError, StoreError
from lnlab.execute.checkpoint import to_bytes
from lnlab.execute.interrupts import Stops, signal_name
from lnlab.execute.measure import measure
from lnlab.execute.program import updates_an_epoch
from lnlab.execute.unit import SAVE_EVERY, Registries, Unit
from lnlab.execute.updates import Updates
from lnlab.optim.stops import Ending
from lnlab.probes.probe import State
from lnlab.specfile.columns import RECORDED
from lnlab.specfile.moments import due
from lnlab.tables import Row

WORTH_KEEPING = 5.0
"""Seconds of training that are worth a state at their end, from which more steps would go on; fewer where states are
kept more often."""

Explained = tuple[str, str]
"""A status, and its reason in words."""


@dataclass
class Walk:
    """A walk in progress.

    Attributes:
        state: where it is; moves.
        trajectory: whose key its rows have.
        target: the step where it ends, if nothing ends it before.
        due: step -> measurements to take there.
        unit: where rows and states go.
        registries: of probes and stop rules.
        partial: the outcome of a stretch that goes on, given its last step and last finite loss.
        explain: makes a status and a reason of an error.
        save_every: seconds between two kept states.
        stops: requests to stop; after one, the walk keeps its state and ends as interrupted.
        curves: (split, quantity) -> (step, value), as far as recorded and as the stop rule may see it.
        taken: measurements that this stretch holds.
        missed: how measurements failed that could not be taken.
        last_finite_loss: of the training batches.
    """

    state: State
    trajectory: Trajectory
    target: int
    due: dict[int, list[Measurement]]
    unit: Unit
    registries: Registries
    partial: Callable[[int, float | None], Row]
    explain: Callable[[BaseException], Explained]
    save_every: float = SAVE_EVERY
    stops: Stops = field(default_factory=Stops)
    curves: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)
    missed: list[Explained] = field(default_factory=list)
    last_finite_loss: float | None = None
    _rows: list[Row] = field(default_factory=list)
    _told: int | None = None
    _saved: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        train = self.trajectory.setting["train"]
        self._from = self.state.step
        asked = chain.from_iterable(self.due.values())
        self._trained = self.target > 0 or any(looks_ahead(self.registries["probe"], m.probe) for m in asked)
        self._updates = Updates(self.state, self.trajectory.setting) if self._trained else None
        self._rule: Callable[[Any], Ending | None] = lambda _: None
        self._evaluated: tuple[int, ...] = ()
        if self._trained and train["stop"] is not None:
            self._rule = self.registries["stop"].builder(train["stop"])()
            if self.registries["stop"][train["stop"]["kind"]].facts.evaluations:
                self._evaluated = due(train["evaluate"], train["steps"], self._epoch())

    def go(self) -> Ending | None:
        """Walk to the end; what ended the walk before its target, or None."""
        begun = time.monotonic()
        try:
            if self._trained and self.state.step == 0:
                self._begin()
            ending = self._to_target() if self._updates else self._look()
        finally:
            self._flush()
        if self.state.step and ending is None and time.monotonic() - begun > min(self.save_every, WORTH_KEEPING):
            self._keep_state()
        return ending

    def remember(self, rows: Sequence[Row]) -> None:
        """Take in the curves that were recorded before the state that this walk begins with."""
        for row in rows:
            ahead = row["split"] == "train" and row["quantity"] in ("loss", "global_gradient_norm")
            if row["step"] + ahead <= self.state.step and self._shown(row["step"], row["split"], row["quantity"]):
                self.curves.setdefault((row["split"], row["quantity"]), []).append((row["step"], row["value"]))
        losses = [value for _, value in self.curves.get(("train", "loss"), ()) if isfinite(value)]
        self.last_finite_loss = losses[-1] if losses else None

    def _to_target(self) -> Ending | None:
        updates = self._updates
        if updates is None:
            raise ValueError("a walk with a target has updates")
        while True:
            if ending := self._look():
                return ending
            if self.state.step == self.target:
                return None
            if self.stops.count:
                return self._interrupted()
            self._save_now_and_then()
            gradient = updates.gradient()
            self._record(self.state.step, "train", loss=gradient.loss, global_gradient_norm=float(gradient.norm))
            if isfinite(gradient.loss):
                self.last_finite_loss = gradient.loss
            if ending := self._rule(self.curves):
                return ending
            self._update(updates)
            self._record(self.state.step, "train", tokens=gradient.tokens)
            self._record_epoch_loss()

    def _update(self, updates: Updates) -> None:
        """Make an update; keep what it added where a probe of the next state will ask."""
        coming = self.due.get(self.state.step + 1, ())
        watched = any(self.registries["probe"][m.probe["kind"]].facts.update for m in coming)
        parameters = dict(self.state.model.named_parameters()) if watched else {}
        before = {name: p.detach().clone() for name, p in parameters.items()}
        rate = updates.make()
        self.state.last_rate = rate
        self.state.last_update = {name: p.detach() - before[name] for name, p in parameters.items()} or None
        self._record(self.state.step, "train", learning_rate=rate)

    def _look(self) -> Ending | None:
        """Take what is due at this state, one after another; one that fails does not keep the others from it."""
        seen = sum(map(len, self.curves.values()))
        for measurement in self.due.get(self.state.step, ()):
            if self.stops.count and not self._updates:
                return self._interrupted()
            try:
                self._take(measurement)
            except (CorpusError, StoreError):
                raise
            except (Exception, SystemExit) as error:
                status, reason = self.explain(error)
                self.missed.append((status, f"{measurement.probe['kind']}: {reason}"))
        return self._rule(self.curves) if sum(map(len, self.curves.values())) > seen else None

    def _take(self, measurement: Measurement) -> None:
        table, rows = measure(self.state, measurement, self.registries)
        if table == "curves":
            for row in rows:
                self._record(row["step"], row["split"], **{row["quantity"]: row["value"]})
            self._record_epoch()
        else:
            self.unit.write(table, rows)
        self.taken.append(measurement.key)

    def _begin(self) -> None:
        """What is known before the first update: what a model scores that knows frequencies alone."""
        entropy = self.state.task.unigram_entropy()
        if entropy is not None:
            self._record(0, "train", unigram_entropy=entropy)

    def _record_epoch(self) -> None:
        """How far into the data the state is, once a state."""
        epoch, step = self._epoch() if self._trained else None, self.state.step
        if epoch and self._told != step:
            self._record(step, "train", epoch=step / epoch)
            self._told = step

    def _record_epoch_loss(self) -> None:
        """Where an epoch ends, the mean of its training losses over what they are means of, each at its own state."""
        epoch, step = self._epoch(), self.state.step
        if not epoch or step // epoch == (step - 1) // epoch:
            return
        first = ceil((step - 1) // epoch * epoch)
        units = dict(self.curves["train", "tokens"][first - step :])
        losses = [(loss, units[at + 1]) for at, loss in self.curves["train", "loss"][first - step :]]
        self._record(step, "train", epoch_loss=sum(loss * n for loss, n in losses) / sum(n for _, n in losses))

    def _epoch(self) -> float | None:
        """Updates an epoch; None where the data have no end."""
        return updates_an_epoch(self.trajectory.setting, self.state.task)

    def _record(self, step: int, split: str, **values: float) -> None:
        for quantity, value in values.items():
            if self._shown(step, split, quantity):
                self.curves.setdefault((split, quantity), []).append((step, value))
            row = {"trajectory": self.trajectory.key, "step": step, "split": split}
            self._rows.append({**row, "quantity": quantity, "value": float(value)})

    def _shown(self, step: int, split: str, quantity: str) -> bool:
        """Whether the stop rule may see a value: the key of the trajectory says that it is there."""
        if split == "train":
            return quantity in RECORDED and quantity != "epoch"
        return split == "validation" and step in self._evaluated

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved > self.save_every and self.state.step > self._from:
            self._keep_state()
            self._flush()
            self.unit.go_on(self.taken, self.partial(self.state.step, self.last_finite_loss))
            self.taken, self._saved, self._from = [], time.monotonic(), self.state.step

    def _interrupted(self) -> Ending:
        """Keep the state, as every measurement due here is taken and the rule was asked: a later walk begins here."""
        if self.state.step > self._from:
            self._keep_state()
        return Ending("interrupted", f"stopped by {signal_name(self.stops.first)} at step {self.state.step}")

    def _keep_state(self) -> None:
        self.unit.save(self.state.step, *to_bytes(self.state))

    def _flush(self) -> None:
        if self._rows:
            self.unit.write("curves", self._rows)
        self._rows = []
