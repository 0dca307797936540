"""Settings that resolve and yet contradict themselves: each check reads one resolved setting."""

from collections.abc import Callable

from lnlab.compile.checks.model_checks import GRAPH_CHECKS
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.data_passes import DATA_CHECKS
from lnlab.compile.resolve.choices import Registries, interventions_on
from lnlab.compile.setting_paths import INTERVENTIONS
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import nearest
from lnlab.issues import Issue
from lnlab.training_extra import absent_packages

WITHOUT_FLOAT64 = frozenset({"mps"})
"""Devices without double precision: Apple's GPUs."""
Check = Callable[[ResolvedSetting, Registries], list[Issue]]


def heads_divide_width(setting: ResolvedSetting, _: Registries) -> list[Issue]:
    """Every head gets the same number of columns."""
    width, heads = setting["model"].get("d_model"), setting["model"].get("heads")
    if not isinstance(width, int) or not isinstance(heads, int) or width % heads == 0:
        return []
    fitting = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0 and n <= 64)
    return [
        Issue("conflict", ("model", "heads"), f"{heads} heads do not divide d_model {width}", f"these do: {fitting}")
    ]


def training_has_an_optimizer(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A run with steps needs something that takes them."""
    if setting["train"]["steps"] == 0 or setting["optimizer"] is not None:
        return []
    remedy = f"add an optimizer ({nearest('', registries['optimizer'].entries)}), or leave train.steps out"
    return [Issue("unknown-name", ("train", "steps"), "training needs an optimizer", remedy)]


def schedule_has_an_optimizer(setting: ResolvedSetting, _: Registries) -> list[Issue]:
    """A schedule is a factor on an optimizer's rate."""
    if setting["schedule"] is None or setting["optimizer"] is not None:
        return []
    return [
        Issue(
            "no-effect",
            ("schedule",),
            "there is no optimizer whose rate it could set",
            "add an optimizer, or remove it",
        )
    ]


def update_interventions_have_an_optimizer(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """What acts on the update needs something that makes one."""
    if setting["optimizer"] is not None:
        return []
    remedy = "add an optimizer, or choose one that acts on the function"
    return [
        Issue(
            "conflict",
            (INTERVENTIONS,),
            f"'{intervention['kind']}' acts on the update, and there is no optimizer",
            remedy,
        )
        for intervention in interventions_on("update", setting, registries)
    ]


def device_has_the_precision(setting: ResolvedSetting, _: Registries) -> list[Issue]:
    """Refuse float64 on a device that lacks it."""
    device, precision = setting["train"]["device"], setting["train"]["precision"]
    if device not in WITHOUT_FLOAT64 or precision != "float64":
        return []
    return [
        Issue(
            "conflict",
            ("train", "precision"),
            f"the device {device} has no float64",
            "write float32, or train.device: cpu",
        )
    ]


CHECKS: tuple[Check, ...] = (
    heads_divide_width,
    device_has_the_precision,
    *GRAPH_CHECKS,
    *DATA_CHECKS,
    training_has_an_optimizer,
    schedule_has_an_optimizer,
    update_interventions_have_an_optimizer,
)


def contradictions(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """Everything that contradicts itself in one resolved setting, with paths of that setting."""
    return [flaw for check in CHECKS for flaw in check(setting, registries)]


def too_large(setting: ResolvedSetting, registries: Registries, memory: int) -> list[Issue]:
    """A setting whose peak is beyond ``memory`` bytes is refused before any work."""
    if absent_packages():  # the size of a model is that of one built without memory, and torch builds it
        return []
    peak = cost(setting, (), registries).peak_bytes
    if peak <= memory:
        return []
    what = f"one run needs about {_gigabytes(peak)} at its peak, and this machine has {_gigabytes(memory)}"
    return [Issue("out-of-memory", ("model",), what, "make the model, the vocabulary or the batches smaller")]


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:,.3g} GiB"
