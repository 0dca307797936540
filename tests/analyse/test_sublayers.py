"""The numbers of sublayers, by hand."""

import polars as pl

from lnlab.select.sublayers import number_sublayers


def rows(*places, run="a", stack="encoder"):
    return [{"run": run, "step": 0, "stack": stack, "layer": layer, "sublayer": word} for layer, word in places]


BOTH = [(1, "feed_forward"), (2, "self_attention"), (1, "self_attention"), (2, "feed_forward")]
THREE = [(1, word) for word in ("feed_forward", "self_attention", "cross_attention")]


def test_branches_are_counted_in_the_order_of_the_stream_and_by_stack_and_run():
    table = pl.DataFrame(rows(*BOTH) + rows(*THREE, stack="decoder") + rows(*BOTH[:1], run="b"))
    found = number_sublayers(table).group_by("run", "stack").agg("layer", "sublayer", "i").rows_by_key(["run", "stack"])
    ((layers, words, numbers),) = found["a", "encoder"]
    assert list(zip(layers, words, numbers, strict=True)) == [
        (1, "self_attention", 1),
        (1, "feed_forward", 2),
        (2, "self_attention", 3),
        (2, "feed_forward", 4),
    ]
    assert found["a", "decoder"][0][1] == ["self_attention", "cross_attention", "feed_forward"]
    assert found["b", "encoder"][0][2] == [1]


def test_a_sublayer_has_one_number_in_all_its_rows_and_what_is_no_sublayer_has_none():
    table = pl.DataFrame(rows(*BOTH, *BOTH, (None, "embedding"), (None, "final_norm")))
    assert number_sublayers(table)["i"].to_list() == [1, 1, 2, 2, 3, 3, 4, 4]
