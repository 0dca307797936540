"""The grammar: every flaw at once, with its path, and what is sound is read on."""

import json

import pytest

from lnlab.expectations import MOST_ISSUES
from lnlab.specfile.experiment import Experiment, kind_and_parameters
from lnlab.specfile.read import read_experiment

DROPPED = {"id": "a", "says": "s", "was": "supported"}
DIFFERENCE = {"what": "data", "ours": "Multi30k"}
CLAIM = {"id": "a", "says": "b", "kind": "trend"}
GOOD = {"lnlab": 2, "title": "x", "task": "t", "model": "m"}


def flaws(**data):
    return {(flaw.path, flaw.what, flaw.remedy) for flaw in read_experiment({**GOOD, **data}).issues}


def only(**data):
    ((path, what, remedy),) = flaws(**data)
    return path, what, remedy


def test_a_sound_spec_has_no_flaws_and_survives_being_stored():
    full = {
        **GOOD,
        "question": "why?",
        "source": {"cite": "c", "figure": "3"},
        "differs": ["a", {"what": "data", "source": "s", "ours": "o", "matters": "m"}, {"what": "w", "ours": "o"}],
        "dropped": [
            {"why": "y", "needs": "n", "claims": [{"id": "a[Post-LN]", "says": "s", "was": "not testable here"}]}
        ],
        "note": "n",
        "seeds": "2-4",
        "sweep": [{"norm": ["layer"], "except": [{"norm": "layer"}]}],
        "probes": [{"kind": "p", "batches": 3}, {"kind": "p", "at": {"every": 3}}],
        "report": [{"kind": "s", "title": "t", "claims": ["a"], "where": {}}],
        "claims": [{**CLAIM, "of": {}, "requires": {"kind": "k"}, "calibration": {"seeds": "8-9"}, "published": [1]}],
        "profiles": {"smoke": {"seeds": 1, "model.layers": 2}},
    }
    reading = read_experiment(full)
    assert reading.issues == []
    experiment = reading.experiment
    assert experiment.seeds == (2, 3, 4)
    assert [probe.at for probe in experiment.probes] == ["init", {"every": 3}]
    assert kind_and_parameters(experiment.claims[0]) == {"kind": "trend", "of": {}}
    assert experiment.claims[0].requires == ({"kind": "k"},)
    assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment


@pytest.mark.parametrize(
    ("data", "path", "what", "remedy"),
    [
        ({"titel": 1}, ("titel",), "unknown key 'titel'", "did you mean 'title'"),
        ({"model.layers": 1}, ("model.layers",), "unknown key", "write 'layers' under 'model:'"),
        ({"x.y": 1}, ("x.y",), "unknown key", "known:"),
        ({"lnlab": 3}, ("lnlab",), "found 3", "2"),
        ({"lnlab": 1}, ("lnlab",), "version 1", "role: prediction"),
        ({"title": ""}, ("title",), 'found ""', "at least 1 character"),
        ({"title": 3}, ("title",), "found 3", "put quotes"),
        ({"source": {"cite": "c", "figur": "3"}}, ("source", "figur"), "unknown key 'figur'", "did you mean 'figure'"),
        ({"source": {}}, ("source",), "'cite' is required", "add"),
        ({"differs": [3]}, ("differs", 0), "found 3", "put quotes"),
        ({"differs": ["a", {"what": "data"}]}, ("differs", 1), "'ours' is required", "add"),
        ({"differs": [{**DIFFERENCE, "mater": "x"}]}, ("differs", 0, "mater"), "unknown key", "did you mean 'matters'"),
        ({"differs": [{**DIFFERENCE, "ours": ""}]}, ("differs", 0, "ours"), 'found ""', "at least 1 character"),
        ({"differs": [{**DIFFERENCE, "source": 3}]}, ("differs", 0, "source"), "found 3", "put quotes"),
        ({"dropped": [{"claims": [DROPPED]}]}, ("dropped", 0), "'why' is required", "add"),
        ({"dropped": [{"why": "y", "claims": []}]}, ("dropped", 0, "claims"), "is empty", "give at least one"),
        ({"dropped": [{"why": "y", "nedes": "x", "claims": [DROPPED]}]}, ("dropped", 0, "nedes"), "unknown", "'needs'"),
        (
            {"dropped": [{"why": "y", "claims": [{**DROPPED, "say": "x"}]}]},
            ("dropped", 0, "claims", 0, "say"),
            "unknown key",
            "did you mean 'says'",
        ),
        (
            {"dropped": [{"why": "y", "claims": [{**DROPPED, "was": "true"}]}]},
            ("dropped", 0, "claims", 0, "was"),
            'found "true"',
            "supported",
        ),
        ({"seeds": 0}, ("seeds",), "found 0", "at least one seed"),
        ({"seeds": "a"}, ("seeds",), 'found "a"', "write a number"),
        ({"sweep": None}, ("sweep",), "is empty", "leave the key out"),
        ({"sweep": []}, ("sweep",), "is empty", "leave the key out"),
        ({"sweep": {"norm": ["a"]}}, ("sweep",), "found {", "write a list"),
        ({"sweep": [{"norm": "layer"}]}, ("sweep", 0, "norm"), 'found "layer"', "write a list"),
        ({"sweep": [{"norm": []}]}, ("sweep", 0, "norm"), "is empty", "give at least one"),
        ({"probes": [{"at": "init"}]}, ("probes", 0), "'kind' is required", "add"),
        ({"probes": [{"kind": "p", "at": "begin"}]}, ("probes", 0, "at"), 'found "begin"', "write init, end"),
        ({"report": "all"}, ("report",), 'found "all"', "write a list"),
        ({"claims": [{**CLAIM, "id": "no word"}]}, ("claims", 0, "id"), 'found "no word"', "a letter first"),
        ({"claims": [{**CLAIM, "role": "gold"}]}, ("claims", 0, "role"), 'found "gold"', "'source', 'alternative'"),
        ({"claims": [{**CLAIM, "primary": "yes"}]}, ("claims", 0, "primary"), 'found "yes"', "true or false"),
        ({"claims": [{**CLAIM, "requires": 3}]}, ("claims", 0, "requires"), "found 3", "write a list"),
        (
            {"claims": [{**CLAIM, "calibration": {"seed": 1, "seeds": 99}}]},
            ("claims", 0, "calibration", "seed"),
            "unknown key 'seed'",
            "known:",
        ),
        ({"claims": [CLAIM, CLAIM]}, ("claims", 1, "id"), "two claims are called 'a'", "rename"),
        (
            {"seeds": 5, "claims": [{**CLAIM, "calibration": {"seeds": "4-9"}}]},
            ("claims", 0, "calibration", "seeds"),
            "seed 4 sets the margin and is judged too",
            "calibrate",
        ),
        ({"profiles": {"a b": {}}}, ("profiles", "a b"), 'found "a b"', "a letter first"),
        ({"profiles": {"a": 3}}, ("profiles", "a"), "found 3", "write a mapping"),
    ],
)
def test_each_flaw_says_where_what_and_what_would_do(data, path, what, remedy):
    found_path, found, would_do = only(**data)
    assert found_path == path
    assert what in found
    assert remedy in would_do


def test_what_is_required_is_missed():
    assert {flaw.what for flaw in read_experiment({}).issues} == {"'lnlab' is required", "'title' is required"}


def test_every_flaw_is_found_at_once_and_the_sound_items_keep_their_places():
    claims = [{**CLAIM, "id": "1"}, CLAIM, {"id": "c"}, {**CLAIM, "id": "d"}, CLAIM]
    reading = read_experiment({**GOOD, "titel": 1, "seeds": 0, "claims": claims})
    assert {flaw.path for flaw in reading.issues} == {
        ("titel",),
        ("seeds",),
        ("claims", 0, "id"),
        ("claims", 2),
        ("claims", 4, "id"),
    }
    assert [claim.id for claim in reading.experiment.claims] == ["a", "d", "a"]
    assert [reading.path(("claims", i, "of")) for i in range(3)] == [("claims", i, "of") for i in (1, 3, 4)]
    assert reading.path(("title",)) == ("title",)


def test_at_most_six_claims_are_primary(golden):
    claims = [{**CLAIM, "id": f"c{i}", "primary": True} for i in range(7)]
    path, what, _ = only(claims=claims)
    assert path == ("claims", 6, "primary")
    golden(what)


def test_thousands_of_unknown_keys_are_told_briefly():
    reading = read_experiment({**GOOD, **{f"k{i}": 1 for i in range(5000)}})
    assert len(reading.issues) == MOST_ISSUES + 1
    assert reading.issues[-1].what == "and 4,900 more"


def test_a_long_value_is_cut_in_the_message():
    _, what, _ = only(title=["x" * 1000])
    assert len(what) < 120


def test_the_schema_of_the_grammar_can_be_made():
    assert json.dumps(Experiment.model_json_schema())
