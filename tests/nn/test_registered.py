"""What holds for everything that is registered here: defaults, citations, precision, and numbers that stay put.

The numbers below are those of each version. When one moves on purpose, raise the version and give the new number.
"""

import re

import pytest
import torch

from lnlab.nn.attention import attentions
from lnlab.nn.batch_norm import batch_statistics
from lnlab.nn.inits import inits
from lnlab.nn.linear import linears
from lnlab.nn.models import models
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.nn.sites import parameters

CITED = re.compile(r"``.+``[^:]*: .+ \(.+, (19|20)\d\d.*\)\.")
ENTRIES = [entry for registry in (norms, placements, attentions, linears, inits, models) for entry in registry]
NUMBERS = {
    "norm batch": (1, -128.4812284499163),
    "norm dyt": (1, -76.30380212283703),
    "norm group": (1, -92.10654051278334),
    "norm instance": (1, -100.18970487719183),
    "norm layer": (1, -155.95786934427178),
    "norm none": (1, -48439.55996852752),
    "norm rms": (1, -88.79856957598163),
    "norm scale": (1, -86.44944479778786),
    "placement admin": (1, -197.66059742517473),
    "placement b2t": (1, -129.58069561006778),
    "placement deepnorm": (1, -177.73311207632233),
    "placement fixup": (1, -3156.7198318328983),
    "placement layerscale": (1, -73.03565359833156),
    "placement mix": (1, -173.39805450085996),
    "placement post": (1, -155.95786934427178),
    "placement pre": (1, -142.90523997359549),
    "placement rezero": (1, 242.44433193985677),
    "placement sandwich": (1, -113.1766814430155),
    "attention qk_layer_norm": (1, -69.27373553459083),
    "attention qk_norm": (1, -82.81988582521122),
    "attention softmax": (1, -155.95786934427178),
    "linear plain": (1, -155.95786934427178),
    "linear sigma_reparam": (1, -188.21325939905185),
    "init admin": (1, -209.98846952745936),
    "init b2t": (1, -123.35968086729602),
    "init deepnorm": (1, -108.77568146023073),
    "init dt_fixup": (1, -92.26113180090586),
    "init fairseq": (1, -102.91513316134144),
    "init fixup": (1, 25.812914155549866),
    "init kaiming": (1, -84.60575437290062),
    "init small_init": (1, -122.167546759197),
    "init t_fixup": (1, 5.819462803442216),
    "init torch_transformer": (1, -107.71435961943929),
    "init uniform": (1, -86.88565486631222),
    "init xavier_normal": (1, -142.90523997359549),
    "init xavier_uniform": (1, -101.02147783074486),
    "init zero_qk": (1, -147.4970514908729),
    "model classifier": (1, 2.739901091434412),
    "model encoder": (1, -153.70166977055516),
    "model language_model": (1, -251.048072800962),
    "model encoder_decoder": (1, -155.95786934427178),
}


def by_name(entry) -> str:
    return f"{entry.kind} {entry.name}"


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_first_line_is_formula_sentence_and_citation(entry):
    assert CITED.fullmatch(entry.summary), entry.summary


@pytest.mark.parametrize(
    "registry", [norms, placements, attentions, linears, inits], ids=lambda registry: registry.kind
)
def test_everything_builds_from_defaults_and_is_finite(registry, setting, build, batch):
    for entry in registry:
        model = build_with(entry, setting, build)
        with batch_statistics(model):
            single = model(batch)
            assert single.isfinite().all(), by_name(entry)
            torch.testing.assert_close(single.double(), model.double()(batch), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_numbers_move_only_with_the_version(entry, setting, build, batch):
    version, expected = NUMBERS[by_name(entry)]
    assert entry.version == version
    assert fingerprint(build_with(entry, setting, build), batch) == pytest.approx(expected, rel=1e-4)


def test_every_number_belongs_to_an_entry():
    assert NUMBERS.keys() == {by_name(entry) for entry in ENTRIES}


def build_with(entry, setting, build) -> torch.nn.Module:
    """A small model in which this entry, with its defaults, plays its part."""
    if entry.kind == "init":
        tied = "none" if "output" in entry.tags.get("zeros", ()) else "target"
        placement = {"kind": entry.tags["profiles"], "start": "profiled"} if "profiles" in entry.tags else "pre"
        return build(setting(placement, tied=tied), init=entry.name)
    if entry.kind in ("model", "linear"):
        return build(setting(**{"kind" if entry.kind == "model" else "linear": entry.name}))
    registry = {"norm": norms, "placement": placements, "attention": attentions}[entry.kind]
    chosen = {entry.kind: registry.resolve(entry.name)}
    causal = {} if entry.tags.get("statistics", "token") != "token" else chosen
    layers = 4 if entry.name == "mix" else 2  # a quarter of two layers is none
    return build(setting(layers=layers, encoder=chosen, decoder=causal))


def fingerprint(model: torch.nn.Module, batch) -> float:
    """One number that depends on every logit and on every weight, in float64 and with weights that break symmetries."""
    model = model.double()
    with torch.no_grad(), batch_statistics(model):
        for i, (_, p) in enumerate(parameters(model)):
            p += 0.1 * torch.linspace(-1, 1, p.numel(), dtype=torch.float64).reshape(p.shape) * (1 + i % 3)
        logits = model(batch)
    return (logits * torch.linspace(1, 2, logits.numel(), dtype=torch.float64).reshape(logits.shape)).sum().item()
