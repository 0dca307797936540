"""``lnlab.measure_checkpoints``: the same probes at the weights that a run has saved on its way."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from glob import glob
from numbers import Integral
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.nn.site import TokenMask
from lnlab.outside.own_model.boundary import guarded
from lnlab.outside.own_model.measured import Measurements
from lnlab.outside.own_model.measuring import measure_model
from lnlab.outside.own_model.patterns import refuse
from lnlab.outside.own_model.task import OwnLoss

IN_FOLDERS = ("model.safetensors", "pytorch_model.bin", "model.pt")
"""The files that hold the weights in a folder that is a checkpoint."""
NESTED = ("state_dict", "model_state_dict", "model")
"""The keys below which checkpoints keep the weights beside other things."""
OWN_STEP = ("global_step", "step", "iteration", "iter", "iter_num")
"""The keys below which checkpoints keep their step."""
_WORD = r"(?:steps?|iter(?:ation)?s?|updates?)"
_STEPS = (
    re.compile(rf"(?<![a-z])(?:{_WORD}|checkpoint|ckpt)[=_.-]?(\d+)(?![\d.]*[a-z\d]|[_,]\d{{3}}(?!\d))", re.IGNORECASE),
    re.compile(rf"(?<![\d.])(?<!\d[_,])(\d+)[_-]?{_WORD}(?![a-z])", re.IGNORECASE),
)
"""``step=300``, ``global_step_300``, ``checkpoint-300``; and where none is so, ``300-steps``. ``10_000`` is none."""
_PLANNED = re.compile(rf"(?:warm-?up|decay|max|total|save|eval)[_-]?{_WORD}[=_.-]?\d+", re.IGNORECASE)
"""A setting of the run, such as ``warmup_steps=100``."""
_NUMBER = re.compile(r"([^\W\d_]*)[=_.-]*(\d+)([^\W\d_]?)")
"""A number, the word before it, and what letter follows."""
_OF_STEP = frozenset({"", "model", "weights", "state"})
"""Words before the only number of a name that leave it a step. ``gpt2``, ``run_3`` and ``acc=93`` do not."""
_WRAPPERS = re.compile(r"^(?:module\.|_orig_mod\.)+")  # of DistributedDataParallel and torch.compile


def measure_checkpoints(
    build: Callable[[], nn.Module],
    files: str | Path | Iterable[str | Path] | Mapping[int, str | Path],
    batches: Iterable[Any],
    loss: OwnLoss,
    *,
    probes: Sequence[Json] = ("gradient_norm",),
    name: str = "model",
    seed: int = 1,
    sites: Mapping[str, str] | None = None,
    stream: Mapping[str, str] | None = None,
    mask: TokenMask | None = None,
) -> Measurements:
    """Measure one run at each of its checkpoints.

    Args:
        build: makes the model, whose weights are then replaced.
        files: a pattern, files, or files by step. Without steps, the name says it (``step=300``, ``checkpoint-300``, or
            one number alone, as ``model-300``), or the file (``global_step``). A file is a state dict of ``torch.save``
            (read without running code) or safetensors. A folder holds one of ``IN_FOLDERS``.
        batches: as of ``lnlab.measure``. They are kept in memory.
        loss: as of ``lnlab.measure``.
        probes: as of ``lnlab.measure``.
        name: of the model, a value of the axis ``model`` where several are joined by ``Measurements.of_runs``.
        seed: the replicate.
        sites: as of ``lnlab.measure``.
        stream: as of ``lnlab.measure``.
        mask: as of ``lnlab.measure``.

    Returns:
        The measurements, a row a number and checkpoint, where ``step`` counts the updates that led to it.

    Raises:
        LabError: no file matches, two have one step, one has no step in its name, cannot be read, or is of another
            model. Also what ``lnlab.measure`` raises.
    """
    if isinstance(build, nn.Module) or not callable(build):
        refuse(f"build is {type(build).__name__}, expected a function", "give one that makes the model")
    kept = list(batches)
    looks = []
    for step, path in sorted(_by_step(files).items()):
        with guarded("build()", "call it without lnlab: it fails there, too"):
            model = build()
        if not isinstance(model, nn.Module):
            refuse(f"build() returned {type(model).__name__}, expected an nn.Module", "return the model")
        weights = {_WRAPPERS.sub("", word): x for word, x in _weights(path).items()}
        own = model.state_dict(keep_vars=True)  # so that the names of a tied parameter have one object
        extra = sorted(weights.keys() - own.keys())
        present = {id(own[word]) for word in weights if word in own}
        lacking = sorted(word for word in own.keys() - weights.keys() if id(own[word]) not in present)
        common = sorted(weights.keys() & own.keys())
        shapes = [word for word in common if weights[word].shape != own[word].shape]
        kinds = [word for word in common if _kind(weights[word]) != _kind(own[word])]
        flaws = [("lacks", lacking), ("has the unknown", extra), ("has another shape of", shapes)]
        for what, names in (*flaws, ("has another kind of numbers in", kinds)):
            if names:
                more = f" and {len(names) - 1} more" if len(names) > 1 else ""
                remedy = "let build() make the model that was trained"
                raise LabError(Issue("unreadable", str(path), f"{what} '{names[0]}'{more}", remedy))
        # Not strict, as a tied parameter may stand in the file under one of its names.
        model.load_state_dict(weights, strict=False)
        del weights  # else the file would stay in memory beside the model, and beside the next file
        look = measure_model(
            {name: model},
            kept,
            loss,
            probes=probes,
            seeds=[seed],
            sites=sites,
            stream=stream,
            mask=mask,
            step=step,
        )
        looks.append(look)
    return Measurements.of_runs(looks)


def _kind(x: Tensor) -> tuple[object, ...]:
    """What a copy from one tensor to another would lose: real and complex numbers, fractions, no numbers at all."""
    return x.is_complex(), x.is_floating_point(), x.layout, x.is_quantized, x.is_meta


def _by_step(files: str | Path | Iterable[str | Path] | Mapping[int, str | Path]) -> dict[int, Path]:
    named = [files] if isinstance(files, str | Path) else list(files) if isinstance(files, Iterable) else [files]
    paths_given = list(files.values()) if isinstance(files, Mapping) else named
    if other := [one for one in paths_given if not isinstance(one, str | Path)]:
        refuse(
            f"files has {type(other[0]).__name__}, expected names of files", "give a pattern, files, or files by step"
        )
    if isinstance(files, Mapping):
        if wrong := [step for step in files if not isinstance(step, Integral) or not 0 <= int(step) < 2**63]:
            refuse(f"files has the step {wrong[0]!r}", "give files by step, a whole number: {1000: 'last.pt'}")
        return {int(step): Path(path) for step, path in files.items()}
    if isinstance(files, str | Path):
        paths = [Path(path) for path in sorted(glob(str(files)))]  # noqa: PTH207
        if not paths:
            raise LabError(
                Issue("not-found", "measure_checkpoints", f"no file matches '{files}'", "name files of checkpoints")
            )
    else:
        paths = [Path(path) for path in files]
    steps: dict[int, Path] = {}
    for path in paths:
        step = _step(path)
        if step in steps:
            what = f"is of step {step}, and so is {steps[step]}"
            raise LabError(Issue("unreadable", str(path), what, "give files by step: {1000: 'last.pt'}"))
        steps[step] = path
    return steps


def _step(path: Path) -> int:
    """The step behind a word for it in the name, or that which the checkpoint holds, or the only number of the name."""
    name = _PLANNED.sub("", path.name if path.is_dir() else path.stem)
    found = next((set(map(int, steps)) for form in _STEPS if (steps := form.findall(name))), set[int]())
    numbers = _NUMBER.findall(name)
    if not found and (own := _own_step(path)) is not None:
        found = {own}
    elif not found and len(numbers) == 1 and numbers[0][0].lower() in _OF_STEP and not numbers[0][2]:
        found = {int(numbers[0][1])}
    if len(found) != 1:
        what = "has no number in its name that is called its step" if numbers else "has no step in its name"
        raise LabError(Issue("missing", str(path), what, "give files by step: {1000: 'last.pt'}"))
    return found.pop()


def _own_step(path: Path) -> int | None:
    """The step that a checkpoint holds beside its weights, or that its Trainer has written into its folder."""
    try:
        if path.is_dir():
            content = json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)  # noqa: TID251 - a number alone
    except Exception:  # torch.load raises anything on what it has not written
        return None  # whether it has weights is asked where these are read
    steps = (content.get(word) for word in OWN_STEP) if isinstance(content, Mapping) else ()
    return next((step for step in steps if type(step) is int), None)


def _weights(path: Path) -> dict[str, Tensor]:
    if path.is_dir():
        inside = next((path / name for name in IN_FOLDERS if (path / name).is_file()), None)
        if inside is None:
            raise LabError(
                Issue("unreadable", str(path), "holds no weights", f"name the file, or call it {IN_FOLDERS[0]}")
            )
        path = inside
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content: Any = torch.load(path, map_location="cpu", weights_only=True)  # noqa: TID251 - weights alone
    except FileNotFoundError as error:
        raise LabError(Issue("not-found", str(path), "is not there", "name files of checkpoints")) from error
    except Exception as error:  # torch.load raises anything on what it has not written
        what = "cannot be read as weights alone"
        raise LabError(Issue("unreadable", str(path), what, "save model.state_dict(), or safetensors")) from error
    for key in NESTED:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
            break
    if not isinstance(content, Mapping) or not all(
        isinstance(word, str) and isinstance(x, Tensor) for word, x in content.items()
    ):
        raise LabError(Issue("unreadable", str(path), "is no state dict", "save model.state_dict(), or safetensors"))
    return dict(content)
