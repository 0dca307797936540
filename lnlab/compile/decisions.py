"""What results decide about what runs next, as data: a question that a plan leaves open, and a decision on it.

A decision holds its evidence: every candidate with its losses, and the digest of the rows they were read from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from lnlab.keys import Json


@dataclass(frozen=True, slots=True)
class TuningQuestion:
    """A question that tuning runs answer: which value of a path.

    Attributes:
        key: of the question: path, rule, candidates and seeds.
        path: of the setting, whose value is chosen.
        about: the axes of the runs that it is chosen for. Empty means every run.
        rule: the resolved rule that chooses.
        seeds: the tuning seeds.
    """

    key: str
    path: str
    about: Mapping[str, Json]
    rule: Mapping[str, Json]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Undecided(TuningQuestion):
    """A value that is still to be chosen on tuning seeds.

    Attributes:
        candidates: each value with the key of the variant that tries it.
    """

    candidates: tuple[tuple[Json, str], ...]


@dataclass(frozen=True, slots=True)
class TuningCandidate:
    """A candidate with the results of its tuning runs.

    Attributes:
        value: what was tried.
        score: what the rule compares, or None where it is not finite.
        losses: the final validation NLL of each tuning seed, in nats. None where the run diverged.
    """

    value: Json
    score: float | None
    losses: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """Why a rule chose a candidate.

    Attributes:
        met: whether any candidate is what the rule aims at. Otherwise the choice is what the experiment goes on with.
        statistic: what the scores of the candidates are.
        reason: what decided, in words.
    """

    met: bool
    statistic: str
    reason: str


@dataclass(frozen=True)
class Decision(TuningQuestion, Grounds):
    """A value that was chosen, and why.

    Attributes:
        value: what was chosen.
        candidates: what was tried.
        rows: the digest of the rows behind it.
        look: number of this evaluation of the results. Tuning runs are evaluated once, when all have ended.
        grid: the names of the grids for whose runs it was chosen. Empty means every grid.
        where: the conditions that the runs of these grids meet.
    """

    value: Json
    candidates: tuple[TuningCandidate, ...]
    rows: str
    look: int = 1
    grid: tuple[str, ...] = ()
    where: Mapping[str, Json] = field(default_factory=dict)


def decisions_to_json(decisions: Sequence[Decision]) -> list[Json]:
    """Decisions as plain values. Of those for every grid nothing says so."""
    plain = [asdict(decision) for decision in decisions]
    return [{word: v for word, v in one.items() if v or word not in ("grid", "where")} for one in plain]


def decision_from_json(record: Mapping[str, Json]) -> Decision:
    """The decision that ``decisions_to_json`` wrote as ``record``."""
    candidates = tuple(TuningCandidate(c["value"], c["score"], tuple(c["losses"])) for c in record["candidates"])
    lists = {"seeds": tuple(record["seeds"]), "grid": tuple(record.get("grid", ()))}
    return Decision(**{**record, **lists, "candidates": candidates})


def assumed_decision(question: Undecided) -> Decision:
    """The decision for the first candidate. The number of runs that follow does not depend on the choice."""
    return Decision(
        key=question.key,
        path=question.path,
        about=question.about,
        rule=question.rule,
        seeds=question.seeds,
        value=question.candidates[0][0],
        met=True,
        statistic="",
        reason="assumed",
        candidates=(),
        rows="",
    )
