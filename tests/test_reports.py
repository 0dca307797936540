"""Verdicts of committed reports follow from their own rows: of each kind of claim those of one report.

Those of all reports are judged again by ``lnlab verify --all --level 1`` in .ci/run, which holds every byte that is
drawn against the committed one; here small reports stand for the others. No corpus and no store is needed.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.claims.judging import judge_claim
from lnlab.committed.judging import equal_verdicts
from lnlab.committed.locks.lock_report import read_lock
from lnlab.compile.decisions import decision_from_json
from lnlab.compile.files_read import files_of_entries
from lnlab.compile.plan import compile_plan
from lnlab.report.folder import read_folder
from lnlab.report.question import claims_with_choices
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import parse_spec
from lnlab.store.plans import plan_frames
from lnlab.store.records.layout import sizes_below

ROOT = Path(__file__).parents[1]
FOLDERS = [data.parent for data in sorted((ROOT / "reports").glob("*/real/data"))]
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}
TAKES = re.compile(r"; that takes [\d,]+ runs?$")


def smallest_of_each_kind(folders: list[Path]) -> Iterator[Path]:
    """From the smallest report to the largest those with a kind of claim that no smaller one has."""
    seen: set[str] = set()
    for folder in sorted(folders, key=lambda each: sum(sizes_below(each / "data"))):
        kinds = set(pl.read_parquet(folder / "data" / "verdicts.parquet")["kind"])
        if kinds - seen:
            yield folder
        seen |= kinds


@pytest.mark.parametrize("folder", list(smallest_of_each_kind(FOLDERS)), ids=lambda folder: folder.parent.name)
def test_the_first_verdict_of_each_kind_follows_from_the_rows(folder):
    facts, results, verdicts = read_folder(folder)
    plan = compile_plan(
        parse_spec(facts.spec, Path(facts.path)),
        EVERY,
        (),
        profile=facts.profile,
        overrides=facts.overrides,
        decisions=[decision_from_json(each) for each in facts.decisions],
        memory=sys.maxsize,
        known_files=files_of_entries(facts.files_read, EVERY),
    )
    assert plan_frames(plan)["runs"].equals(results.runs.select(plan_frames(plan)["runs"].columns))
    claims = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
    first = {claim["kind"]: (claim, one) for claim, one in reversed(list(zip(claims, verdicts, strict=True)))}

    def follows(claim, verdict):
        """At the first time of its look or at a later one, at which an undecided verdict asks for other seeds."""
        again = (judge_claim(claim, results, verdicts, verdict.look, seen=seen) for seen in (False, True))
        return any(equal_verdicts(one, verdict) for one in again)

    # How many runs further seeds take is added where all claims are judged.
    pairs = [(claim, replace(one, reason=TAKES.sub("", one.reason))) for claim, one in first.values()]
    assert [claim["id"] for claim, one in pairs if not follows(claim, one)] == []


def test_every_committed_report_has_the_lock_by_which_it_is_drawn_again():
    assert FOLDERS
    locked = {read_lock(path).folder.resolve() for path in (ROOT / "specs").glob("*.lock")}
    assert [folder.parent.name for folder in FOLDERS if folder.resolve() not in locked] == []


def test_committed_reports_take_at_most_30_MiB():
    """A report is committed lean: ``lnlab report --from reports/*/real --lean``."""
    folder = ROOT / "reports"
    committed = [folder / "index.html", *(folder / "assets").rglob("*"), *folder.glob("*/real/**/*")]  # smoke is not
    sizes = {path: path.stat().st_size for path in committed if path.is_file()}
    largest = sorted(sizes, key=sizes.__getitem__)[-5:]
    assert sum(sizes.values()) <= 30 * 2**20, [path.relative_to(ROOT).as_posix() for path in largest]
