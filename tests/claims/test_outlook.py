"""How many seeds would decide, against simulated experiments with the effect that was seen, and scipy's quantiles."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from lnlab.app.deciding import further_looks, further_seeds_lines, seconds_of_variants
from lnlab.claims.criterion import Criterion
from lnlab.claims.judging import judge_all
from lnlab.claims.kinds.trend import trend_verdict
from lnlab.claims.look_book import LookBook
from lnlab.claims.outlook import alike_seeds, outlook_text
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample
from lnlab.claims.verdict_text import further_seeds
from lnlab.report.gallery.rezero_jacobian import predicted_means

TO = {"kind": "ratio", "to": {"placement": "b"}}


def stated_seeds(reason):
    return int(re.search(r"about ([\d,]+) seeds would", reason)[1].replace(",", ""))


@pytest.mark.parametrize(("looks", "alpha"), [(1, 0.05 / 4), ("open", 0.05 / 4)])
@pytest.mark.parametrize(("edge", "sd", "n"), [(1.8, 0.2, 5), (1.5, 0.6, 8), (2.3, 0.5, 20)])
def test_at_that_number_the_mean_half_width_at_the_next_level_reaches_the_edge(
    verdict, exactly, looks, alpha, edge, sd, n
):
    region = {"at_most": edge} if edge > 2 else {"at_least": edge}
    found = verdict({"a": exactly(2, sd, n), "b": np.ones(n)}, **TO, **region, looks=looks)
    assert found.verdict == "undecided", found.reason
    seeds, distance = stated_seeds(found.reason), abs(math.log(2 / edge))
    draws = np.random.default_rng(seeds).normal(math.log(2), sd, (20_000, seeds))
    half = stats.t.ppf(1 - alpha / 2, seeds - 1) * draws.std(axis=1, ddof=1) / math.sqrt(seeds)
    assert 0.85 * distance < half.mean() < distance
    decided = np.abs(draws.mean(axis=1) - math.log(edge)) > half
    assert 0.45 < decided.mean() < 0.75


def test_seeds_beyond_a_hundred_are_counted_and_a_mean_of_too_few_at_the_level_of_this_look(verdict, exactly, golden):
    found = verdict({"a": exactly(2, 0.2, 10), "b": np.ones(10)}, **TO, at_least=1.95)
    normal = (stats.norm.ppf(1 - 0.0125 / 2) * 0.2 / math.log(2 / 1.95)) ** 2
    golden(found.reason)
    assert normal < stated_seeds(found.reason) < normal + 6
    assert further_seeds(found.reason) == stated_seeds(found.reason)  # a pooled look would be at 640
    found = verdict({"a": exactly(2, 0.3, 4), "b": np.ones(4)}, **TO, at_least=1.8, step=10)
    gap = math.log(2 / 1.8)
    expected = next(n for n in range(2, 500) if stats.t.ppf(0.975, n - 1) * 0.3 / math.sqrt(n) < gap)
    golden(found.reason)
    assert stated_seeds(found.reason) == expected
    assert further_seeds(found.reason) == expected - 4


@pytest.mark.parametrize(("k", "n"), [(9, 10), (1, 10), (16, 20), (7, 12)])
@pytest.mark.parametrize("alpha", [0.05, 0.0125])
def test_a_share_needs_the_first_number_of_seeds_that_decides_by_the_beta_quantiles(k, n, alpha):
    def decides(m):
        above, below = k * m // n, m - (n - k) * m // n
        low = stats.beta.ppf(alpha / 2, above, m - above + 1) if above else 0.0
        high = stats.beta.ppf(1 - alpha / 2, below + 1, m - below) if below < m else 1.0
        return low >= 0.5 if k >= n / 2 else high <= 0.5

    assert alike_seeds(k, n, 1 - alpha) == next(m for m in range(n + 1, 5000) if decides(m))


def test_half_of_the_seeds_on_either_side_are_decided_by_no_number_and_declared_looks_are_the_only_ones(golden):
    assert alike_seeds(5, 10, 0.95) is None
    golden(outlook_text(None, 10, Criterion()))
    declared = Criterion(sizes=(5, 10, 40))
    golden(outlook_text(12, 10, declared))
    golden(outlook_text(50, 10, declared))
    assert further_seeds(outlook_text(50, 10, declared)) is None


@pytest.mark.parametrize(
    ("needed", "seeds", "words", "further"),
    [
        (15, 10, "about 15 seeds would decide: 10 more for a look at 20", 10),
        (20, 10, "about 20 seeds would decide: 10 more for a look at 20", 10),
        (22, 10, "about 22 seeds would decide: 22 fresh ones alone", 22),
        (35, 10, "about 35 seeds would decide: 30 more for a look at 40", 30),
        (1481, 370, "on the edge: about 1,481 seeds would be needed: 1,481 fresh ones alone", 1481),
    ],
)
def test_looks_are_pooled_at_doubled_numbers_unless_fresh_seeds_are_fewer(needed, seeds, words, further):
    assert outlook_text(needed, seeds, Criterion()) == words
    assert further_seeds(words) == further


def test_a_rule_alone_states_the_seeds_unless_they_would_not_do(verdict, golden):
    alike = verdict({"a": [2.0, 2.1, 2.2, 2.3, 2.4], "b": np.ones(5)}, **TO, at_least=1, about="median", looks="open")
    golden(alike.reason)
    assert further_seeds(alike.reason) == 2
    mixed = verdict({"a": [2.0, 2.1, 2.2, 2.3, 0.4], "b": np.ones(5)}, **TO, at_least=1, about="median", looks="open")
    seeds = alike_seeds(4, 5, 0.975)
    assert seeds > 7
    golden(mixed.reason)
    assert (stated_seeds(mixed.reason), further_seeds(mixed.reason)) == (seeds, seeds - 5)
    share = verdict([0.1, 0.9, 0.9, 0.9, 0.9], kind="status", at_least=0.5, looks="open")
    assert share.reason.endswith(f"about {seeds} seeds would decide: {seeds - 5} more")


def test_a_look_takes_seeds_that_nothing_was_chosen_on(experiment, exactly):
    results = experiment({"a": exactly(2, 0.2, 10), "b": np.ones(10)})
    of = {"quantity": "q", "placement": "a"}
    claim = {"id": "it", "says": "", "kind": "ratio", "of": of, "to": {"placement": "b"}, "at_least": 1.9}
    verdicts = judge_all([claim], results, looks=LookBook())
    (free,) = further_looks([claim], results, verdicts)
    (found,) = further_looks([claim], results, verdicts, taken={11, 13})
    assert free.seeds == tuple(range(11, 11 + free.more))  # fresh ones alone
    assert found.seeds == (12, *range(14, 13 + found.more))
    assert len(found.runs) == 2 * found.more


@pytest.mark.parametrize("kind", [{"kind": "status", "at_least": 0.5}, {"kind": "everywhere", "at_least": 0.5}])
def test_a_tested_share_of_seeds_says_how_many_would_decide(verdict, kind):
    found = verdict([0.1, 0.1, *[0.9] * 7], **kind)
    assert found.verdict == "undecided"
    assert stated_seeds(found.reason) == alike_seeds(7, 9, 1 - 0.0125)


def test_an_order_within_seeds_is_not_made_clear_by_more_of_them(golden):
    unclear = np.array([[1, 4, 2, 3, 9], [1, 3, 2, 9, 4], [1, 9, 3, 2, 9.5], [2, 1, 4, 3, 9]] * 3, dtype=float)
    sample = Sample(dict(enumerate(unclear[:, -1] / unclear[:, 0])), log=True, trained=False)
    word, _, reason = trend_verdict(sample, unclear, Region(low=1.1))
    assert word == "undecided"
    golden(reason)


def test_an_order_that_is_clear_within_seeds_needs_those_of_the_normal_limit():
    rises = np.array([[1, 2, 3, 4], [1, 2.1, 3, 4], [1, 2, 3.1, 4], [1, 2, 3, 4.1]])[:3]
    rises = np.vstack([rises, [[3, 2.9, 2, 3.1]]])
    sample = Sample(dict(enumerate([4.0, 4.01, 4.02, 3.99])), log=True, trained=False)
    criterion = Criterion(level=2e-4, next_level=1e-4)
    word, _, reason = trend_verdict(sample, rises, Region(low=1.1), criterion)
    assert word == "undecided"
    p = float(re.search(r"Page's test p = ([\d.e-]+)", reason)[1])
    expected = 4 * (stats.norm.isf(5e-5) / stats.norm.isf(p)) ** 2
    assert stated_seeds(reason) == pytest.approx(expected, abs=1.1)


def test_a_printed_mean_between_the_two_ranges_is_tried_at_doubled_numbers(verdict, exactly):
    draws = exactly(1.0, 0.5, 10)
    inner, outer = predicted_means(list(draws), 10), predicted_means(list(draws), 10, 0.975)
    found = verdict(draws, kind="printed_mean", draws=10, looks="open", mean=(inner.high + outer.high) / 2)
    assert found.verdict == "undecided"
    mean = (inner.high + outer.high) / 2
    assert f"about {stated_seeds(found.reason)} seeds would decide" in found.reason
    many = exactly(1.0, 0.5, stated_seeds(found.reason)).tolist()  # as many seeds that scatter as these do
    in_both = [mean in predicted_means(many, 10, coverage) for coverage in (0.95, 1 - 0.0125)]
    assert in_both in ([True, True], [False, False])


def test_a_statement_that_is_wrong_among_several_is_counted_at_the_level_of_holm(verdict, exactly):
    def order(arms, words):
        numbers = {name: exactly(math.exp(mean), sd, 10) for name, (mean, sd) in arms.items()}
        return verdict(numbers, kind="order", over="placement", of={"quantity": "q"}, order=words)

    arms = {"a": (0.0, 0.0), "b": (-0.3, 1.0), "c": (9.0, 0.0)}
    one, two = order({k: arms[k] for k in "ab"}, "a < b"), order(arms, "a < b < c")
    assert (one.verdict, two.verdict) == ("undecided", "undecided")
    for found, alpha in ((one, 0.0125), (two, 0.0125 / 2)):
        expected = next(n for n in range(2, 500) if stats.t.ppf(1 - alpha / 2, n - 1) / math.sqrt(n) < 0.3)
        assert stated_seeds(found.reason) == expected


def test_runs_of_the_claim_and_of_what_it_requires_are_counted_once_each(experiment, exactly):
    ones = np.ones(10)
    results = experiment({"a": exactly(2, 0.2, 10), "b": ones, "c": ones})
    of = {"quantity": "q", "placement": "a"}
    claim = {"id": "it", "says": "So it is.", "of": of, **TO, "at_least": 1.9}
    required = {"kind": "bound", "of": {"quantity": "q", "placement": "c"}, "at_most": 2}
    alone, both = judge_all([claim, claim | {"id": "other", "requires": [required]}], results, looks=LookBook())
    seeds = further_seeds(alone.reason)
    assert alone.reason.endswith(f"; that takes {2 * seeds} runs")
    assert both.reason.endswith(f"; that takes {3 * seeds} runs")
    supported = judge_all([claim | {"at_least": 1.1}], results, looks=LookBook())[0]
    assert (supported.verdict, "that takes" in supported.reason) == ("supported", False)


@pytest.mark.parametrize("known", [True, False])
def test_the_time_of_further_seeds_is_that_of_the_runs_so_far(experiment, exactly, known, golden):
    from dataclasses import replace

    import polars as pl

    results = experiment({"a": exactly(2, 0.2, 10), "b": np.ones(10), "c": np.ones(10)})
    seconds = pl.when(pl.col("variant").str.starts_with("a")).then(pl.lit(30.0)).otherwise(pl.lit(6.0))
    results = replace(results, runs=results.runs.with_columns(seconds=seconds if known else pl.lit(None, pl.Float64)))
    of = {"quantity": "q", "placement": "a"}
    claims = [
        {"id": "one", "says": "", "of": of, **TO, "at_least": 1.9},
        {"id": "two", "says": "", "of": of, "kind": "ratio", "to": {"placement": "c"}, "at_least": 1.9},
        {"id": "sure", "says": "", "of": of, **TO, "at_least": 1.1},
    ]
    verdicts = judge_all(claims, results, looks=LookBook())
    one, two = further_looks(claims, results, verdicts)
    assert (one.claim, two.claim, two.more) == ("one", "two", one.more)
    assert one.seeds == two.seeds == tuple(range(11, 11 + one.more))  # fresh ones alone
    assert {seed for _, seed in one.runs} == set(range(11, 11 + one.more))
    assert [len(look.runs) for look in (one, two)] == [2 * one.more, 2 * one.more]
    (line,) = further_seeds_lines([one, two], seconds_of_variants(results))
    golden(line)
    assert f" {one.more} more seeds, {3 * one.more} runs" in line
    assert ("on one worker" in line) == known


@pytest.mark.parametrize("kind", [{"kind": "status", "at_least": 0.5}, {"kind": "bound", "at_least": 0.5}])
def test_seeds_that_were_looked_at_by_earlier_rules_ask_for_the_level_of_the_next_look(experiment, kind, golden):
    """Seven seeds would do at 2.5 %. After the look at five the level is 1.25 %, and eight are the fewest."""
    about = {} if kind["kind"] == "status" else {"about": "share"}
    claim = {
        "id": "it",
        "says": "So it is.",
        "of": {"quantity": "q", "placement": "a"},
        **kind,
        **about,
        "looks": "open",
    }
    five = {"a": [0.9] * 5}
    past = {"it": [{"seeds": "1-5"}]}
    (fresh,) = judge_all([claim], experiment(five), looks=LookBook())
    (seen,) = judge_all([claim], experiment(five), looks=LookBook.from_json(past))
    assert "would decide" not in fresh.reason
    golden(seen.reason)
    assert (further_seeds(fresh.reason), further_seeds(seen.reason)) == (2, 5)
    words = [judge_all([claim], experiment({"a": [0.9] * n}), looks=LookBook.from_json(past))[0] for n in (7, 8, 10)]
    assert [(verdict.look, verdict.verdict) for verdict in words] == [
        (2, "undecided"),
        (2, "supported"),
        (2, "supported"),
    ]
