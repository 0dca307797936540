"""Every committed report can be read, and its verdicts follow from its own tables. No corpus and no store is needed."""

from pathlib import Path

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.decisions import decision_from_json
from lnlab.compile.front import compile_front, setting_namer
from lnlab.report.committed.judge_again import verdict_follows
from lnlab.report.committed.matching import match_runs
from lnlab.report.folder import read_folder
from lnlab.report.held_rows import are_covered, claim_selections, complete_selections, is_drawable
from lnlab.report.question import claims_with_choices
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import parse_spec

FOLDERS = sorted((Path(__file__).parents[1] / "reports").glob("*/real"))
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
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
    assert all(is_drawable(section, facts.kept, facts.seeds) for section in front.sections)
    claims = claims_with_choices(front.experiment, zip(front.experiment.claims, front.claims, strict=True))
    pairs = [
        (c, v)
        for c, v in zip(claims, verdicts, strict=True)
        if are_covered(claim_selections(c), complete_selections(facts.kept))
    ]
    first = {claim["kind"]: (claim, verdict) for claim, verdict in reversed(pairs)}
    assert [
        claim["id"]
        for claim, verdict in first.values()
        if not verdict_follows(claim, matched.results, verdict, verdicts)
    ] == []


def test_there_are_committed_reports():
    assert FOLDERS
