"""Turn a selection into labelled series with intervals over seeds, and sentences about numbers that are not drawn."""

from collections.abc import Mapping

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.claims.bounded import is_fraction
from lnlab.claims.criterion import FINISHING
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.figure import POINT_SCHEMA, FigureData, as_seeds
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.words.path_names import site_name
from lnlab.report.words.wording import axis_value_name, count_noun, join_words
from lnlab.seed_words import seed_word
from lnlab.select.quantity import quantity_facts
from lnlab.select.select import Selected
from lnlab.select.selection import QUANTITY_TABLES
from lnlab.select.settings import settings_of
from lnlab.tables import ENDED_STATUSES, Results

PANEL_COLUMNS = ("stack", "sublayer", "tensor", "index")
MIN_BAND_SEEDS = 4
"""The fewest seeds with an interval. Of two or three it says more of Student's quantile than of the seeds."""


def collect_series(
    results: Results, quantity: str, where: Mapping[str, Json], x: str, *, log: bool, panels: bool
) -> FigureData:
    """The numbers of one quantity along ``x``.

    Args:
        results: of an experiment.
        quantity: stored or derived.
        where: which rows.
        x: a column or a path of the setting.
        log: whether it is drawn on a logarithmic axis, which zeros and negative numbers cannot enter.
        panels: whether a site column that still varies makes panels. If not, it is refused.

    Raises:
        LabError: ``where`` selects nothing.
        ReportError: a seed has more than one number at one x.
    """
    selection = {"quantity": quantity, **where}
    selected = Selected(results, selection, x)
    rows = selected.rows.filter(pl.col(x).is_not_null())
    rows = rows.with_columns(pl.col(x).cast(pl.Float64).alias("x"))
    varying = [c for c in PANEL_COLUMNS if c in rows.columns and c != x and rows[c].n_unique() > 1] if panels else []
    panel: pl.Expr = pl.lit(None, pl.String)
    if varying:  # the first of them makes panels; two numbers of a seed at one place are refused below
        words = rows[varying[0]].drop_nulls().unique().cast(pl.String).to_list()
        panel = pl.col(varying[0]).cast(pl.String).replace({word: site_name(word) for word in words})
    runs = selected.runs
    names, families, labels = label_series(results, selected.leading, x)
    rows = rows.with_columns(panel.alias("panel")).join(labels, on="run", how="left", maintain_order="left")
    listed = x != "step" and isinstance(where.get("step"), list)
    # numbers of one run at the steps that are asked for are series, not duplicates
    place = ["series", "step"] if listed else ["series"]
    refuse_duplicates(rows.with_columns(series=pl.concat_str(place, separator=" ")), x)
    rows, unfinished = without_survivors(rows, runs.join(labels, on="run"), x)
    if x != "step" and "step" in where:
        rows, names, families = _by_step(rows, names, families, several=isinstance(where["step"], list))
    finite = rows.filter(pl.col("value").is_finite())
    drawn = finite.filter(pl.col("value") > 0) if log else finite
    seeds = as_seeds(drawn).sort("panel", "line", "x", "seed")
    return FigureData(
        seeds=seeds,
        points=mean_points(seeds, log=log, fraction=is_fraction(selection)),
        names=names,
        families=families,
        panels=tuple(rows["panel"].drop_nulls().unique().sort()),
        left_out=(*undrawn_numbers(rows.height - finite.height, finite.height - drawn.height), *unfinished),
        missing=missing_runs_sentence(runs),
        rows=source_rows_of(results, quantity, rows),
    )


def _by_step(
    rows: pl.DataFrame, names: tuple[str, ...], families: tuple[int, ...], *, several: bool
) -> tuple[pl.DataFrame, tuple[str, ...], tuple[int, ...]]:
    """Name series by their steps as well: ``Post-LN, at initialization`` and ``Post-LN, after 400 steps``.

    Args:
        rows: with columns ``series line step``.
        names: of the series.
        families: of the series.
        several: whether several steps were asked for. If so, each is a series; if not, series are named by their step
            where some are at initialization and others are not.
    """
    steps = {name: sorted(rows.filter(series=name)["step"].unique()) for name in names}
    if not several:
        single = all(len(found) <= 1 for found in steps.values())  # early stops give a series several last steps
        if not single or not 0 < sum(found == [0] for found in steps.values()) < sum(map(bool, steps.values())):
            return rows, names, families
    elif rows["step"].n_unique() < 2:
        return rows, names, families
    named: dict[tuple[str, int], str] = {}
    of_named = []
    for name, family in zip(names, families, strict=True):
        for step in steps[name]:
            moment = "at initialization" if step == 0 else f"after {count_noun(step, 'step')}"
            named[name, step] = moment if name == SINGLE_SERIES else f"{name}, {moment}"
            of_named.append(family)
    places = pl.DataFrame(
        [(*key, word, line) for line, (key, word) in enumerate(named.items())],
        schema={"series": pl.String, "step": rows.schema["step"], "_named": pl.String, "_line": pl.Int32},
        orient="row",
    )
    renamed = rows.join(places, on=["series", "step"], how="left", maintain_order="left")
    renamed = renamed.with_columns(series="_named", line="_line").drop("_named", "_line")
    return renamed, tuple(named.values()), tuple(of_named)


def without_survivors(rows: pl.DataFrame, runs: pl.DataFrame, x: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Drop the trained numbers of series with too many diverged runs for a mean, and return sentences that say so.

    Args:
        rows: with columns ``series x step``.
        runs: with columns ``series status``, and ``x`` where that is a path of the setting.
        x: the column or path of the horizontal axis.
    """
    if rows.is_empty() or not (rows["step"] > 0).any():
        return rows, ()
    place = ["series", *([x] if x in runs.columns else [])]
    ended = ended_runs(runs, rows)
    counts = ended.group_by(place, maintain_order=True).agg(pl.col("counts").sum().alias("k"), pl.len())
    lost = counts.filter(pl.col("k") < FINISHING * pl.col("len") - 1e-9)
    if lost.is_empty():
        return rows, ()
    # numbers at initialization exist in every run, whatever becomes of it
    trained = rows.filter(pl.col("step") > 0).join(lost.select(place), on=place, how="semi", maintain_order="left")
    names = [
        f"{' at '.join(str(v) for v in labels if v != SINGLE_SERIES) or 'the runs'} ({k} of {n} finished)"
        for *labels, k, n in lost.select(*place, "k", "len").iter_rows()
    ]
    kept = rows.join(trained.select("run", "step").unique(), on=["run", "step"], how="anti", maintain_order="left")
    return kept, (f"No mean is taken where fewer than 4 in 5 runs finished: {join_words(names)}.",)


def ended_runs(runs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The runs that finished or diverged, with a column ``counts``: whether a run has the number that is drawn.

    A diverged run counts only if the quantity is one number per run and finite, such as the learned fraction.
    """
    finite = rows.filter(pl.col("value").is_finite())
    once = finite.group_by("run").agg(pl.col("step").n_unique()).filter(pl.col("step") > 1).is_empty()
    kept = pl.col("run").is_in(finite["run"].implode()) if once else pl.lit(value=False)
    ended = runs.filter(pl.col("status").is_in(list(ENDED_STATUSES)))
    return ended.with_columns(counts=(pl.col("status") == "finished") | kept)


def labelled_values(results: Results, rows: pl.DataFrame, path: str) -> dict[str | float, str]:
    """The distinct values of rows at a column or a path, with their labels: numbers rising, words in the plan's order.

    Args:
        results: of an experiment.
        rows: with a column for the path.
        path: of the setting, or a column of the table.
    """
    distinct = rows[path].drop_nulls().unique(maintain_order=True)
    if distinct.dtype.is_numeric():
        return {number: axis_value_name(path, number, "") for number in distinct.cast(pl.Float64).sort()}
    planned = settings_of(results).labels(path)["label"]
    present = set(distinct)
    order = [str(word) for word in dict.fromkeys([*planned, *distinct]) if word in present]
    return {word: axis_value_name(path, {"true": True, "false": False}.get(word, word), word) for word in order}


def refuse_duplicates(rows: pl.DataFrame, x: str) -> None:
    """Refuse to average over anything but seeds: two numbers of one seed at one place are a mistake of ``where``.

    Args:
        rows: with columns ``panel series x seed``.
        x: what the column ``x`` holds, for the message.

    Raises:
        ReportError: a seed has two numbers at one place.
    """
    place = pl.struct("panel", "series", "x", "seed")
    duplicates = rows.filter(place.is_duplicated())
    if duplicates.is_empty():
        return
    first = duplicates.filter(place == place.first())
    values = {c: first[c].unique().sort().to_list() for c in (*PANEL_COLUMNS, "layer", "step") if c in first.columns}
    varying = [f"{c} ({join_words(map(str, v))})" for c, v in values.items() if len(v) > 1 and c != x]
    seed = first["seed"][0]
    at = f"{x} {first['x'][0]:g}"
    what = f"{seed_word()} {seed} has {first.height} numbers at {at}: {'; '.join(varying) or 'twice'}"
    raise ReportError(Issue("duplicate", "where", what, "select one of each"))


def mean_points(seeds: pl.DataFrame, *, log: bool, fraction: bool = False) -> pl.DataFrame:
    """Mean over seeds with the 95 % Student interval at each place: ``panel series line x estimate low high n``.

    Fewer than ``MIN_BAND_SEEDS`` seeds have no interval. Nulls are left out, and a place with nulls alone has n = 0.
    The interval of a ``fraction`` is clipped to [0, 1].
    """
    rows: list[tuple[object, ...]] = []
    groups = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(pl.col("value").drop_nulls())
    for *place, values in groups.iter_rows():
        if not values:
            rows.append((*place, None, None, None, 0))
            continue
        interval = t_interval(values, log=log)
        band = (interval.low, interval.high) if interval.n >= MIN_BAND_SEEDS else (None, None)
        if fraction and band[0] is not None:
            band = (max(interval.low, 0.0), min(interval.high, 1.0))
        rows.append((*place, interval.estimate, *band, interval.n))
    return pl.DataFrame(rows, schema=POINT_SCHEMA, orient="row")


def median_points(seeds: pl.DataFrame) -> pl.DataFrame:
    """Median, lowest and highest over seeds at each place, in the columns of ``mean_points``. Null if not finite."""
    value = pl.col("value")
    summaries = seeds.group_by("panel", "series", "line", "x", maintain_order=True).agg(
        estimate=value.median(), low=value.min(), high=value.max(), n=value.count().cast(pl.Int64)
    )
    finite = (pl.when(pl.col(c).is_finite()).then(c).alias(c) for c in ("estimate", "low", "high"))
    return summaries.with_columns(finite).select(list(POINT_SCHEMA))


def undrawn_numbers(not_finite: int, not_positive: int) -> tuple[str, ...]:
    """Sentences that count the numbers that are not drawn."""
    causes = ((not_finite, "not finite"), (not_positive, "not positive, which a logarithmic axis cannot show"))
    return tuple(f"{count_noun(n, 'number')} {'is' if n == 1 else 'are'} not drawn: {why}." for n, why in causes if n)


def missing_runs_sentence(runs: pl.DataFrame) -> str:
    """State which of these runs have not finished. Diverged runs have a result and are not called missing."""
    counts = runs["status"].fill_null("not run yet").value_counts(sort=True).sort("status")
    others = [(status, f"{n} {status.replace('_', ' ')}") for status, n in counts.iter_rows() if status != "finished"]
    if not others:
        return ""
    sentence = f"of {count_noun(runs.height, 'run')}, {join_words(words for _, words in others)}."
    return f"O{sentence[1:]}" if all(status in ENDED_STATUSES for status, _ in others) else f"Missing: {sentence}"


def source_rows_of(results: Results, quantity: str, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The stored rows that these rows follow from, by table: themselves, or those that a derived quantity reads.

    Only rows of these runs, unless the quantity compares a run with others, or is one number of several runs.
    """
    runs = pl.col("run").is_in(rows["run"].unique().implode())
    if (facts := quantity_facts(quantity)) is not None:
        if facts.across or facts.over:  # a run's number follows from those of others
            runs = pl.lit(value=True)
        if facts.parts:
            sources: dict[str, list[pl.DataFrame]] = {}
            for part in facts.parts:
                of_part = {
                    name: results.tables[name].filter(runs & (pl.col("quantity") == part))
                    for name in QUANTITY_TABLES
                    if name in results.tables
                }
                of_part = source_rows_of(results, part, rows) if quantity_facts(part) is not None else of_part
                for name, frame in of_part.items():
                    sources.setdefault(name, []).append(frame)
            return {name: pl.concat(frames).unique(maintain_order=True) for name, frames in sources.items()}
        if facts.table is not None:
            return {facts.table: results.tables[facts.table].filter(runs)}
        condition = runs if facts.of is None else runs & pl.col("quantity").is_in(facts.of)
        kinds = (*QUANTITY_TABLES, "histograms")
        # a quantity that does not say what it is made of may read every row of these runs
        tables = {name: results.tables[name].filter(condition) for name in kinds if name in results.tables}
        if facts.reads is not None:
            tables["curves"] = facts.reads(tables["curves"])
        return tables
    keys = [c for c in ("run", "step", "split", "stack", "layer", "sublayer", "tensor", "index") if c in rows.columns]
    places = rows.select(keys).unique()
    tables = {}
    for name in QUANTITY_TABLES:
        if (table := results.tables.get(name)) is not None:
            on = [c for c in keys if c in table.columns]
            matching = table.filter(pl.col("quantity") == quantity)
            tables[name] = matching.join(
                places.select(on).unique(), on=on, how="semi", nulls_equal=True, maintain_order="left"
            )
    return tables
