"""A profile named `paper` has its source's settings: tests/fixtures/paper_settings.yaml states them one by one.

A spec whose source cannot be followed (another corpus, no stated setting) has no such profile.
"""

from functools import cache
from pathlib import Path

import pytest
import yaml

from lnlab.catalogue import REGISTRIES
from lnlab.compile.plan import compile_plan
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.setting import Setting
from lnlab.specfile.load import load_spec

ROOT = Path(__file__).parents[1]
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}
STATED = yaml.safe_load((ROOT / "tests/fixtures/paper_settings.yaml").read_text())
NOT_STATED = "not stated"


@cache
def plan_of(spec):
    """The plan of the profile, on a machine that is large enough for it."""
    document = load_spec(ROOT / f"specs/{spec}.yaml")
    return compile_plan(document, EVERY, (), profile="paper", memory=2**50, assume_data=True)


def values_at(plan, row):
    """The distinct values of a row's setting over the runs that it is about, or over the measurements of a probe."""
    path = row["setting"]
    if path == "seeds":
        return [len(plan.experiment.seeds)]
    if path.startswith("probes."):
        _, kind, parameter = path.split(".")
        probes = [m.probe for t in plan.trajectories for m in t.measurements if m.probe["kind"] == kind]
        found = [probe[parameter] for probe in probes]
    else:
        variants = [v for v, point in plan.points.items() if row.get("method") in (None, point.get("method"))]
        found = [value for v in variants for value in Setting(plan.settings[v]).values(path)]
    return [value for i, value in enumerate(found) if value not in found[:i]]


def mismatch(plan, row):
    """What is wrong with a row, in words; empty if nothing is."""
    stated = row["source"]
    expected = row.get("ours", stated)
    found = values_at(plan, row)
    if found != (expected if isinstance(expected, list) else [expected]):
        return f"{row['setting']}: the table has {expected}, the profile {found}"
    if ("ours" in row) != ("because" in row) or ("ours" in row and row["ours"] == stated):
        return f"{row['setting']}: a value that is not the source's has a reason, and no other has"
    return f"{row['setting']}: not stated, and nothing says what ours is" if expected == NOT_STATED else ""


def names_only_what_is_there(plan, claim):
    """Whether a claim names no value of an axis that no run of the plan has."""
    named = {key: value for key, value in (claim.get("of") or {}).items() if key in plan.axes}
    if claim.get("over") in plan.axes and "order" in claim:
        named[claim["over"]] = [name.strip() for name in claim["order"].replace("<=", "<").replace("~", "<").split("<")]
    for axis, value in named.items():
        there = {str(point.get(axis)) for point in plan.points.values()}
        if not {str(v) for v in (value if isinstance(value, list) else [value])} <= there:
            return False
    return True


def test_every_paper_profile_has_a_table_and_every_table_a_profile():
    paths = sorted((ROOT / "specs").glob("*.yaml"))
    with_profile = [path.stem for path in paths if "paper" in load_spec(path).data["profiles"]]
    assert [spec for spec in with_profile if spec not in STATED] == []
    assert set(STATED) <= set(with_profile)


@pytest.mark.parametrize("spec", STATED)
def test_a_paper_profile_has_the_settings_of_its_source(spec):
    assert STATED[spec]["cite"]
    assert [text for row in STATED[spec]["settings"] if (text := mismatch(plan_of(spec), row))] == []


@pytest.mark.parametrize("spec", STATED)
def test_a_paper_profile_tunes_nothing_and_judges_something(spec):
    plan = plan_of(spec)
    assert plan.undecided == ()
    assert [claim for claim in plan.claims if "of" in claim and names_only_what_is_there(plan, claim)]
