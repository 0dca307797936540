"""A rule and its lines: one small function over the facts of a report or a plan, registered under a short name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from lnlab.keys import Json
from lnlab.referee.study import Study

When = Literal["report", "both"]
"""When a rule can be asked: of a report alone, or of what a plan knows before any run as well."""


@dataclass(frozen=True)
class Remark:
    """What one rule finds: in one sentence, about some claims or about the whole page.

    Attributes:
        says: with its numbers.
        claims: ids. Empty means the page as a whole.
        asks: whether it asks for something. What is only told needs no answer.
        strength: whether it speaks for the result.
        grave: whether it could change a verdict or an answer, so that it is read first.
    """

    says: str
    claims: tuple[str, ...] = ()
    asks: bool = True
    strength: bool = False
    grave: bool = False


@dataclass(frozen=True, kw_only=True)
class ReviewLine(Remark):
    """A remark as the terminal and the page print it.

    Attributes:
        rule: its name.
        settles: what would settle it, or "".
        answers: the author's answer, by claim.
    """

    rule: str
    settles: str
    answers: Mapping[str, str]

    @property
    def is_open(self) -> bool:
        """Whether it asks for something that nobody has answered: no strength, and no fact that is always told."""
        answered = bool(self.claims) and set(self.claims) <= set(self.answers)
        return bool(self.settles) and not self.strength and not answered

    def as_plain(self) -> dict[str, Json]:
        """The line as plain values."""
        return {**asdict(self), "claims": list(self.claims), "answers": dict(self.answers)}

    @classmethod
    def from_plain(cls, record: Mapping[str, Json]) -> "ReviewLine":
        """The line that ``as_plain`` wrote as ``record``."""
        return cls(**{**record, "claims": tuple(record["claims"])})


@dataclass(frozen=True)
class ReviewRule:
    """A rule as it is registered.

    Attributes:
        name: by which ``answered`` names it.
        asks: the question that it asks, in words.
        settles: what would settle what it finds. Empty where it only tells a fact.
        when: when it can be asked.
        find: the function.
    """

    name: str
    asks: str
    settles: str
    when: When
    find: Callable[[Study], Iterator[Remark]]


RULES: dict[str, ReviewRule] = {}
"""Every rule by its name, in the order in which they are registered."""


def rule(
    name: str, asks: str, settles: str = "", when: When = "report"
) -> Callable[[Callable[[Study], Iterator[Remark]]], Callable[[Study], Iterator[Remark]]]:
    """Register a function as a rule."""

    def register(find: Callable[[Study], Iterator[Remark]]) -> Callable[[Study], Iterator[Remark]]:
        if name in RULES:
            raise ValueError(f"two rules are called {name}")
        RULES[name] = ReviewRule(name=name, asks=asks, settles=settles, when=when, find=find)
        return find

    return register
