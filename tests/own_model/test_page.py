"""Claims in the grammar of specs, and the page of measurements: without a network, from its own folder alone."""

import json
import re

import pytest
import torch
from torch import nn

import lnlab
from lnlab.cli import main
from lnlab.errors import LabError
from tests.support.golden import holding

CLAIMS = """
- id: each
  says: "The last W2 of {model} has a gradient."
  for_each: {model: all}
  kind: bound
  of: {quantity: gradient_norm, tensor: w2, layer: last}
  at_least: 1e-9
- {id: larger, says: "Three times the loss has three times the gradient.", kind: ratio,
   of: {quantity: gradient_norm, tensor: w2, layer: 1, model: tripled}, to: {model: plain}, between: [2.99, 3.01]}
- {id: under, says: "Only where the first holds.", kind: bound, requires: larger, role: prediction,
   of: {quantity: gradient_norm, tensor: w2, layer: 1, model: plain}, at_most: 1e-9}
"""


class Tripled(nn.Sequential):
    def forward(self, x):
        return 3**0.5 * super().forward(x)


def blocks(kind):
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
    return kind(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(8, 4))


@pytest.fixture(scope="module")
def measured():
    builds = {"plain": lambda _: blocks(nn.Sequential), "tripled": lambda _: blocks(Tripled)}
    batches = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
    probes = [
        "gradient_norm",
        "hidden_norm",
        "gradient_histogram",
        {"kind": "hessian_spectrum", "draws": 1, "steps": 5},
    ]
    return lnlab.measure(builds, batches, lambda m, x: m(x).square().mean(), probes=probes, seeds=5)


def test_claims_are_those_of_a_spec(measured, golden):
    verdicts = measured.judge(CLAIMS)
    assert {v.claim: v.verdict for v in verdicts} == {
        "each[plain]": "supported",
        "each[tripled]": "supported",
        "larger": "supported",
        "under": "contradicted",
    }
    golden(verdicts[0].says)
    assert verdicts[2].estimate == pytest.approx(3, rel=1e-4)
    assert verdicts[2].low <= verdicts[2].estimate <= verdicts[2].high
    assert verdicts[3].role == "prediction"
    assert [v.n for v in verdicts] == [5] * 4
    first, *_, last = str(verdicts).splitlines()
    assert re.fullmatch(r"✓ supported  each\[plain\]: .* [0-9.e-]+ \[.*\]; accepted: at least 1e-09; n = 5", first), (
        first
    )
    assert last.startswith("✗ contradicted  under: ")


def test_a_claim_may_be_a_dict_a_list_or_text(measured):
    of = {"quantity": "gradient_norm", "layer": 1, "tensor": "w1", "model": "plain"}
    claim = {"id": "a", "kind": "bound", "of": of, "at_least": 0.0}
    text = json.dumps([claim])  # which is YAML
    assert measured.judge(claim) == measured.judge([claim]) == measured.judge(text)


def test_the_page_has_the_verdicts_and_a_section_for_each_probe(measured, tmp_path, golden):
    report = measured.report(CLAIMS, out=tmp_path / "blocks", question="What does a factor do?")
    assert report.failed == []
    page = report.files[0].read_text()
    golden(holding(page, "What does a"))
    assert page.count("lnlab report --from blocks --single-file") == 1
    size = sum(p.numel() for p in blocks(nn.Sequential).parameters())
    assert f"plain ({size:,} parameters) and tripled ({size:,} parameters)" in page
    for unknown in ("per item", "over items", "nats", "per token"):  # a loss of one's own may be no likelihood
        assert unknown not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    for words in ("Three times the loss has three times the gradient.", "Hessian", "contradicted"):
        assert words in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    facts = json.loads((tmp_path / "blocks" / "data" / "experiment.json").read_text())
    kinds = {section["kind"] for section in facts["sections"]}
    assert kinds == {"depth_profile", "table", "spectral_density", "histogram"}


def test_a_number_of_the_whole_model_has_a_table(tmp_path, golden):
    builds = {"one": lambda _: blocks(nn.Sequential), "three times": lambda _: blocks(Tripled)}
    batch = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    found = lnlab.measure(
        builds, [batch], lambda m, x: m(x).square().mean(), probes=[{"kind": "sharpness", "steps": 2}], seeds=2
    )
    assert repr(found) == "Measurements(2 variants, 4 runs: sharpness)"
    with pytest.raises(
        LabError, match=r"nothing called 'hidden_norm' was measured; measure it: probes=\['hidden_norm'\]"
    ):
        found.frame("hidden_norm")
    with golden.raises(LabError):
        found.frame("total_gradient_norm")
    report = found.report(out=tmp_path / "whole")
    assert report.empty == []
    page = report.files[0].read_text()
    assert re.search(r"The sharpness is between [0-9.]+ \(one\) and [0-9.]+ \(three times\)", page)
    assert "by model" in page


@pytest.mark.nightly
def test_the_page_is_drawn_again_from_its_folder(measured, tmp_path, capsys):
    measured.report(CLAIMS, out=tmp_path / "blocks")
    page = tmp_path / "blocks" / "index.html"
    before = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert main(["report", "--from", str(tmp_path / "blocks"), "--single-file"]) == 0, capsys.readouterr().err
    assert re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL) == before


def test_sections_of_the_user_give_their_claims_what_they_select(measured, tmp_path):
    sections = """
    - kind: depth_profile
      title: Only W1
      quantity: gradient_norm
      where: {stack: encoder, tensor: w1, model: plain}
      claims:
        - {id: small, says: "It is small.", kind: bound, at_most: 1000}
    """
    report = measured.report(out=tmp_path / "one", sections=sections)
    data = json.loads((tmp_path / "one" / "data" / "experiment.json").read_text())
    assert [section["title"] for section in data["sections"]] == ["Only W1"]
    assert "1 supported" in re.sub("<.*?>", "", report.files[0].read_text())
