"""The speed of this machine, measured in a second and kept with it: in the user's cache folder, not in a store.

Two numbers, on one worker's threads: the time of a small layer forward and backward, which is all calls of operators,
and the rate of a matrix product. They are processor time, and the best of several, so that other work on the machine
changes them little.
"""

import json
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict

import torch
from platformdirs import user_cache_path

from lnlab.compile.cost.duration import REFERENCE_SPEED, Speed
from lnlab.execute.machine import device_name
from lnlab.execute.pool import threads
from lnlab.files import replacing
from lnlab.keys import digest

_REFERENCE_LAYER, _REFERENCE_RATE = 4.5e-4, 8.8e10
"""On the machine of ``REFERENCE_SPEED``: seconds of a small layer, FLOPs a second of a product."""
_ROWS, _INNER = 512, 128
_REPEATS, _CALLS = 15, 20


def machine_speed() -> Speed:
    """The speed of this machine: as it was measured before on this host, processor, torch and number of threads."""
    name = {
        "host": platform.node(),
        "device": device_name(),
        "threads": threads(),
        "torch": torch.__version__,
        "measured": [_REPEATS, _CALLS, _ROWS, _INNER],
    }
    path = user_cache_path("lnlab") / "machines" / f"{digest(name)[:16]}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):  # none was kept, or the file is damaged: measure
        fields = json.loads(path.read_bytes())
        kept = Speed(float(fields["overhead"]), float(fields["flops"]))
        if kept.overhead > 0 and kept.flops > 0:
            return kept
    speed = measure_speed()
    with suppress(OSError):  # where the folder cannot be written it is measured again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(json.dumps({**name, **asdict(speed)}, indent=1).encode())
    return speed


def measure_speed() -> Speed:
    """Measure it now, with as many threads as a worker has."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads())
    try:
        # What is drawn here moves no number of the caller.
        with torch.random.fork_rng(devices=()):
            layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            batch = torch.randn(4, 16, 16)
            layer_seconds = _best(lambda: layer(batch).sum().backward())
            left, right = torch.randn(_ROWS, _INNER), torch.randn(_INNER, _ROWS)
            product_seconds = _best(lambda: left @ right)
    finally:
        torch.set_num_threads(before)
    rate = 2 * _ROWS * _ROWS * _INNER / product_seconds
    return Speed(layer_seconds / _REFERENCE_LAYER, REFERENCE_SPEED.flops * rate / _REFERENCE_RATE)


def _best(call: Callable[[], object]) -> float:
    """Seconds of a call: the least of several means. Threads share a call, so their times are not added up."""
    call()
    # The call before was the first, in which torch prepares itself.
    seconds = []
    for _ in range(_REPEATS):
        started = time.process_time()
        for _ in range(_CALLS):
            call()
        seconds.append((time.process_time() - started) / _CALLS / threads())
    return min(seconds)
