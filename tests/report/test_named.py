"""The table of methods says in which pieces they differ, and nothing that they share."""

import polars as pl

from lnlab.report.page.methods_table import method_grid
from lnlab.tables import Results
from tests.support.results import results_of


def experiment(setting_of):
    """One run a method; ``setting_of``: name -> setting."""
    return results_of(
        {"run": name, "variant": name, "seed": 1, "setting": setting, "axes": {"method": name}}
        for name, setting in setting_of.items()
    )


def a_setting(placement="post", norm="layer", encoder=None, init=None, tied="target", layers=2, **params):
    stack = {"layers": layers, "placement": {"kind": placement, **params}, "attention": {"kind": "softmax"}}
    decoder = {**stack, "norm": {"kind": norm, "eps": 1e-5}, "cross_attention": True}
    return {
        "model": {"kind": "encoder_decoder", "d_model": 8, "tied": tied},
        "encoder": {**stack, "norm": {"kind": encoder or norm, "eps": 1e-5}},
        "decoder": decoder,
        "init": init or {"kind": "xavier"},
        "optimizer": None,
    }


def texts(grid):
    return [tuple(text for text, _ in row) for row in grid.rows]


def test_pieces_in_which_methods_differ_have_a_column_and_others_none():
    found = method_grid(experiment({"A": a_setting(), "B": a_setting("pre", "rms"), "C": a_setting("pre")}))
    assert found.headings == ("method", "placement", "norm")
    assert texts(found) == [("A", "post", "layer"), ("B", "pre", "rms"), ("C", "pre", "layer")]


def test_stacks_that_disagree_are_told_apart_and_parameters_only_where_they_tell():
    given = {
        "A": a_setting("admin", start="log"),
        "B": a_setting("admin", start="profiled", init={"kind": "admin", "of": {"kind": "xavier"}}),
        "C": a_setting("post", encoder="batch"),
    }
    assert texts(method_grid(experiment(given))) == [
        ("A", "admin (start log)", "layer", "xavier"),
        ("B", "admin (start profiled)", "layer", "admin"),
        ("C", "post", "batch (encoder) and layer (decoder)", "xavier"),
    ]


def test_whatever_else_is_odd_stands_in_the_last_column():
    found = method_grid(experiment({"A": a_setting(), "B": a_setting("pre"), "C": a_setting("pre", tied="none")}))
    assert found.headings == ("method", "placement", "else")
    assert texts(found)[2] == ("C", "pre", "model.tied none")


def test_a_method_is_described_once_whatever_else_varies():
    runs = experiment({"A": a_setting(), "B": a_setting("pre")})
    deeper = experiment({"A": a_setting(layers=4), "B": a_setting("pre", layers=4)})
    other = deeper.runs.with_columns(pl.col("run", "variant") + "4")
    axes = deeper.axes.with_columns(pl.col("run") + "4")
    both = Results(pl.concat([runs.runs, other]), pl.concat([runs.axes, axes]))
    assert texts(method_grid(both)) == [("A", "post"), ("B", "pre")]


def test_without_names_there_is_no_table(results):
    assert method_grid(results) is None


def test_what_is_swept_beside_a_method_is_no_part_of_it():
    where = {"stack": None, "tensor": ["sum"]}

    def cut(factor, layers):
        cuts = [{"kind": "rescale", "where": where, "factor": factor}, {"kind": "clamp", "where": where, "most": 2.0}]
        return a_setting(layers=layers) | {"interventions": cuts}

    plain = [a_setting(layers=layers) | {"interventions": []} for layers in (4, 8)]
    given = {"a1": cut(0.1, 4), "a2": cut(10, 4), "b1": plain[0], "b2": plain[1], "c": a_setting("pre") | plain[0]}
    results = experiment(given)
    named_axes = results.axes.with_columns(
        value=pl.Series(['"A"', '"A"', '"B"', '"B"', '"C"']), label=pl.Series(["A", "A", "B", "B", "C"])
    )
    found = method_grid(Results(results.runs, named_axes))
    assert found.headings == ("method", "else")
    assert texts(found)[0] == ("A", "interventions rescale (sum) and clamp (most 2, sum)")
    assert texts(found)[1] == ("B", "–")


def test_parameters_that_methods_set_differently_are_told_across_kinds():
    rules = [{"kind": "adam", "lr": 0.003, "beta1": 0.9, "decay": 0}, {"kind": "sgd", "lr": 0.1, "decay": 0}]
    found = method_grid(experiment({n: a_setting() | {"optimizer": rule} for n, rule in zip("AB", rules, strict=True)}))
    assert found.headings == ("method", "optimizer")
    assert texts(found) == [("A", "adam (lr 0.003)"), ("B", "sgd (lr 0.1)")]
