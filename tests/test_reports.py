"""Verdicts of committed reports follow from their own tables: of each kind of claim those of one report.

Those of all reports are judged again by ``lnlab verify --all --level 1`` in .ci/run, which holds every byte that is
drawn against the committed one; here small reports stand for the others. No corpus and no store is needed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.check import check_spec
from lnlab.compile.decisions import decision_from_json
from lnlab.compile.front import compile_front, setting_namer
from lnlab.compile.selection.claim_seeds import probes_read_by
from lnlab.record.held_rows import are_covered, is_drawable
from lnlab.record.judge_again import verdict_follows
from lnlab.record.locks.lock_report import read_lock
from lnlab.record.matching import match_runs
from lnlab.report.folder import read_folder
from lnlab.report.kept_rows import claim_selections, quantities_of_claim, rows_of_quantities
from lnlab.report.question import claims_with_choices
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.select.seeds import drawn_results, results_of_seeds
from lnlab.specfile.columns import EVALUATED, RECORDED
from lnlab.specfile.load import parse_spec

ROOT = Path(__file__).parents[1]
FOLDERS = [data.parent for data in sorted((ROOT / "reports").glob("*/real/data"))]
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}
TAKES = re.compile(r"; that takes [\d,]+ runs?$")


def smallest_of_each_kind(folders: list[Path]) -> Iterator[Path]:
    """From the smallest report to the largest those with a kind of claim that no smaller one has."""
    seen: set[str] = set()
    for folder in sorted(folders, key=lambda each: sum(file.stat().st_size for file in (each / "data").iterdir())):
        kinds = set(pl.read_parquet(folder / "data" / "verdicts.parquet")["kind"])
        if kinds - seen:
            yield folder
        seen |= kinds


@pytest.mark.parametrize("folder", list(smallest_of_each_kind(FOLDERS)), ids=lambda folder: folder.parent.name)
def test_the_first_verdict_of_each_kind_follows_from_the_tables(folder):
    facts, results, verdicts = read_folder(folder)
    document, decisions = (
        parse_spec(facts.spec, Path(facts.path)),
        [decision_from_json(each) for each in facts.decisions],
    )
    front = compile_front(document, EVERY, profile=facts.profile, overrides=facts.overrides, decisions=decisions)
    matched = match_runs(results, front.settings, front.seeds, setting_namer(EVERY))
    assert not matched.absent
    assert matched.results.runs.equals(results.runs)
    assert matched.results.axes.equals(results.axes)
    drawn = drawn_results(results, facts.seeds, facts.grid_seeds)
    assert all(is_drawable(section, facts.kept, results=drawn) for section in front.sections)
    claims = claims_with_choices(front.experiment, zip(front.experiment.claims, front.claims, strict=True))
    pairs = [(c, v) for c, v in zip(claims, verdicts, strict=True) if are_covered(claim_selections(c), facts.kept)]
    first = {claim["kind"]: (claim, verdict) for claim, verdict in reversed(pairs)}
    assert [
        claim["id"]
        for claim, verdict in first.values()
        # How many runs further seeds take is added where all claims are judged.
        if not verdict_follows(claim, matched.results, replace(verdict, reason=TAKES.sub("", verdict.reason)), verdicts)
    ] == []


def with_further_seeds(folders: list[Path]) -> Iterator[Path]:
    """Reports with seeds of single claims, the smallest first."""
    for folder in sorted(folders, key=lambda each: sum(file.stat().st_size for file in (each / "data").iterdir())):
        if "claim_seeds" in json.loads((folder / "data/experiment.json").read_text())["spec"]:
            yield folder


@pytest.mark.parametrize("folder", list(islice(with_further_seeds(FOLDERS), 8)), ids=lambda folder: folder.parent.name)
def test_what_a_report_keeps_of_further_seeds_is_measured_on_them(folder):
    """What is kept follows from names of rows, what is measured from facts of probes: neither knows of the other."""
    facts, results, _ = read_folder(folder)
    document = parse_spec(facts.spec, Path(facts.path))
    checked = check_spec(document, EVERY, (), profile=facts.profile, overrides=facts.overrides, files=False)
    experiment, requests = checked.experiment, checked.requests
    assert experiment.claim_seeds
    texts = {claim.id: claim for claim in experiment.claims}
    for claim in claims_with_choices(experiment, ((texts[str(c.path[1])], c.choice) for c in requests.claims)):
        further = set(experiment.claim_seeds.get(claim["id"], ())) - set(experiment.drawn_seeds)
        rows = rows_of_quantities(results_of_seeds(results, sorted(further)), quantities_of_claim(claim))
        kept = {name for table in rows.values() if "quantity" in table for name in table["quantity"]}
        probes = [requests.probes[place].choice["kind"] for place in probes_read_by({claim["id"]}, requests, EVERY)]
        measured = {name for kind in probes for name in EVERY["probe"][kind].facts.quantities}
        assert kept <= {*measured, *RECORDED, *EVALUATED}, claim["id"]


def test_every_committed_report_has_the_lock_by_which_it_is_drawn_again():
    assert FOLDERS
    locked = {read_lock(path).folder.resolve() for path in (ROOT / "specs").glob("*.lock")}
    assert [folder.parent.name for folder in FOLDERS if folder.resolve() not in locked] == []


def test_committed_reports_take_at_most_22_MiB():
    """A report is committed lean: ``lnlab report --from reports/*/real --lean``."""
    folder = ROOT / "reports"
    committed = [folder / "index.html", *(folder / "assets").rglob("*"), *folder.glob("*/real/**/*")]  # smoke is not
    sizes = {path: path.stat().st_size for path in committed if path.is_file()}
    largest = sorted(sizes, key=sizes.__getitem__)[-5:]
    assert sum(sizes.values()) <= 22 * 2**20, [path.relative_to(ROOT).as_posix() for path in largest]
