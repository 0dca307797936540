"""A whole experiment of numbers like the published ones: the profiles of Xiong et al. (2020), Figure 3, with noise."""

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from ruamel.yaml import YAML

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.claims.claim import Verdict
from lnlab.claims.judging import judge_all
from lnlab.committed.registries import load_registries
from lnlab.compile.plan import compile_plan
from lnlab.report.facts import ReportFacts
from lnlab.report.question import claims_with_choices, question_fields
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.write import write_report
from lnlab.specfile.load import load_spec
from lnlab.tables import Results
from tests.support.results import RECORDED, results_of, with_all_tables

assert FRAME_REGISTRIES  # every kind of claim and section is registered by importing it
SPEC = Path(__file__).parents[1] / "fixtures" / "gradient_profiles.yaml"
DECODER = {
    ("post", True): [0.255, 0.418, 0.660, 0.950, 1.328, 1.929],
    ("pre", True): [0.826, 0.733, 0.671, 0.615, 0.566, 0.540],
    ("post", False): [1.515, 1.620, 1.757, 1.804, 1.722, 1.706],
    ("pre", False): [1.02, 0.90, 0.82, 0.74, 0.68, 0.66],
}
ENCODER = {"post": [1.748, 1.848, 1.875, 1.962, 1.865, 1.841], "pre": [1.217, 1.067, 0.923, 0.803, 0.692, 0.644]}
LAST = {
    "post": {6: 1.929, 8: 1.86, 10: 1.905, 12: 1.886, 14: 1.918},
    "pre": {6: 0.54, 8: 0.458, 10: 0.41, 12: 0.382, 14: 0.349},
}
AXES = ("placement", "model.layers", "decoder.cross_attention", "model.tied")


def setting(placement, layers, cross, tied):
    stack = {"layers": layers, "norm": {"kind": "layer", "eps": 1e-05}, "placement": {"kind": placement}}
    stack |= {"attention": {"kind": "softmax", "dropout": 0.0}}
    return {
        "task": {
            "kind": "translation",
            "corpus": {"kind": "toy_german_english"},
            "tokenizer": {"kind": "bpe"},
            "vocabulary": 1000,
            "batch_tokens": 512,
            "label_smoothing": 0.1,
        },
        "model": {"kind": "encoder_decoder", "d_model": 128, "heads": 4, "d_ff": 256, "dropout": 0.0, "tied": tied},
        "encoder": stack,
        "decoder": {**stack, "cross_attention": cross},
        "init": {"kind": "xavier_normal", "gain": 1.0},
        "optimizer": None,
        "schedule": None,
        "train": {"steps": 0},
        "interventions": [],
    }


def points():
    for placement in ("post", "pre"):
        for layers in (6, 8, 10, 12, 14):
            yield placement, layers, True, "target"
        yield placement, 6, False, "target"
        yield placement, 6, True, "none"


def profile(stack, placement, layers, cross):
    values = np.array(ENCODER[placement] if stack == "encoder" else DECODER[placement, cross])
    at = np.linspace(0, 5, layers)
    return np.exp(np.interp(at, np.arange(6), np.log(values))) * LAST[placement][layers] / LAST[placement][6]


def measured(placement, layers, cross, tied, seed, noise):
    rng = np.random.default_rng([seed, layers, cross, placement == "post", tied == "none"])
    for stack in ("encoder", "decoder"):
        level = math.exp(noise * rng.normal())
        for layer, value in enumerate(profile(stack, placement, layers, cross), 1):
            for tensor, factor in (("w1", 0.93), ("w2", 1.0)):
                gradient = float(value * factor * level * math.exp(0.4 * noise * rng.normal()))
                yield row("gradient_norm", stack, layer, tensor, gradient)
            stream = 1.0 if placement == "post" else 0.4 * layer * math.exp(0.02 * rng.normal())
            yield row("hidden_norm_sq", stack, layer, "sum", stream)


def row(quantity, stack, layer, tensor, value):
    place = {"stack": stack, "layer": layer, "sublayer": "feed_forward", "tensor": tensor}
    return {"quantity": quantity, **place, "value": value}


def make_results(seeds=range(1, 11), noise=0.09, finished=lambda number: True, scale=1.0):
    """Every run of the experiment; those with ``finished(number)`` have been measured."""
    runs = []
    for point in points():
        labels = [value if isinstance(value, str) else json.dumps(value) for value in point]
        of = {"variant": "-".join(map(str, point)), "setting": setting(*point)}
        of |= {"axes": dict(zip(AXES, zip(point, labels, strict=True), strict=True)), **dict.fromkeys(RECORDED)}
        for seed in seeds:
            run = of | {"seed": seed, "status": None}
            if finished(len(runs)):
                of_run = {"measurement": f"{of['variant']}-{seed}-m"}
                sites = [row | of_run | {"value": row["value"] * scale} for row in measured(*point, seed, noise)]
                run |= {"status": "finished", "sites": sites, "seconds": 0.5 + seed, "parameters": 1_200_000}
                run |= {"device": "cpu", "versions": json.dumps({"lnlab": "0.1.0", "torch": "2.13.0"})}
            runs.append(run)
    return with_all_tables(results_of(runs))


def changed(results, expression, where=True):
    """The results with another value in some rows of sites: an expression, or one number."""
    value = pl.when(where).then(expression).otherwise(pl.col("value")).alias("value")
    return replace(results, tables={**results.tables, "sites": results.tables["sites"].with_columns(value)})


def verdict(claim, values, *, word="supported", low=None, high=None, log=True, **fields):
    """A verdict over these numbers, its interval computed from them."""
    interval = t_interval(list(values.values()), log=log)
    inside = sum((low is None or v >= low) and (high is None or v <= high) for v in values.values())
    fixed = {
        "kind": "bound",
        "says": claim,
        "primary": False,
        "role": "source",
        "verdict": word,
        "statistic": "last/first",
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "region_low": low,
        "region_high": high,
        "n": len(values),
        "inside": inside,
        "seeds": values,
        "reason": "the interval lies within the accepted range",
        "scope": "6-6, d_model 128, toy_german_english, at init, 10 seeds",
    }
    return Verdict(claim=claim, **fixed | fields)


@cache
def compiled_spec():
    """The spec with the claims of its sections written out, as reports have it."""
    return compile_plan(load_spec(SPEC), load_registries(()), ())


def make_facts(**changed):
    data = YAML(typ="safe").load(SPEC.read_text())
    plan = compiled_spec()
    stated = question_fields(plan.experiment, plan.sections, load_registries([]))
    defaults = {
        "name": "xiong_fig3",
        "title": data["title"],
        "question": data["question"],
        "spec": SPEC.read_text(),
        "path": "specs/xiong_fig3.yaml",
        "digest": "3f" * 32,
        "version": "0.1.0",
        "source": data["source"],
        "differs": tuple(data["differs"]),
        "probes": tuple(data["probes"]),
        "sections": stated["sections"],
        "sources": stated["sources"],
    }
    return ReportFacts(**defaults | changed)


def claims_of_spec():
    plan = compiled_spec()
    return claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))


@pytest.fixture(scope="session")
def results():
    return make_results()


METHODS = {"post": "Post-LN", "pre": 'Pre-LN, "quoted" \\ σ'}


@pytest.fixture(scope="session")
def methods(results):
    """The runs with tied output and cross-attention; their placements have become methods with names."""
    runs = results.runs.filter(pl.col("variant").str.ends_with("True-target"))
    axes = results.axes.filter(pl.col("run").is_in(runs["run"].implode()))
    layers, placed = axes.filter(axis="model.layers"), axes.filter(axis="placement")
    name = pl.col("label").replace_strict(METHODS)
    value = name.map_elements(json.dumps, return_dtype=pl.String)
    named = placed.with_columns(pl.lit("method").alias("axis"), name.alias("label"), value.alias("value"))
    of_these = pl.col("run").is_in(runs["run"].implode())
    tables = {name: rows.filter(of_these) for name, rows in results.tables.items()}
    return Results(runs, pl.concat([named, layers]), tables)


@pytest.fixture(scope="session")
def facts():
    return make_facts()


@pytest.fixture(scope="session")
def verdicts(results):
    return judge_all(claims_of_spec(), results)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, facts, results, verdicts):
    """A whole report of the default profile, in its slim form."""
    out = tmp_path_factory.mktemp("reports") / "xiong_fig3"
    write_report(out, facts, results, verdicts)
    return out


@pytest.fixture(scope="session")
def small():
    """A report in a second: two seeds, one figure of each kind, two claims."""
    results = make_results(seeds=(1, 2))
    full = make_facts()
    chosen = replace(full, sections=(full.sections[0], full.sections[2]))
    return chosen, results, judge_all(claims_of_spec()[:2], results)
