"""``lnlab.Recorder``: one run of a training loop that is not lnlab's, recorded into a folder.

Only norms are added to the loop's own passes. Probes on held-out batches read copies of the model. The loop's weights,
gradients, buffers, modes and random numbers are as they would be without a recorder: a recorded run ends with the same
weights, bit for bit.
"""

import json
import math
import os
import platform
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from operator import index
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn, Self
from weakref import WeakValueDictionary

import numpy as np
import torch
from rich.console import Console
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lnlab import __version__
from lnlab.catalogue import REGISTRIES
from lnlab.curvature.copies import inside_wrappers
from lnlab.curvature.ranks import Ranks
from lnlab.errors import LabError
from lnlab.execute.devices import without_tf32
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.nn.site import TokenMask
from lnlab.outside.foreign_runs.folder import WEIGHTS_FILE, Block, RunFolder, block_of_rows
from lnlab.outside.foreign_runs.settings import differing_settings, nested_settings, split_and_quantity
from lnlab.outside.own_model.boundary import on_ranks
from lnlab.outside.own_model.measuring import check_gradient, check_precision, measured_rows, probe_choice
from lnlab.outside.own_model.subject import Subject
from lnlab.outside.own_model.task import NotFiniteError, OwnLoss, OwnTask
from lnlab.outside.recorder.batch_numbers import BatchNumbers
from lnlab.outside.recorder.exported_values import exported_values
from lnlab.outside.recorder.training_state import with_training
from lnlab.outside.recorder.updates import HOOKS, Update, UpdateHooks, read_numbers
from lnlab.printable import has_half
from lnlab.randomness import Draw

COSTLY = 0.02
"""The share of a run's time above which the recorder proposes another rhythm."""
_WRITING: "WeakValueDictionary[Path, Recorder]" = WeakValueDictionary()
"""The recorders of this process that are open, by the folder in which they write."""
_OF_OPTIMIZER = ("adaptive_rate",)
"""Probes that read the state of the optimizer."""
_MIN_TIMED_STEPS = 10
"""Updates after which the time of a step is known well enough for that."""


class Recorder:
    """Records one run of a training loop that is not lnlab's, into a folder of its own.

        rec = lnlab.Recorder("runs/pre-3e-3-seed1", settings={"placement": "pre", "lr": 3e-3}, seed=1,
                             probes=["gradient_norm", {"kind": "sharpness", "every": 9000}],
                             batches=held_out, loss=loss)
        rec.attach(model, optimizer)
        for step, batch in enumerate(loader, 1):
            ...                                   # forward, backward, clip, optimizer.step()
            rec(model, step, loss=value, val_loss=...)
        rec.close()

    Nothing is left on the model, its gradients, its mode and the random state. A step is the number of updates made.
    Numbers of training are the mean over the batches of an update. One process writes: a second one is refused, and a
    forked child.

    Args:
        to: the folder. One that holds a run with the same settings and seed is continued.
        settings: what this run is, by dotted path. Settings that differ between runs opened together are axes.
        seed: the replicate. Runs with equal settings and different seeds are replicates.
        probes: words or choices as in ``lnlab.measure``. ``every`` in a choice replaces the common one. Probes of
            training (update_size, displacement, adaptive_rate, update_histogram) need ``attach``. A sharded model
            (FSDP2) needs ``build`` for any probe. It takes no probe that reads updates or the optimizer.
        batches: held-out batches, the same in every run that is to be compared. They are kept after the first reading.
        loss: ``(model, batch) -> (sum, count)`` or a mean.
        every: updates between two measurements of a probe. Step 0 is measured if ``rec`` is called before training.
        hooks: what ``attach`` records of an update: ``gradients`` (norm of each parameter's gradient as the optimizer
            used it: accumulated, unscaled, clipped), ``updates`` (relative size, at the cost of one copy of the
            weights), ``activations`` (root mean square of the stream, or of what modules with parameters return).
        hooks_every: updates between two of these. At 10 they cost less than 2 % of a small model's step.
        steps: updates that are planned. A run with fewer is unfinished. With None it is finished when it is closed.
        sites, stream, mask: as in ``lnlab.measure``, of the module below torch.compile and DistributedDataParallel.
        build: of a sharded model, which cannot be copied: makes the plain model, into which rank 0 takes the weights of
            all ranks where a probe is due. Every rank gives it, and calls the recorder.
        resume: whether a folder that holds a run is continued. False refuses it.
        keep_going: whether training goes on where the folder cannot be written, as on a full disk: one line says so,
            and records wait in memory until they can be. By default the call raises.
        export: functions of trackers, or one, called as ``log(values, step=step)`` with what is recorded, while the
            loop waits: ``run.log`` of Weights & Biases and Trackio, ``mlflow.log_metrics``. One that fails ends no
            training.

    Raises:
        LabError: the folder holds a run with other settings, a setting has the name of a column, a probe is unknown or
            needs lnlab's own models, or probes are given without loss or batches.
    """

    def __init__(
        self,
        to: str | Path,
        *,
        settings: Mapping[str, Json] | None = None,
        seed: int,
        probes: Sequence[Json] = (),
        batches: Iterable[Any] = (),
        loss: OwnLoss | None = None,
        every: int = 100,
        hooks: Sequence[str] = ("gradients", "updates"),
        hooks_every: int = 10,
        steps: int | None = None,
        sites: Mapping[str, str] | None = None,
        stream: Mapping[str, str] | None = None,
        mask: TokenMask | None = None,
        build: Callable[[], nn.Module] | None = None,
        resume: bool = True,
        keep_going: bool = False,
        export: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
    ) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            _refuse("seed", f"the seed is {seed!r}", "give a whole number, which tells replicates apart")
        for name, number in (("every", every), ("hooks_every", hooks_every), ("steps", steps)):
            if number is not None and (not isinstance(number, int) or number < 1):
                _refuse(name, f"{name} is {number!r}", "give a positive number of updates")
        if wrong := next((kind for kind in hooks if kind not in HOOKS), None):
            _refuse("hooks", f"there is no hook '{wrong}'", f"choose from {', '.join(HOOKS)}")
        if probes and loss is None:
            _refuse("probes", "probes are given and no loss", "give loss=(model, batch) -> (sum, count)")
        self._export = [export] if callable(export) else list(export)
        if words := [one for one in self._export if not callable(one)]:
            _refuse("export", f"{words[0]!r} is no function", "give run.log of your tracker, or mlflow.log_metrics")
        self._to = Path(to)
        self.folder = RunFolder(self._to.absolute())  # a loop may change its working folder
        self._settings = nested_settings(settings or {})
        self._seed = seed
        self._steps = steps
        self._hooks = tuple(dict.fromkeys(hooks))
        self._hooks_every = hooks_every
        self._patterns = sites or {}, stream or {}, mask
        self._attached: nn.Module | None = None
        self._distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self._writes = not self._distributed or torch.distributed.get_rank() == 0
        self._process = os.getpid()
        self._keep_going = keep_going
        self._unwritten: list[tuple[int, Sequence[Block]]] = []
        self._numbers: dict[str, BatchNumbers] = {}
        self._unmade: tuple[str, str] | None = None
        self._known: dict[str, tuple[int, torch.Size]] = {}
        self._changed = False
        self._updates: UpdateHooks | None = None
        self._attached_at = 0
        self._subject: Subject | None = None
        self._build = build
        self._plain: Subject | None = None
        self._optimizers: Sequence[Any] = ()
        self._step = -1
        self._checked = False
        self._ended: tuple[str, str | None] | None = None
        self._closed = False
        self._began = time.perf_counter()
        self._spent: dict[str, float] = defaultdict(float)
        self._warned: set[str] = set()
        self._measured_at: dict[str, int] = {}
        self._last_finite_loss: float | None = None
        with self._no_trace(None):
            self._task = OwnTask(batches, loss) if loss is not None else None
            if self._task is not None and probes and not self._task.available(1):
                _refuse("batches", "probes are given and no batches", "give batches=, at least one")
            self._every, self._probes = ({}, []) if self._task is None else _read_probes(probes, every, self._task)
        self._facts: dict[str, Json] = {}
        if self._writes:
            if (former := _WRITING.get(self.folder.path.resolve())) is not None:
                former._abandon()  # of a cell of a notebook that runs again
            _WRITING[self.folder.path.resolve()] = self
            self.folder.lock()
            try:
                self._open(resume=resume)
            except BaseException:
                self.folder.release()
                raise

    # Called by another recorder of this process that goes on with the folder.
    def _abandon(self) -> None:
        self._closed = True
        self._writes = False
        self.folder.release()
        if self._updates is not None:
            self._updates.remove()

    def _open(self, *, resume: bool) -> None:
        """Make or continue the folder."""
        path = self._to
        self._former: dict[str, Json] | None = None
        if self.folder.holds_run:
            self._former = old = self.folder.facts()
            if not resume:
                _refuse(str(path), "holds a run", "give another folder, or resume=True to continue it")
            if other := differing_settings(old["settings"], self._settings):
                _refuse(str(path), f"holds a run with other settings: {other}", "give another folder")
            if old["seed"] != self._seed:
                _refuse(str(path), f"holds the run of seed {old['seed']}, not {self._seed}", "give another folder")
            new = {choice["kind"]: choice for choice in self._probes}
            for choice in old["probes"]:
                if choice["kind"] in new and canonical(new[choice["kind"]]) != canonical(choice):
                    other = differing_settings(choice, new[choice["kind"]])
                    what = f"recorded '{choice['kind']}' with other parameters: {other}"
                    _refuse(str(path), what, "give the same ones, or another folder")
            self._facts = {**old, "probes": [*(c for c in old["probes"] if c["kind"] not in new), *self._probes]}
        else:
            self._facts = {"settings": self._settings, "seed": self._seed, "probes": self._probes, "cuts": []}
            self._facts |= {"addresses": {}, "paths": [], "parameters": None, "done": 0, "seconds": 0.0, "start": None}
        versions = {"python": platform.python_version(), "torch": torch.__version__, "lnlab": __version__}
        self._facts |= {
            "status": "running",
            "reason": None,
            "steps": self._steps,
            "last_finite_loss": None,
            "device": None,
            "every": self._every,
            "hooks_every": self._hooks_every,
            "versions": {**versions, "platform": platform.platform()},
        }
        self.folder.begin(max((number for number, _ in self._facts["cuts"]), default=0))
        rows = self.folder.rows(self._facts)
        self._last_recorded = int(rows["step"].max() or 0) if rows.height else 0  # type: ignore[arg-type]
        for source, step in rows.select("source", "step").unique().iter_rows():
            self._measured_at[source] = max(step, self._measured_at.get(source, -1))
        self.folder.write_facts(self._facts)

    def attach(self, model: Any, optimizer: Any, *, step: int = 0) -> Self:
        """Record what each update does, from now on, by the optimizer's own hooks.

        A run that was killed or failed may begin again at step 0 from the same weights: what was recorded is dropped.

        Args:
            model: whose parameters the optimizer updates.
            optimizer: any ``torch.optim.Optimizer``, or what wraps one as its attribute ``optimizer``, or a list of
                those that update the model together, whose steps between two calls are one update.
            step: updates made before: of a run that resumes, the step of its checkpoint. Later records are dropped.

        Raises:
            LabError: an optimizer updates no parameter of this model, another is attached to it, the folder has later
                records of other weights and ``step`` is 0, or a probe needs the weights at step 0, and they are not
                there.
        """
        self._require_own_process()
        step = _whole(step, "attach")
        ranks = self._ranks_of(model)
        with on_ranks(ranks, "attach"):
            self._attach(ranks, model, optimizer, step)
        return self

    def _attach(self, ranks: Ranks, model: Any, optimizer: Any, step: int) -> None:
        optimizers = []
        for one in optimizer if isinstance(optimizer, list | tuple) else [optimizer]:
            inner = one
            while isinstance(getattr(inner, "optimizer", None), torch.optim.Optimizer):  # accelerate's own wraps one
                inner = inner.optimizer
            if not isinstance(inner, torch.optim.Optimizer):
                _refuse("attach", f"the optimizer is {type(inner).__name__}", "give a torch.optim.Optimizer")
            optimizers.append(inner)
        compiled = hasattr(model, "_orig_mod")
        if compiled and "activations" in self._hooks:
            what = "activations of a compiled model cannot be seen"
            _refuse("attach", what, "leave 'activations' out of hooks=, or attach the model without torch.compile")
        if self._updates is not None:
            if self._attached is unwrapped(model) and self._updates.left_out and self._updates.count == step:
                own = {id(p) for one in self._updates.optimizers for group in one.param_groups for p in group["params"]}
                given = {id(p) for one in optimizers for group in one.param_groups for p in group["params"]}
                if not own & given:
                    what = "another optimizer of this model is attached"
                    _refuse("attach", what, "give them together: rec.attach(model, [one, other])")
            self._updates.remove()
        subject = self._subject_of(model)
        start = _norms(subject.structure) if self._writes and not step else None
        again = start is not None and _nearly_equal(start, self._facts["start"])
        self._continue_from(step, again=again)
        if start is not None:
            self._facts["start"] = start
        self._attached = subject.module
        self._attached_at = step
        self._updates = UpdateHooks(
            module=subject.structure,
            optimizers=optimizers,
            addresses=subject.addresses,
            points=subject.points,
            kinds=self._hooks if self._writes or _sharded(subject.module) else (),
            every=self._hooks_every,
            step=step,
            watched=self._reads_update,
            full=self._write_waiting,
        )
        if self._writes:
            if absent := self._updates.left_out:
                more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
                remedy = "give all optimizers, rec.attach(model, [one, other]), or freeze what none updates"
                _log(f"attach: '{absent[0]}'{more} is trained by no optimizer that is attached; {remedy}")
            sites = [list(site.row().values()) for site in self._updates.sites]
            if self._facts["addresses"].get("parameters", sites) != sites:
                # While the rows of the tail can still be read with the former addresses.
                self.folder.compact(self._facts["addresses"])
            self._facts["addresses"] = {**self._facts["addresses"], "parameters": sites}
            self._facts["device"] = str(next(subject.module.parameters()).device)
            self.folder.write_facts(self._facts)
        beginning: nn.Module | None = subject.structure
        if self._probes and _sharded(subject.module):
            from_start = any(REGISTRIES["probe"][c["kind"]].facts.initial for c in self._probes)
            ranks.gather("weights", None)  # none has failed so far
            gathered = self._gather(subject.module) if from_start else None
            beginning = None if gathered is None else gathered.structure
        if self._writes and beginning is not None:
            # The weights at step 0, where a probe reads them.
            needs = [c["kind"] for c in self._probes if REGISTRIES["probe"][c["kind"]].facts.initial]
            path = self.folder.path / WEIGHTS_FILE
            if needs and step and not path.is_file():
                what = f"{needs[0]} needs the weights at step 0, and {self._to} has none"
                _refuse("attach", what, "leave it out of probes=")
            if needs and not step:
                # Cloned, as safetensors refuses tensors that share memory.
                save_file({name: p.detach().contiguous().clone() for name, p in beginning.named_parameters()}, path)

    def _continue_from(self, step: int, *, again: bool) -> None:
        """Drop what was recorded after the step that training goes on from.

        ``again`` says that a step of 0 is the beginning of the same run, which then has nothing before it.
        """
        if not self._writes or self._last_recorded <= step:
            return
        path = self._to
        if step == 0:
            if not again or self._former is None or self._former["status"] == "finished":
                if self._former is not None:  # what the folder says of its run stays as it was
                    self.folder.write_facts(self._former)
                what = f"ends at step {self._last_recorded} and training begins again"
                _refuse(str(path), what, "say attach(..., step=N), or give another folder")
            _log(f"{path}: training begins again, and the {self._last_recorded} steps of a run cut short are dropped")
        self._facts["cuts"] = [*self._facts["cuts"], [self.folder.number, step or -1]]
        self._facts["done"] = min(self._facts["done"], step)
        self._measured_at = {source: min(at, step or -1) for source, at in self._measured_at.items()}
        self._last_recorded = step

    def _subject_of(self, model: Any) -> Subject:
        """The module inside its wrappers, with its addresses. The same module gives the same object."""
        module = unwrapped(model)
        if self._probes and _sharded(module):  # on every rank, as the others would wait for one that is refused alone
            what = "a sharded model cannot be copied, and probes read copies"
            if self._build is None:
                _refuse("rec", what, "give build=, a function that makes the plain model")
            kinds = {choice["kind"]: REGISTRIES["probe"][choice["kind"]].facts for choice in self._probes}
            if unread := next((kind for kind, facts in kinds.items() if facts.update or kind in _OF_OPTIMIZER), None):
                _refuse(
                    "rec", f"'{unread}' reads updates or the optimizer, which are sharded", "leave it out of probes="
                )
        if self._subject is None or self._subject.module is not module:
            self._subject = Subject.of(module, *self._patterns)
            if self._writes:
                former = {tuple(coordinates): path for *coordinates, path in self._facts["paths"]}  # rows have them
                paths = former | {tuple(site.row().values()): path for site, path in self._subject.paths.items()}
                size = sum(p.numel() for p in module.parameters() if p.requires_grad)
                self._facts |= {"paths": [[*site, path] for site, path in paths.items()], "parameters": size}
            self._known = {name: (id(p), p.shape) for name, p in module.named_parameters()}
        return self._subject

    def _follow_change(self, module: nn.Module) -> None:
        """Where parameters were added, replaced or removed, read the model anew, and say so."""
        now = {name: (id(p), p.shape) for name, p in module.named_parameters()}
        if now == self._known:
            return
        name = next(name for name in {**now, **self._known} if now.get(name) != self._known.get(name))
        what = "is another one" if name in now and name in self._known else "is new" if name in now else "is gone"
        _log(
            f"rec: the model has changed, '{name}' {what}: its updates are recorded after "
            "rec.attach(model, optimizer, step=rec.count), and probes of the distance from the start end here"
        )
        self._changed = True
        self._subject = None

    def __call__(
        self, model: Any, step: int | None = None, *, optimizer: Any = None, loss: Any = None, **scalars: Any
    ) -> None:
        """Record the state after ``step`` updates: what is due of the probes, the loss and other numbers.

        A loss that is not finite ends the run as *diverged*. Nothing is raised in your loop.

        Args:
            model: the one that is trained.
            step: updates made. None means the count of the hooks of ``attach``.
            optimizer: of a run that is not attached, for probes of its state (adaptive_rate).
            loss: of the training batch. Of several batches that make one update it is the mean, and where the update
                was skipped, as a ``GradScaler`` does, it is left out.
            scalars: further numbers, of training like the loss. The prefixes ``val_`` and ``eval_`` mean the split
                validation, whose last number of a step is kept.

        Raises:
            LabError: ``step`` is less than the number of updates or goes back, the model is not the attached one, the
                folder cannot be written, or a probe finds something wrong with the model, the batches or the loss.
        """
        self._require_own_process()
        ranks = self._ranks_of(model)
        with on_ranks(ranks, "rec"):
            self._record(ranks, model, step, optimizer, {"loss": loss, **scalars})

    def _ranks_of(self, model: Any) -> Ranks:
        """All ranks, where probes of a sharded model need each: none may wait for rank 0 once that has failed."""
        return Ranks.of_torch() if self._probes and _sharded(unwrapped(model)) else Ranks()

    def _record(self, ranks: Ranks, model: Any, step: int | None, optimizer: Any, scalars: Mapping[str, Any]) -> None:
        if self._closed:
            _refuse("rec", "the recorder is closed", "make another one")
        count = self._updates.count if self._updates is not None else None
        if step is None:
            if count is None:
                _refuse("rec", "nothing counts the updates", "call rec.attach(model, optimizer) first, or give a step")
            step = count
        step = _whole(step, "rec")
        before_first = count == 0 < step  # a batch of an update that is not made yet, or was skipped
        if count is not None and step != count:
            what = f"step is {step} after {count} {'update' if count == 1 else 'updates'}"
            if step < count:
                _refuse("rec", what, "count updates: enumerate(loader, 1), or leave step out")
            if "step" not in self._warned:  # a GradScaler has skipped some, or batches are counted
                self._warned.add("step")
                _log(f"rec: {what}; rows have the number of updates")
            step = count
        elif self._step < 0 and count is None and self._writes and step <= self._last_recorded and self._last_recorded:
            # A loop without hooks resumes: its first step is the first that it has made again.
            self._continue_from(max(0, step - 1), again=True)
        elif step < self._step:
            _refuse("rec", f"step is {step} after step {self._step}", "count updates upwards")
        module, attached = unwrapped(model), self._attached
        if attached is not None and module is not attached:
            parameters = {id(p) for p in attached.parameters()}
            if not any(id(p) in parameters for p in module.parameters()):
                what = "this model has no parameter of the attached one"
                _refuse("rec", what, "give the model that is trained, or attach this one")
        known = self._subject
        unread = self._updates is not None and self._updates.has_unread
        if known is not None and known.module is module and (unread or self._due(step)):
            self._follow_change(module)
        subject = self._subject_of(model)
        if self._writes and subject is not known:
            self.folder.write_facts(self._facts)
        self._step = step
        own = () if optimizer is None else (optimizer,)
        self._optimizers = own if self._updates is None else self._updates.optimizers
        self._write_waiting()
        began = time.perf_counter()
        if self._writes:
            named = {name: _one_number(name, value) for name, value in scalars.items() if value is not None}
            # All at once, as each number that is read from a GPU waits for it.
            read = read_numbers(list(named.values()))
            numbers = {name: number for name, (number,) in zip(named, read, strict=True)}
            self._write_numbers(step, numbers, before_first=before_first)
            self._spent["records"] += time.perf_counter() - began
        due = self._due(step) if self._writes and self._ended is None else []
        if self._probes and _sharded(subject.module):
            if not ranks.gather("probes that are due", bool(due))[0]:  # rank 0 alone knows what a resumed run has
                return
            gathered = self._gather(subject.module)
            subject = subject if gathered is None else gathered
        if due and self._task is not None:
            self._measure(subject, self._task, step, due)

    def _write_numbers(self, step: int, values: Mapping[str, float], *, before_first: bool) -> None:
        """Write the numbers of a call: those of training once the update of their batches is made."""
        blocks: dict[int, list[Block]] = {}
        gradients = None if self._updates is None or not values else self._updates.gradients_since()
        gradients = "broken" if gradients == "none" and before_first else gradients
        for name, value in values.items():
            split, quantity = split_and_quantity(name)
            of_updates: Iterable[tuple[int, float]] = [(step, value)]
            if split == "train":
                numbers = self._numbers.setdefault(quantity, BatchNumbers(written=self._attached_at or -1))
                of_updates = list(numbers.add(value, step, gradients))
                if quantity == "loss" and not of_updates and not math.isfinite(value):
                    self._unmade = "diverged", f"train loss is {value} after step {step}"
            for at, number in of_updates:
                blocks.setdefault(at, []).append(_curve(quantity, split, number))
                self._follow_loss(at, split, quantity, number)
        for at, of_update in blocks.items():
            self._append(at, of_update)

    def _follow_loss(self, step: int, split: str, quantity: str, value: float) -> None:
        if quantity == "loss" and not math.isfinite(value) and self._ended is None:
            self._ended = "diverged", f"{split} loss is {value} at step {step}"
        elif (split, quantity) == ("train", "loss") and math.isfinite(value):
            self._last_finite_loss, self._unmade = value, None

    def _gather(self, module: nn.Module) -> Subject | None:
        """The plain model with the weights of all ranks, on rank 0. The other ranks take part and get None."""
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict  # late: slow

        began = time.perf_counter()
        whole = get_model_state_dict(module, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        if not self._writes or self._build is None:
            return None
        with self._no_trace(module):
            if self._plain is None:
                plain = self._build().to(next(module.parameters()).device)
                self._plain = Subject.of(plain, *self._patterns)
            try:
                self._plain.module.load_state_dict(whole)
            except RuntimeError as error:
                reason = " ".join(str(error).split())[:200]
                _refuse("rec", f"build() makes another model: {reason}", "make the one that is sharded")
            self._plain.module.train(module.training)
        self._spent["gathering"] += time.perf_counter() - began
        return self._plain

    def _write_waiting(self) -> None:
        """Read the numbers of updates that wait, and write them."""
        if self._updates is None:
            return
        began = time.perf_counter()
        waiting = self._updates.take_unread()
        if not self._writes or not waiting or os.getpid() != self._process:
            return
        size = len(self._updates.sites)
        for update, blocks in zip(waiting, _blocks(waiting, size), strict=True):
            # One rate where all groups have the same, else one each.
            same = len(set(update.rates)) == 1
            rates = {"": update.rates[0]} if same else {f"_{i}": rate for i, rate in enumerate(update.rates, 1)}
            curves = [_curve(f"learning_rate{which}", "train", rate) for which, rate in rates.items()]
            self._append(update.step, [*blocks, *curves])
        self._spent["records"] += time.perf_counter() - began

    def _append(self, step: int, blocks: Sequence[Block]) -> None:
        """Write a record, and have it sent to trackers."""
        self._unwritten.append((step, blocks))
        self._write_unwritten()
        if not self._export:
            return
        names = {tuple(coordinates): path for *coordinates, path in self._facts["paths"]}
        sites = self._facts["addresses"].get("parameters", ())
        values = exported_values(blocks, [names[tuple(site)] for site in sites], names)
        for log in list(self._export) if values else ():
            try:
                with self._no_trace(None):
                    log(values, step=step)
            except Exception as error:
                self._export.remove(log)
                reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
                _log(f"export: {reason}; nothing more is sent there, and the run is whole in {self._to}")

    def _write_unwritten(self) -> None:
        """Write the records that wait. One that could not be written is the first of the next time."""
        try:
            while self._unwritten:
                self.folder.append(*self._unwritten[0], self._facts["addresses"])
                del self._unwritten[0]
            self._warned.discard("unwritten")
        except LabError as error:
            if not self._keep_going:
                raise
            if "unwritten" not in self._warned:
                self._warned.add("unwritten")
                _log(f"{error}; training goes on, and records wait in memory")

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            _refuse("rec", "another process has made this recorder", "make one with a folder of its own in the child")

    def _due(self, step: int) -> list[dict[str, Json]]:
        """The probes that are due."""
        due: list[dict[str, Json]] = []
        for choice in self._probes:
            kind = choice["kind"]
            facts = REGISTRIES["probe"][kind].facts
            at_rhythm = step % self._every[kind] == 0 or step == self._steps
            measurable = step > 0 or not (facts.trained or facts.update)
            if facts.update and at_rhythm and measurable:  # only if the hooks have kept the update that led here
                measurable = self._updates is not None and self._updates.last_step == step
            measurable = measurable and not (facts.initial and self._changed)
            if at_rhythm and measurable and self._measured_at.get(kind, -1) < step:
                due.append(choice)
        return due

    def _measure(self, subject: Subject, task: OwnTask, step: int, due: Sequence[dict[str, Json]]) -> None:
        """Measure these probes."""
        gathered = subject is self._plain
        with self._no_trace(subject.module):
            if not self._checked:
                check_precision(subject.module, due)
                try:
                    passes = any(REGISTRIES["probe"][c["kind"]].facts.passes(c) for c in self._probes)
                    subject = check_gradient(subject, task, repeated=passes)
                    self._plain, self._subject = (subject, self._subject) if gathered else (self._plain, subject)
                except NotFiniteError as error:
                    self._ended = "diverged", f"{error.issues[0].what} at step {step}"
                    return
                self._checked = True
            path, updates = self.folder.path / WEIGHTS_FILE, self._updates
            device = str(next(subject.module.parameters()).device)
            in_training = with_training(
                subject,
                step=step,
                optimizers=self._optimizers,
                initial=(lambda: load_file(path, device=device)) if path.is_file() else None,
                last_update=updates.last_update if updates is not None and updates.last_step == step else None,
                last_rate=0.0 if updates is None else updates.last_rate,
            )
            for choice in due:
                began = time.perf_counter()
                try:
                    rows = measured_rows(choice, subject, task, Draw(self._seed), in_training)
                except NotFiniteError as error:
                    self._ended = "diverged", f"{error.issues[0].what} at step {step}"
                    return
                table = REGISTRIES["probe"][choice["kind"]].facts.table
                self._append(step, [block_of_rows(choice["kind"], table, rows)] if rows else [])
                self._measured_at[choice["kind"]] = step
                self._spent[choice["kind"]] += time.perf_counter() - began

    def _reads_update(self, step: int) -> bool:
        """Whether a probe reads the update that leads to a step."""
        return self._writes and any(
            step % self._every[choice["kind"]] == 0 or step == self._steps
            for choice in self._probes
            if REGISTRIES["probe"][choice["kind"]].facts.update
        )

    @property
    def count(self) -> int:
        """Updates made, as the hooks of ``attach`` count them, or -1 before ``attach``."""
        return -1 if self._updates is None else self._updates.count

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        return self._closed

    @contextmanager
    def _no_trace(self, module: nn.Module | None) -> Iterator[None]:
        """Random states of torch, of Python and of NumPy, which a loader of batches may use, are as they were after."""
        devices = set() if module is None else {p.device for p in module.parameters() if p.device.type == "cuda"}
        python, numbers = random.getstate(), np.random.get_state()
        try:
            with torch.random.fork_rng(list(devices)), without_tf32():
                yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)

    def close(
        self, status: Literal["finished", "diverged", "failed", "interrupted"] = "finished", reason: str | None = None
    ) -> None:
        """End the run: write what waits and remove all hooks. ``with`` does so, as failed where an error is raised."""
        if self._closed or os.getpid() != self._process:
            return
        self._write_waiting()
        self._closed = True
        if self._updates is not None:
            self._updates.remove()
            self._spent["hooks"] += self._updates.seconds
        if not self._writes:
            return
        for name, numbers in self._numbers.items():
            for step, value in numbers.rest(-1 if self._updates is None else self._updates.count):
                self._append(step, [_curve(name, "train", value)])
                self._follow_loss(step, "train", name, value)
        diverged = self._ended or self._unmade
        ended = diverged if diverged is not None and status == "finished" else (status, reason)
        done = max(self._step, 0 if self._updates is None else self._updates.count, 0)
        total = time.perf_counter() - self._began
        self._facts |= {
            "status": ended[0],
            "reason": ended[1],
            "done": done,
            "last_finite_loss": self._last_finite_loss,
            "seconds": self._facts["seconds"] + total,
        }
        try:
            self._write_unwritten()
            with suppress(OSError):  # the rows are in the tail, which is read as well
                self.folder.compact(self._facts["addresses"])
            self.folder.write_facts(self._facts)
        except LabError as error:
            if not self._keep_going:
                raise
            _log(str(error))
        finally:
            self.folder.release()
        if self._unwritten:
            _log(f"{self._to}: {len(self._unwritten)} records could not be written, and are lost")
        never_called = done > self._attached_at and self._step <= self._attached_at and self._updates is not None
        if ended[0] == "finished" and never_called:  # before training alone, or never
            when = "never recorded" if self._step < 0 else f"recorded at step {self._step} only"
            updates = f"{done} {'update was' if done == 1 else 'updates were'} made"
            remedy = "call rec(model, loss=...) after each optimizer.step()"
            _log(f"{self._to}: probes and losses were {when}, and {updates}; {remedy}")
        self._log_cost(total, done)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif isinstance(error, Exception):
            self.close("failed", " ".join(f"{type(error).__name__}: {error}".split()))
        else:
            self.close("interrupted", type(error).__name__)

    def _log_cost(self, total: float, done: int) -> None:
        spent = sum(self._spent.values())
        steps = done - (int(self._facts["cuts"][-1][1]) if self._facts.get("cuts") else 0)
        if not total or steps < _MIN_TIMED_STEPS:
            return
        training = max(total - spent, 1e-9)
        parts = [f"{kind} {seconds / total:.1%}" for kind, seconds in self._spent.items() if seconds / total >= 0.001]
        text = f"{self._to}: recording took {spent / total:.1%} of {total:.3g} s"
        proposals = [
            f"{{'kind': '{kind}', 'every': {_rounded_up(self._every[kind] * seconds / training / COSTLY)}}}"
            for kind, seconds in self._spent.items()
            if kind in self._every and seconds / training > COSTLY
        ]
        hooks = self._spent.get("hooks", 0.0) / training
        if hooks > COSTLY:
            proposals.append(f"hooks_every={_rounded_up(self._hooks_every * hooks / COSTLY)}")
        remedy = f"; for {COSTLY:.0%} each: {', '.join(proposals)}" if proposals else ""
        _log(text + (f" ({', '.join(parts)})" if parts else "") + remedy)

    def transformers(self) -> Any:
        """A callback: ``trainer.add_callback(rec.transformers())``. It needs accelerate, too, as the Trainer does.

        Raises:
            LabError: transformers is not installed.
        """
        return _callback("transformers")(self)

    def lightning(self) -> Any:
        """A callback: ``Trainer(callbacks=[rec.lightning()])``. ``loss`` and ``sites`` are of the LightningModule.

        Raises:
            LabError: lightning is not installed.
        """
        return _callback("lightning")(self)


def _read_probes(probes: Sequence[Json], every: int, task: OwnTask) -> tuple[dict[str, int], list[dict[str, Json]]]:
    """Return the rhythm of each probe by its kind, and the choices with their defaults."""
    rhythms: dict[str, int] = {}
    choices: list[dict[str, Json]] = []
    for probe in probes:
        own = {key: value for key, value in probe.items() if key != "every"} if isinstance(probe, Mapping) else probe
        rhythm = probe.get("every", every) if isinstance(probe, Mapping) else every
        if isinstance(rhythm, bool) or not isinstance(rhythm, int) or rhythm < 1:
            _refuse("probes", f"every is {rhythm!r}", "give a positive number of updates")
        choice = dict(probe_choice(own, task, trained=True))
        if choice["kind"] in rhythms:
            _refuse("probes", f"'{choice['kind']}' stands in probes twice", "record it with others in another folder")
        rhythms[choice["kind"]] = rhythm
        choices.append(choice)
    return rhythms, choices


def _callback(package: str) -> Callable[[Recorder], Any]:
    """The class of callbacks for a package, which need not be installed."""
    if find_spec(package) is None:
        _refuse("rec", f"{package} is not installed", f"install it: pip install {package}")
    module = import_module(f"lnlab.outside.recorder.{package}_callback")
    callback: Callable[[Recorder], Any] = getattr(module, f"{package.capitalize()}Callback")
    return callback


def unwrapped(model: Any) -> nn.Module:
    """The module below torch.compile, DistributedDataParallel and the like."""
    if not isinstance(model, nn.Module):
        _refuse("rec", f"the model is {type(model).__name__}, expected an nn.Module", "give the model first")
    return inside_wrappers(model)


def _one_number(name: str, value: Any) -> Tensor:
    """A number of the user's, wherever it is, with one element."""
    if has_half(name):
        _refuse("rec", f"the name {name!a} has half a character, a lone surrogate", "decode the text that it is from")
    try:
        number = value if isinstance(value, Tensor) else torch.tensor(float(value), dtype=torch.float64)
    except (TypeError, ValueError):
        of_recorder = name in signature(Recorder).parameters
        remedy = f"give {name}= to lnlab.Recorder, once" if of_recorder else "give a number"
        _refuse("rec", f"'{name}' is {type(value).__name__}", remedy)
    if number.numel() != 1:
        what = f"'{name}' is a tensor of shape {tuple(number.shape)}"
        _refuse("rec", what, "give one number: its mean, or its sum")
    return number


def _curve(quantity: str, split: str, value: float) -> Block:
    columns = {"split": split, "quantity": quantity, "value": [value]}
    return {"source": f"curve {split} {quantity}", "table": "curves", "columns": columns}


def _blocks(waiting: Sequence[Update], size: int) -> Iterator[list[Block]]:
    """Yield the rows of each update. All their numbers are read from the device at once. ``size`` counts the sites."""
    tensors: list[Tensor] = []
    for update in waiting:
        for part in update.parts:
            tensors += [] if part.gradients is None else [part.gradients]
            tensors += [] if part.change is None else list(part.change)
        tensors += [x.reshape(1).float() for x in update.activations.values()]
    numbers = iter(read_numbers(tensors))
    for update in waiting:
        values: dict[str, list[float | None]] = {}
        for part in update.parts:
            if part.gradients is not None:
                norms = values.setdefault("step_gradient_norm", [None] * size)
                for k, value, absent in zip(part.positions, next(numbers), part.absent, strict=True):
                    norms[k] = None if absent else value
            if part.change is not None:
                ratios = values.setdefault("update_to_weight", [None] * size)
                for k, change, before in zip(part.positions, next(numbers), next(numbers), strict=True):
                    ratios[k] = change / before if before else None
        blocks = [_parameter_block(quantity, of_sites) for quantity, of_sites in values.items()]
        if update.activations:
            rows = [
                {"quantity": "step_activation_rms", **site.row(), "value": next(numbers)[0]}
                for site in update.activations
            ]
            blocks.append(block_of_rows("hook step_activation_rms", "sites", rows))
        yield blocks


def _parameter_block(quantity: str, values: Sequence[float | None]) -> Block:
    columns = {"quantity": quantity, "value": list(values)}
    return {"source": f"hook {quantity}", "table": "sites", "columns": columns, "addresses": "parameters"}


def _norms(module: nn.Module) -> list[float]:
    """The norms of all parameters, by which weights are known again. Of a sharded model they are of the part here."""
    parts = [p.to_local() if hasattr(p, "to_local") else p for p in module.parameters()]
    with torch.no_grad():
        norms = read_numbers([torch.linalg.vector_norm(p.detach(), dtype=torch.float32).reshape(1) for p in parts])
    return [norm for (norm,) in norms]


def _nearly_equal(norms: Sequence[float], former: Sequence[float] | None) -> bool:
    if former is None or len(former) != len(norms):
        return False
    return all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(norms, former, strict=True))


def _whole(step: Any, where: str) -> int:
    """A step as it was given.

    Raises:
        LabError: it is no whole number, or none that a table holds.
    """
    try:
        number = index(step)
    except TypeError:
        _refuse(where, f"step is {step!r}", "give the number of updates, a whole number")
    if not 0 <= number < 2**63:
        _refuse(where, f"step is {number}", "give the number of updates, from 0")
    return number


def _sharded(module: nn.Module) -> bool:
    # By the method of a DTensor, whose module need not be there in every build of torch.
    return any(hasattr(p, "to_local") for p in module.parameters())


def _rounded_up(number: float) -> int:  # to one digit that is not 0
    if number <= 1:
        return 1
    unit = 10 ** math.floor(math.log10(number))
    return int(math.ceil(number / unit) * unit)


def _log(text: str) -> None:
    # As the inside of a JSON string, so that no control character of a name reaches the terminal.
    Console(stderr=True).print(
        json.dumps(text, ensure_ascii=False)[1:-1], markup=False, highlight=False, soft_wrap=True
    )


def _refuse(where: str, what: str, remedy: str) -> NoReturn:
    raise LabError(Issue("unsupported", where, what, remedy))
