"""The grammar: every flaw at once, with its path, and what is sound is read on."""

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


def claimed(**changes):
    return {"claims": [{**CLAIM, **changes}]}


def differing(**changes):
    return {"differs": [{**DIFFERENCE, **changes}]}


def dropping(**changes):
    return {"dropped": [{"why": "y", "claims": [{**DROPPED, **changes}]}]}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        *(({key: 1}, key) for key in ("titel", "model.layers", "x.y")),
        *(({"lnlab": version}, "lnlab") for version in (3, 1)),
        *(({"title": title}, "title") for title in ("", 3, ["x" * 1000])),
        ({"source": {"cite": "c", "figur": "3"}}, "source figur"),
        ({"source": {}}, "source"),
        ({"differs": [3]}, "differs 0"),
        ({"differs": ["a", {"what": "data"}]}, "differs 1"),
        *((differing(**{key: x}), f"differs 0 {key}") for key, x in {"mater": "x", "ours": "", "source": 3}.items()),
        ({"dropped": [{"claims": [DROPPED]}]}, "dropped 0"),
        ({"dropped": [{"why": "y", "claims": []}]}, "dropped 0 claims"),
        ({"dropped": [{"why": "y", "nedes": "x", "claims": [DROPPED]}]}, "dropped 0 nedes"),
        *((dropping(**{key: "true"}), f"dropped 0 claims 0 {key}") for key in ("say", "was")),
        *(({"seeds": seeds}, "seeds") for seeds in (0, "a")),
        *(({"sweep": sweep}, "sweep") for sweep in (None, [], {"norm": ["a"]})),
        *(({"sweep": [{"norm": norm}]}, "sweep 0 norm") for norm in ("layer", [])),
        ({"probes": [{"at": "init"}]}, "probes 0"),
        ({"probes": [{"kind": "p", "at": "begin"}]}, "probes 0 at"),
        ({"report": "all"}, "report"),
        *((claimed(id="no word"), "claims 0 id"), (claimed(role="gold"), "claims 0 role")),
        *((claimed(primary="yes"), "claims 0 primary"), (claimed(requires=3), "claims 0 requires")),
        (claimed(calibration={"seed": 1, "seeds": 99}), "claims 0 calibration seed"),
        ({"claims": [CLAIM, CLAIM]}, "claims 1 id"),
        ({"seeds": 5, **claimed(calibration={"seeds": "4-9"})}, "claims 0 calibration seeds"),
        *(({"profiles": {"a b": {}}}, "profiles|a b"), ({"profiles": {"a": 3}}, "profiles a")),
    ],
)  # fmt: skip
def test_each_flaw_says_where_what_and_what_would_do(data, path, golden):
    found, what, remedy = only(**data)
    assert ("|" if "|" in path else " ").join(map(str, found)) == path
    assert len(what) < 120
    golden(f"{what}; {remedy}")


def test_what_is_required_is_missed_and_thousands_of_unknown_keys_are_told_briefly():
    assert {flaw.what for flaw in read_experiment({}).issues} == {"'lnlab' is required", "'title' is required"}
    reading = read_experiment({**GOOD, **{f"k{i}": 1 for i in range(5000)}})
    assert len(reading.issues) == MOST_ISSUES + 1
    assert reading.issues[-1].what == "and 4,900 more"


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
