"""How long a trajectory takes on a machine, before it is run.

    seconds = speed.overhead * (UNIT + BUILD L + u (UPDATE + UPDATE_LAYER a L + UPDATE_ELEMENT n)
                                + p (PASS + PASS_LAYER L) + m (MEASUREMENT + MEASUREMENT_LAYER L))
              + FLOPs / speed.flops

Small models do not take the time of their arithmetic: a step of two layers of width 16 takes as long as its operators
take to be called. L counts layers, where a decoder layer with cross-attention counts as ``CROSS``. u is the number of
updates with a gradients each, m of measurements, and n of parameters. p is the number of forward passes that
measurements are worth. A split that is read whole and products with a curvature have rates of their own. The numbers
below are seconds on the machine of ``REFERENCE_SPEED``, fitted to the units of the smoke profiles of all shipped specs
and of the real ones of five.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lnlab.compile.setting_paths import stacks_of
from lnlab.compile.work import Measurement, ResolvedSetting

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

CROSS = 1.6
"""What a layer with a second attention is worth."""
UNIT, BUILD = 0.025, 3.4e-3
"""A unit with its corpus, model and files; a layer of its model."""
UPDATE, UPDATE_LAYER, UPDATE_ELEMENT = 3.5e-3, 9.4e-4, 9.6e-9
"""An update; a layer in a gradient of it; a parameter in its optimizer."""
EVALUATION, EVALUATION_LAYER = 3.3e-4, 3.8e-4
"""A batch of a split that is read whole; a layer in it."""
PASS, PASS_LAYER = 7.9e-6, 5.5e-5
"""A forward pass that a probe is worth; a layer in it."""
PRODUCT, PRODUCT_LAYER = 4.8e-6, 2.6e-4
"""The same of a probe of curvature, whose passes are differentiated twice."""
MEASUREMENT, MEASUREMENT_LAYER = 0.027, 4.6e-5
"""A measurement with its rows and the copy by which its traces are found; a layer in it."""


@dataclass(frozen=True)
class Speed:
    """How fast a machine is.

    Attributes:
        overhead: its seconds to a second of the reference, where operators are small.
        flops: a second in one worker, where they are large.
    """

    overhead: float
    flops: float


REFERENCE_SPEED = Speed(1.0, 5.5e10)
"""An AMD EPYC of 2021 with AVX-512, one thread."""


def reference_overhead(
    setting: ResolvedSetting, measurements: Collection[Measurement], parameters: int, registries: "Registries"
) -> float:
    """Seconds on the reference machine that are not arithmetic."""
    train = setting["train"]
    probes = registries["probe"]
    layers = sum(
        int(setting[stack]["layers"]) * (CROSS if setting[stack].get("cross_attention") else 1.0)
        for stack in stacks_of(setting)
    )
    gradients = int(train["accumulate"])
    seconds = UNIT + BUILD * layers
    seconds += int(train["steps"]) * (UPDATE + gradients * UPDATE_LAYER * layers + UPDATE_ELEMENT * parameters)
    for measurement, number in by_probe(measurements):
        facts = probes[measurement.probe["kind"]].facts
        passes = forward_passes(setting, measurement, registries)
        if facts.whole_split:
            seconds += number * passes * (EVALUATION + EVALUATION_LAYER * layers)
        elif facts.memory is not None:
            seconds += number * (MEASUREMENT + passes * (PRODUCT + PRODUCT_LAYER * layers))
        else:
            seconds += number * (MEASUREMENT + MEASUREMENT_LAYER * layers + passes * (PASS + PASS_LAYER * layers))
    return seconds


def by_probe(measurements: Collection[Measurement]) -> Iterator[tuple[Measurement, int]]:
    """One measurement of each probe, and how many there are: what they cost does not depend on their step.

    The plan shares one object between the measurements of a probe, so that its identity groups them.
    """
    groups: dict[int, list[Measurement]] = {}
    for measurement in measurements:
        groups.setdefault(id(measurement.probe), []).append(measurement)
    return ((group[0], len(group)) for group in groups.values())


def forward_passes(setting: ResolvedSetting, measurement: Measurement, registries: "Registries") -> float:
    """Forward passes of one batch that a measurement is worth (a gradient is three)."""
    params = {name: value for name, value in measurement.probe.items() if name != "kind"}
    facts = registries["probe"][measurement.probe["kind"]].facts
    batches = 1.0
    if facts.whole_split:
        task = setting["task"]
        batches = registries["task"][task["kind"]].facts.split_batches(task, params["split"])
    return batches * float(facts.passes(params))
