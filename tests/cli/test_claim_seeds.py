"""A claim with seeds of its own, from the run to the page that is made again from its folder."""

from functools import partial

import pytest

import lnlab
from lnlab.cli import main
from lnlab.report.folder import read_folder
from tests.support.folders import contents
from tests.support.golden import holding
from tests.support.toy_specs import UNTRAINED, toy_spec

REST = """\
sweep: [{placement: [post, pre]}]
probes: [{kind: gradient_norm, at: init, batches: 1}]
report:
  - kind: depth_profile
    title: The gradient
    quantity: gradient_norm
    where: {stack: decoder, tensor: w2}
    claims:
      - {id: post_grows, says: Post grows., kind: bound, of: {placement: post}, reduce: last/first, at_least: 1}
      - {id: pre_grows, says: Pre grows., kind: bound, of: {placement: pre}, reduce: last/first, at_least: 1}
"""
SPEC = partial(toy_spec, UNTRAINED, REST, question="Does the gradient grow?", seeds=3)
FURTHER = SPEC(claim_seeds={"post_grows": "2-6"})


@pytest.fixture
def folder(workdir):
    for name, text in (("plain", SPEC()), ("further", FURTHER), ("five", SPEC(seeds="2-6"))):
        (workdir / f"{name}.yaml").write_text(text)
    return workdir


def numbers(verdict):
    return verdict.n, verdict.estimate, verdict.low, verdict.high, dict(verdict.seeds), verdict.verdict


def test_its_verdict_is_that_of_an_experiment_with_its_seeds_and_nothing_else_moves(folder, golden):
    for name in ("plain", "further", "five"):
        assert main(["run", f"{name}.yaml", "-w", "1", "-q"]) == 0
        assert main(["report", f"{name}.yaml", "-q"]) == 0
    verdicts = {name: {v.claim: v for v in lnlab.judge(f"{name}.yaml")} for name in ("plain", "further", "five")}
    assert numbers(verdicts["further"]["post_grows"]) == numbers(verdicts["five"]["post_grows"])
    assert numbers(verdicts["further"]["pre_grows"]) == numbers(verdicts["plain"]["pre_grows"])
    assert verdicts["further"]["post_grows"].scope.endswith("5 seeds")

    figures = [(folder / f"reports/{name}/figures/figure-1.parquet").read_bytes() for name in ("plain", "further")]
    assert figures[0] == figures[1]
    golden(holding((folder / "reports/further/index.html").read_text(), "runs in all"))

    before = contents("reports/further")
    assert main(["report", "--from", "reports/further", "-q"]) == 0
    assert contents("reports/further") == before


def test_a_folder_that_lacks_the_further_seeds_says_so_of_that_claim_alone(folder):
    assert main(["run", "plain.yaml", "-w", "1", "-q"]) == 0
    assert main(["report", "plain.yaml", "-q"]) == 0
    (folder / "plain.yaml").write_text(FURTHER)
    assert main(["report", "--from", "reports/plain", "-q"]) == 0
    verdicts = {verdict.claim: verdict for verdict in read_folder(folder / "reports/plain")[2]}
    assert "3 not run yet" in (folder / "reports/plain/index.html").read_text()
    assert verdicts["post_grows"].n < 5
    assert verdicts["pre_grows"].n == 3
