"""``lnlab.measure``: probes on any ``nn.Module``, any batches and any loss.

Every probe reads a deep copy, and the state of torch's generators is restored, so that nothing is left on a model. A
model on a GPU is measured there, in float32 without TF32.
"""

import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from lnlab.catalogue import REGISTRIES
from lnlab.compile.checks.contradictions import WITHOUT_FLOAT64
from lnlab.consoles import followed
from lnlab.curvature.copies import kept_tensors
from lnlab.curvature.guards import CurvatureError, graph_names
from lnlab.curvature.ranks import Ranks
from lnlab.errors import LabError, listed
from lnlab.execute.devices import without_tf32
from lnlab.facts import never
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.nn.batch_norm import norms_over_batches
from lnlab.nn.site import TokenMask
from lnlab.outside.foreign_runs.runs import RecordedRun
from lnlab.outside.own_model.boundary import guarded, guarded_probe, on_ranks
from lnlab.outside.own_model.fused import addressed_copy
from lnlab.outside.own_model.measured import Measurements
from lnlab.outside.own_model.patterns import refuse
from lnlab.outside.own_model.repeatable import check_repeatable
from lnlab.outside.own_model.subject import Subject, clear_hooks, forward_hooks
from lnlab.outside.own_model.task import NotFiniteError, OwnLoss, OwnTask
from lnlab.probes.probe import State, evaluating, rows_of_probe
from lnlab.randomness import Draw
from lnlab.registry import Choice, Flawed
from lnlab.report.words.wording import join_words
from lnlab.tables import Row, frame

ModelBuilder = Callable[[int], nn.Module]
DEFAULT_SEEDS = 5
COPY_REMEDY = "keep what cannot be copied out of the attributes of the model"
ONLY = "model"
"""The name of a model that is the only one."""


def measure_model(
    build: nn.Module | ModelBuilder | Mapping[str, nn.Module | ModelBuilder],
    batches: Iterable[Any],
    loss: OwnLoss,
    *,
    probes: Sequence[Json] = ("gradient_norm",),
    seeds: int | Sequence[int] | None = None,
    sites: Mapping[str, str] | None = None,
    stream: Mapping[str, str] | None = None,
    mask: TokenMask | None = None,
    statistics: Literal["batch", "running"] = "batch",
    step: int = 0,
    distributed: bool = False,
) -> Measurements:
    """Measure one model, or several by name, at the weights that they have.

    Args:
        build: a module, or ``build(seed)``, which is called once per seed with torch's generator seeded too. Several of
            these may be given by name. The names are then the values of the axis ``model``.
        batches: any iterable. A probe reads its first ``batches`` of them (6 by default, fewer if there are fewer), the
            same for every seed and model.
        loss: ``(model, batch) -> (sum, count)``, or a mean, so that each batch weighs the same. It is evaluated in
            evaluation mode, dropout off.
        probes: words or choices, as in a spec: ``{"kind": "gradient_norm", "biases": True}``.
        seeds: how many, from 1, or which. The default is 5 for ``build(seed)``, and one for a module.
        sites: addresses of parameters by pattern, as ``own_model.addresses`` reads them.
        stream: where the residual stream passes, by pattern, as ``own_model.stream`` reads it.
        mask: from a batch to where the stream has tokens and not padding, (batch, length), or a mapping of such by the
            name of a stack. With None every position is a token. The loss leaves padding out by itself.
        statistics: what norms over batches use: those of the batch at hand, as in training, or their running ones,
            which in a fresh model are 0 and 1. Running ones are never changed.
        step: updates that led to these weights. ``Measurements.of_runs`` joins measurements at several steps.
        distributed: whether every rank of torch's process group makes this call, with the same weights and batches of
            its own: batch k of all is number ``k // ranks`` of rank ``k % ranks``, as a ``DistributedSampler`` deals
            them out, and ``batches`` of a probe counts those of all ranks. Each has the rows that one process with all
            batches would have. Gradients and products with Hessians are summed over ranks. The failure of one rank is
            raised on all.

    Returns:
        The measurements, in float64: ``frame("gradient_norm")`` has a row for each parameter and seed. The unit is that
        of the loss, per unit of the weight where a gradient is meant; each probe's documentation has it.

    Raises:
        LabError: a probe is unknown or needs more than a loss, or the model, the batches or the loss lacks something.
    """
    builds = build if isinstance(build, Mapping) else {ONLY: build}
    try:
        ranks = Ranks.of_torch() if distributed else Ranks()
    except CurvatureError as error:
        refuse(str(error), error.remedy)
    with on_ranks(ranks):
        _check_arguments(builds, probes, sites, stream, mask, statistics)
        numbers = _seeds(builds, seeds)
        task = OwnTask(batches, loss, ranks)
        if not task.available(1):
            refuse("there are no batches", "give at least one; a generator that was read before is empty")
        _check_batches_differ(task)
        choices = [probe_choice(probe, task) for probe in probes]
        if repeated := sorted({c["kind"] for c in choices if [d["kind"] for d in choices].count(c["kind"]) > 1}):
            another = "measure it with other parameters in a second call"
            refuse(f"the probe '{repeated[0]}' stands in probes twice", another)
        work = [(name, builder, seed) for name, builder in builds.items() for seed in numbers]
        runs: dict[tuple[str, str], RecordedRun] = {}
        copies: dict[str, list[int]] = {}
        with torch.random.fork_rng(), without_tf32():
            for name, builder, seed in followed(work, "measuring", shown=ranks.number == 0):
                began = time.monotonic()
                torch.manual_seed(Draw(seed)("init"))  # for a builder that draws without asking for its seed
                with guarded(f"build({seed})", "call it without lnlab: it fails there, too"):
                    module = builder if isinstance(builder, nn.Module) else builder(seed)
                if not isinstance(module, nn.Module):
                    refuse(f"build({seed}) returned {type(module).__name__}, expected an nn.Module", "return the model")
                if isinstance(module, torch.jit.ScriptModule | torch.jit.ScriptFunction):
                    what = "the model is compiled by TorchScript, which hides its parameters' places"
                    refuse(what, "measure the nn.Module that it was made from")
                of_itself = "call its named_parameters() and named_modules() without lnlab: they fail, too"
                with guarded("reading the model", of_itself):
                    subject = Subject.of(module, sites or {}, stream or {}, mask)
                subject = replace(subject, remembered=statistics == "running")
                if ranks.size > 1 and len(set(ranks.gather("weights", subject.fingerprint()))) > 1:
                    refuse("the ranks have different weights", "load the same on each, or broadcast those of rank 0")
                check_precision(module, choices)
                passes = any(REGISTRIES["probe"][c["kind"]].facts.passes(c) for c in choices)
                subject = check_gradient(subject, task, repeated=passes)
                known = (name, subject.fingerprint())
                if known in runs:
                    copies.setdefault(name, []).append(seed)
                    continue
                by_table: dict[str, list[Row]] = {}
                for choice in choices:
                    rows = measured_rows(choice, subject, task, Draw(seed))
                    table = REGISTRIES["probe"][choice["kind"]].facts.table
                    by_table.setdefault(table, []).extend({**row, "measurement": choice["kind"]} for row in rows)
                settings: dict[str, Json] = {"model": {"kind": name}}
                if norms_over_batches(subject.module):
                    settings["statistics"] = statistics
                at = pl.lit(step, pl.Int64).alias("step")
                runs[known] = RecordedRun(
                    name=name,
                    settings=settings,
                    seed=seed,
                    tables={table: frame(table, rows).insert_column(0, at) for table, rows in by_table.items()},
                    steps=step or None,
                    done=step,
                    parameters=sum(p.numel() for p in subject.module.parameters() if p.requires_grad),
                    seconds=time.monotonic() - began,
                    paths=[(*site.row().values(), path) for site, path in subject.paths.items()],
                    probes=choices,
                )
    for name, seeds_of_copies in copies.items():
        which = f"the seed {seeds_of_copies[0]} has"
        if len(seeds_of_copies) > 1:
            which = f"the seeds {join_words([str(seed) for seed in seeds_of_copies])} have"
        remedy = "let build(seed) draw weights from torch's generator, or load another checkpoint for each seed"
        what = f"measure: of '{name}', {which} the parameters of an earlier one, counted once; {remedy}"
        warnings.warn(what, stacklevel=2)
    for name in builds:
        first, *others = [run for (of, _), run in runs.items() if of == name]
        if other := next((run for run in others if run.parameters != first.parameters), None):
            counts = [f"{run.parameters:,} parameters with seed {run.seed}" for run in (first, other)]
            what = f"measure: '{name}' has {' and '.join(counts)}"
            remedy = "let build(seed) make models of one size, or give those of several as a dict"
            warnings.warn(f"{what}, which are no repetitions of one model; {remedy}", stacklevel=2)
    stated = {"statistics": statistics} if any("statistics" in run.settings for run in runs.values()) else {}
    stated_runs = [
        replace(run, settings={**run.settings, **stated}, copies=tuple(copies.get(name, ())))
        for (name, _), run in runs.items()
    ]
    return Measurements.of_runs(stated_runs, axes=["model"])


def measured_rows(
    choice: Choice, subject: Subject, task: OwnTask, draw: Draw, in_training: Callable[[State], State] = lambda s: s
) -> list[Row]:
    """Measure a probe on a copy of a module.

    Args:
        choice: the probe.
        subject: the module.
        task: batches and loss.
        draw: of the replicate.
        in_training: adds to the state of the copy what exists in training alone.

    Raises:
        LabError: the probe reads the stream, and none is known.
    """
    torch.manual_seed(draw("probe"))
    probe = REGISTRIES["probe"][choice["kind"]]
    with guarded_probe(f"the probe '{choice['kind']}'", of_user=not probe.build.__module__.startswith("lnlab.")):
        with guarded("copying the model", COPY_REMEDY):
            model = subject.copy()
        state = in_training(State(model, task, draw, 0, ranks=task.ranks))
        rows = rows_of_probe(REGISTRIES["probe"], choice, state)
    if probe.facts.any_stream and not rows:
        what = f"the probe '{choice['kind']}' reads the residual stream, and nothing of it is known"
        refuse(what, "name the modules where it passes: stream={'blocks.{layer}': 'decoder.feed_forward.out'}")
    return rows


def check_precision(module: nn.Module, choices: Sequence[Choice]) -> None:
    """Refuse probes that compute in float64 on a device that has none."""
    lacking = sorted({parameter.device.type for parameter in module.parameters()} & WITHOUT_FLOAT64)
    for choice in choices if lacking else ():
        if not REGISTRIES["probe"][choice["kind"]].facts.in_float32:
            what = f"the probe '{choice['kind']}' computes in float64, which the device {lacking[0]} lacks"
            refuse(what, "move the model and its batches to the CPU: model.cpu()")


def check_gradient(subject: Subject, task: OwnTask, *, repeated: bool = True) -> Subject:
    """Refuse a model or loss that cannot be measured faithfully.

    A loss must depend on the model that it is called with, on parameters by their names, and on no computed tensor that
    the model keeps. It must be the same twice.

    Args:
        subject: the module.
        task: batches and loss.
        repeated: whether the loss must be the same twice.

    Returns:
        The subject, without hooks if loss and gradient are the same without them.

    Raises:
        LabError: what was found.
    """
    batch = next(task.batches("train", "probe"))
    watched = forward_hooks(subject.module)
    loss, gradients = _first_gradient(subject, task, batch, repeated=repeated and not watched)
    if not all(bool(g.isfinite().all()) for g in gradients.values()):
        what = "the loss is finite and its gradient is not"
        raise NotFiniteError(Issue("unsupported", "measure", what, "look for a square root or a logarithm of 0"))
    subject = replace(subject, loss=loss)
    if not watched:
        return subject
    unwatched = replace(subject, hooked=False)
    try:
        other, others = _first_gradient(unwatched, task, batch, repeated=repeated)
        same = other == loss and all(_same(gradients.get(name), g) for name, g in others.items())
    except LabError:
        same = False
    if same:
        return unwatched
    _first_gradient(subject, task, batch, repeated=repeated)  # a hook is part of the model
    return subject


def _first_gradient(subject: Subject, task: OwnTask, batch: Any, *, repeated: bool) -> tuple[float, dict[str, Tensor]]:
    """The loss of a batch, and its gradient by the names of parameters, of those that it depends on."""
    with guarded("copying the model", COPY_REMEDY):
        # With a gradient of their own, which shows a loss that depends on what an earlier pass has left.
        kept = {id(t): t.detach().clone().requires_grad_() for t in kept_tensors(subject.module)}
        model, fused = addressed_copy(subject.module, subject.addresses, subject.points, memo=kept)
        clear_hooks(model, forward=not subject.hooked)
    model.remembered = subject.remembered
    names = {name: p for name, _, p in model.addressed_parameters()}
    originals = [p for p in subject.module.parameters() if p.requires_grad]
    for parameter in fused:  # its gradient shows a use that goes past the parts
        parameter.requires_grad_()
    others = [*fused, *kept.values(), *originals]
    with guarded_probe("a first gradient"), evaluating(model), model.differentiable(), torch.enable_grad():

        def evaluate() -> Tensor:
            with model.same_parameters():
                return task.loss(model, batch)[0]

        total = check_repeatable("measure", evaluate) if repeated else evaluate()
        # A node of torch's ends with a number, AddBackward0. That of a torch.autograd.Function does not.
        hidden = [name for name in graph_names(total) if not name[-1].isdigit() and name.endswith("Backward")]
        every = torch.autograd.grad(total, [*names.values(), *others], allow_unused=True)
        if hidden:  # functions that are not torch's: one that runs backward itself hides parameters from the graph
            evaluate().backward()  # type: ignore[no-untyped-call]
            differing = [n for (n, p), g in zip(names.items(), every, strict=False) if not _same(p.grad, g)]
            if differing:
                what = f"the gradient of '{differing[0].removeprefix('module.')}' is not in the graph of the loss"
                one = f"{hidden[0].removesuffix('Backward')} computes it on its own"
                refuse(f"{what}: {one}", "checkpoint with use_reentrant=False, or give the function its parameters")
    used = [g is not None for g in every[len(names) :]]
    if not any(g is not None for g in every[: len(names) + len(fused)]):
        refuse("the loss depends on no parameter of the model", "compute it with the model that it is called with")
    if any(used[: len(fused)]):
        what = "a fused parameter is also used where no name leads, such as in a list, and cannot be told apart"
        refuse(what, "give it one tensor in sites=, without parts")
    if any(used[len(fused) : len(fused) + len(kept)]):
        what = "the loss depends on a tensor that the model has computed before and keeps"
        refuse(what, "compute it in the forward pass, or detach what is kept")
    if any(used[len(fused) + len(kept) :]):
        what = "the loss depends on the parameters of the model itself, and not of the copy that it is called with"
        refuse(what, "use the model that loss(model, batch) is given, and self in a forward pass")
    parts = zip(names, every, strict=False)
    return float(total.detach()), {name: g.to_dense() if g.is_sparse else g for name, g in parts if g is not None}


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether two gradients are equal up to rounding. A missing one is 0."""
    if one is None or other is None:
        return all(g is None or not bool(g.to_dense().any()) for g in (one, other))
    return torch.allclose(one, other, rtol=0.01, atol=0.01 * float(other.abs().max()) if other.numel() else 0.0)


def probe_choice(probe: Json, task: OwnTask, *, trained: bool = False) -> Choice:
    """A probe with every default explicit. It reads all batches if there are fewer than its default.

    Args:
        probe: a word or a choice.
        task: whose batches it reads.
        trained: whether there is a training run, which has a last update, a start and an optimizer.

    Raises:
        LabError: it is unknown, or needs more of a model than its loss and parameters.
    """
    registry = REGISTRIES["probe"]
    choice = _resolved(probe)
    facts = registry[choice["kind"]].facts
    training = facts.ahead(choice) or (not trained and (facts.trained or facts.update))
    if training or not (facts.any_model(choice) or facts.any_stream):
        anywhere = [e for e in registry if e.facts.any_stream or e.facts.any_model is not never]
        usable = listed(e.name for e in anywhere if trained or not e.facts.trained)
        needs = "training" if training else "the structure of lnlab's own models, such as its masks and tokens"
        what = f"the probe '{choice['kind']}' with these parameters needs {needs}"
        refuse(what, f"describe the model in a spec, or measure one of {usable}")
    if isinstance(choice.get("batches"), int) and not (isinstance(probe, Mapping) and "batches" in probe):
        wanted = choice["batches"]
        own = task.available(len(task.ranks.positions(wanted)))
        choice = _resolved({**choice, "batches": min(wanted, task.ranks.available(own))})
    if task.ranks.size > 1 and not facts.on_ranks:
        usable = listed(e.name for e in registry if e.facts.on_ranks)
        refuse(
            f"the probe '{choice['kind']}' reads the batches of one rank alone",
            f"leave distributed out, or measure one of {usable}",
        )
    return choice


def _resolved(probe: Json) -> Choice:
    try:
        return REGISTRIES["probe"].resolve(probe)
    except Flawed as error:
        raise LabError(
            *(Issue(f.code, ".".join(("probes", *map(str, f.path))), f.what, f.remedy) for f in error.issues)
        ) from error


def _check_batches_differ(task: OwnTask) -> None:
    """Refuse batches that the ranks have in common, which would count as often."""
    content = hashlib.sha256()
    for tensor in tree_leaves(next(task.batches("train", "probe"))) if task.ranks.size > 1 else ():
        if isinstance(tensor, Tensor):
            content.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    digests = task.ranks.gather("first batch", content.hexdigest())
    if digests.count(digests[0]) == len(digests) > 1 and digests[0] != hashlib.sha256().hexdigest():
        refuse(
            "all ranks have the same first batch", "give each its own: batches[rank::ranks], or a DistributedSampler"
        )


def _check_arguments(
    builds: Mapping[Any, Any], probes: Any, sites: Any, stream: Any, mask: Any, statistics: Any
) -> None:
    # A notebook checks no types.
    if wrong := next((name for name in builds if not isinstance(name, str)), None):
        refuse(f"the model {wrong!r} has no name", f"write {{'{wrong}': ...}}")
    if isinstance(probes, str | Mapping) or not isinstance(probes, Sequence):
        refuse(f"probes is {type(probes).__name__}, expected a list", "write probes=['gradient_norm']")
    for argument, patterns in (("sites", sites), ("stream", stream)):
        words = [word for pair in patterns.items() for word in pair] if isinstance(patterns, Mapping) else [patterns]
        if patterns is not None and not all(isinstance(word, str) for word in words):
            what = f"{argument}= is no table of patterns and addresses"
            refuse(what, f"write {argument}={{'blocks.{{layer}}.fc': 'feed_forward.w1'}}")
    if mask is not None and not callable(mask):
        refuse(f"mask is {type(mask).__name__}, expected a function", "write mask=lambda batch: ...")
    if statistics not in ("batch", "running"):
        refuse(f"statistics is {statistics!r}", "write 'batch' or 'running'")


def _seeds(builds: Mapping[str, nn.Module | ModelBuilder], seeds: int | Sequence[int] | None) -> list[int]:
    """Return the seeds of the replicates: those given, or 1 to 5 for a builder and 1 for a module.

    Raises:
        LabError: there is no model, or the seeds fit no replicates.
    """
    if not builds:
        refuse("there is no model", "give a module, build(seed), or several of them by name")
    module = next((name for name, build in builds.items() if isinstance(build, nn.Module)), None)
    if wrong := next((name for name, b in builds.items() if not callable(b)), None):
        refuse(f"'{wrong}' is {type(builds[wrong]).__name__}, neither a module nor build(seed)", "give one of these")
    if seeds is None:
        return [1] if module else list(range(1, DEFAULT_SEEDS + 1))
    if not (isinstance(seeds, int) or (isinstance(seeds, Sequence) and all(type(seed) is int for seed in seeds))):
        refuse(f"seeds is {seeds!r}, expected a number or whole numbers", "write seeds=5 or seeds=[1, 2, 3]")
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not numbers or len(set(numbers)) < len(numbers):
        refuse(f"seeds={seeds} leaves no seed, or one twice", "give a positive number, or different seeds")
    if module and len(numbers) > 1:
        refuse("a module has one set of weights, and several seeds are asked for", "give build(seed), or seeds=1")
    return numbers
