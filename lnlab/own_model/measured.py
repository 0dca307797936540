"""What ``lnlab.measure`` returns: frames with the axes as columns, charts, and verdicts on claims."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from lnlab.claims.claim import Claim, Verdict, judge_all
from lnlab.errors import LabError, Problem, nearest
from lnlab.keys import canonical, digest
from lnlab.nn.site import Site
from lnlab.registry import Choice
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.tables import WRITTEN_BY_WORKERS, Results, Row, frame, table_schema

_KEYS = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}
_SITE_COLUMNS = ("stack", "layer", "sublayer", "tensor")
AnyChart = alt.TopLevelMixin
"""Any chart of altair: one that stands alone."""
_BINS = 80
"""Of the chart of a spectrum."""
_INTERNAL = ("run", "variant", "step", "measurement")


@dataclass(frozen=True)
class MeasuredRun:
    """What probes say of one model at one seed.

    Attributes:
        model: its name.
        seed: the replicate.
        parameters: how many elements are trained.
        seconds: wall-clock time.
        paths: by site the name of the parameter or the module there.
        rows: of each probe: its choice, its table and its rows.
    """

    model: str
    seed: int
    parameters: int
    seconds: float
    paths: Mapping[Site, str]
    rows: Sequence[tuple[Choice, str, Sequence[Row]]]

    @property
    def key(self) -> str:
        """The key of the run among its kind."""
        return digest([self.model, self.seed])


@dataclass(frozen=True)
class Measurements:
    """The measurements of models, as ``lnlab.tables.Results`` has them.

    Attributes:
        results: runs, axes and rows, which claims read.
        paths: ``run stack layer sublayer tensor path``: the name of the parameter or module at every address.
        kinds: by the kind of a probe the table of its rows and its quantities.
    """

    results: Results
    paths: pl.DataFrame
    kinds: Mapping[str, tuple[str, frozenset[str]]]

    @classmethod
    def of_runs(cls, runs: Sequence[MeasuredRun]) -> "Measurements":
        """The measurements of all runs together."""
        columns = ("run", *_SITE_COLUMNS, "path")
        addresses = [{"run": r.key, **site.row(), "path": path} for r in runs for site, path in r.paths.items()]
        site_schema = {name: table_schema("sites")[name] for name in _SITE_COLUMNS}
        schema: dict[str, Any] = {"run": pl.String, **site_schema, "path": pl.String}
        paths = pl.DataFrame({name: [a[name] for a in addresses] for name in columns}, schema=schema)
        return cls(_results(runs), paths, _kinds(runs))

    def frame(self, name: str) -> pl.DataFrame:
        """The rows of a quantity, or of all of a probe: ``model seed``, its own columns, and the parameter's ``path``.

        Raises:
            LabError: nothing of that name was measured.
        """
        table, quantities = self._source(name)
        rows = self.results.tables[table]
        if "quantity" in rows.columns:
            rows = rows.filter(pl.col("quantity").is_in(sorted(quantities)))
        models = self.results.runs.select("run", model=pl.col("setting").map_elements(_model_name, pl.String))
        rows = rows.join(models, on="run", how="left", maintain_order="left")
        if set(_SITE_COLUMNS) <= set(rows.columns):
            keys = ["run", *_SITE_COLUMNS]
            rows = rows.join(self.paths, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return rows.select("model", "seed", pl.exclude("model", "seed", *_INTERNAL))

    def plot(self, name: str) -> AnyChart:
        """A chart of a quantity by layer or by parameter, or of a spectrum; every seed is drawn.

        Raises:
            LabError: nothing of that name was measured, or it is a histogram or has no rows.
        """
        table, quantities = self._source(name)
        rows = self.frame(name)
        if table == "spectra":
            return _spectrum_chart(rows)
        if table != "sites" or rows.is_empty():
            raise LabError(Problem("plot", f"there is no chart of '{name}'", "draw the rows of frame() with altair"))
        if len(quantities) > 1:
            rows = rows.filter(pl.col("quantity") == (name if name in quantities else sorted(quantities)[0]))
        return _site_chart(rows, str(rows["quantity"][0]))

    def judge(self, claims: Iterable[Claim]) -> list[Verdict]:
        """The verdicts on claims, in order; a claim is written as in a spec, and ``model`` is an axis.

        Raises:
            LabError: a claim has no ``id`` or no known ``kind``.
        """
        declared = list(claims)
        kinds = FRAME_REGISTRIES["claim"].entries
        for number, claim in enumerate(declared, 1):
            if not isinstance(claim.get("id"), str):
                raise LabError(Problem(f"claim {number}", "has no 'id'", "give it a word that names it"))
            if claim.get("kind") not in kinds:
                what = f"no claim is called '{claim.get('kind')}'"
                raise LabError(Problem(f"claims.{claim['id']}", what, nearest(str(claim.get("kind")), kinds)))
        return judge_all(declared, self.results)

    def _source(self, name: str) -> tuple[str, frozenset[str]]:
        """The table of a quantity or of a probe, and the quantities that are meant; a quantity goes first."""
        for table, quantities in self.kinds.values():
            if name in quantities:
                return table, frozenset({name})
        if name not in self.kinds:
            known = [*self.kinds, *(q for _, quantities in self.kinds.values() for q in quantities)]
            raise LabError(Problem("", f"nothing called '{name}' was measured", nearest(name, known)))
        return self.kinds[name]


def _model_name(setting: str) -> str:
    return str(json.loads(setting)["model"]["kind"])


def _kinds(runs: Sequence[MeasuredRun]) -> dict[str, tuple[str, frozenset[str]]]:
    """By the kind of a probe its table and the quantities that it has rows of."""
    kinds: dict[str, tuple[str, frozenset[str]]] = {}
    for choice, table, rows in (entry for run in runs for entry in run.rows):
        quantities = frozenset(row["quantity"] for row in rows if "quantity" in row)
        kinds[choice["kind"]] = table, quantities | kinds.get(choice["kind"], (table, frozenset()))[1]
    return kinds


def _results(runs: Sequence[MeasuredRun]) -> Results:
    """The tables that claims read."""
    run_rows, axis_rows = [], []
    rows_by_table: dict[str, list[Row]] = {table: [] for table in WRITTEN_BY_WORKERS if table != "outcomes"}
    for run in runs:
        keys = {"run": run.key, "variant": digest(run.model), "seed": run.seed, "step": 0}
        setting = canonical({"model": {"kind": run.model}})
        outcome = {"status": "finished", "reason": None, "done": 0, "seconds": run.seconds}
        outcome |= {"parameters": run.parameters, "last_finite_loss": None, "device": None, "versions": None}
        run_rows.append({**keys, "trajectory": run.key, "steps": 0, "setting": setting, **outcome})
        axis_rows.append({"run": run.key, "axis": "model", "value": json.dumps(run.model), "label": run.model})
        for choice, table, rows in run.rows:
            measurement = digest([run.key, choice])
            rows_by_table[table] += [{**keys, "measurement": measurement, **row} for row in rows]
    outcomes = {name: table_schema("outcomes")[name] for name in ("status", "reason", "seconds", "parameters")}
    outcomes |= {name: table_schema("outcomes")[name] for name in ("last_finite_loss", "device", "versions")}
    schema: dict[str, Any] = {**table_schema("runs"), **outcomes, "done": pl.Int64}
    tables = {table: _with_keys(table, rows) for table, rows in rows_by_table.items()}
    frame_of_runs = pl.DataFrame({name: [row[name] for row in run_rows] for name in schema}, schema=schema)
    return Results(frame_of_runs, frame("axes", axis_rows), tables)


def _with_keys(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """Rows of a table with ``run variant seed step`` in front."""
    schema: dict[str, Any] = {**_KEYS, **table_schema(table)}
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in schema}, schema=schema)


def _site_chart(rows: pl.DataFrame, quantity: str) -> AnyChart:
    """By layer where the sites have layers, else by parameter."""
    positive = bool((rows["value"] > 0).all())
    value = alt.Scale(type="log", nice=False, padding=8) if positive else alt.Scale(type="linear")
    title = quantity.replace("_", " ")
    layered = rows.filter(pl.col("layer").is_not_null())
    if layered.is_empty():
        shown = rows.with_columns(pl.col("path").fill_null("all parameters"))
        base = alt.Chart(shown).encode(
            alt.X("value:Q", title=title, scale=value), alt.Y("path:N", title=None, sort=None), alt.Color("model:N")
        )
        by_parameter: AnyChart = base.mark_point(filled=True, opacity=0.6)
        return by_parameter
    label = pl.concat_str(["stack", "sublayer", "tensor"], separator=".", ignore_nulls=True).alias("weight")
    base = alt.Chart(layered.with_columns(label), width=360).encode(alt.X("layer:O"), alt.Color("weight:N"))
    points = base.mark_point(opacity=0.5).encode(
        alt.Y("value:Q", title=title, scale=value), alt.Shape("model:N", legend=None)
    )
    means = base.mark_line().encode(alt.Y("mean(value):Q", title=title, scale=value), alt.StrokeDash("model:N"))
    return alt.layer(means, points)


def _spectrum_chart(rows: pl.DataFrame) -> AnyChart:
    """The share of eigenvalues in each of ``_BINS`` equal intervals, on a logarithmic scale, averaged over draws."""
    low, high = float(rows["node"].min()), float(rows["node"].max())  # type: ignore[arg-type]
    width = (high - low or 1.0) / _BINS
    number = ((pl.col("node") - low) / width).floor().clip(0, _BINS - 1)
    share = pl.col("weight").sum() / pl.col("draw").max()
    binned = rows.with_columns(eigenvalue=low + (number + 0.5) * width, draw=pl.col("draw").max().over("model", "seed"))
    shares = binned.group_by("model", "seed", "eigenvalue", maintain_order=True).agg(share=share)
    chart: AnyChart = (
        alt.Chart(shares.filter(pl.col("share") > 0).with_columns(pl.col("seed").cast(pl.String)))
        .mark_point(opacity=0.6)
        .encode(
            alt.X("eigenvalue:Q"),
            alt.Y("share:Q", title="share of eigenvalues", scale=alt.Scale(type="log")),
            alt.Color("model:N"),
            alt.Shape("seed:N"),
        )
    )
    return chart
