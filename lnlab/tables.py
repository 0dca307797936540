"""Every stored table: its columns, types and meaning. The torch wing writes them, and the frame wing reads them.

Tables are long and narrow: what varies between experiments is a row, never a column. NaN was measured. Null was not
measured, or has no such coordinate: ``layer`` is null outside layers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from io import BytesIO
from typing import Any, Literal, NamedTuple, TypeVar

import polars as pl

from lnlab.errors import StoreError
from lnlab.html_tables import html_table
from lnlab.issues import Issue

Row = Mapping[str, Any]
_Computed = TypeVar("_Computed")

AXIS_PREFIX = "axis."
"""How a column is called that has the value of an axis at the run of each row."""

ENDED_STATUSES = ("finished", "diverged")
"""The statuses of runs that ended by themselves, which is a result. Any other status is no result."""

TRAINED_ELSEWHERE = "trained_elsewhere"
"""What the setting of a run says whose numbers are those of training though nobody knows after how many updates."""
CLUSTERS = "clusters"
"""What the setting of a run says of replicates that are not independent: cluster -> their seeds."""
ENDED_EARLY = "ended at step {} of {}"
"""The reason of a run from elsewhere that was closed before the updates that were planned, or that others made."""

_SITE = {
    "measurement": (pl.String, "key of the measurement: (state, probe)"),
    "quantity": (pl.String, "what was measured"),
    "stack": (pl.String, "encoder, decoder, or null"),
    "layer": (pl.Int32, "from 1; null outside layers"),
    "sublayer": (pl.String, "self_attention, cross_attention, feed_forward, embedding, final_norm, output"),
    "tensor": (
        pl.String,
        "q k v o w1 w2 w3 (weights), bq ... b3 (biases), weight, bias (a classifier's output), scale, shift (norms; "
        "scale_outer, scale_q ... where one is not enough), alpha, omega, gate (placements), gain, gain_q ..., "
        "logit_gain, table; in, branch, sum, out",
    ),
    "index": (
        pl.Int32,
        "a head, a rank, a second sublayer, a memory, a size of samples; else null",
    ),
}

WRITTEN_BY_WORKERS: dict[str, dict[str, tuple[Any, str]]] = {
    "outcomes": {
        "trajectory": (pl.String, "key of the trajectory"),
        "steps": (pl.Int64, "optimizer updates done"),
        "status": (pl.String, "finished, diverged, failed, interrupted, timed_out, out_of_memory"),
        "reason": (pl.String, "the status in words, or null"),
        "last_finite_loss": (pl.Float64, "nats per token, or null"),
        "parameters": (pl.Int64, "number of trainable elements"),
        "seconds": (pl.Float64, "wall-clock time of this stretch of work"),
        "device": (pl.String, "cpu or cuda, with its name"),
        "versions": (pl.String, "JSON: python, torch, lnlab, platform"),
    },
    "curves": {
        "trajectory": (pl.String, "key of the trajectory"),
        "step": (pl.Int64, "after this many updates"),
        "split": (pl.String, "train, validation or test"),
        "quantity": (pl.String, "what was measured"),
        "value": (pl.Float64, "in the unit of the quantity; losses in nats per token"),
    },
    "sites": {**_SITE, "value": (pl.Float64, "in the unit of the quantity")},
    "lines": {**_SITE, "x": (pl.Float64, "where on the line"), "value": (pl.Float64, "in the unit of the quantity")},
    "histograms": {
        **_SITE,
        "left": (pl.Float64, "left edge of the bin"),
        "right": (pl.Float64, "right edge of the bin"),
        "count": (pl.Int64, "elements in the bin"),
    },
    "spectra": {
        "measurement": (pl.String, "key of the measurement"),
        "operator": (pl.String, "hessian, ggn, ..."),
        "scope": (pl.String, "which sites"),
        "part": (pl.Int32, "which part of the batches, from 1; null: all of them together"),
        "draw": (
            pl.Int32,
            "start vector, from 1; 0: the density of a budget, whose other draws have two moments alone",
        ),
        "node": (pl.Float64, "Ritz value"),
        "weight": (pl.Float64, "quadrature weight; the weights of a draw sum to 1"),
        "residual": (pl.Float64, "an eigenvalue lies no farther than this from the node; null: not known"),
        "size": (pl.Int64, "coordinates of the operator: rows and columns"),
        "squared_norm": (pl.Float64, "sum of the squared parameters of the scope; null in Adam's coordinates"),
        "orthogonality_loss": (pl.Float64, "largest entry of |Q Qᵀ - I| of all draws; null where no basis was kept"),
    },
    "texts": {
        "measurement": (pl.String, "key of the measurement"),
        "quantity": (pl.String, "what the text is"),
        "index": (pl.Int32, "sentence number"),
        "text": (pl.String, "embedded corpora only"),
    },
}

WRITTEN_BY_THE_PLAN: dict[str, dict[str, tuple[Any, str]]] = {
    "runs": {
        "run": (pl.String, "key of (trajectory, steps)"),
        "trajectory": (pl.String, "key of the trajectory"),
        "steps": (pl.Int64, "updates asked for"),
        "variant": (pl.String, "key of the setting without its seed"),
        "seed": (pl.Int64, "the replicate"),
        "setting": (pl.String, "JSON of the resolved setting"),
    },
    "axes": {
        "run": (pl.String, "key of the run"),
        "axis": (pl.String, "dotted path that varies"),
        "value": (pl.String, "JSON"),
        "number": (pl.Float64, "the value as a number, or null"),
        "label": (pl.String, "the value as a reader sees it"),
    },
    "needs": {
        "run": (pl.String, "key of the run"),
        "step": (pl.Int64, "when it is measured"),
        "probe": (pl.String, "JSON of the resolved probe"),
        "measurement": (pl.String, "key of the measurement"),
    },
}

JUDGED: dict[str, dict[str, tuple[Any, str]]] = {
    "verdicts": {
        "claim": (pl.String, "id of the claim"),
        "rows": (pl.String, "digest of the claim and of the rows it was judged on"),
        "kind": (pl.String, "kind of the claim"),
        "says": (pl.String, "the claim as a sentence"),
        "primary": (pl.Boolean, "counts in the headline"),
        "role": (pl.String, "source, alternative (a competing reading), prediction (our own), or control"),
        "verdict": (pl.String, "supported, contradicted, smaller, beyond, undecided, not testable here, ill-posed"),
        "statistic": (pl.String, "what was estimated: exponent, ratio, ..."),
        "estimate": (pl.Float64, "over seeds, or null"),
        "low": (pl.Float64, "lower end of the interval that decides, or null"),
        "high": (pl.Float64, "upper end of the interval that decides, or null"),
        "region_low": (pl.Float64, "lower end of the accepted range; null: unbounded"),
        "region_high": (pl.Float64, "upper end of the accepted range; null: unbounded"),
        "n": (pl.Int64, "seeds judged"),
        "inside": (pl.Int64, "seeds within the accepted range"),
        "seeds": (pl.String, "JSON: seed -> its number"),
        "reason": (pl.String, "what decided, in words"),
        "scope": (pl.String, "sizes, corpus, steps, seeds"),
        "measure": (pl.String, "what its numbers are: value, difference, ratio, exponent, share, steps; or null"),
        "quantity": (pl.String, "of which quantity they are, or null"),
        "detail": (pl.String, "what the verdict says beside its word, or null"),
        "law": (pl.Float64, "the value that the sentence names, or null"),
        "law_word": (pl.String, "compatible or rejected: whether the interval holds that value; or null"),
        "look": (pl.Int64, "how many times this criterion has been judged"),
        "level": (pl.Float64, "two-sided level of the interval that decides: it covers with probability 1 - level"),
        "bound": (pl.Float64, "probability of either wrong word that all looks together may spend"),
        "margin": (pl.String, "source or ours: who named the accepted range"),
        "about": (pl.String, "mean, median or share of the seeds, or null"),
        "elsewhere": (
            pl.String,
            "JSON: pinned setting -> at how many of its values the word is the same, and judged",
        ),
    },
}

READ_FROM_REPORTS: dict[str, dict[str, tuple[Any, str]]] = {
    "evidence": {
        "citing": (pl.String, "the claim of this experiment that cites a claim of another"),
        "spec": (pl.String, "name of the other experiment"),
        "profile": (pl.String, "profile of its report"),
        "claim": (pl.String, "id of the cited claim"),
        "number": (pl.Int64, "its number on its page, from 1, or null"),
        "says": (pl.String, "the cited claim as a sentence, or null"),
        "verdict": (pl.String, "as in verdicts; null: there is none to read"),
        "statistic": (pl.String, "as in verdicts, or null"),
        "estimate": (pl.Float64, "as in verdicts, or null"),
        "low": (pl.Float64, "as in verdicts, or null"),
        "high": (pl.Float64, "as in verdicts, or null"),
        "n": (pl.Int64, "seeds judged, or null"),
        "reason": (pl.String, "what decided, or why there is nothing to read"),
        "sha256": (pl.String, "digest of the file of verdicts that was read, or null"),
    },
}

TABLES = WRITTEN_BY_WORKERS | WRITTEN_BY_THE_PLAN | JUDGED | READ_FROM_REPORTS


def table_schema(table: str) -> pl.Schema:
    """Column names and types of ``table``, in order."""
    return pl.Schema({name: kind for name, (kind, _) in TABLES[table].items()})


def frame(table: str, rows: Iterable[Row]) -> pl.DataFrame:
    """Rows as a frame with the schema of ``table``. A column that a row lacks is null.

    Raises:
        ValueError: a row has a column that the table lacks.
    """
    names = TABLES[table].keys()
    all_rows = list(rows)
    for row in all_rows:
        if unknown := row.keys() - names:
            raise ValueError(f"table '{table}' has no column {sorted(unknown)}")
    columns = {name: [row.get(name) for row in all_rows] for name in names}
    return pl.DataFrame(columns, schema=table_schema(table))


class LivePoint(NamedTuple):
    """Where a training run is, between two commits.

    Attributes:
        step: updates made.
        loss: of the next update's batch.
        gradient_norm: of its gradient.
        seconds: since the last commit.
    """

    step: int
    loss: float
    gradient_norm: float
    seconds: float


@dataclass(frozen=True)
class SavedState:
    """A state of a trajectory as it is kept.

    Attributes:
        step: updates made.
        content: its tensors as safetensors.
        facts: what is no tensor.
    """

    step: int
    content: bytes
    facts: Any


@dataclass(frozen=True)
class Resumed(SavedState):
    """A saved state with what was recorded on the way to it.

    Attributes:
        curves: the rows of ``curves`` up to it, by step.
    """

    curves: Sequence[Row]


@dataclass(frozen=True)
class Results:
    """The results of an experiment, joined for sections and claims. A missing run has a null status in ``runs``.

    Attributes:
        runs: one row a run: ``run trajectory steps variant seed setting`` of the plan, ``status reason done seconds
            parameters last_finite_loss device versions`` of the outcome (null where it has not run). ``done`` counts
            the updates that were made, fewer than ``steps`` where the run ended by itself before.
        axes: the table ``axes``.
        tables: every other table by name, rows with ``run variant seed step`` in front (``curves`` has its own step).
            A table without rows is present and empty.
        evidence: the table ``evidence``: verdicts of other experiments that claims of this one cite.
        scans: those of ``tables`` that are too large to be held whole, as they lie in files. Called with conditions, a
            scan has the rows that meet them. Unless ``exact``, they come in any order, some of them maybe twice.
        thinned: by run the quantities of which not every row is there, see ``claims.thinned``.
        derived: rows of quantities that follow from these tables, by name, each built once.
        computed: other values that follow from these tables, by name, see ``once``.
    """

    runs: pl.DataFrame
    axes: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    evidence: pl.DataFrame = field(default_factory=lambda: frame("evidence", ()))
    scans: Mapping[str, Callable[..., pl.LazyFrame]] = field(default_factory=dict, compare=False, repr=False)
    thinned: Mapping[str, frozenset[str]] = field(default_factory=dict)
    derived: dict[str, pl.DataFrame] = field(default_factory=dict, init=False, compare=False, repr=False)
    computed: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, name: str, compute: Callable[["Results"], _Computed]) -> _Computed:
        """What a function makes of these results, computed when it is first needed. Never change it."""
        if name not in self.computed:
            self.computed[name] = compute(self)
        value: _Computed = self.computed[name]
        return value

    def rows(self, table: str, *conditions: pl.Expr) -> pl.DataFrame:
        """The rows of a table that meet all conditions. For a table in files no other rows are held.

        A condition that names columns of the runs alone, or of the rows alone, spares the others from being read.

        Raises:
            StoreError: the files were removed since these results were read.
        """
        if table in self.scans:
            return read_scan(self.scans[table], *conditions)
        return self.tables[table].filter(*conditions)

    def lazy(self, table: str) -> pl.LazyFrame:
        """The rows of a table, read when they are collected."""
        return self.scans[table]() if table in self.scans else self.tables[table].lazy()

    def row_counts(self) -> dict[str, dict[str, int]]:
        """By table the quantities that were measured, with the number of their rows."""
        counts = {}
        for table in self.tables:
            if "quantity" in self.lazy(table).collect_schema():
                of_table = self.lazy(table).group_by("quantity").len().sort("quantity").collect(engine="streaming")
                counts[table] = dict(of_table.iter_rows())
        return counts

    def other_tables(self) -> dict[str, int]:
        """The tables without a column of quantities that hold rows, as spectra, with the number of their rows."""
        others = [table for table in self.tables if "quantity" not in self.lazy(table).collect_schema()]
        rows = {table: self.lazy(table).select(pl.len()).collect(engine="streaming").item() for table in others}
        # what a plan needs is not measured
        return {table: number for table, number in rows.items() if number and table != "needs"}

    def _repr_html_(self) -> str:
        rows = [(word, table, f"{n:,}") for table, words in self.row_counts().items() for word, n in words.items()]
        statuses = self.runs["status"].fill_null("missing").value_counts(sort=True).iter_rows()
        ends = ", ".join(f"{number:,} {str(status).replace('_', ' ')}" for status, number in statuses)
        axes = ", ".join(self.axes["axis"].unique(maintain_order=True))
        caption = f"{self.runs.height:,} runs: {ends}; {axes or 'no axis'}"
        return html_table(caption, ["quantity", "table", "rows"], rows, numeric=["rows"])

    @property
    def ended(self) -> bool:
        """Whether every run ended by itself. A run without a status did not."""
        return bool(self.runs["status"].fill_null("missing").is_in(ENDED_STATUSES).all())


def computed_once(compute: Callable[[Results], _Computed]) -> Callable[[Results], _Computed]:
    """A function of results that is computed when it is needed first, as by ``Results.once``."""

    @wraps(compute)
    def kept(results: Results) -> _Computed:
        return results.once(compute.__qualname__, compute)

    return kept


def wide_axes(axes: pl.DataFrame, prefix: str = "") -> pl.DataFrame:
    """``run`` and a column for each axis, called ``prefix`` and its path, numeric where all its values are."""
    wide = axes.select("run").unique(maintain_order=True)
    for (axis,), rows in axes.group_by("axis", maintain_order=True):
        value = "label" if rows["number"].null_count() else "number"
        column = rows.select("run", pl.col(value).alias(f"{prefix}{axis}"))
        wide = wide.join(column, on="run", how="left", maintain_order="left")
    return wide


def read_scan(scan: Callable[..., pl.LazyFrame], *conditions: pl.Expr) -> pl.DataFrame:
    """The rows of a scan that meet all conditions.

    Raises:
        StoreError: its files were removed since.
    """
    try:
        return scan(*conditions).collect(engine="streaming")
    except OSError as error:
        what = f"files of these results were removed while they were read ({error.strerror or error})"
        raise StoreError(Issue("busy", "", what, "do this again")) from error


def encode_parquet(rows: pl.DataFrame) -> bytes:
    """The rows as Parquet: the same rows, the same bytes."""
    buffer = BytesIO()
    rows.write_parquet(buffer, compression="zstd", compression_level=3)
    return buffer.getvalue()


_ZSTD, _BROTLI = 22, 11
"""The highest levels of both: a table of a report is written once and kept for years."""
_SMALL = 1_200_000
"""A table with fewer cells is also compressed with Brotli."""


def smallest_parquet(table: pl.DataFrame) -> bytes:
    """A frame as a small Parquet file. Equal frames give equal bytes.

    Brotli mostly takes 4 % fewer bytes than Zstandard but more time, so that large tables do without it.
    """
    table = table.rechunk()

    def compressed(how: Literal["zstd", "brotli"], level: int) -> bytes:
        buffer = BytesIO()
        table.write_parquet(buffer, compression=how, compression_level=level, statistics=False)
        return buffer.getvalue()

    zstd = compressed("zstd", _ZSTD)
    small = table.height * table.width < _SMALL
    return min(zstd, compressed("brotli", _BROTLI), key=len) if small else zstd
