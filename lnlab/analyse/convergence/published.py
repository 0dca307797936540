"""A table of C and N as a source prints it: which models converged (C) or did not (N) at which learning rates.

Each column is a model at the same learning rates. Values of the setting tell the models apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lnlab.keys import Json
from lnlab.parameters import TextForm
from lnlab.select.selection import value_list

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_Rate = Annotated[float, Field(gt=0)]
ConvergenceLetters = Annotated[str, TextForm("[CN]+", "one letter, C or N, for each of the rates")]


class PrintedTable(BaseModel):
    """One table of the source: what its models have in common, and a column of letters for each value of ``across``."""

    model_config = _STRICT
    name: str
    where: dict[str, Json]
    columns: dict[str, ConvergenceLetters]


class Printed(BaseModel):
    """Every table of the source. ``rates`` are those of the letters, in their order."""

    model_config = _STRICT
    rates: Annotated[tuple[_Rate, ...], Field(min_length=2)]
    across: str
    tables: Annotated[tuple[PrintedTable, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> "Printed":
        """Raise where a column has not one letter for each rate, or a rate stands there twice."""
        if len(set(self.rates)) < len(self.rates):
            raise ValueError("each rate stands there once")
        for table in self.tables:
            for word, letters in table.columns.items():
                if len(letters) != len(self.rates):
                    raise ValueError(f"{table.name}, {word}: write one letter, C or N, for each of the rates")
        return self


class Guess(BaseModel):
    """What a trivial rule says of the columns that have ``where``: converged up to this rate, and not above."""

    model_config = _STRICT
    where: dict[str, Json] = {}
    at_most: float


Guesses = dict[str, tuple[Guess, ...]]
"""Trivial rules by name. The first guess of a rule that fits a column counts."""


@dataclass(frozen=True)
class PrintedColumn:
    """One model.

    Attributes:
        table: the name of its table.
        word: its value of ``across``.
        where: what selects its runs.
        cells: whether it converged, by rate.
    """

    table: str
    word: str
    where: Mapping[str, Json]
    cells: Mapping[float, bool]


def printed_columns(printed: Printed) -> list[PrintedColumn]:
    """Every printed column, table by table, with rising rates."""
    return [
        PrintedColumn(
            table.name,
            word,
            {**table.where, printed.across: word},
            {rate: letter == "C" for rate, letter in sorted(zip(printed.rates, letters, strict=True))},
        )
        for table in printed.tables
        for word, letters in table.columns.items()
    ]


def guessed_cells(column: PrintedColumn, guesses: tuple[Guess, ...]) -> dict[float, bool]:
    """What a trivial rule says of a column. Where none of its guesses fits, nothing converges."""
    fits = (
        guess for guess in guesses if all(column.where.get(path) in value_list(v) for path, v in guess.where.items())
    )
    guess = next(fits, None)
    return {rate: guess is not None and rate <= guess.at_most for rate in column.cells}


def count_right_cells(columns: Iterable[PrintedColumn], guesses: tuple[Guess, ...]) -> int:
    """How many of their cells a trivial rule gets right."""
    return sum(
        guessed_cells(column, guesses)[rate] is cell for column in columns for rate, cell in column.cells.items()
    )
