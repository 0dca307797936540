"""lnlab: one YAML file asks one question of Transformer training. The lab answers it with numbers and verdicts.

Text -> spec -> plan -> live model -> rows -> Parquet -> frames -> verdicts -> pages. Nothing flows back.

The ground (``errors registry keys randomness tables``) carries the front end (``specfile``, ``compile``), the torch
wing (``corpora nn optim tasks probes interventions execute``), the store, and the frame wing
(``analyse claims report``). ``app`` holds what the commands do, and ``cli`` is the command line. ARCHITECTURE.md is the
map.

    lnlab.check(spec)    lnlab.plan(spec)      lnlab.run(spec)      a spec is a path, a dict or a lnlab.Spec
    lnlab.judge(spec)    lnlab.review(spec)    lnlab.report(spec)    lnlab.results(spec)

What stands behind the subject of a call is named: ``lnlab.run(spec, profile="smoke", store="mine")``. ``__all__`` is
what docs/stability.md promises to keep.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; at run time a name costs nothing before its first use
    from lnlab.app.api import check as check
    from lnlab.app.api import judge as judge
    from lnlab.app.api import plan as plan
    from lnlab.app.api import report as report
    from lnlab.app.api import results as results
    from lnlab.app.api import run as run
    from lnlab.app.reviewing import review as review
    from lnlab.app.spec import Spec as Spec
    from lnlab.errors import LabError as LabError
    from lnlab.outside.foreign_runs.readers import read_table as read_table
    from lnlab.outside.own_model.checkpoints import measure_checkpoints as measure_checkpoints
    from lnlab.outside.own_model.measured import Measurements as Measurements
    from lnlab.outside.own_model.measuring import measure_model as measure
    from lnlab.outside.own_model.opening import from_frame as from_frame
    from lnlab.outside.own_model.opening import open_runs as open_runs
    from lnlab.outside.recorder.recorder import Recorder as Recorder

__all__ = [
    "LabError",
    "Measurements",
    "Recorder",
    "Spec",
    "check",
    "from_frame",
    "judge",
    "measure",
    "measure_checkpoints",
    "open_runs",
    "plan",
    "read_table",
    "report",
    "results",
    "review",
    "run",
]
__version__ = "0.2.0"

_HOMES = {
    **{name: ("lnlab.app.api", name) for name in ("check", "judge", "plan", "results", "run")},
    "review": ("lnlab.app.reviewing", "review"),
    "Spec": ("lnlab.app.spec", "Spec"),
    "measure": ("lnlab.outside.own_model.measuring", "measure_model"),
    "Measurements": ("lnlab.outside.own_model.measured", "Measurements"),
    "measure_checkpoints": ("lnlab.outside.own_model.checkpoints", "measure_checkpoints"),
    "from_frame": ("lnlab.outside.own_model.opening", "from_frame"),
    "open_runs": ("lnlab.outside.own_model.opening", "open_runs"),
    "read_table": ("lnlab.outside.foreign_runs.readers", "read_table"),
    "Recorder": ("lnlab.outside.recorder.recorder", "Recorder"),
    "LabError": ("lnlab.errors", "LabError"),
}
"""Public names: the module that defines each, imported on first use, and its name there."""


if not TYPE_CHECKING:  # a checker that saw it would take every misspelt name for one of lnlab

    def __getattr__(name: str) -> Any:
        """``lnlab.report`` is a package that can be called. Every other public name is in ``_HOMES``."""
        if name == "report":
            return import_module("lnlab.report")
        if name in _HOMES:
            module, attribute = _HOMES[name]
            try:
                return getattr(import_module(module), attribute)
            except ModuleNotFoundError as error:
                from lnlab.training_extra import absent_packages, needs_training

                package = (error.name or "").partition(".")[0]
                if package not in absent_packages():
                    raise
                raise needs_training(f"lnlab.{name}", package) from error
        raise AttributeError(f"module 'lnlab' has no attribute '{name}'")


def __dir__() -> list[str]:
    return ["__version__", *__all__]
