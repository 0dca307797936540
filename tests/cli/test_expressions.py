"""Expressions over quantities from the spec to the page, the file of numbers, and every mistake at its place."""

from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

import lnlab as lnlab_package
from lnlab.cli import main
from lnlab.report.folder import read_folder
from lnlab.specfile.expressions import expression_of
from tests.support.golden import holding
from tests.support.refusals import refused
from tests.support.toy_specs import ENCODER, toy_spec

REST = """\
sweep: [{placement: [pre, post]}]
probes: [{kind: gradient_norm, batches: 2}, {kind: hidden_norm}]
report:
  - kind: depth_profile
    quantity: {expr: "gradient_norm*hidden_norm[tensor: sum]", unit: nats per token, label: scaled gradient}
    where: {tensor: w2}
    claims:
      - {id: fed, says: It is above 0.1., role: prediction, kind: bound, exact: true, at_least: 0.1,
         of: {layer: last, placement: post}}
  - {kind: depth_profile, quantity: {expr: "gradient_norm / hidden_norm[tensor: in]", unit: nats per token},
     where: {tensor: [w2, table], sublayer: [feed_forward, embedding, output]}}
claims:
  - id: falls
    says: It falls.
    kind: ratio
    of: {quantity: {expr: "log(1 + gradient_norm[layer: last])", unit: log}, tensor: w2, placement: post}
    to: {placement: pre}
    at_most: 9
"""
SPEC = toy_spec(ENCODER, REST, task={"sentences": 4, "length": 6}, placement=None, seeds=3)
NAME = "scaled gradient = gradient_norm * hidden_norm[tensor: sum] [nats per token]"


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A folder in which the spec was run and its page written."""
    folder = tmp_path_factory.mktemp("expressions")
    (folder / "spec.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        codes = [main([*words, "-q"]) for words in (["run", "spec.yaml", "-w", "1"], ["report", "spec.yaml"])]
    assert codes == [0, 0]
    return folder


@pytest.fixture
def here(computed, monkeypatch):
    monkeypatch.chdir(computed)
    return computed


def product_by_hand(rows):
    """Seed, placement and layer -> the product, from the stored rows of both quantities."""
    of = {name: rows.filter(quantity=name) for name in ("gradient_norm", "hidden_norm")}
    keys = ["placement", "seed", "layer", "sublayer"]
    joined = of["gradient_norm"].join(of["hidden_norm"].filter(tensor="sum"), on=keys, suffix="_of_stream")
    return joined.select(*keys, "tensor", value=pl.col("value") * pl.col("value_of_stream")).sort(*keys, "tensor")


def test_the_file_of_numbers_has_the_product(here, lnlab, tmp_path):
    for name, words in (("all", []), ("one", ["--quantity", "gradient_norm * hidden_norm [ tensor:sum ]"])):
        result = lnlab("results", "spec.yaml", "--out", tmp_path / f"{name}.parquet", *words)
        assert (result.code, result.err) == (0, "")
    hand = product_by_hand(pl.read_parquet(tmp_path / "all.parquet"))
    rows = pl.read_parquet(tmp_path / "one.parquet")
    assert rows["quantity"].unique().to_list() == ["gradient_norm * hidden_norm[tensor: sum]"]
    keys = ["placement", "seed", "layer", "sublayer", "tensor"]
    assert rows.select(*keys, "value").sort(keys).equals(hand)
    assert hand.height > 0


def test_the_page_has_its_words_its_unit_and_its_formula(here, golden):
    page = (here / "reports" / "spec" / "index.html").read_text()
    golden(holding(page, "Scaled gradient"))
    assert "scaled gradient, " in (here / "reports/spec/figures/figure-1.svg").read_text()
    assert 'class="broken"' not in page
    # of the weights that the first section selects each has a stream behind it, and no table of words has one
    assert page.count("Left out") == 1
    rows = read_folder(here / "reports/spec")[1].tables["sites"].filter(quantity="gradient_norm")
    tables = rows.filter(pl.col("tensor") == "table").height
    selected = tables + rows.filter(tensor="w2", sublayer="feed_forward").height
    assert f": {tables} of {selected} rows of gradient norm." in page
    assert tables > 0
    verdicts = pl.read_parquet(here / "reports/spec/data/verdicts.parquet")
    assert dict(verdicts.select("claim", "quantity").iter_rows()) == {
        "fed": NAME,
        "falls": "log(1 + gradient_norm[layer: last]) [log]",
    }
    assert all(expression_of(name) for name in verdicts["quantity"])


PRODUCT = "gradient_norm*hidden_norm[tensor: sum]"
MISTAKES = {
    "another quantity": "gradient_nrom * hidden_norm",
    "the second": "gradient_norm * hiden_norm",
    "no end": "gradient_norm *",
    "an operator": "gradient_norm % 2",
    "code": "gradient_norm * __import__(hidden_norm)",
    "a power": "gradient_norm ** 1000",
    "no such layer": "gradient_norm[layer: 7] * 2",
    "no such condition": "gradient_norm[tensr: w2] * 2",
    "too deep": "(" * 190 + "gradient_norm",
    "too long": "gradient_norm" + " * gradient_norm" * 300,
    "sites of others": "gradient_norm * hidden_norm",
    "two tensors": "hidden_norm[tensor: sum] - gradient_norm[tensor: table]",
    "two sublayers": "gradient_norm[tensor: w2] * 2 * hidden_norm[sublayer: output]",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_at_its_place(workdir, console, mistake):
    (workdir / "spec.yaml").write_text(SPEC.replace(PRODUCT, MISTAKES[mistake]).partition("    claims:")[0])
    assert console.refused("check", "spec.yaml").startswith("spec.yaml:10:")


TRAINED = """\
optimizer: {kind: sgd, lr: 0.1}
train: {steps: 4, evaluate: {every: 2}}
claims:
"""


@pytest.mark.parametrize(
    "text",
    ["loss * best_lr", "nll / learning_rate", "hidden_norm + gradient_norm", "learned_fraction + time_to_target"],
)
def test_quantities_that_cannot_meet_are_refused_before_anything_runs(workdir, console, text):
    spec = SPEC.replace(PRODUCT, text).partition("    where:")[0] + TRAINED
    spec = spec.replace("claims:\n", "").replace("{kind: gradient_norm,", "{kind: gradient_norm, at: end,")
    spec = spec.replace("{placement: [pre, post]}", "{placement: [pre, post], optimizer.lr: [0.1, 0.2]}")
    (workdir / "spec.yaml").write_text(spec)
    result = console("check", "spec.yaml")
    assert result.code == 2
    assert "spec.yaml:10:" in result.err


def test_a_claim_of_quantities_of_different_sites_is_refused_where_it_stands(workdir, console):
    spec = SPEC.replace("log(1 + gradient_norm[layer: last])", MISTAKES["two tensors"])
    (workdir / "spec.yaml").write_text(spec)
    assert "claims.falls.of.quantity" in console.refused("check", "spec.yaml")


@pytest.mark.parametrize(
    "quantity",
    [
        '{expr: "gradient_norm * 2"}',
        "{exp: gradient_norm * 2, unit: ratio}",
        '{expr: "gradient_norm * 2", unit: "[m]"}',
        '"gradient_norm * 2"',
    ],
)
def test_what_the_mapping_lacks_is_said(workdir, console, quantity):
    old = '{expr: "gradient_norm*hidden_norm[tensor: sum]", unit: nats per token, label: scaled gradient}'
    (workdir / "spec.yaml").write_text(SPEC.replace(old, quantity))
    result = console("check", "spec.yaml")
    assert (result.code, result.out) == (2, "")
    assert all(line.startswith("spec.yaml:10:") for line in result.err.splitlines())


@pytest.mark.parametrize(("change", "valid"), [(("", ""), True), (('", unit: log}', '"}'), False)])
def test_the_schema_takes_it(lnlab, change, valid):
    schema = Draft202012Validator(lnlab("list", "--schema").json)
    assert schema.is_valid(YAML(typ="safe").load(SPEC.replace(*change))) is valid


def test_a_spec_in_python_takes_it_and_says_what_check_says(here, tmp_path):
    spec = lnlab_package.Spec.from_yaml(here / "spec.yaml")
    assert spec.report[0].quantity == NAME
    assert lnlab_package.Spec.from_yaml(spec.to_yaml()) == spec
    assert 'expr: "gradient_norm*hidden_norm[tensor: sum]"' in spec.to_yaml()
    (tmp_path / "flawed.yaml").write_text(SPEC.replace("gradient_norm*hidden", "gradient_norm % hidden"))
    for read in (lnlab_package.Spec.from_yaml, lnlab_package.check):
        assert refused(read, tmp_path / "flawed.yaml")[0].startswith(f"{tmp_path}/flawed.yaml:10:37: ")


@pytest.mark.parametrize("text", ["gradient_norm / hiden_norm", "gradient_norm * * 2", "x" * 3000 + " * y"])
def test_a_mistake_on_the_command_line_is_one_line(here, lnlab, text, tmp_path):
    result = lnlab("results", "spec.yaml", "--out", tmp_path / "t.csv", "--quantity", text)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert not Path(tmp_path / "t.csv").exists()
