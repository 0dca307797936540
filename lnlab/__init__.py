"""lnlab: one YAML file asks one question of Transformer training; the lab answers it with numbers and verdicts.

Text -> spec -> plan -> live model -> rows -> Parquet -> frames -> verdicts -> pages; never back.

The ground (``errors registry keys randomness tables``) carries the front end (``specfile``, ``compile``), the torch
wing (``corpora nn optim tasks probes interventions execute``), the store, and the frame wing (``analyse claims
report``); ``app`` holds what the commands do, ``cli`` is the front door. ARCHITECTURE.md is the map.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {"measure": ("lnlab.own_model.measuring", "measure_model"), "results": ("lnlab.store.read", "results")}
"""The public functions: the module that defines each, imported on first use, and its name there."""


def __getattr__(name: str) -> Any:
    """``lnlab.results(spec)`` reads an experiment's joined frames; ``lnlab.measure(...)`` measures your own model."""
    if name in _HOMES:
        module, function = _HOMES[name]
        return getattr(import_module(module), function)
    raise AttributeError(f"module 'lnlab' has no attribute '{name}'")
