"""Data -> ``Experiment``, with every issue at once. An issue does not keep the sound parts from being read.

Keys of a setting are left to the points of the sweep. The grammar needs no registry, so its issues are reported before
torch is imported.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ValidationError

from lnlab.errors import closest, nearest
from lnlab.expectations import issue_of_key, issues_of, mistakes_of
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.specfile.experiment import (
    SETTING,
    AuthorAnswer,
    Calibration,
    ClaimText,
    DroppedClaim,
    DroppedClaims,
    Experiment,
    Source,
    SourceDifference,
)

_LISTS = ("probes", "report", "claims", "sweep")
_PLACEHOLDERS: dict[str, Json] = {"lnlab": 2, "title": "untitled"}
_NO_SEED = 2**53 - 1
"""The placeholder of tuning seeds that cannot be read: no judged seed equals it."""
_REQUIRED = {"lnlab": "add 'lnlab: 2', the version of the language", "title": "add 'title: ...'"}
_EMPTY = Issue("wrong-length", ("sweep",), "is empty", "give at least one, or leave the key out")
MOST_PRIMARY = 6


@dataclass(frozen=True)
class Reading:
    """What could be read.

    Attributes:
        experiment: without what is flawed.
        issues: every issue, with paths in the data.
        positions: for the keys that hold lists, the index in the data of each item of the experiment.
    """

    experiment: Experiment
    issues: list[Issue] = field(default_factory=list)
    positions: dict[str, list[int]] = field(default_factory=dict)

    def path(self, path: Where) -> Where:
        """The path in the data of ``path`` in the experiment."""
        if len(path) > 1 and path[0] in self.positions and isinstance(path[1], int):
            return (path[0], self.positions[str(path[0])][path[1]], *path[2:])
        return path


def read_experiment(data: dict[str, Json]) -> Reading:
    """The experiment that ``data`` describes, and every issue of its grammar."""
    positions = {key: list(range(len(data[key]))) for key in _LISTS if isinstance(data.get(key), list)}
    issues = [_EMPTY] if "sweep" in data and data["sweep"] is None else []
    sound = {key: value for key, value in data.items() if key not in SETTING}
    # pydantic gives nothing of data with a mistake: each round takes out what is wrong, until the rest is read.
    while True:
        try:
            experiment = Experiment.model_validate_json(json.dumps(sound))
        except ValidationError as error:
            # A list that is too short because its items are wrong is told by these.
            mistakes = [m for m in mistakes_of(error, sound) if not (m.kind == "too_short" and m.value)]
            found = issues_of(mistakes, unknown_key, missing_key)
            for issue in found:
                path = issue.path
                if path and path[0] in positions and len(path) > 1:
                    path = (path[0], positions[str(path[0])][int(path[1])], *path[2:])
                if path[:2] == ("answer", 0) and isinstance(data["answer"], dict):
                    path = ("answer", *path[2:])  # the only answer stands without a list
                issues.append(in_its_words(replace(issue, place=path), data))
            sound = _without(sound, {_removable_path(mistake.path, sound) for mistake in mistakes}, positions)
        else:
            return Reading(experiment, issues + _issues_of_claims(experiment, positions.get("claims", [])), positions)


def in_its_words(issue: Issue, data: Mapping[str, Json]) -> Issue:
    """An issue of ``data`` as the grammar says it, where it knows more than the type that a value should have had."""
    match path := issue.path:
        case ("lnlab",) if issue.code == "out-of-range" and data["lnlab"] == 1:
            remedy = "write lnlab: 2, and role: prediction for badge: regression; claims may stand in their section"
            return Issue("wrong-value", path, "version 1 of the language is no longer read", remedy)
        case ("claims", int(number), "requires", int(position)):
            required = data["claims"][number]["requires"][position]
            if isinstance(required, str):
                ids = [str(claim["id"]) for claim in data["claims"] if isinstance(claim, dict) and "id" in claim]
                return Issue("unknown-name", path, f"no claim is called '{required}'", nearest(required, ids))
    return replace(_EMPTY, place=path) if issue.code == "wrong-length" and issue.what == "found []" else issue


def _removable_path(loc: Where, data: dict[str, Json]) -> Where:
    """The smallest thing that can be left out to be rid of an error at ``loc``."""
    if len(loc) > 1 and loc[0] in (*_LISTS, "choose") and isinstance(data.get(str(loc[0])), list):
        return loc[:3] if loc[0] == "choose" else loc[:2]
    return loc[:1]


def _without(data: dict[str, Json], paths: set[Where], positions: dict[str, list[int]]) -> dict[str, Json]:
    """Return ``data`` without the values at ``paths``. Required keys among them get a placeholder.

    ``data`` stays as it is. Items that are left out of a list lose their entry in ``positions``, in place.
    """
    remaining = {key: value for key, value in data.items() if (key,) not in paths}
    for key in _LISTS:
        removed = {path[1] for path in paths if len(path) > 1 and path[0] == key}
        if removed and key in remaining:
            remaining[key] = [value for i, value in enumerate(remaining[key]) if i not in removed]
            positions[key] = [position for i, position in enumerate(positions[key]) if i not in removed]
            if not remaining[key]:
                del remaining[key]
    of_choices = {path[1:] for path in paths if len(path) > 1 and path[0] == "choose"}
    if of_choices:
        # A choice that is flawed keeps its place, as other choices are found by theirs.
        remaining["choose"] = [
            {"seeds": [_NO_SEED], **{key: value for key, value in fields.items() if (number, key) not in of_choices}}
            if any(path[0] == number for path in of_choices) and isinstance(fields, dict)
            else {"seeds": [_NO_SEED]}
            if (number,) in of_choices
            else fields
            for number, fields in enumerate(remaining["choose"])
        ]
    return _PLACEHOLDERS | remaining


def missing_key(path: Where, mapping: dict[str, Json]) -> Issue:
    """The issue of a required key that is absent. Where any key may stand, one that looks like it is taken for it."""
    word = str(path[-1])
    others = [key for key in mapping if key not in ClaimText.model_fields] if path[0] in _LISTS else []
    if near := closest(word, others):
        return Issue("unknown-key", (*path[:-1], near), f"unknown key '{near}'", f"did you mean '{word}'?")
    return Issue("missing", path[:-1], f"'{word}' is required", _REQUIRED.get(word, f"add '{word}: ...'"))


def unknown_key(path: Where) -> Issue:
    """The issue of a key that the grammar does not have."""
    word = str(path[-1])
    closed: dict[Json, type[BaseModel]] = {"source": Source, "calibration": Calibration}
    dropped = DroppedClaim if "claims" in path[:-1] else DroppedClaims
    of_list: dict[Json, type[BaseModel]] = {"answer": AuthorAnswer, "differs": SourceDifference, "dropped": dropped}
    owner = Experiment if len(path) == 1 else of_list.get(path[0]) or closed[path[-2]]
    known = [field.alias or name for name, field in owner.model_fields.items()]
    known += SETTING if len(path) == 1 else ()
    if len(path) == 1 and word.partition(".")[0] in known and "." in word:
        key, _, subpath = word.partition(".")
        remedy = f"write '{subpath}' under '{key}:' (dotted paths stand in profiles, in sweep and after -s)"
        return Issue("unknown-key", path, f"unknown key '{word}'", remedy)
    return issue_of_key(path[:-1], word, known)


def _issues_of_claims(experiment: Experiment, positions: list[int]) -> list[Issue]:
    """Issues between claims: ids given twice, too many primaries, judged seeds that set a margin."""
    issues = []
    seen = set()
    ids = [claim.id for claim in experiment.claims]
    for word in (word for word in experiment.claim_seeds if word not in ids):
        issues.append(Issue("unknown-key", ("claim_seeds", word), f"no claim is called '{word}'", nearest(word, ids)))
    for position, claim in zip(positions, experiment.claims, strict=True):
        if claim.id in seen:
            issues.append(
                Issue(
                    "conflict", ("claims", position, "id"), f"two claims are called '{claim.id}'", "rename one of them"
                )
            )
        seen.add(claim.id)
        pilot = claim.calibration.seeds if claim.calibration else ()
        # Which grid it selects is not known yet: with several lists of seeds none of them may set the margin.
        if shared := sorted(set(pilot) & set(experiment.claim_seeds.get(claim.id, experiment.drawn_seeds))):
            what = f"seed {shared[0]} sets the margin and is judged too"
            issues.append(
                Issue(
                    "wrong-value",
                    ("claims", position, "calibration", "seeds"),
                    what,
                    "calibrate on seeds that are not run",
                )
            )
    for position, claim in zip(positions, experiment.claims, strict=True):
        role = experiment.role_of(claim)
        if role == "source" and not (experiment.source or claim.source):
            remedy = "name the source: `source: {cite: ...}`, or write role: prediction"
            issues.append(Issue("missing", ("claims", position, "role"), "this spec has no source", remedy))
        elif claim.primary and role != ("source" if experiment.source else "prediction"):
            # without a source the author's own predictions are what the page is about
            whose = "what the source says" if experiment.source else "a prediction"
            what = f"a claim of the role '{role}' is not primary"
            issues.append(
                Issue("conflict", ("claims", position, "primary"), what, f"only {whose} counts in the headline")
            )
    primary = [position for position, claim in zip(positions, experiment.claims, strict=True) if claim.primary]
    for position in primary[MOST_PRIMARY:]:
        what = f"{len(primary)} claims are primary; at most {MOST_PRIMARY}"
        issues.append(
            Issue(
                "too-large",
                ("claims", position, "primary"),
                what,
                "the others inform, without counting in the headline",
            )
        )
    return issues
