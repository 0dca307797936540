"""One run, or one file of rows, as its reader found it; and what makes a part of the table of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.outside.foreign_runs.run_names import RunNames

RUN_NAME, STEP, STATUS = "run_name", "step", "status"
_POINTS = {"name": pl.String, "step": pl.Int64, "value": pl.Float64}


@dataclass(frozen=True)
class Source:
    """Rows with what is true of all of them.

    Attributes:
        name: of the run, or the path of the file without its ending.
        rows: columns of numbers, or of text that is yet to be read as numbers.
        settings: further columns, each with one value.
        files: what was read, with the bytes.
    """

    name: str
    rows: pl.DataFrame
    settings: Mapping[str, Json] = field(default_factory=dict)
    files: Sequence[tuple[Path, bytes]] = ()

    def table(self, names: RunNames | None) -> pl.DataFrame:
        """The rows with a column for each setting and each field of ``names``, which win over settings.

        A setting with the name of a column is ``params.NAME``.

        Raises:
            LabError: the name does not fit, or a field has the name of a column.
        """
        fields = {} if names is None else names.read(self.name)
        if taken := [name for name in fields if name in self.rows.columns]:
            what = f"the field '{taken[0]}' of the pattern is a column of {self.name} already"
            raise LabError(Issue("conflict", "runs", what, "give the field another name"))
        settings = {f"params.{k}" if k in self.rows.columns else k: v for k, v in self.settings.items()}
        return self.rows.with_columns(pl.lit(value).alias(name) for name, value in {**settings, **fields}.items())


def yaml_mapping(path: Path, content: bytes) -> dict[str, Any]:
    """What a file of YAML says. It is empty where the file holds no mapping.

    Raises:
        LabError: it is no UTF-8, no YAML, or has a date that is none.
    """
    try:
        stated = YAML(typ="safe", pure=True).load(content.decode())
    except (YAMLError, ValueError) as error:
        raise LabError(Issue("unreadable", str(path), "is not plain YAML", "mend it, or leave this run out")) from error
    return stated if isinstance(stated, dict) else {}


def stored_run(
    name: str,
    points: Sequence[tuple[str, int, float]],
    settings: Mapping[str, Json],
    files: Sequence[tuple[Path, bytes]],
    status: str | None = None,
) -> Source:
    """A run of a store that keeps points ``name step value`` in the order of their times: one row a step.

    Of two points of one metric and step the later counts. Points without a step lie at step 0, and are numbered. A
    metric called like a column of every store, ``run_name step status``, is ``metrics.NAME``, and such a setting
    ``params.NAME``.
    """
    rows = pl.DataFrame(points, schema=_POINTS, orient="row")
    own = (RUN_NAME, STEP, STATUS)
    numbered = pl.int_range(pl.len()).over("name")
    without_step = (pl.col("step") == 0).all().over("name")
    rows = rows.with_columns(pl.col("name").replace({name: f"metrics.{name}" for name in own}))
    rows = rows.with_columns(step=pl.when(without_step).then(numbered).otherwise("step"))
    wide = rows.pivot("name", index="step", values="value", aggregate_function="last").sort("step")
    stated = {f"params.{key}" if key in own else key: value for key, value in settings.items()}
    told = {RUN_NAME: name} if status is None else {RUN_NAME: name, STATUS: status}
    return Source(name, wide, {**told, **stated}, files)
