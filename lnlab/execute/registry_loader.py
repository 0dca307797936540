"""Every registered piece, as a worker needs it: lnlab's own, installed packages', and the user's own files."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.choices import Registries
from lnlab.plugins import load_plugin


@dataclass(frozen=True)
class RegistryLoader:
    """Called in a worker, it loads these plugin files, once per process, and returns the registries."""

    plugins: tuple[Path, ...] = ()

    def __call__(self) -> Registries:
        """The registries.

        Raises:
            LabError: a plugin cannot be loaded.
        """
        for path in self.plugins:
            _load_once(path.absolute())
        return REGISTRIES


@cache
def _load_once(path: Path) -> str:
    return load_plugin(path)
