"""Tables of C and N judged: by the boundaries of their columns, and statements that hold everywhere on k of n seeds."""

import polars as pl
import pytest
from scipy import stats

from lnlab.claims.judging import judge_claim
from lnlab.errors import LabError
from lnlab.tables import Results
from tests.support.results import lettered_run, results_of

RATES = (1.0, 0.1, 0.01)
OF = {"quantity": "converged", "rule": "learned", "split": "train"}
BOUNDARY = {**OF, "quantity": "convergence_boundary"}
CELLS = {
    "rates": list(RATES),
    "across": "norm",
    "tables": [
        {"name": "shallow", "where": {"model.layers": 1}, "columns": {"layer": "NCC", "batch": "NCC"}},
        {"name": "deep", "where": {"model.layers": 5}, "columns": {"layer": "NCC", "batch": "NNN"}},
    ],
}
AS_PRINTED = {("layer", 1): "NCC", ("batch", 1): "NCC", ("layer", 5): "NCC", ("batch", 5): "NNN"}


def table_results(*seeds):
    """Each seed: (norm, layers) -> letters, rates falling."""
    runs = []
    for seed, cells in enumerate(seeds, 1):
        for (norm, layers), letters in cells.items():
            stack = {"layers": layers, "norm": {"kind": norm}, "placement": {"kind": "post"}}
            task = {"kind": "classification", "corpus": {"kind": "toy"}}
            setting = {"task": task, "model": {"kind": "classifier", "d_model": 32}, "encoder": stack}
            for rate, letter in zip(RATES, letters, strict=True):
                run = lettered_run(letter, setting, rate, variant=f"{norm}{layers} {rate}", seed=seed)
                runs.append(run | {"axes": {"norm": norm, "model.layers": layers, "optimizer.lr": rate}})
    return results_of(runs)


def judged(results, kind, **given):
    return judge_claim({"id": "it", "says": "So it is.", "kind": kind, "of": OF, **given}, results)


def moved(**columns):
    """As printed, but for these columns: ``layer1="NNC"``."""
    return AS_PRINTED | {(word[:-1], int(word[-1])): letters for word, letters in columns.items()}


def test_a_table_as_printed_is_supported_and_says_how_far_it_agrees(golden):
    found = judged(table_results(*[AS_PRINTED] * 5), "table", cells=CELLS, guesses={"all": [{"at_most": 0.1}]})
    assert (found.verdict, found.estimate, found.n, found.inside) == ("supported", 0.0, 5, 5)
    assert (found.region_low, found.region_high) == (None, 0.5)
    golden(found.reason)
    assert "“all” 10, of 12" in found.reason
    assert (found.measure, found.quantity) == ("steps", "converged")


@pytest.mark.parametrize(
    ("seeds", "word"),
    [
        ([moved(layer1="NNC")] * 5, "supported"),  # a quarter of a step
        ([moved(layer1="NNN", batch5="NCC")] * 5, "undecided"),  # 4 steps of 4 columns: 1, not above it
        ([moved(layer1="NNN", batch5="CCC")] * 5, "contradicted"),
        ([moved(layer1="NNN", batch5="CCC")] * 4, "undecided"),
        ([moved(layer1="NNN"), AS_PRINTED, moved(batch5="CCC"), AS_PRINTED, AS_PRINTED], "undecided"),
    ],
)
def test_boundaries_decide(seeds, word):
    assert judged(table_results(*seeds), "table", cells=CELLS).verdict == word


def test_the_interval_is_students_over_seeds(golden):
    seeds = [AS_PRINTED, moved(layer1="NNC"), AS_PRINTED, moved(batch1="CCC", layer5="NNC"), AS_PRINTED]
    found = judged(table_results(*seeds), "table", cells=CELLS)
    numbers = [0, 0.25, 0, 0.5, 0]
    low, high = stats.t.interval(0.95, 4, sum(numbers) / 5, stats.sem(numbers))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert list(found.seeds.values()) == numbers
    golden(judged(table_results(*[moved(layer1="NNC")] * 2), "table", cells=CELLS).reason)


def test_a_run_that_diverged_has_not_converged_and_columns_that_were_not_run_are_told(golden):
    found = judged(table_results(*[moved(layer1="DCC", batch5="DDN")] * 5), "table", cells=CELLS)
    assert (found.verdict, found.estimate) == ("supported", 0.0)
    lost = judged(table_results(*[AS_PRINTED] * 5, moved(layer1="TCC")), "table", cells=CELLS)
    assert (lost.verdict, lost.n) == ("supported", 5)
    assert "1 of 6 seeds" in lost.reason
    waits = judged(table_results(*[AS_PRINTED] * 5, moved(layer1="-CC")), "table", cells=CELLS)
    assert waits.verdict == "undecided"
    golden(waits.reason)
    shallow = {key: letters for key, letters in AS_PRINTED.items() if key[1] == 1}
    found = judged(table_results(*[shallow] * 5), "table", cells=CELLS, guesses={"all": [{"at_most": 0.1}]})
    assert "2 of 4 columns" in found.reason
    assert "“all” 6, of 6" in found.reason
    other = {("rms", 1): "NCC"}
    assert judged(table_results(other), "table", cells=CELLS).verdict == "not testable here"


def test_a_run_with_several_numbers_is_refused(golden):
    results = table_results(*[AS_PRINTED] * 5)
    again = results.tables["curves"].filter(quantity="loss").with_columns(quantity=pl.lit("nll"))
    later = again.with_columns(pl.col("step") + 40)
    twice = Results(
        results.runs, results.axes, results.tables | {"curves": pl.concat([results.tables["curves"], again, later])}
    )
    with golden.raises(LabError):
        judged(twice, "table", cells=CELLS)
    assert judged(twice, "table", cells=CELLS, of={**OF, "statistics": "batch"}).verdict == "supported"


def test_a_table_is_of_what_converged_and_its_margins_are_in_order():
    results = table_results(AS_PRINTED)
    with pytest.raises(LabError, match="write quantity: converged"):
        judged(results, "table", cells=CELLS, of={**OF, "quantity": "time_to_converge"})
    with pytest.raises(LabError, match="is below at_most"):
        judged(results, "table", cells=CELLS, beyond=0.1)
    with pytest.raises(LabError, match="one letter"):
        judged(results, "table", cells={**CELLS, "rates": [1, 0.1]})


NESTED = {"of": {**OF, "norm": "batch"}, "to": {"norm": "layer"}, "at_most": 0}
UNMOVED = {"of": {**BOUNDARY, "norm": "layer", "model.layers": 5}, "to": {"model.layers": 1}, "between": [0, 0]}
FALLS = {"of": {**BOUNDARY, "norm": "batch", "model.layers": 5}, "to": {"model.layers": 1}, "at_most": -2}
ALIKE = {"of": {**OF, "quantity": "max_converged_lr", "norm": "layer"}, "equal": True}
FAILS = {"of": {**OF, "optimizer.lr": 1.0}, "at_most": 0}


@pytest.mark.parametrize(
    ("claim", "exception"),
    [
        (NESTED, moved(batch1="CCC")),
        (NESTED, moved(layer5="NNC", batch5="NCN")),
        (UNMOVED, moved(layer5="CCC")),
        (FALLS, moved(batch5="NNC")),
        (ALIKE, moved(layer5="NNC")),
        (FAILS, moved(batch1="CCC")),
    ],
)
def test_what_holds_everywhere_is_counted_by_seeds(claim, exception):
    """One cell undoes its seed: 6 of 6 decide, 5 of 6 do not."""
    found = judged(table_results(*[AS_PRINTED] * 6), "everywhere", **claim)
    assert (found.verdict, found.inside, found.n) == ("supported", 6, 6)
    broken = judged(table_results(*[AS_PRINTED] * 5, exception), "everywhere", **claim)
    assert (broken.verdict, broken.inside, broken.n) == ("undecided", 5, 6)
    assert broken.seeds == dict.fromkeys(range(1, 6), 1.0) | {6: 0.0}
    assert (broken.low, broken.high) == pytest.approx(tuple(stats.binomtest(5, 6).proportion_ci(method="exact")))
    assert judged(table_results(*[exception] * 6), "everywhere", **claim).verdict == "contradicted"
    assert judged(table_results(*[exception] * 6), "everywhere", **claim, expect="fails").verdict == "supported"


def test_it_declares_a_region_or_that_all_are_equal_and_waits_for_seeds_without_their_numbers(golden):
    lost = judged(table_results(*[AS_PRINTED] * 6, moved(layer1="TCC")), "everywhere", **ALIKE)
    assert (lost.verdict, lost.inside, lost.n) == ("undecided", 6, 7)
    assert "1 timed_out" in lost.reason
    waits = judged(table_results(*[AS_PRINTED] * 6, moved(layer1="C-C")), "everywhere", **ALIKE)
    assert waits.verdict == "undecided"
    golden(waits.reason)
    results = table_results(AS_PRINTED)
    for given in ({"equal": True, "at_most": 0}, {}):
        with golden.raises(LabError):
            judged(results, "everywhere", **given)
    with golden.raises(LabError):
        judged(results, "everywhere", of={"quantity": "converged", "split": "train"}, at_most=0)


def test_of_several_settings_a_table_is_of_the_one_that_is_selected():
    """Two widths, of which one is as printed: its seeds are not held up by the runs of the other."""
    asked, other = table_results(*[AS_PRINTED] * 5), table_results(*[moved(layer1="NNN", batch5="CCC")] * 5)
    runs = other.runs.with_columns(
        pl.col("run", "trajectory", "variant") + " wide", pl.col("setting").str.replace('"d_model":32', '"d_model":64')
    )
    axes = other.axes.with_columns(pl.col("run") + " wide")
    curves = other.tables["curves"].with_columns(pl.col("run", "trajectory", "variant") + " wide")
    tables = asked.tables | {"curves": pl.concat([asked.tables["curves"], curves])}
    both = Results(pl.concat([asked.runs, runs]), pl.concat([asked.axes, axes]), tables)
    narrow, wide = (judged(both, "table", cells=CELLS, of={**OF, "model.d_model": d}) for d in (32, 64))
    assert (narrow.verdict, narrow.estimate, narrow.n) == ("supported", 0.0, 5)
    assert wide.verdict == "contradicted"
