"""Every registered piece of both wings, as the compiler takes them."""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands import this file, and no help page waits for pydantic
    from lnlab.compile.resolve.choices import Registries


def load_registries(plugins: Sequence[Path]) -> "Registries":
    """Every registered piece of both wings, the plugins' included.

    Raises:
        LabError: a plugin cannot be loaded.
    """
    collects = gc.isenabled()
    gc.disable()  # modules stay for good: to look for garbage among them takes an eighth of the time of importing them
    try:
        from lnlab.execute.registry_loader import RegistryLoader
        from lnlab.report.registries import FRAME_REGISTRIES

        return {**RegistryLoader(tuple(plugins))(), **FRAME_REGISTRIES}
    finally:
        if collects:
            gc.enable()
