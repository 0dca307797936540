"""The grammar of a spec: every key, closed and strict. The registries say what a choice may hold."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from lnlab.keys import Json
from lnlab.portable_names import why_unportable
from lnlab.registry import Choice
from lnlab.specfile.citations import AUTHORED
from lnlab.specfile.looks import Looks
from lnlab.specfile.moments import At
from lnlab.specfile.seeds import Seeds

_CLOSED = ConfigDict(
    extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False, serialize_by_alias=True
)
_OPEN = ConfigDict(**{**_CLOSED, "extra": "allow"})

SETTING = (
    "task",
    "model",
    "norm",
    "placement",
    "attention",
    "encoder",
    "decoder",
    "init",
    "optimizer",
    "schedule",
    "train",
    "interventions",
)
"""Top-level keys that determine a run."""
REPLACEABLE = ("seeds", "grid_seeds", "claim_seeds", "methods", "sweep", "choose", "probes", "report")
"""Top-level keys that a profile or ``-s`` may replace whole, though they determine no setting."""

_Sentence = Annotated[str, Field(min_length=1)]
_Identifier = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=60)]


def _profile_name(name: str) -> str:
    """A profile's name: its report has a folder of it."""
    if why := why_unportable(name):
        raise PydanticCustomError("name", "its report has a folder of this name, which {why}", {"why": why})
    return name


def _told_apart(profiles: Mapping[str, Any]) -> Mapping[str, Any]:
    """Profiles whose reports have folders of their own on every system: Windows and macOS know no case."""
    seen: dict[str, str] = {}
    for name in profiles:
        if (other := seen.setdefault(name.casefold(), name)) != name:
            words = {"one": other, "other": name}
            raise PydanticCustomError("name", "'{one}' and '{other}' have one folder on Windows and macOS", words)
    return profiles


_ProfileName = Annotated[_Identifier, AfterValidator(_profile_name)]
_ClaimId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*(\[[^\[\]]{1,100}\])?$", max_length=160)]
"""An identifier. One of several that ``for_each`` makes has its values behind it, as in ``grows[Post-LN]``."""
Role = Literal["source", "alternative", "prediction", "control"]
"""Whose sentence a claim is: the source's, a competing reading's, our own, or a control that the others depend on."""
VerdictWord = Literal["supported", "contradicted", "smaller", "beyond", "undecided", "not testable here", "ill-posed"]
"""``smaller``: the effect is smaller than a margin of ours, and the sentence itself is not contradicted.

``beyond``: it lies outside of a range of ours that asks for no effect.
"""
MarginOwner = Literal["source", "ours"]
"""Who named the accepted range: the sentence itself, or this spec."""
LargerIs = Literal["better", "worse"]
"""Whether a larger number is better, as an accuracy, or worse, as a loss."""
About = Literal["mean", "median", "share"]
"""What of the distribution over seeds a claim is about."""
Version = Annotated[int, Field(ge=2, le=2)]
_AxisValues = Annotated[tuple[Any, ...], Field(min_length=1)]
Overlay = Mapping[str, Any]
METHOD_NAME_PATTERN = r"^[^\s<>~=]([^\r\n<>~=]{0,38}[^\s<>~=])?$"


def _as_tuple(value: Json) -> Json:
    """One mapping as a list of one."""
    return (value,) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value


def _method_name(name: str) -> str:
    """A method's name: one that a chart has room for, and without the signs of an order."""
    if re.fullmatch(METHOD_NAME_PATTERN, name) is None:
        raise PydanticCustomError("name", "a name has one line, at most 40 characters, and none of < > ~ =")
    return name


_MethodName = Annotated[str, AfterValidator(_method_name)]


def _names(value: Json) -> Json:
    """One name as a list of one."""
    return (value,) if isinstance(value, str) else _as_tuple(value)


def _numbers(value: Json) -> Json:
    """One number as a list of one."""
    return (value,) if isinstance(value, int | float) else _as_tuple(value)


_Rates = Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_numbers), Field(min_length=1)]
_GridNames = Annotated[
    tuple[str, ...],
    BeforeValidator(_names),
    Field(min_length=1),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}, {"type": "null"}]}
    ),
]


def _law(value: Json) -> Json:
    """A number, or a word that is a parameter of the kind."""
    if value is None or isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise PydanticCustomError("law", "write the value that the sentence names, a number")


_Law = Annotated[Any, BeforeValidator(_law), WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]})]


class SourceSetting(BaseModel):
    """What the source trained, as far as it says: the page compares it with the runs here.

    ``rates`` are its learning rates, ``clip`` the largest norm of a gradient, ``decay`` the weight decay.
    """

    model_config = _CLOSED
    parameters: Annotated[int | None, Field(gt=0, description="parameters of its model")] = None
    tokens_per_parameter: Annotated[float | None, Field(gt=0, description="training tokens per parameter")] = None
    updates: Annotated[int | None, Field(gt=0, description="updates of the optimizer")] = None
    rates: _Rates | None = None
    clip: Annotated[float | None, Field(gt=0)] = None
    decay: Annotated[float | None, Field(ge=0, description="weight decay")] = None


class Source(BaseModel):
    """The paper that asked first, and where in it. ``name`` is what several specs with the same source call it."""

    model_config = _CLOSED
    cite: _Sentence
    name: _Identifier | None = None
    figure: str | None = None
    table: str | None = None
    section: str | None = None
    url: str | None = None
    setting: Annotated[SourceSetting | None, Field(description="what the source trained, for comparison")] = None


class SourceDifference(BaseModel):
    """One difference from the source: what differs, in the source and here, and what it means for the verdicts."""

    model_config = _CLOSED
    what: _Sentence
    source: Annotated[_Sentence | None, Field(description="what the source has; left out if it does not say")] = None
    ours: _Sentence
    matters: _Sentence | None = None


class Calibration(BaseModel):
    """The pilot seeds on which a margin was set. They are not judged."""

    model_config = _CLOSED
    seeds: Seeds


class TuningText(BaseModel):
    """What is chosen on tuning seeds: beside these fields stands the path of an axis, with the rule that chooses.

    ``grid`` names the grids whose runs it is for. None means all.
    """

    model_config = _OPEN
    seeds: Seeds
    grid: _GridNames | None = None
    of: Mapping[str, Any] | None = None
    times: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)] = (1.0,)


class ProbeText(BaseModel):
    """One probe: its kind, when it looks, and the parameters of its kind.

    ``grid`` names the grids whose runs it is applied to. None means every run.
    """

    model_config = _OPEN
    kind: str
    at: At = "init"
    grid: _GridNames | None = None


class SectionText(BaseModel):
    """One part of the report: its kind, its title, its claims by id. All other fields are parameters of its kind.

    ``heading`` is the result in the author's words. Without it one is made from the numbers. ``while`` has the verdicts
    that it was written for: it stands on the page of any profile that has them. Without ``while`` it is a result of
    profile ``AUTHORED``.
    """

    model_config = _OPEN
    kind: str
    title: _Sentence | None = None
    heading: _Sentence | None = None
    while_: Annotated[Mapping[str, VerdictWord] | None, Field(alias="while")] = None
    claims: tuple[str, ...] = ()


class ClaimText(BaseModel):
    """One falsifiable sentence: the fields that every claim has. All other fields are parameters of its kind.

    ``role`` says whose sentence it is: the source's, a competing reading's, the author's own prediction, or a control,
    which must hold for the others to mean anything. ``Experiment.role_of`` has its default. ``because`` explains a
    verdict, and is shown while that is the verdict. ``answered`` replies to a line of the review, by the rule's name.

    ``looks`` is how often the data may be looked at. None means as the spec says. ``law`` is the value that the
    sentence names. ``margin`` says whose the accepted range is. Where it is ours, ``no_effect`` is the value without an
    effect, and ``zone`` the distance from it within which no effect matters. ``larger_is`` says on which side of such a
    range a result is better. None means what the words of the quantity say. ``about`` is what is judged of the seeds'
    numbers. None means what suits the quantity. ``finish`` is the share of each arm's runs that must finish before
    trained numbers are compared.
    """

    model_config = _OPEN
    id: _ClaimId
    says: _Sentence
    kind: str
    role: Role | None = None
    primary: bool = False
    requires: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_as_tuple)] = ()
    source: str | None = None
    published: Any = None
    because: Mapping[VerdictWord, _Sentence] = {}
    answered: Mapping[Annotated[str, Field(pattern=r"^R[0-9]+[a-z]*$")], _Sentence] = {}
    calibration: Calibration | None = None
    looks: Looks | None = None
    law: _Law = None
    margin: MarginOwner = "source"
    no_effect: float | None = None
    zone: Annotated[float, Field(gt=0)] | None = None
    larger_is: LargerIs | None = None
    about: About | None = None
    finish: Annotated[float, Field(ge=0, le=1)] = 0.8


CRITERION_FIELDS = ("margin", "no_effect", "zone", "about", "finish")
"""Common fields of a claim that belong to its test, and to that of a claim which requires it."""


class DroppedClaim(BaseModel):
    """A claim that the spec once made: its id, its sentence, and the last verdict on it."""

    model_config = _CLOSED
    id: _ClaimId
    says: _Sentence
    was: VerdictWord


class DroppedClaims(BaseModel):
    """Claims that the page no longer makes, and why.

    ``needs`` is what a fair test of them would need, where they were withdrawn because this page has none.
    """

    model_config = _CLOSED
    why: _Sentence
    needs: _Sentence | None = None
    claims: Annotated[tuple[DroppedClaim, ...], Field(min_length=1)]


class AuthorAnswer(BaseModel):
    """The answer to the question, in the author's words.

    In ``says``, ``{id}`` is the estimate of a claim with its interval, ``{id.estimate}`` the estimate alone and
    ``{id.n}`` the number of seeds. ``while`` has the verdicts that it was written for, and ``profile`` the profile
    whose results it is about. ``words`` explains names of the page to who is not of the field.
    """

    model_config = _CLOSED
    says: _Sentence
    while_: Annotated[Mapping[str, VerdictWord], Field(alias="while")] = {}
    profile: str | None = AUTHORED
    words: Mapping[str, _Sentence] = {}


class Experiment(BaseModel):
    """One question: what a spec file says beside its setting, profile and overrides applied.

    The keys of ``SETTING`` are read at each point of the sweep, which may complete them. ``lnlab.Spec`` adds them to
    these fields with the types by which they are read.

    ``grid_seeds`` has the seeds of grids of the sweep, by name, that run on others than ``seeds``. ``claim_seeds`` has
    the seeds of claims, by id, that are judged on other seeds than the runs which they select: on more of them, or on
    fresh ones. On these only what the claim selects is run, and no other claim and no section reads it.
    ``looks`` is that of every claim that does not have its own.
    """

    model_config = _CLOSED
    lnlab: Version
    title: _Sentence
    question: _Sentence | None = None
    source: Source | None = None
    differs: tuple[_Sentence | SourceDifference, ...] = ()
    dropped: tuple[DroppedClaims, ...] = ()
    related: Mapping[_Identifier, _Sentence] = {}
    theme: _Sentence | None = None
    note: str | None = None
    answer: Annotated[tuple[AuthorAnswer, ...], BeforeValidator(_as_tuple)] = ()
    seeds: Seeds = (1,)
    grid_seeds: Mapping[str, Seeds] = {}
    claim_seeds: Mapping[_ClaimId, Seeds] = {}
    looks: Looks = 1
    choose: tuple[TuningText, ...] = ()
    methods: Mapping[_MethodName, Overlay] = {}
    sweep: Annotated[tuple[Mapping[str, _AxisValues], ...], Field(min_length=1)] | None = None
    probes: tuple[ProbeText, ...] = ()
    report: tuple[SectionText, ...] = ()
    claims: tuple[ClaimText, ...] = ()
    profiles: Annotated[Mapping[_ProfileName, Overlay], AfterValidator(_told_apart)] = {}

    def is_authored(self, profile: str | None) -> bool:
        """Whether the author's sentences are about the results of this profile: of any, where none is ``AUTHORED``."""
        return profile == AUTHORED or AUTHORED not in self.profiles

    def role_of(self, claim: ClaimText) -> Role:
        """The role of a claim: by default ``source`` where the spec or the claim names one, else ``prediction``."""
        return claim.role or ("source" if self.source or claim.source else "prediction")

    def seeds_of_claim(self, claim: str) -> tuple[int, ...] | None:
        """The seeds that a claim is judged on, or None where every claim is judged on all that are run.

        Of grids with seeds of their own it knows once the runs are known, when their claims stand in ``claim_seeds``.
        """
        return self.claim_seeds.get(claim, self.seeds) if self.claim_seeds else None

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of the experiment, of its grids, and of single claims."""
        own = (self.drawn_seeds, *self.claim_seeds.values())
        return tuple(dict.fromkeys(seed for seeds in own for seed in seeds))

    @property
    def drawn_seeds(self) -> tuple[int, ...]:
        """The seeds of the experiment, and of its grids."""
        return tuple(dict.fromkeys(seed for seeds in (self.seeds, *self.grid_seeds.values()) for seed in seeds))


def kind_and_parameters(text: BaseModel) -> Choice:
    """What a probe, section or claim has beyond its common fields: ``kind`` and its parameters."""
    kind: str = text.kind  # type: ignore[attr-defined]
    # A law in words is a parameter of some kinds (power laws); a number is common to all claims.
    law = getattr(text, "law", None)
    return {"kind": kind, **({"law": law} if isinstance(law, str) else {}), **(text.model_extra or {})}
