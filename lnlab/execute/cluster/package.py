"""Ray, where it is installed; nothing that a run on this machine imports leads here, as Ray takes two seconds."""

from typing import Any

ray: Any
try:
    import ray
except ImportError:
    ray = None
