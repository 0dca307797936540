"""Replicates that stand in clusters: intervals of their means cover, and what takes no account of them is refused."""

import math
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import stats

import lnlab
from lnlab.analyse.statistics.intervals import clustered_interval, t_interval
from lnlab.errors import LabError


@pytest.mark.parametrize("log", [False, True])
def test_clusters_of_one_size_are_student_s_interval_of_their_means(log):
    generator = np.random.default_rng(2)
    numbers = np.exp(generator.normal(size=(7, 4)))
    means = np.exp(np.log(numbers).mean(axis=1)) if log else numbers.mean(axis=1)
    of_means = t_interval(means, log=log)
    interval = clustered_interval(numbers.ravel(), np.repeat(list("abcdefg"), 4), log=log)
    for name in ("estimate", "low", "high", "sd", "n"):
        assert getattr(interval, name) == pytest.approx(getattr(of_means, name), rel=1e-9), name


def test_clusters_of_one_replicate_are_independent_replicates():
    numbers = np.random.default_rng(3).normal(size=9)
    interval = clustered_interval(numbers, list("abcdefghi"))
    assert (interval.low, interval.high) == pytest.approx((t_interval(numbers).low, t_interval(numbers).high))
    assert clustered_interval(numbers, ["a"] * 9).high == math.inf


def documents(topics=12, each=5, noise=0.3):
    generator = np.random.default_rng(4)
    return pl.DataFrame(
        {"model": model, "doc": topic * each + i, "topic": f"t{topic}", "acc": 0.5 + shift + 0.1 * (model == "b") + own}
        for topic, shift in enumerate(generator.normal(size=topics) * noise)
        for i in range(each)
        for model in "ab"
        for own in [generator.normal() * noise + (shift if model == "b" else 0)]
    )


CLAIM = {"id": "b_better", "kind": "difference", "of": {"quantity": "acc", "model": "b"}, "to": {"model": "a"}}


def test_a_claim_on_documents_of_topics(tmp_path):
    table = documents()
    runs = lnlab.from_frame(table, axes=["model"], seed="doc", cluster="topic")
    (verdict,) = runs.judge([{**CLAIM, "at_least": 0}])
    wide = table.pivot("model", index=["doc", "topic"], values="acc").with_columns(d=pl.col("b") - pl.col("a"))
    means = wide.group_by("topic").agg(pl.col("d").mean())["d"].to_numpy()
    half = stats.t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / math.sqrt(len(means))
    assert (verdict.estimate, verdict.low, verdict.high) == pytest.approx(
        (means.mean(), means.mean() - half, means.mean() + half)
    )
    (independent,) = lnlab.from_frame(table.drop("topic"), axes=["model"], seed="doc").judge([{**CLAIM, "at_least": 0}])
    assert independent.estimate == pytest.approx(verdict.estimate)
    assert independent.high - independent.low < verdict.high - verdict.low
    runs.report([{**CLAIM, "at_least": 0}], out=tmp_path / "page")
    page = (tmp_path / "page" / "index.html").read_text()
    assert "in 12 clusters" in page
    lnlab.from_frame(table.drop("topic"), axes=["model"], seed="doc").report(
        [{**CLAIM, "at_least": 0}], out=tmp_path / "plain"
    )
    assert "independent of each" in (tmp_path / "plain" / "index.html").read_text()


def test_what_takes_no_account_of_clusters_gives_no_verdict(golden):
    runs = lnlab.from_frame(documents(), axes=["model"], seed="doc", cluster="topic")
    (median,) = runs.judge([{**CLAIM, "at_least": 0, "about": "median"}])
    assert median.verdict == "undecided"
    golden(median.reason)
    (order,) = runs.judge([{"id": "o", "kind": "order", "over": "model", "of": {"quantity": "acc"}, "order": "b > a"}])
    assert order.verdict == "not testable here"
    few = lnlab.from_frame(documents(topics=3), axes=["model"], seed="doc", cluster="topic")
    (verdict,) = few.judge([{**CLAIM, "at_least": 0}])
    assert verdict.verdict == "undecided"
    golden(verdict.reason)


def test_a_replicate_has_one_cluster():
    table = documents()
    moved = table.with_columns(
        topic=pl.when(pl.col("doc") == 7, pl.col("model") == "b").then(pl.lit("t0")).otherwise("topic")
    )
    for broken, said in (
        (moved, "doc 7 has the clusters "),
        (table.with_columns(topic=pl.when(pl.col("doc") > 2).then("topic")), "doc 0 has the clusters"),
    ):
        with pytest.raises(LabError, match=said), warnings.catch_warnings():
            lnlab.from_frame(broken, axes=["model"], seed="doc", cluster="topic")
