"""Forged reports: what somebody could change in a committed report, in seven kinds, and small ones to forge.

``python -m tests.support.forgeries`` holds each against every level of ``lnlab verify`` and writes the table of
docs/verification_power.md.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import polars as pl

from lnlab.app.recomputed import recomputation
from lnlab.app.run_options import RunOptions
from lnlab.cli import main
from lnlab.committed.locks.verify import verify_reports
from lnlab.consoles import stderr_console
from lnlab.report.folder import read_folder
from lnlab.tables import Results
from tests.report_rows import change_results, change_rows
from tests.support.this_process import NO_WORKERS
from tests.support.toy_specs import SMALLEST, UNTRAINED, toy_spec

UNTRAINED_SPEC = toy_spec(
    UNTRAINED,
    """\
seeds: 3
sweep: [{placement: [post, pre]}]
probes: [{kind: gradient_norm, at: init, batches: 1}]
answer:
  - says: "Yes."
    while: {post_above_pre: supported}
  - says: "No."
report:
  - {kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}, heading: Post-LN grows}
claims:
  - id: post_above_pre
    says: The gradient of the last layer is larger in Post-LN.
    kind: ratio
    of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
    to: {placement: pre}
    at_least: 1.1
  - id: far_above
    says: It is a million times as large.
    kind: ratio
    of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
    to: {placement: pre}
    at_least: 1000000
""",
    question="Does it grow?",
)
TRAINED = """\
seeds: 3
sweep: [{optimizer.lr: [0.01, 1.0e+30]}]
probes: [{kind: gradient_norm, at: {every: 4}, batches: 1}]
report:
  - {kind: curves, quantity: loss, where: {optimizer.lr: 0.01}}
  - {kind: outcomes}
claims:
  - {id: stays, says: It stays., kind: bound, at_most: 9, of: {quantity: gradient_norm, stack: decoder, tensor: w2,
     step: 8, optimizer.lr: 0.01}}
  - {id: learns, says: It learns., kind: bound, at_most: 5, of: {quantity: final_nll, optimizer.lr: 0.01}}
"""
TUNED = """\
seeds: 2
sweep: [{placement: [post, pre], optimizer.lr: [0.001, 0.01]}]
choose: {optimizer.lr: best, seeds: 101-102}
probes: [{kind: gradient_norm, at: end, batches: 1}]
report: [{kind: depth_profile, quantity: gradient_norm, where: {stack: decoder, tensor: w2}}]
claims:
  - {id: stays, says: It stays., kind: bound, at_most: 9,
     of: {quantity: gradient_norm, stack: decoder, tensor: w2, placement: post}}
"""
LONG = """\
seeds: 2
report: [{kind: curves, quantity: loss}]
claims:
  - {id: learns, says: It learns., kind: bound, at_most: 5, of: {quantity: final_nll}}
"""
STEPS = {"steps": 8, "evaluate": {"every": 4}}
SPECS = {
    "untrained": UNTRAINED_SPEC,
    "trained": toy_spec(SMALLEST, TRAINED, question="Does it stay?", train=STEPS),
    "long": toy_spec(SMALLEST, LONG, question="Does it learn?", train={"steps": 600, "evaluate": "end"}),
    "tuned": toy_spec(SMALLEST, TUNED, question="Does it stay?", train={"steps": 8, "evaluate": "end"}),
}
KINDS = ("rows changed", "seeds swapped", "a failed run dropped", "the spec", "words", "a picture", "all rewritten")
"""Of the first six the lock is as it was, or written again. Of the last everything is: rows, pages, spec and lock."""


@dataclass(frozen=True)
class Forgery:
    """One way to forge a report.

    Attributes:
        kind: one of ``KINDS``.
        what: is changed, in words.
        of: the experiment whose report it is.
        forge: changes the report in the working folder.
    """

    kind: str
    what: str
    of: str
    forge: Callable[[], None]

    @property
    def name(self) -> str:
        """For a test."""
        return f"{self.kind}: {self.what}".replace(" ", "_")


DOCUMENT = Path(__file__).parents[2] / "docs/verification_power.md"
MARKS = ("<!-- forgeries: written by `make power` -->", "<!-- end of forgeries -->")


def folder() -> Path:
    """The report in the working folder."""
    (data,) = Path("reports").glob("*/data")
    return data.parent


def spec() -> Path:
    """Its spec."""
    return Path("specs", f"{folder().name}.yaml")


def run_quietly(*words: str) -> int:
    """A command, of which nothing is heard."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return main([*words])


def write_repository(root: Path, of: str) -> None:
    """Run an experiment, write its report and lock it."""
    (root / "specs").mkdir(parents=True)
    (root / "specs" / f"{of}.yaml").write_text(SPECS[of])
    with chdir(root):
        for words in (["run", "-w", "1"], ["report"], ["lock"]):
            assert run_quietly(words[0], f"specs/{of}.yaml", "-q", *words[1:]) == 0, words


def lock() -> None:
    """Write the lock again."""
    assert run_quietly("lock", str(spec()), "-q") == 0


def results() -> Results:
    """What the report says it measured."""
    return read_folder(folder())[1]


def runs_where(**conditions: object) -> list[str]:
    """Keys of runs by the values of an axis, or by their seed."""
    found = results()
    seed = conditions.pop("seed", None)
    keys = found.runs if seed is None else found.runs.filter(seed=seed)
    for axis, label in conditions.items():
        here = found.axes.filter(pl.col("axis").str.ends_with(axis), label=str(label))["run"]
        keys = keys.filter(pl.col("run").is_in(here.implode()))
    return keys["run"].to_list()


def scale(factor: float, condition: pl.Expr, table: str = "sites") -> None:
    """Change the values of some rows."""
    value = pl.when(condition).then(pl.col("value") * factor).otherwise("value")
    change_rows(folder(), lambda rows: rows.with_columns(value=value), table)


def of_runs(keys: list[str]) -> pl.Expr:
    return pl.col("run").is_in(keys)


LAST_W2 = pl.all_horizontal(
    pl.col("quantity") == "gradient_norm", pl.col("stack") == "decoder", pl.col("tensor") == "w2", pl.col("layer") == 2
)
"""What the claims of the untrained report read."""


def swap_rows(a: list[str], b: list[str]) -> None:
    """Give each run of one list the rows of its counterpart, and the other way round. Runs keep their names."""
    columns = ("run", "variant", "seed", "trajectory", "measurement")

    def swapped(rows: pl.DataFrame) -> pl.DataFrame:
        values = [name for name, kind in rows.schema.items() if kind.is_float()]
        others = rows.with_columns(run=pl.col("run").replace(dict(zip([*a, *b], [*b, *a], strict=True))))
        keys = [name for name in rows.columns if name not in (*values, *columns)]
        of_others = others.select("run", *keys, *(pl.col(value).alias(f"_{value}") for value in values))
        joined = rows.join(of_others, on=["run", *keys], how="left", nulls_equal=True, maintain_order="left")
        return joined.with_columns(
            pl.when(of_runs([*a, *b])).then(f"_{value}").otherwise(value).alias(value) for value in values
        ).select(rows.columns)

    def change(found: Results) -> Results:
        kept = {name: swapped(rows) if name != "needs" else rows for name, rows in found.tables.items() if rows.height}
        return replace(found, tables={**found.tables, **kept})

    change_results(folder(), change)


def drop_runs(keys: list[str]) -> None:
    """Take runs out of everything."""

    def change(found: Results) -> Results:
        def left(rows: pl.DataFrame) -> pl.DataFrame:
            return rows.filter(~of_runs(keys))

        tables = {name: left(rows) for name, rows in found.tables.items()}
        return replace(found, runs=left(found.runs), axes=left(found.axes), tables=tables)

    change_results(folder(), change)


def change_runs(**columns: pl.Expr) -> None:
    """Change what is said of runs."""
    change_results(folder(), lambda found: replace(found, runs=found.runs.with_columns(**columns)))


def change_facts(change: Callable[[dict], dict]) -> None:
    """Change what the page says beside its rows."""
    path = folder() / "data/experiment.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def rewrite(name: str, old: str, new: str) -> None:
    """Change a text in a file of the report."""
    path = folder() / name
    text = path.read_text()
    assert old in text, (name, old)
    path.write_text(text.replace(old, new, 1))


def change_verdicts(**columns: pl.Expr) -> None:
    """Change the table of verdicts."""
    path = folder() / "data/verdicts.parquet"
    pl.read_parquet(path).with_columns(**columns).write_parquet(path)


def change_spec(old: str, new: str) -> None:
    """Change the spec, in its file and in the report."""
    text = spec().read_text()
    assert old in text, old
    spec().write_text(text.replace(old, new, 1))
    change_facts(lambda facts: facts | {"spec": spec().read_text()})


def run_of(**conditions: object) -> str:
    """The key of the only run with these values."""
    (run,) = runs_where(**conditions)
    return run


def of_post(seed: int) -> list[str]:
    return runs_where(placement="post", seed=seed)


def copy_seed() -> None:
    """A seed has the rows of another, too."""
    one, other = run_of(placement="post", seed=1), run_of(placement="post", seed=2)

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        mine = pl.col("run") == other
        place = rows.select(pl.when(mine).then(mine.cast(pl.Int64).cum_sum() - 1).otherwise(0).alias("at"))["at"]
        copied = rows.filter(run=one)["value"].gather(place)
        return rows.with_columns(value=pl.when(mine).then(copied).otherwise("value"))

    change_rows(folder(), change)


def swap_in_circle() -> None:
    first, second, third = (runs_where(placement="pre", seed=seed) for seed in (1, 2, 3))
    swap_rows(first, second)
    swap_rows(second, third)


def never_ran() -> None:
    gone = run_of(lr="1e+30", seed=1)
    change_runs(**{name: pl.when(run=gone).then(None).otherwise(name) for name in ("status", "reason", "done")})


def swap_seeds_of_verdicts() -> None:
    texts = map(json.loads, pl.read_parquet(folder() / "data/verdicts.parquet")["seeds"])
    swapped = [json.dumps({**seeds, "1": seeds["2"], "2": seeds["1"]}) for seeds in texts]
    change_verdicts(seeds=pl.lit(pl.Series(swapped)))


def change_answer() -> None:
    page = (folder() / "index.html").read_text()
    (answer,) = re.findall(r'class="answer"[^>]*>.*?(Yes\.)', page, re.DOTALL)[:1]
    rewrite("index.html", page, page.replace(answer, "Yes, by far.", 1))


def change_caption() -> None:
    caption = re.search(r"<figcaption.*?</figcaption>", (folder() / "index.html").read_text(), re.DOTALL)[0]
    other = caption.replace("seeds", "fresh seeds", 1).replace("</figcaption>", " </figcaption>")
    rewrite("index.html", caption, other)


def picture() -> str:
    """The first drawn figure."""
    return next(folder().glob("figures/figure-1*.svg")).relative_to(folder()).as_posix()


def change_script() -> None:
    script = next(Path("reports/assets").glob("*.js"))
    script.write_text(script.read_text() + "\n")


def other_friend() -> None:
    scale(1.1, of_runs(runs_where(placement="post")))
    change_runs(device=pl.lit("cpu (of a friend)"))


def exchange_labels() -> None:
    """The labels of two variants exchanged, with their settings."""

    def change(found: Results) -> Results:
        one, other = found.runs["variant"].unique(maintain_order=True)
        settings = dict(found.runs.select("variant", "setting").unique().iter_rows())
        turned = {one: other, other: one}
        variant = pl.col("variant").replace(turned)
        setting = pl.col("variant").replace({a: settings[b] for a, b in turned.items()})
        label = pl.col("label").replace({"post": "pre", "pre": "post"})
        tables = {
            name: rows.with_columns(variant) if "variant" in rows.columns else rows
            for name, rows in found.tables.items()
        }
        runs = found.runs.with_columns(variant=variant, setting=setting)
        return replace(found, runs=runs, axes=found.axes.with_columns(label), tables=tables)

    change_results(folder(), change)


def change_choice() -> None:
    def change(facts: dict) -> dict:
        for decision in facts["decisions"]:
            decision["value"] = 0.001 if decision["value"] == 0.01 else 0.01
        return facts

    change_facts(change)


def change_rate() -> None:
    """Rows of one rate, and another in the spec and the settings."""
    change_spec("0.01, 1.0e+30", "0.02, 1.0e+30")
    spec().write_text(spec().read_text().replace("optimizer.lr: 0.01", "optimizer.lr: 0.02"))
    change_facts(lambda facts: facts | {"spec": spec().read_text()})
    change_runs(setting=pl.col("setting").str.replace('"lr":0.01', '"lr":0.02', literal=True))


def change_width() -> None:
    change_spec("d_ff: 32", "d_ff: 64")
    change_runs(setting=pl.col("setting").str.replace('"d_ff":32', '"d_ff":64', literal=True))


def change_seeds() -> None:
    change_spec("seeds: 3", "seeds: 11-13")

    def later(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(seed=pl.col("seed") + 10) if "seed" in rows.columns else rows

    def change(found: Results) -> Results:
        tables = {name: later(rows) for name, rows in found.tables.items()}
        return replace(found, runs=later(found.runs), tables=tables)

    change_results(folder(), change)


def thin_curve() -> None:
    run = run_of(lr="0.01", seed=2)
    gone = pl.all_horizontal(pl.col("quantity") == "loss", pl.col("step").is_between(3, 5), pl.col("run") == run)

    def change(found: Results) -> Results:
        curves = found.tables["curves"].filter(~gone)
        return replace(found, tables={**found.tables, "curves": curves}, thinned={run: frozenset(["loss"])})

    change_results(folder(), change)


def drop_evaluation() -> None:
    gone = (pl.col("quantity") == "nll") & (pl.col("step") == pl.col("step").max())
    gone &= of_runs(runs_where(lr="0.01", seed=1))
    change_rows(folder(), lambda rows: rows.filter(~gone), "curves")


def of_last_seed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(~(LAST_W2 & of_runs(of_post(3))))


POST = {"placement": "post"}
LAST_STEP = pl.col("step") == pl.col("step").max()
ODD_LOSSES = (pl.col("quantity") == "loss") & (pl.col("step") % 2 == 1)
Forge = Callable[[], None]
ROWS: dict[str, dict[str, Forge]] = {
    "rows changed": {
        "one number of one run doubled": lambda: scale(2, LAST_W2 & of_runs(of_post(1))),
        "all numbers of a variant ten percent larger": lambda: scale(1.1, of_runs(runs_where(**POST))),
        "the sixth digit of one number": lambda: scale(
            1 + 1e-6, LAST_W2 & of_runs(runs_where(placement="pre", seed=2))
        ),
        "the rows of two variants exchanged": lambda: swap_rows(runs_where(**POST), runs_where(placement="pre")),
        "one row removed": lambda: change_rows(folder(), of_last_seed),
        "the last loss of a run smaller": lambda: scale(
            0.9, LAST_STEP & of_runs(runs_where(lr="0.01", seed=1)), "curves"
        ),
    },
    "seeds swapped": {
        "the rows of seeds 1 and 2 of a variant": lambda: swap_rows(of_post(1), of_post(2)),
        "the rows of all seeds in a circle": swap_in_circle,
        "a seed has the rows of another, too": copy_seed,
        "the rows of seeds 1 and 2 after training": lambda: swap_rows(
            *(runs_where(lr="0.01", seed=seed) for seed in (1, 2))
        ),
    },
    "a failed run dropped": {
        "a run that diverged, from everything": lambda: drop_runs(runs_where(lr="1e+30", seed=2)),
        "all runs that diverged": lambda: drop_runs(runs_where(lr="1e+30")),
        "a run that diverged is said to have finished": lambda: change_runs(
            status=pl.lit("finished"), reason=pl.lit("")
        ),
        "the seed whose number is the smallest": lambda: drop_runs(runs_where(seed=3)),
        "a run is said never to have run": never_ran,
    },
}
"""Each is a forgery of its kind, and one of the last kind once everything was judged, drawn and locked again."""
FILES: dict[str, dict[str, Forge]] = {
    "rows changed": {
        # They follow from the spec: whoever draws the report again undoes it.
        "the labels of two variants exchanged, with their settings": exchange_labels,
        "an estimate in the table of verdicts": lambda: change_verdicts(estimate=pl.col("estimate") * 1.01),
        "a verdict from contradicted to supported": lambda: change_verdicts(verdict=pl.lit("supported")),
    },
    "seeds swapped": {"the numbers of two seeds in the table of verdicts": swap_seeds_of_verdicts},
    "a failed run dropped": {
        "the file of the rows": lambda: next(folder().glob("data/packs/*/sites.parquet")).unlink(),
    },
    "the spec": {
        "the accepted range of a claim, in the file": lambda: spec().write_text(
            spec().read_text().replace("at_least: 1000000", "at_least: 1.2")
        ),
        "the accepted range of a claim, in file and report": lambda: change_spec("at_least: 1000000", "at_least: 1.2"),
        "a claim is taken out of both": lambda: change_spec(
            "  - id: far_above" + UNTRAINED_SPEC.split("far_above")[1], ""
        ),
        "the width of the model, in both": lambda: change_spec("d_ff: 32", "d_ff: 64"),
        "the number of seeds, in both": lambda: change_spec("seeds: 3", "seeds: 2"),
        "the learning rate, in both": lambda: change_spec("0.01, 1.0e+30", "0.02, 1.0e+30"),
    },
    "words": {
        "the answer on the page": change_answer,
        "a caption on the page": change_caption,
        "a heading on the page": lambda: rewrite("index.html", "Post-LN grows", "Post-LN explodes"),
        "a claim on the page": lambda: rewrite("index.html", "It is a million times as", "It is ten times as"),
        "a number in the table of a figure": lambda: rewrite("tables/figure-1.csv", "0.", "1."),
        "the notebook": lambda: rewrite("notebook.ipynb", "import polars", "import  polars"),
        "the title in what the page says beside its rows": lambda: change_facts(
            lambda facts: facts | {"title": "A great experiment"}
        ),
    },
    "a picture": {
        "a line moved in the drawing": lambda: rewrite(picture(), 'd="M', 'd="M1,1M'),
        "a label in the drawing": lambda: rewrite(picture(), "</text>", " (ours)</text>"),
        "the drawing of another report": lambda: (folder() / picture()).write_text(
            '<svg xmlns="http://www.w3.org/2000/svg"/>'
        ),
        "the small drawing of the index": lambda: rewrite("figures/thumbnail.svg", "<svg", "<svg "),
        "the numbers that the page draws": lambda: rewrite(
            min(folder().glob("figures/*.vl.json")).relative_to(folder()).as_posix(), "0.", "1."
        ),
        "a document beside the figures": lambda: (folder() / "figures/figure-9.pdf").write_bytes(b"%PDF-1.4"),
        "the script that draws it": change_script,
    },
}
"""Files that the rows do not draw."""
WHOLE: dict[str, Forge] = {
    "a number that no section and no claim reads": lambda: scale(
        3, (pl.col("stack") == "encoder") & of_runs(runs_where(placement="pre", seed=1))
    ),
    "numbers a tenth larger, and another processor named": other_friend,
    "another rate said to be the chosen one": change_choice,
    "rows of one rate, and another in the spec and the settings": change_rate,
    "rows of a smaller width, and a larger in the spec and the settings": change_width,
    "other seeds said to be those of the spec": change_seeds,
    "the number of parameters of a variant": lambda: change_runs(parameters=pl.col("parameters") + 1),
    "the last evaluation removed from a run": drop_evaluation,
    "losses removed from a curve that is said to be drawn in part": thin_curve,
    "every second loss removed from a long curve": lambda: change_rows(
        folder(), lambda rows: rows.filter(~ODD_LOSSES), "curves"
    ),
    "what the runs took over from others": lambda: change_facts(
        lambda facts: facts | {"transfers": ["Its runs begin with the weights of another experiment."]}
    ),
    "a run that diverged did so later": lambda: change_runs(
        done=pl.when(run=run_of(lr="1e+30", seed=1)).then(pl.col("done") + 1).otherwise("done")
    ),
}
"""What is a forgery of the last kind alone."""
OTHERS = {
    "tuned": ["another rate said to be the chosen one"],
    "long": ["every second loss removed from a long curve"],
    "trained": [
        *("the last loss of a run smaller", "the rows of seeds 1 and 2 after training", "the learning rate, in both"),
        *("a run that diverged, from everything", "all runs that diverged", "a run that diverged did so later"),
        *("a run that diverged is said to have finished", "a run is said never to have run"),
        *("rows of one rate, and another in the spec and the settings", "the last evaluation removed from a run"),
        "losses removed from a curve that is said to be drawn in part",
    ],
}
"""Forgeries of other reports than the untrained one."""


def rewritten(forge: Forge) -> Forge:
    """A forgery after which everything is judged, drawn and locked again."""

    def careful() -> None:
        forge()
        assert run_quietly("report", "--from", str(folder()), "-q") == 0
        lock()

    return careful


def _forgeries() -> Iterator[Forgery]:
    report_of = {what: of for of, whats in OTHERS.items() for what in whats}
    for table in (ROWS, FILES):
        for kind, forges in table.items():
            yield from (Forgery(kind, what, report_of.get(what, "untrained"), f) for what, f in forges.items())
    for what, forge in (*(pair for forges in ROWS.values() for pair in forges.items()), *WHOLE.items()):
        yield Forgery(KINDS[-1], what, report_of.get(what, "untrained"), rewritten(forge))


FORGERIES = list(_forgeries())


@dataclass(frozen=True)
class Caught:
    """The lowest level that finds a forgery: with the lock as it was, and with the lock written again.

    None means that no level does. ``refused`` means that no lock could be written.
    """

    as_was: int | None
    again: int | str | None


def lowest_level(highest: int) -> int | None:
    """The lowest level at which the report in the working folder does not pass."""
    path = spec().with_suffix(".lock")
    for level in range(min(highest, 1) + 1):
        if not verify_reports([path], level).passed:
            return level
    options = RunOptions(console=stderr_console(), quiet=True, workers=1)
    for level in range(2, highest + 1):
        if recomputation(path, options, every_run=level == 3).differences:
            return level
    return None


@contextmanager
def forged(committed: Path, one: Forgery) -> Iterator[None]:
    """A copy of a repository, forged, as the working folder."""
    with TemporaryDirectory() as scratch:
        copytree(committed, Path(scratch, "copy"))
        with chdir(Path(scratch, "copy")):
            one.forge()
            yield


def caught(committed: Path, one: Forgery, highest: int) -> Caught:
    """Which levels find a forgery in a repository, up to the highest that is asked."""
    with forged(committed, one):
        if one.kind == KINDS[-1]:
            return Caught(None, lowest_level(highest))
        as_was = lowest_level(0)
        if run_quietly("lock", str(spec()), "-q") != 0:
            return Caught(as_was, "refused")
        return Caught(as_was, lowest_level(1))


def table(repositories: Path) -> Iterator[str]:
    """The table of docs/verification_power.md, a line each."""
    for of in SPECS:
        write_repository(repositories / of, of)
    yield "| kind | forged | the lock as it was | the lock written again |"
    yield "|---|---|--:|--:|"
    for one in sorted(FORGERIES, key=lambda one: KINDS.index(one.kind)):
        found = caught(repositories / one.of, one, 3)
        cells = ["–" if one.kind == KINDS[-1] else found.as_was, "no level" if found.again is None else found.again]
        yield f"| {one.kind} | {one.what} | {' | '.join(map(str, cells))} |"


def written(text: str, lines: Sequence[str]) -> str:
    """The text of the page with these lines between its marks."""
    before, rest = text.split(MARKS[0])
    return "\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + rest.split(MARKS[1])[1]])


if __name__ == "__main__":
    for place, name, instead in NO_WORKERS:
        setattr(place, name, instead)
    with TemporaryDirectory() as folder_of_all:
        found_of_all = list(table(Path(folder_of_all)))
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), found_of_all), encoding="utf-8")
