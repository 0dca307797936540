"""Build a model without memory, so that ``lnlab check`` reports what cannot be built, before any work."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from lnlab.compile.cost.data_passes import asks_for_data, inits_of
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import LabError
from lnlab.execute.program import build_model, build_optimizer, build_schedule, intervened
from lnlab.issues import Issue
from lnlab.randomness import Draw
from lnlab.specfile.moments import UNKNOWN_EPOCH

INITIALIZED_PARTS = ("task", "model", "encoder", "decoder", "init")
"""The parts of a setting that a model is built and initialized of."""


class Undrawn(TorchFunctionMode):
    """Skip draws into tensors without values, except those that torch would refuse.

    Torch does such a draw in Python: a third of the time of building a model, and more than half of filling it.

    Args:
        device: where tensors are made that name none, as inside ``torch.device``. Every call of torch passes through
            each mode, so that one costs half of two.
    """

    def __init__(self, device: str | None = None) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if self.device is not None and func in _device_constructors() and named.get("device") is None:
            return func(*args, **{**named, "device": self.device})
        if func in _DRAWS:
            tensor = args[0] if args else named["tensor"]
            if tensor.is_meta and _DRAWS[func](*args, **named):
                return tensor
        return func(*args, **named)


_DRAWS: Final[Mapping[Callable[..., Any], Callable[..., bool]]] = {
    Tensor.normal_: lambda _tensor, _mean=0.0, std=1.0, **_: std >= 0,
    Tensor.uniform_: lambda *_, **__: True,
    nn.init.uniform_: lambda *_, **__: True,
    nn.init.kaiming_uniform_: lambda tensor, _a=0.0, mode="fan_in", nonlinearity="leaky_relu", **_: (
        (mode, nonlinearity) == ("fan_in", "leaky_relu") and tensor.dim() > 1 and tensor.numel() > 0
    ),
}
"""Functions that draw, and whether torch would draw with these arguments. For the last, only those of ``nn.Linear``."""


def build_on_meta(setting: ResolvedSetting, registries: Registries) -> nn.Module:
    """The model of a setting on the meta device, where tensors have a shape and no values, with all that acts on it.

    Raises:
        LabError: what cannot be built, and why.
    """
    model = initialized_on_meta(setting, registries)
    intervene_on_meta(model, setting, registries)
    return model


def initialized_on_meta(setting: ResolvedSetting, registries: Registries) -> nn.Module:
    """The model of a setting on the meta device, after its init: of its parts ``INITIALIZED_PARTS`` and no others.

    Needs no corpus: the number of rows is the declared vocabulary. An init that reads data or continues a run is left
    out.

    Raises:
        LabError: what cannot be built, and why.
    """
    kind = setting["model"]["kind"]
    build = registries["task"].builder(setting["task"])
    task = _attempt("task", setting["task"]["kind"], lambda: build(Draw(0), ()))
    with Undrawn("meta"):
        model: nn.Module = _attempt("model", kind, lambda: build_model(setting, registries, task))
    initialize_on_meta(model, setting, registries)
    return model


def initialize_on_meta(model: nn.Module, setting: ResolvedSetting, registries: Registries) -> None:
    """Give a model on the meta device the init of a setting, whatever init it had before.

    Raises:
        LabError: what cannot be built, and why.
    """
    entries = [entry for entry, _ in inits_of(setting["init"], registries)]
    if not any(asks_for_data(entry) or entry.facts.continues for entry in entries):
        init = registries["init"].builder(setting["init"])
        with Undrawn("meta"):
            _attempt("init", setting["init"]["kind"], lambda: init(model, Draw(0)))


def intervene_on_meta(model: nn.Module, setting: ResolvedSetting, registries: Registries) -> None:
    """Build the optimizer of a setting and enter its interventions once, on a model on the meta device.

    The model stays as it was, as every intervention ends without a trace.

    Raises:
        LabError: what cannot be built, or has nothing to act on, and why.
    """
    optimizer = optimizer_on_meta(model, setting, registries)

    def intervene() -> None:
        with intervened(model, optimizer, setting, registries):
            pass

    with Undrawn("meta"):
        _attempt("interventions", "interventions", intervene)


def optimizer_on_meta(model: nn.Module, setting: ResolvedSetting, registries: Registries) -> Optimizer | None:
    """The optimizer of a setting, if it has one, on a model on the meta device.

    Raises:
        LabError: it cannot be built, and why.
    """
    chosen = setting["optimizer"]
    if chosen is None:
        return None
    with Undrawn("meta"):
        optimizer: Optimizer = _attempt("optimizer", chosen["kind"], lambda: build_optimizer(model, chosen, registries))
    return optimizer


def build_rules(setting: ResolvedSetting, registries: Registries) -> None:
    """Build the schedule and the stop rule of a setting. Needs no corpus.

    Raises:
        LabError: what cannot be built, and why.
    """
    schedule = setting["schedule"]
    stop = setting["train"]["stop"]
    endless = registries["task"][setting["task"]["kind"]].facts.endless
    if schedule is not None:
        epoch = None if endless else UNKNOWN_EPOCH / setting["train"]["accumulate"]
        _attempt("schedule", schedule["kind"], partial(build_schedule, setting, registries, lambda: epoch))
    if stop is not None:
        _attempt("train.stop", stop["kind"], registries["stop"].builder(stop))


def _attempt(key: str, kind: str, build: Callable[[], Any]) -> Any:
    try:
        return build()
    except LabError:
        raise
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise LabError(Issue("failed", key, f"'{kind}' cannot be built: {message}", "change the setting")) from error
