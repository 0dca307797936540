"""The training loop: from a state of a trajectory to its target step, with the measurements that are due on the way.

At each state the loop makes the measurements of that state. It then computes the gradient of the next update, records
its loss at this state, and applies the update. After each loss and each evaluation the stop rule reads the curves so
far. Where it ends a run may depend on nothing that is not in the key of the trajectory: it sees what training recorded,
and if it has the fact ``evaluations`` those that ``train.evaluate`` requests, never what other probes happened to
measure.

A long run is cut into segments: rows and a state are saved from time to time, so that a killed run goes on from the
last of them, and ends with the same numbers to the last bit.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, isfinite
from typing import Any

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Measurement, Trajectory, needs_next_update
from lnlab.errors import CorpusError, StoreError
from lnlab.execute.checkpoint import to_bytes
from lnlab.execute.interrupts import Stops, signal_name
from lnlab.execute.measure import StateGuard, measure
from lnlab.execute.program import updates_per_epoch
from lnlab.execute.tensor_images import TensorChanges
from lnlab.execute.unit import SAVE_EVERY, SHOW_EVERY, WorkUnit
from lnlab.execute.updates import Updates
from lnlab.optim.stops import Ending
from lnlab.probes.probe import State
from lnlab.specfile.columns import NEXT_UPDATE_CURVES, RECORDED
from lnlab.specfile.moments import due_steps
from lnlab.tables import LivePoint, Row

WORTH_KEEPING = 5.0
"""Seconds of training after which a state is saved at the end, from which more steps would go on. If states are saved
more often than this, that period counts."""

Explained = tuple[str, str]
"""A status, and its reason in words."""


@dataclass
class Trainer:
    """One training run in progress.

    Attributes:
        state: the current state, which training changes.
        trajectory: whose key its rows have.
        target: the step where it ends, if nothing ends it before.
        due: step -> measurements of that state.
        unit: writes rows and states.
        registries: of probes and stop rules.
        partial: the outcome of a segment that goes on, from its last step and last finite loss.
        explain: the status and the reason of an error.
        save_every: seconds between two saved states.
        stops: requests to stop. After one, the run saves its state and ends as interrupted.
        curves: (split, quantity) -> (step, value), as far as recorded and as the stop rule may see it.
        measured: keys of the measurements in this segment.
        failures: status and reason of each measurement that failed.
        last_finite_loss: of the training batches.
    """

    state: State
    trajectory: Trajectory
    target: int
    due: dict[int, list[Measurement]]
    unit: WorkUnit
    registries: Registries
    partial: Callable[[int, float | None], Row]
    explain: Callable[[BaseException], Explained]
    save_every: float = SAVE_EVERY
    stops: Stops = field(default_factory=Stops)
    curves: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)
    measured: list[str] = field(default_factory=list)
    failures: list[Explained] = field(default_factory=list)
    last_finite_loss: float | None = None
    _rows: list[Row] = field(default_factory=list)
    _epoch_recorded_at: int | None = None
    _saved_at: float = field(default_factory=time.monotonic)
    _shown_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        train = self.trajectory.setting["train"]
        self._segment_start = self.state.step
        measurements = chain.from_iterable(self.due.values())
        reads_next_update = any(needs_next_update(self.registries["probe"], m.probe) for m in measurements)
        self._computes_gradients = self.target > 0 or reads_next_update
        self._updates = Updates(self.state, self.trajectory.setting) if self._computes_gradients else None
        self._rule: Callable[[Any], Ending | None] = lambda _: None
        self._evaluated: Sequence[int] = ()
        if self._computes_gradients and train["stop"] is not None:
            self._rule = self.registries["stop"].builder(train["stop"])()
            if self.registries["stop"][train["stop"]["kind"]].facts.evaluations:
                self._evaluated = due_steps(train["evaluate"], train["steps"], self._epoch())

    def run(self) -> Ending | None:
        """Run to the end. Return what ended the run before its target, or None."""
        started_at = time.monotonic()
        try:
            if self._computes_gradients and self.state.step == 0:
                entropy = self.state.task.unigram_entropy()  # what a model scores that knows frequencies alone
                if entropy is not None:
                    self._record(0, "train", unigram_entropy=entropy)
            ending = self._to_target() if self._updates else self._measure_due()
        finally:
            self._flush()
        worth_keeping = time.monotonic() - started_at > min(self.save_every, WORTH_KEEPING)
        if self.state.step and ending is None and (worth_keeping or self.trajectory.kept):
            self._save_state()
        return ending

    def restore_curves(self, rows: Sequence[Row]) -> None:
        """Take in the curves that were recorded before the state that this run begins with."""
        for row in rows:
            step, split, quantity = row["step"], row["split"], row["quantity"]
            by_next_update = split == "train" and quantity in NEXT_UPDATE_CURVES  # which this run makes again
            if step + by_next_update <= self.state.step and self._visible_to_rule(step, split, quantity):
                self.curves.setdefault((split, quantity), []).append((step, row["value"]))
        losses = [value for _, value in self.curves.get(("train", "loss"), ()) if isfinite(value)]
        self.last_finite_loss = losses[-1] if losses else None

    def _to_target(self) -> Ending | None:
        updates = self._updates
        if updates is None:
            raise ValueError("a run with a target has updates")
        changes: TensorChanges | None = None
        while True:
            if ending := self._measure_due():
                return ending
            if self.state.step == self.target:
                return None
            if self.stops.count:
                return self._interrupted()
            # Saved before the next gradient is computed: a later run begins with this state and makes it again.
            if time.monotonic() - self._saved_at > self.save_every and self.state.step > self._segment_start:
                self._save_state()
                self._flush()
                self.unit.go_on(self.measured, self.partial(self.state.step, self.last_finite_loss))
                self.measured = []
                self._saved_at = time.monotonic()
                self._segment_start = self.state.step
            gradient = updates.gradient()
            norm = gradient.norm_value
            self._record(self.state.step, "train", loss=gradient.loss, global_gradient_norm=norm)
            if (now := time.monotonic()) - self._shown_at > SHOW_EVERY:
                self.unit.show(LivePoint(self.state.step, gradient.loss, norm, now - self._saved_at))
                self._shown_at = now
            if isfinite(gradient.loss):
                self.last_finite_loss = gradient.loss
            if ending := self._rule(self.curves):
                return ending
            # What the update adds is kept only where a probe of the next state reads it: that copies all weights.
            following = self.due.get(self.state.step + 1, ())
            watched = any(self.registries["probe"][m.probe["kind"]].facts.update for m in following)
            if not watched:
                changes = None
            elif changes is None:
                changes = TensorChanges(updates.parameters)
            else:
                changes.begin()
            rate = updates.apply_update()
            self.state.last_rate = rate
            self.state.last_update = None if changes is None else changes.end()
            self._record(self.state.step, "train", learning_rate=rate)
            self._record(self.state.step, "train", tokens=gradient.tokens)
            self._record_epoch_loss()

    def _measure_due(self) -> Ending | None:
        """Make the measurements of this state, one after another. A failed one does not stop the others."""
        recorded = sum(map(len, self.curves.values()))
        guard = StateGuard(self.state.model)
        for measurement in self.due.get(self.state.step, ()):
            if self.stops.count and not self._updates:
                return self._interrupted()
            try:
                table, rows = measure(self.state, measurement, self.registries, guard)
                if table == "curves":
                    for row in rows:
                        self._record(row["step"], row["split"], **{row["quantity"]: row["value"]})
                    epoch = self._epoch() if self._computes_gradients else None
                    step = self.state.step
                    if epoch and self._epoch_recorded_at != step:  # several probes may write curves of one state
                        self._record(step, "train", epoch=step / epoch)
                        self._epoch_recorded_at = step
                else:
                    self.unit.write(table, rows)
                self.measured.append(measurement.key)
            except (CorpusError, StoreError):
                raise
            except (Exception, SystemExit) as error:
                status, reason = self.explain(error)
                self.failures.append((status, f"{measurement.probe['kind']}: {reason}"))
        return self._rule(self.curves) if sum(map(len, self.curves.values())) > recorded else None

    def _record_epoch_loss(self) -> None:
        """Where an epoch ends, record the mean of its training losses, weighed by the tokens of their updates."""
        epoch = self._epoch()
        step = self.state.step
        if not epoch or step // epoch == (step - 1) // epoch:
            return
        first = ceil((step - 1) // epoch * epoch)
        units = dict(self.curves["train", "tokens"][first - step :])
        losses = [(loss, units[at + 1]) for at, loss in self.curves["train", "loss"][first - step :]]
        self._record(step, "train", epoch_loss=sum(loss * n for loss, n in losses) / sum(n for _, n in losses))

    def _epoch(self) -> float | None:
        """Updates per epoch, or None for endless data."""
        return updates_per_epoch(self.trajectory.setting, self.state.task)

    def _record(self, step: int, split: str, **values: float) -> None:
        for quantity, value in values.items():
            if self._visible_to_rule(step, split, quantity):
                self.curves.setdefault((split, quantity), []).append((step, value))
            row = {"trajectory": self.trajectory.key, "step": step, "split": split}
            self._rows.append({**row, "quantity": quantity, "value": float(value)})

    def _visible_to_rule(self, step: int, split: str, quantity: str) -> bool:
        """Whether the stop rule may see a value: only what the key of the trajectory determines."""
        if split == "train":
            return quantity in RECORDED and quantity != "epoch"
        return split == "validation" and step in self._evaluated

    def _interrupted(self) -> Ending:
        """Save the state, where all measurements are made and the rule has judged: a later run begins with it."""
        if self.state.step > self._segment_start:
            self._save_state()
        return Ending("interrupted", f"stopped by {signal_name(self.stops.first)} at step {self.state.step}")

    def _save_state(self) -> None:
        self.unit.save(self.state.step, *to_bytes(self.state))

    def _flush(self) -> None:
        if self._rows:
            self.unit.write("curves", self._rows)
        self._rows = []
