"""Data -> ``Experiment``, with every flaw at once; what is sound is read on although something else is not."""

import json
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ValidationError

from lnlab.errors import closest, nearest
from lnlab.keys import Json
from lnlab.registry import Flaw, Where
from lnlab.specfile.experiment import Calibration, ClaimText, Experiment, Source

_LISTS = ("probes", "report", "claims", "sweep")
_PLACEHOLDERS: dict[str, Json] = {"lnlab": 1, "title": "untitled"}
_NO_SEED = 2**53 - 1
"""What stands for tuning seeds that cannot be read: no judged seed."""
_REQUIRED = {"lnlab": "add 'lnlab: 1', the version of the language", "title": "add 'title: ...'"}
_MEANT = dict.fromkeys(("tuple_type", "list_type"), "write a list: [...]")
_MEANT |= dict.fromkeys(("dict_type", "mapping_type", "model_type"), "write a mapping: {key: value}")
_MEANT |= {"bool_type": "write true or false", "string_type": "write text; put quotes around a number"}
_EMPTY = Flaw(("sweep",), "is empty", "give at least one, or leave the key out")
MOST_PRIMARY = 6
MOST_FLAWS = 100


@dataclass(frozen=True)
class Reading:
    """What could be read.

    Attributes:
        experiment: without what is flawed.
        flaws: everything wrong; paths are those of the data.
        kept: for the keys that hold lists, the place in the data of each item that was kept.
    """

    experiment: Experiment
    flaws: list[Flaw] = field(default_factory=list)
    kept: dict[str, list[int]] = field(default_factory=dict)

    def path(self, path: Where) -> Where:
        """The path in the data of ``path`` in the experiment."""
        if len(path) > 1 and path[0] in self.kept and isinstance(path[1], int):
            return (path[0], self.kept[str(path[0])][path[1]], *path[2:])
        return path


def read_experiment(data: dict[str, Json]) -> Reading:
    """The experiment that ``data`` describes, and every flaw of its grammar."""
    kept = {key: list(range(len(data[key]))) for key in _LISTS if isinstance(data.get(key), list)}
    flaws = [_EMPTY] if "sweep" in data and data["sweep"] is None else []
    sound = dict(data)
    while True:
        try:
            experiment = Experiment.model_validate_json(json.dumps(sound))
        except ValidationError as error:
            errors = [item for item in error.errors(include_url=False) if not _follows(item)]
            flaws += [_flaw(item, kept) for item in errors[:MOST_FLAWS]]
            if len(errors) > MOST_FLAWS:
                flaws.append(Flaw((), f"and {len(errors) - MOST_FLAWS:,} more", "mend the first ones first"))
            sound = _without(sound, {_item(tuple(item["loc"]), sound) for item in errors}, kept)
        else:
            return Reading(experiment, flaws + _flaws_of_claims(experiment, kept.get("claims", [])), kept)


def _follows(item: Json) -> bool:
    """Whether an error only says that a list is short of its flawed items."""
    return bool(item["type"] == "too_short" and item["input"])


def _item(loc: Where, data: dict[str, Json]) -> Where:
    """The smallest thing that can be left out to be rid of an error at ``loc``."""
    kind = list if loc[0] in _LISTS else dict if loc[0] == "select" else None
    if kind and len(loc) > 1 and isinstance(data.get(str(loc[0])), kind):
        return loc[:2]
    return loc[:1]


def _without(data: dict[str, Json], items: set[Where], kept: dict[str, list[int]]) -> dict[str, Json]:
    """``data`` without ``items``; ``kept`` forgets them too. What must be there gets a placeholder."""
    left = {key: value for key, value in data.items() if (key,) not in items}
    for key in _LISTS:
        gone = {item[1] for item in items if len(item) > 1 and item[0] == key}
        if gone and key in left:
            left[key] = [value for i, value in enumerate(left[key]) if i not in gone]
            kept[key] = [place for i, place in enumerate(kept[key]) if i not in gone]
            if not left[key]:
                del left[key]
    gone = {item[1] for item in items if len(item) > 1 and item[0] == "select"}
    if gone:
        given = {key: value for key, value in left["select"].items() if key not in gone}
        left["select"] = {"seeds": [_NO_SEED], **given}
    return _PLACEHOLDERS | left


def _flaw(item: Json, kept: dict[str, list[int]]) -> Flaw:
    """One of pydantic's errors in the words of a spec."""
    path: Where = tuple(part for part in item["loc"] if part != "[key]")
    if path and path[0] in kept and len(path) > 1:
        path = (path[0], kept[str(path[0])][int(path[1])], *path[2:])
    if item["type"] == "extra_forbidden":
        return _unknown(path)
    if item["type"] == "missing":
        return _missing(path, item["input"])
    if item["type"] == "too_short":
        return replace(_EMPTY, path=path)
    found = json.dumps(item["input"], default=str)
    message = _MEANT.get(item["type"]) or item["msg"][0].lower() + item["msg"][1:]
    return Flaw(path, f"found {found if len(found) <= 80 else found[:80] + ' ...'}", message)


def _missing(path: Where, given: dict[str, Json]) -> Flaw:
    """A required key. Where other keys are open, the nearest of them is it, misspelt."""
    word = str(path[-1])
    others = [key for key in given if key not in ClaimText.model_fields] if path[0] in _LISTS else []
    if near := closest(word, others):
        return Flaw((*path[:-1], near), f"unknown key '{near}'", f"did you mean '{word}'?")
    return Flaw(path[:-1], f"'{word}' is required", _REQUIRED.get(word, f"add '{word}: ...'"))


def _unknown(path: Where) -> Flaw:
    word = str(path[-1])
    closed: dict[Json, type[BaseModel]] = {"source": Source, "calibration": Calibration}
    owner = Experiment if len(path) == 1 else closed[path[-2]]
    if len(path) == 1 and word.partition(".")[0] in owner.model_fields and "." in word:
        first, _, rest = word.partition(".")
        remedy = f"write '{rest}' under '{first}:' (dotted paths stand in profiles, in sweep and after -s)"
        return Flaw(path, f"unknown key '{word}'", remedy)
    return Flaw(path, f"unknown key '{word}'", nearest(word, owner.model_fields))


def _flaws_of_claims(experiment: Experiment, places: list[int]) -> list[Flaw]:
    """What no claim can see alone: ids given twice, too many primaries, judged seeds that set a margin."""
    flaws, seen = [], set()
    for place, claim in zip(places, experiment.claims, strict=True):
        if claim.id in seen:
            flaws.append(Flaw(("claims", place, "id"), f"two claims are called '{claim.id}'", "rename one of them"))
        seen.add(claim.id)
        pilot = claim.calibration.seeds if claim.calibration else ()
        if shared := sorted(set(pilot) & set(experiment.seeds)):
            what = f"seed {shared[0]} sets the margin and is judged too"
            flaws.append(Flaw(("claims", place, "calibration", "seeds"), what, "calibrate on seeds that are not run"))
    primary = [place for place, claim in zip(places, experiment.claims, strict=True) if claim.primary]
    for place in primary[MOST_PRIMARY:]:
        what = f"{len(primary)} claims are primary; at most {MOST_PRIMARY}"
        flaws.append(Flaw(("claims", place, "primary"), what, "the others inform, without counting in the headline"))
    return flaws
