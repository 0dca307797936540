"""What a run costs before it is run: parameters, FLOPs and peak memory.

Parameters and FLOPs are what the registered pieces say of themselves: a model's ``size=``, the ``passes=`` of a probe,
and of an init that reads data.

Memory is an upper estimate: four copies of every parameter (its value, its gradient and two of their size), and for
each token of a batch what the backward pass keeps: per layer 16 vectors of width ``d_model`` and 4 of ``d_ff``, for
each head of an attention 3 rows over the tokens of a sentence, and four rows of logits. A probe that may need more
states how much, by its fact ``memory``.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lnlab.compile.cost.data_passes import init_passes
from lnlab.compile.cost.duration import REFERENCE_SPEED, Speed, by_probe, forward_passes, reference_overhead
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.setting_paths import stacks_of
from lnlab.compile.work import Measurement, ResolvedSetting

BYTES_PER_NUMBER = {"float32": 4, "float64": 8, "bfloat16": 4}
PARAMETER_COPIES = 4
CURVATURE_MARGIN = 1.2
"""By how much the fact ``memory`` of a probe is raised: it was as little as 0.85 of what a process grew by."""
PASSES_PER_GRADIENT = 3
"""Forward passes that a gradient is worth."""
WIDE, INNER, SCORES, LOGITS = 16, 4, 3, 4
LENGTH = 20
"""Tokens a sentence: between captions (14) and talks (25), with a subword vocabulary."""
# Of control groups in version 2 and in version 1.
_CGROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True)
class Cost:
    """What a trajectory costs.

    Attributes:
        parameters: trainable elements.
        flops: of its init, its updates and all its measurements together.
        overhead: seconds on the reference machine that are not arithmetic.
        peak_bytes: of memory, in one worker, without the libraries.
    """

    parameters: int
    flops: float
    overhead: float
    peak_bytes: int

    def seconds(self, speed: Speed = REFERENCE_SPEED) -> float:
        """How long it takes one worker of a machine."""
        return self.overhead * speed.overhead + self.flops / speed.flops


@dataclass(frozen=True, slots=True)
class Workload:
    """The arguments of a fact ``memory``, besides the parameters of its probe.

    Attributes:
        setting: resolved.
        parameters: trainable elements.
        tokens: of one batch.
        number: bytes of one number.
    """

    setting: ResolvedSetting
    parameters: int
    tokens: int
    number: int


def cost(setting: ResolvedSetting, measurements: Collection[Measurement], registries: Registries) -> Cost:
    """The cost of the init and of ``measurements`` on one run of a resolved setting."""
    parameters, per_token = registries["model"][setting["model"]["kind"]].facts.size(setting)
    tokens = batch_tokens(setting, registries)
    passes = init_passes(setting["init"], registries)
    counts = list(by_probe(measurements))
    passes += sum(number * forward_passes(setting, measurement, registries) for measurement, number in counts)
    passes += PASSES_PER_GRADIENT * setting["train"]["steps"] * setting["train"]["accumulate"]
    load = Workload(setting, parameters, tokens, BYTES_PER_NUMBER[setting["train"]["precision"]])
    backward = load.number * tokens * _activations_per_token(setting, sentence_length(setting, tokens))
    stated = ((m.probe, registries["probe"][m.probe["kind"]].facts.memory) for m, _ in counts)
    probing = [int(CURVATURE_MARGIN * memory(probe, load)) for probe, memory in stated if memory is not None]
    return Cost(
        parameters,
        flops=passes * per_token * tokens,
        overhead=reference_overhead(setting, measurements, parameters, registries),
        # A probe looks between two updates, when nothing is kept for a backward pass: the larger counts, not the sum.
        peak_bytes=load.number * PARAMETER_COPIES * parameters + max([backward, *probing]),
    )


def batch_tokens(setting: ResolvedSetting, registries: Registries) -> int:
    """Tokens of one batch, or 0 where the task does not say."""
    task = setting["task"]
    return int(registries["task"][task["kind"]].facts.batch_tokens(task))


def sentence_length(setting: ResolvedSetting, tokens: int) -> int:
    """Tokens of a sentence, padding included, where a task says how many sentences its batches have."""
    sentences = setting["task"].get("sentences") or setting["task"].get("batch_sentences")
    return tokens // int(sentences) if sentences else LENGTH


def _activations_per_token(setting: ResolvedSetting, length: int) -> int:
    """Floats stored of one token for the backward pass, in sentences of ``length`` tokens."""
    model = setting["model"]
    per_layer = WIDE * int(model.get("d_model") or 0) + INNER * int(model.get("d_ff") or 0)
    scores = SCORES * int(model.get("heads") or 1) * length
    stacks = [setting[stack] for stack in stacks_of(setting)]
    layers = sum(int(s["layers"]) * (per_layer + scores * (2 if s.get("cross_attention") else 1)) for s in stacks)
    return layers + LOGITS * int(setting["task"].get("vocabulary") or 0)


def machine_memory() -> int:
    """Bytes that this process may use: the machine's, or what its control group allows."""
    if hasattr(os, "sysconf"):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    else:  # Windows
        import psutil  # late: a package for Windows

        limits = [int(psutil.virtual_memory().total)]
    for path in _CGROUP:
        try:
            limits.append(int(path.read_text()))
        # No such group, or the word "max" where it sets no limit.
        except (OSError, ValueError):
            continue
    return min(limits)
