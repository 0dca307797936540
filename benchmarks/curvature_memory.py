"""Memory that a plan reckons a probe of curvature to hold, beside what a fresh process grows by. Printed by hand.

    python benchmarks/curvature_memory.py [d_model] [layers] [vocabulary] [batch_tokens] [batches]

An encoder-decoder on pairs of sentences and a classifier on sentences with labels, Hessian and GGN, graphs kept and
made anew; the last line is of many vectors. Each is a process of its own, which does the same at a tiny size first.
"""

import os
import resource
import sys
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.cost.cost import BYTES_PER_NUMBER, PARAMETER_COPIES, cost
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Measurement, Trajectory
from lnlab.corpora.files.fetch import data_roots
from lnlab.execute.measure import measure
from lnlab.execute.program import build

ROOTS = data_roots(Path.cwd())
TEXT = {"kind": "translation", "corpus": {"kind": "toy_german_english", "train": 4000}, "label_smoothing": 0}
NEWS = {"kind": "classification", "corpus": {"kind": "toy_finance", "sentences": 2000}, "pad": 48, "max_length": 48}


def of(probe: dict, task: dict, kind: str, layers: int, width: int, heads: int) -> tuple[int, int]:
    """Bytes that a measurement adds at its peak: as reckoned, and as the process grew."""
    model = {"kind": kind, "layers": layers, "d_model": width, "heads": heads, "d_ff": 2 * width}
    setting = resolve_setting({"task": task, "model": model, "placement": "post"}, REGISTRIES)
    measurement = Measurement("benchmark", 0, REGISTRIES["probe"].resolve(probe))
    reckoned = cost(setting, [measurement], REGISTRIES)
    state = build(Trajectory("benchmark", 1, setting, 0, ()), REGISTRIES, ROOTS)
    state.batches(probe["batches"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measure(state, measurement, REGISTRIES)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return reckoned.peak_bytes - PARAMETER_COPIES * BYTES_PER_NUMBER["float32"] * reckoned.parameters, grown


def process(probe: dict, task: dict, kind: str, shape: tuple[int, int, int], answer: object) -> None:
    torch.set_num_threads(1)
    of({**probe, "batches": 1, "steps": 2}, task, kind, 1, 8, 2)
    answer.put(of(probe, task, kind, *shape))  # type: ignore[attr-defined]


def main(width: int, layers: int, vocabulary: int, tokens: int, batches: int) -> None:
    context = get_context("spawn")
    few = {"kind": "hessian_spectrum", "draws": 1, "steps": 3, "batches": batches}
    cases = [({**few, "operator": operator, "keep": keep}) for operator in ("hessian", "ggn") for keep in (True, False)]
    cases.append({**few, "draws": 4, "steps": 60, "batches": 1, "keep": False})
    for kind, task in {
        "encoder_decoder": {**TEXT, "vocabulary": vocabulary, "batch_tokens": tokens},
        "classifier": {**NEWS, "vocabulary": vocabulary, "batch_sentences": tokens // 48},
    }.items():
        for probe in cases:
            answer = context.Queue()
            child = context.Process(target=process, args=(probe, task, kind, (layers, width, 4), answer))
            child.start()
            reckoned, grown = answer.get(timeout=1800)
            child.join()
            name = f"{kind}, {probe.get('operator', 'hessian')}, {probe['draws'] * probe['steps']} products"
            graphs = "kept" if probe["keep"] else "made anew"
            print(
                f"{name}, graphs {graphs}: {reckoned / 2**20:,.0f} MiB reckoned, {grown / 2**20:,.0f} MiB measured, "
                f"{reckoned / max(grown, 1):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [64, 4, 2000, 1024, 4][len(given) :]))
