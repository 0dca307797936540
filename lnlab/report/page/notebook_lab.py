"""Cells with which a reader of the notebook goes on: charts in plain altair, a claim judged again, a question asked."""

import json

from lnlab.report.page.figures import Figure

DRAW = '''\


def draw(points, x, y, log=False):
    """Lines over x with their band over seeds, to be changed: colours, scales, panels."""
    scale = alt.Scale(type="log" if log else "linear", zero=False)
    base = alt.Chart(points).encode(x=alt.X("x:Q", title=x), color=alt.Color("series:N", title=None))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale, title=y), y2="high:Q", detail="line:N")
    line = base.mark_line(point=True).encode(y=alt.Y("estimate:Q", scale=scale, title=y), detail="line:N")
    chart = alt.layer(band, line).properties(width=420, height=260)
    return chart.facet("panel:N", columns=2) if points["panel"].n_unique() > 1 else chart'''
JUDGE = '''\
def judge(claim, low=None, high=None, without=()):
    """A claim that an interval decides, on its seeds again: another accepted range, or without some seeds."""
    numbers = {int(seed): value for seed, value in json.loads(claim["seeds"]).items()}
    logs = [math.log(value) for value in numbers.values() if value > 0]
    mean = math.exp(sum(logs) / len(logs)) if len(logs) == len(numbers) else math.nan
    log = math.isclose(mean, claim["estimate"], rel_tol=1e-6)  # positive quantities are judged by their logarithms
    kept = pl.Series([math.log(v) if log else v for seed, v in numbers.items() if seed not in without])
    half = t95(len(kept)) * kept.std() / math.sqrt(len(kept))
    ends = [math.exp(end) if log else end for end in (kept.mean() - half, kept.mean() + half)]
    low = -math.inf if low is None else low
    high = math.inf if high is None else high
    word = "supported" if low <= ends[0] and ends[1] <= high else "undecided"
    return {"verdict": "contradicted" if ends[1] < low or ends[0] > high else word, "interval": ends}


claim = verdicts_with_seeds.row(0, named=True)  # another claim has another number
judge(claim, claim["region_low"], claim["region_high"])  # try another range, or without=[1, 2]'''
SEEDS = """\
by_interval = pl.col("kind").is_in(["bound", "ratio", "trend"])
has_seeds = pl.col("low").is_finite() & (pl.col("seeds") != "{}")
verdicts_with_seeds = pl.read_parquet("data/verdicts.parquet").filter(by_interval, has_seeds)
"""
KINDS_BY_INTERVAL = ("bound", "ratio", "trend")
"""Kinds of claims whose verdict is that of their interval; others ask for more."""
QUESTION = """\
tables = [pl.read_parquet(path) for path in sorted(Path("data").glob("*.parquet"))]
columns = ["run", "seed", "step", "quantity", "value"]  # tables[0].columns and so on have more to select by
numbers = pl.concat([table.select(columns) for table in tables if set(columns) <= set(table.columns)])
settings = pl.read_parquet("data/axes.parquet").pivot("axis", index="run", values="label")
asked = numbers.join(settings, on="run").group_by("quantity", *settings.columns[1:], maintain_order=True)
asked.agg(pl.col("value").median(), pl.col("seed").n_unique().alias("seeds"))"""


TABLES_WITH_VALUES = ("curves", "lines", "sites")
"""Tables that the question reads; a spectrum has nodes and weights in place of values."""


def draw_call(figure: Figure) -> str | None:
    """The figure's lines in plain altair, or None where it has no lines over numbers."""
    seeds = figure.chart.seeds
    has_lines = '"type": "line"' in json.dumps(figure.spec) or '"mark": "line"' in json.dumps(figure.spec)
    if not has_lines or seeds.is_empty() or not seeds["x"].dtype.is_numeric():
        return None
    titles = [json.dumps(figure.chart.headings.get(column, column)) for column in ("x", "estimate")]
    return f"draw(points, x={titles[0]}, y={titles[1]}, log={figure.chart.log})"
