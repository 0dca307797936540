"""Ray, if it is installed. A run on this machine never imports this module, since importing Ray takes two seconds."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

ray: Any = import_module("ray") if find_spec("ray") else None
