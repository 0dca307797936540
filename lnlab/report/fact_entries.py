"""What an entry of each field of ``data/experiment.json`` has to be, so that what a page reads of it is there.

The names are types of ``ReportFacts``: mappings for whoever reads them, whose keys are checked as the file is read.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema

from lnlab.keys import Json

_Text = Annotated[str, Field(min_length=1)]
_Day = Annotated[str, Field(pattern=r"^(\d{4}-\d\d-\d\d)?$")]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Seeds = tuple[Annotated[int, Field(ge=0, lt=2**63)], ...]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Look(_Closed):
    look: Annotated[int, Field(ge=1, lt=2**63)]
    seeds: _Seeds
    n: int
    alpha: Annotated[float, Field(ge=0, lt=1)]
    date: _Day
    commit: str
    criterion: str
    verdict: str = ""
    accepted: tuple[_Number | None, _Number | None] | None = None


class _Frozen(_Closed):
    digest: str
    date: _Day
    state: Literal["kept", "changed"]
    commit: str = ""
    seeds: str = ""
    after: str = ""


class _Candidate(_Closed):
    value: Json
    score: _Number | None
    losses: tuple[_Number | None, ...]


class _Decision(_Closed):
    key: str
    path: str
    about: dict[str, Json]
    rule: dict[str, Json]
    seeds: _Seeds
    value: Json
    met: bool
    statistic: str
    reason: _Text
    candidates: tuple[_Candidate, ...]
    rows: str
    look: int
    grid: tuple[str, ...] = ()
    where: dict[str, Json] = {}


class _ReviewLine(_Closed):
    rule: str
    says: str
    claims: tuple[str, ...]
    asks: bool
    strength: bool
    grave: bool
    settles: str
    answers: dict[str, str]


class _DroppedClaim(_Closed):
    id: str
    says: str
    was: str


class _Dropped(_Closed):
    why: str
    claims: tuple[_DroppedClaim, ...]
    needs: str = ""


class _Answer(_Closed):
    says: str
    written_for: dict[str, str] = Field(alias="while")
    profile: str | None
    words: dict[str, _Text] = {}


class _GridSeeds(_Closed):
    grid: str
    where: dict[str, Json]
    seeds: _Seeds


class _Words(_Closed):
    name: str
    unit: str
    definition: str
    symbol: str = ""
    larger_is: Literal["better", "worse", ""] = ""


class _Section(_Open):
    kind: _Text
    title: str | None = None
    heading: str | None = None
    written_for: dict[str, str] = Field(default={}, alias="while")
    claims: tuple[str, ...] = ()
    absent: str = ""


class _Probe(_Open):
    kind: _Text


class _TaskRead(_Closed):
    task: dict[str, Json]
    key: _Text
    epoch: Annotated[int, Field(ge=1, lt=2**53)] | None = None


class _InitRead(_Closed):
    init: dict[str, Json]
    run: Annotated[list[Json], Field(min_length=1)]


class _Provenance(_Closed):
    command: str = ""
    commit: str = ""
    patch: str = ""
    note: str = ""
    packages: dict[str, str] = {}
    files: tuple[tuple[str, int, str], ...] = ()


def _checked(entry: object) -> GetPydanticSchema:
    return GetPydanticSchema(lambda _, handler: handler(entry))


Provenance = Annotated[Mapping[str, Json], _checked(_Provenance)]
FileRead = Annotated[Mapping[str, Json], _checked(_TaskRead | _InitRead)]
Look = Annotated[Mapping[str, Json], _checked(_Look)]
Frozen = Annotated[Mapping[str, str], _checked(_Frozen)]
Decision = Annotated[Mapping[str, Json], _checked(_Decision)]
ReviewRecord = Annotated[Mapping[str, Json], _checked(_ReviewLine)]
DroppedClaims = Annotated[Mapping[str, Json], _checked(_Dropped)]
Answer = Annotated[Mapping[str, Json], _checked(_Answer)]
GridSeeds = Annotated[Mapping[str, Json], _checked(_GridSeeds)]
Words = Annotated[Mapping[str, str], _checked(_Words)]
Section = Annotated[Mapping[str, Json], _checked(_Section)]
Probe = Annotated[Mapping[str, Json], _checked(_Probe)]
