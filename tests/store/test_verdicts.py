"""Verdicts are kept by claim and rows, looks by claim, seeds and criterion; what is damaged counts as none."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lnlab.store.looks import add_looks, read_looks
from lnlab.tables import frame


def verdict(claim, rows, said="supported"):
    return {"claim": claim, "rows": rows, "verdict": said, "estimate": float("nan"), "n": 3}


def test_verdicts_come_back_and_the_same_claim_on_the_same_rows_is_replaced(store):
    assert store.verdicts("plan").height == 0
    store.keep_verdicts("plan", frame("verdicts", [verdict("a", "1"), verdict("b", "1")]))
    store.keep_verdicts("plan", frame("verdicts", [verdict("a", "1", "contradicted"), verdict("a", "2")]))
    expected = [verdict("b", "1"), verdict("a", "1", "contradicted"), verdict("a", "2")]
    assert_frame_equal(store.verdicts("plan"), frame("verdicts", expected))


@pytest.mark.parametrize("name", ["verdicts.parquet", "verdicts.json"])
def test_a_flipped_bit_makes_them_none_and_the_next_ones_are_kept(store, root, name):
    store.keep_verdicts("plan", frame("verdicts", [verdict("a", "1")]))
    path = root / "plans" / "plan" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert store.verdicts("plan").height == 0
    store.keep_verdicts("plan", frame("verdicts", [verdict("a", "1")]))
    assert store.verdicts("plan").height == 1


def test_verdicts_of_another_shape_are_an_error_and_not_half_kept(store):
    with pytest.raises(pl.exceptions.SchemaError):
        store.keep_verdicts("plan", pl.DataFrame({"claim": ["a"]}))
    assert store.verdicts("plan").height == 0


def test_a_look_by_another_criterion_is_remembered_beside_the_first_and_the_same_one_once(root):
    first = {"seeds": [1, 2], "criterion": "a"}
    for look in (first, {**first, "seeds": [2, 1]}, {**first, "criterion": "b"}, first):
        add_looks(root, "toy", [""], {"it": [look]})
    assert read_looks(root, "toy", [""]) == {"it": [first, {**first, "criterion": "b"}]}
    assert read_looks(root, "toy", ["quick"]) == {}
