"""Settled settings: each once, and flaws of resolved settings at the place where they are written."""

import pytest

from lnlab.errors import SpecError
from lnlab.issues import Issue


@pytest.mark.parametrize(
    ("path", "lines", "where"),
    [
        (("encoder", "norm", "eps"), "norm: {kind: rms, eps: 1}", "6:24: norm.eps"),
        (("encoder", "norm", "eps"), "encoder: {norm: {kind: rms, eps: 1}}", "6:34: encoder.norm.eps"),
        (("decoder", "layers"), "norm: rms", "4:40: model.layers"),
        (("decoder", "cross_attention"), "decoder: {cross_attention: true}", "6:28: decoder.cross_attention"),
        (("decoder", "cross_attention"), "norm: rms", "1:1: decoder.cross_attention"),
        (("encoder",), "norm: rms", "1:1: encoder"),
    ],
)
def test_a_contradiction_is_shown_in_the_form_that_was_written(plan, base, monkeypatch, path, lines, where):
    monkeypatch.setattr(
        "lnlab.compile.resolved_sweep.contradictions", lambda *_: [Issue("wrong-value", path, "contradicts itself")]
    )
    with pytest.raises(SpecError) as caught:
        plan(base.replace("seeds: 2", lines))
    assert [str(problem) for problem in caught.value.issues] == [f"spec.yaml:{where}: contradicts itself"]


def test_equal_points_are_one_variant_however_they_are_written(plan, base):
    sweep = "sweep: [{norm: [rms, {kind: rms}, {kind: rms, eps: 1e-6}, {eps: 0.000001, kind: rms}]}, {norm: [rms]}]\n"
    found = plan(base + sweep)
    assert len(found.settings) == 1
    assert len(found.runs) == 2


def test_a_base_that_every_grid_replaces_may_be_null_where_there_may_be_none(plan, base, golden):
    assert plan(base + "optimizer: null\nsweep: [{optimizer: [{kind: adam, lr: 1}]}]\n").runs
    with golden.raises(SpecError):
        plan(base + "optimizer: adm\nsweep: [{optimizer: [{kind: adam, lr: 1}]}]\n")


@pytest.mark.parametrize(
    ("line", "sweep"),
    [
        ("norm: rsm", "[{norm: [rms]}, {norm: [layer]}]"),
        ("encoder: {norm: {kind: rms, eps: [1]}}", "[{encoder.norm.eps: [1]}]"),
        ("norm: {kind: rms, eps: [1]}", "[{norm.eps: [1]}]"),
    ],
)
def test_a_mistake_in_a_value_that_every_point_replaces_is_reported_where_it_is(plan, base, line, sweep, golden):
    with golden.raises(SpecError):
        plan(f"{base}{line}\nsweep: {sweep}\n")


def test_what_the_base_lacks_an_axis_may_set(plan, base):
    assert plan(base.replace("placement: post", "") + "sweep: [{placement: [post, pre]}]\n").runs
