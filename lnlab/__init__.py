"""lnlab: one YAML file asks one question of Transformer training; the lab answers it with numbers and verdicts.

Text -> spec -> plan -> live model -> rows -> Parquet -> frames -> verdicts -> pages; never back.

The ground (``errors registry keys randomness tables``) carries the front end (``specfile``, ``compile``), the torch
wing (``corpora nn optim tasks probes interventions execute``), the store, and the frame wing (``analyse claims
report``); ``app`` holds what the commands do, ``cli`` is the front door. ARCHITECTURE.md is the map.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``lnlab.results(spec)`` reads the joined frames of an experiment; its package is imported on first use."""
    if name == "results":
        return import_module("lnlab.store.read").results
    raise AttributeError(f"module 'lnlab' has no attribute '{name}'")
