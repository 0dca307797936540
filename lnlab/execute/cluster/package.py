"""Ray, where it is installed; nothing that a run on this machine imports leads here, as Ray takes two seconds."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

ray: Any = import_module("ray") if find_spec("ray") else None
