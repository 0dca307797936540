"""A spec whose results are a table from elsewhere: ``results`` stands in place of ``task`` and ``model``.

    title: Four optimizers
    results: {kind: table, files: [runs.csv], seed: seed, axes: [optimizer], step: step}
    report:
      - {kind: curves, quantity: loss, where: {split: validation}}
    claims:
      - id: sgd_is_worse
        kind: ratio
        of: {quantity: loss, split: validation, step: last, optimizer: sgd}
        to: {optimizer: adam}
        at_least: 1.2

Nothing is computed: its claims are judged and its sections drawn as soon as it is read. The keys are the digests of the
files.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from lnlab.claims.verdicts import Verdicts
from lnlab.errors import LabError, SpecError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, digest
from lnlab.outside.foreign_runs.readers import Mark, matching, read_tables
from lnlab.outside.own_model.measured import Measurements
from lnlab.outside.own_model.opening import from_frame
from lnlab.registry import parameter_issues
from lnlab.report.write import Report
from lnlab.specfile.load import SpecDocument, parse_leniently, read_spec_text

_Done = TypeVar("_Done")
KEYS = (
    *("lnlab", "title", "question", "source", "differs", "dropped", "related", "theme", "note", "answer", "results"),
    *("report", "claims"),
)
"""What such a spec may say."""


class TableSource(BaseModel):
    """The key ``results``: files and the meaning of their columns, as of ``lnlab.read_table`` and ``from_frame``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    kind: Literal["table"]
    files: str | list[str]
    runs: str | None = None
    decimal: Mark | None = None
    thousands: Mark | None = None
    axes: list[str]
    seed: str = "seed"
    step: str | None = None
    values: list[str] | None = None
    split: dict[str, str] | None = None
    status: str | None = None
    steps: int | None = None
    cluster: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class TableSpec:
    """A spec with its table.

    Attributes:
        document: the spec.
        measurements: its table.
        digest: of the text and of the files.
        inputs: by file, named from the folder of the spec, its digest.
    """

    document: SpecDocument
    measurements: Measurements
    digest: str
    inputs: Mapping[str, str]

    def verdicts(self) -> Verdicts:
        """The verdicts on its claims, in order.

        Raises:
            SpecError: everything that is wrong with claims and sections, at its place.
        """
        return self._placed(lambda: self.measurements.judge_spec(self._fields()))

    def write(self, out: Path | None, **manner: Any) -> Report:
        """Its page, by default in ``reports/<spec>``.

        Raises:
            SpecError: as ``verdicts``.
            ReportError: the folder cannot be written.
        """
        facts = {"spec": self.document.text, "path": self.document.path.as_posix(), "digest": self.digest}
        facts["name"] = self.document.path.stem
        into = out or Path("reports", self.document.path.stem)
        return self._placed(lambda: self.measurements.write_spec(into, self._fields(), facts, **manner))

    def _fields(self) -> dict[str, Json]:
        data = {key: value for key, value in self.document.data.items() if key not in ("lnlab", "results")}
        return {"title": self.document.path.stem, "report": [], "claims": [], **data}

    def _placed(self, work: Callable[[], _Done]) -> _Done:
        """Do some work, and give every mistake its place in the file."""
        try:
            return work()
        except LabError as error:
            if type(error) is not LabError:  # a subclass has given its issues their places already
                raise
            placed = []
            for issue in error.issues:  # its place is a path in the spec, words and numbers between points
                path = tuple(int(word) if word.isdigit() else word for word in issue.where.split(".") if word)
                placed.append(replace(issue, place=self.document.where(path)))
            raise SpecError(*placed) from error


def read_table_spec(path: Path, text: str | None = None) -> TableSpec:
    """A spec, in a file or as text, with its table. Paths of files are relative to the folder of the spec.

    Raises:
        LabError: the spec, or what it says of its files, is wrong, or a file cannot be read.
    """
    text = read_spec_text(path) if text is None else text
    document, problems = parse_leniently(text, path)
    problems += [
        Issue(
            "unknown-name", document.where((key,), key=True), f"a spec with results has no '{key}'", nearest(key, KEYS)
        )
        for key in document.data
        if key not in KEYS
    ]
    if problems:
        raise SpecError(*problems)
    written: Any = document.data["results"]
    if not isinstance(written, Mapping):
        remedy = "write {kind: table, files: [runs.csv], seed: seed, axes: [...]}"
        raise SpecError(Issue("wrong-type", document.where(("results",)), "is no mapping", remedy))
    try:
        source = TableSource.model_validate(dict(written))
    except ValidationError as error:
        flaws = parameter_issues(error, written, TableSource.model_fields, "results")
        raise SpecError(
            *(
                replace(issue, place=document.where(("results", *issue.path), key=issue.code == "unknown-key"))
                for issue in flaws
            )
        ) from error
    patterns = [source.files] if isinstance(source.files, str) else source.files
    try:
        files = matching(patterns, path.parent)
        marks = {"decimal": source.decimal, "thousands": source.thousands}
        rows, digests = read_tables(files, (source.seed,), source.runs, **marks)
    except LabError as error:
        keys = {"": "files", "runs": "runs", "decimal": "decimal"}
        placed = (
            Issue(p.code, document.where(("results", keys[p.where])), p.what, p.remedy) if p.where in keys else p
            for p in error.issues
        )
        raise SpecError(*placed) from error
    arguments = source.model_dump(exclude={"kind", "files", "runs", "decimal", "thousands"})
    try:
        measurements = from_frame(rows, **arguments)
    except LabError as error:
        where = document.where(("results",))
        raise SpecError(*(Issue(p.code, where, p.what, p.remedy) for p in error.issues)) from error
    inputs = {Path(os.path.relpath(file, path.parent)).as_posix(): sha for file, sha in digests.items()}
    return TableSpec(document, measurements, digest=digest([text, list(digests.values())]), inputs=inputs)
