"""Cells with which a reader of the notebook goes on: charts in plain altair, a claim judged again, a question asked."""

import json

from lnlab.report.page.figures import DrawnFigure

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
def binomial(k, n, p):
    """The probability of at most k of n."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def share_interval(k, n, coverage):
    """The exact interval of a share (Clopper and Pearson, 1934)."""
    tail, ends = (1 - coverage) / 2, []
    for hits, probability in ((k - 1, 1 - tail), (k, tail)):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if binomial(hits, n, middle) > probability else (low, middle)
        ends.append(high)
    return [ends[0] if k else 0.0, ends[1] if k < n else 1.0]


def median_interval(numbers, coverage):
    """The interval of the median between two order statistics (Thompson, 1936)."""
    x, n = sorted(numbers), len(numbers)
    k = sum(binomial(i, n, 0.5) <= (1 - coverage) / 2 for i in range(n // 2))
    return [x[k - 1], x[n - k]] if k else [-math.inf, math.inf]


def mean_interval(claim, numbers, kept, coverage):
    """Student's interval, on logarithms where the page has a geometric mean; fractions end at 0 and 1."""
    logs = [math.log(value) for value in numbers if value > 0]
    mean = math.exp(sum(logs) / len(logs)) if len(logs) == len(numbers) else math.nan
    log = math.isclose(mean, claim["estimate"], rel_tol=1e-6)
    values = pl.Series([math.log(value) if log else value for value in kept])
    half = student(len(values), coverage) * values.std() / math.sqrt(len(values))
    ends = [math.exp(end) if log else end for end in (values.mean() - half, values.mean() + half)]
    if claim["low"] == 0 or claim["high"] == 1:
        ends = [max(ends[0], 0.0), min(ends[1], 1.0)]
    return ends


def judge(claim, low=None, high=None, without=()):
    """A claim that an interval decides, at its level and of its mean, median or share, on its seeds again.

    Give another accepted range of the numbers, or leave some seeds out. What a claim says of no effect goes with it.
    """
    numbers = {int(seed): value for seed, value in json.loads(claim["seeds"]).items()}
    kept = [value for seed, value in numbers.items() if seed not in without]
    coverage, declared = 1 - claim["level"], low is None and high is None
    is_share = claim["measure"] == "share"
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    if is_share:
        if declared and without:
            raise ValueError("give low= or high=: which numbers to count")
        inside = claim["inside"] if declared else sum(low <= value <= high for value in kept)
        ends = share_interval(inside, len(kept), coverage)
    elif claim["about"] == "median":
        ends = median_interval(kept, coverage)
    else:
        ends = mean_interval(claim, list(numbers.values()), kept, coverage)
    if declared or is_share:  # the accepted range of a share is one of shares
        low, high = claim["region_low"], claim["region_high"]
        low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    supported, beyond = low <= ends[0] and ends[1] <= high, ends[1] < low or ends[0] > high
    word = "contradicted" if beyond else "undecided"
    if claim["margin"] == "ours" and not is_share and math.isinf(low) != math.isinf(high):  # measured from no effect
        nothing, zone = claim.get("no_effect"), claim.get("zone")
        nothing = (1.0 if claim["measure"] == "ratio" else 0.0) if nothing is None else nothing
        other = ends[1] < nothing if low > -math.inf else ends[0] > nothing
        if zone is not None:
            factor = claim["measure"] == "ratio"
            around = (nothing / zone, nothing * zone) if factor else (nothing - zone, nothing + zone)
            other = other or (around[0] < ends[0] and ends[1] < around[1])
        word = "contradicted" if other else "smaller" if beyond else "undecided"
    return {"verdict": "supported" if supported else word, "interval": ends}


claim = verdicts_with_seeds.row(0, named=True)  # another claim has another number
judge(claim)  # try another range with low= and high=, or without=[1, 2]'''
SEEDS = """\
by_interval = pl.col("kind").is_in(["bound", "ratio", "difference", "interaction", "trend"])
has_seeds = pl.col("low").is_finite() & (pl.col("seeds") != "{}")
no_seed_failed = pl.col("seeds").str.count_matches(":") == pl.col("n")  # the rank of one that failed is not stored
verdicts_with_seeds = pl.read_parquet("data/verdicts.parquet").filter(by_interval, has_seeds, no_seed_failed)
"""
OWN_EFFECTS = """\
# what claims say of no effect themselves: its value, and the zone around it in which no effect matters
no_effects = {effects}
judge(claim | no_effects.get(claim["claim"], {{}}))  # try another range with low= and high=, or without=[1, 2]"""
KINDS_BY_INTERVAL = ("bound", "ratio", "difference", "interaction", "trend")
"""Kinds of claims whose interval alone decides the verdict."""
QUESTION = """\
tables = [pl.read_parquet(path) for path in sorted(Path("data").glob("*.parquet"))]
columns = ["run", "seed", "step", "quantity", "value"]  # tables[0].columns and so on have more to select by
numbers = pl.concat([table.select(columns) for table in tables if set(columns) <= set(table.columns)])
settings = pl.read_parquet("data/axes.parquet").pivot("axis", index="run", values="label")
asked = numbers.join(settings, on="run").group_by("quantity", *settings.columns[1:], maintain_order=True)
asked.agg(pl.col("value").median(), pl.col("seed").n_unique().alias("seeds"))"""


TABLES_WITH_VALUES = ("curves", "lines", "sites")
"""Tables that the question reads. A spectrum has nodes and weights in place of values."""


def draw_call(figure: DrawnFigure) -> str | None:
    """The figure's lines in plain altair, or None where it has no lines over numbers."""
    seeds = figure.chart.seeds
    has_lines = '"type": "line"' in json.dumps(figure.spec) or '"mark": "line"' in json.dumps(figure.spec)
    if not has_lines or seeds.is_empty() or not seeds["x"].dtype.is_numeric():
        return None
    titles = [json.dumps(figure.chart.headings.get(column, column)) for column in ("x", "estimate")]
    return f"draw(points, x={titles[0]}, y={titles[1]}, log={figure.chart.log})"
