"""Looks are counted by the seed sets on which a criterion was judged, whatever remembers them."""

import json
from dataclasses import replace

import polars as pl
import pytest

from lnlab.claims.criterion_digest import claim_criterion
from lnlab.claims.judging import judge_all
from lnlab.claims.look_book import LookBook
from tests.claims.conftest import make_experiment

CLAIM = {
    "id": "it", "says": "It is so.", "kind": "bound", "of": {"quantity": "q", "placement": "a"}, "at_least": 1.0,
}  # fmt: skip
NUMBERS = [1.5, 1.7, 1.4, 1.6, 1.3, 1.8, 1.2, 1.6, 1.5, 1.4, 1.7, 1.5]


def results(n):
    return make_experiment({"a": NUMBERS[:n]})


def looked_at(book, n, **claim):
    (verdict,) = judge_all([{**CLAIM, **claim}], results(n), looks=book)
    return verdict.look, verdict.level


def test_a_look_is_a_set_of_seeds():
    book = LookBook()
    assert looked_at(book, 5) == (1, 0.05)
    assert looked_at(book, 5) == (1, 0.05)
    assert looked_at(book, 10) == (2, 0.0125)
    assert looked_at(book, 12) == (3, 0.00625)
    assert looked_at(book, 10) == (2, 0.0125)
    assert [(look.look, len(look.seeds), look.alpha) for look in book.looks["it"]] == [
        (1, 5, 0.05),
        (2, 10, 0.0125),
        (3, 12, 0.00625),
    ]
    assert all(len(look.date) == 10 for look in book.looks["it"])


def test_open_looks_have_half_the_level_from_the_first_and_words_do_not_make_another_criterion():
    book = LookBook()
    assert [looked_at(book, n, looks="open") for n in (5, 10)] == [(1, 0.025), (2, 0.0125)]
    book = LookBook()
    looked_at(book, 5)
    for said in ({"says": "In other words."}, {"because": {"supported": "so"}}, {"role": "source"}, {"law": 1.5}):
        assert looked_at(book, 5, **said) == (1, 0.05)
    assert looked_at(book, 10, says="In other words.", law=1.5)[0] == 2


OTHERS = [
    {"at_least": 1.1}, {"about": "median"}, {"scale": "linear"}, {"of": {"quantity": "q", "placement": "b"}},
    {"kind": "ratio", "to": {"placement": "b"}},
]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS, ids=["range", "estimand", "scale", "selection", "kind"])
def test_another_criterion_on_seeds_that_were_judged_is_a_further_look(other):
    arms = make_experiment({"a": 3 * NUMBERS, "b": [number * 2 for number in 3 * NUMBERS]})

    def look(book, seeds, **changes):
        (found,) = judge_all([{**CLAIM, **changes, "seeds": list(seeds)}], arms, looks=book)
        return found.look, found.level

    book, first, fresh = LookBook(), range(1, 11), range(11, 21)
    assert look(book, first) == (1, 0.05)
    assert look(book, first, **other) == (2, 0.0125)
    assert look(book, first) == (1, 0.05)  # going back is the look that there was
    assert look(book, range(10, 20), **other) == (3, 0.00625)
    assert book.looks["it"][0].criterion != book.looks["it"][1].criterion
    book = LookBook()
    assert look(book, first) == (1, 0.05)
    assert look(book, fresh, **other) == (1, 0.05)  # none of these seeds had been judged
    assert look(book, range(11, 23), **other) == (2, 0.0125)
    assert look(book, range(1, 13), **other) == (4, 0.05 / 16)  # now both are linked
    assert LookBook.from_json(book.to_json()).to_json() == book.to_json()


def test_a_change_that_can_only_take_a_word_back_is_no_look():
    """A margin of ours instead of the source's, or a requirement more. Giving them up again would be one."""
    small = {"kind": "ratio", "of": {"quantity": "q", "placement": "a"}, "to": {"placement": "b"}, "at_least": 1.5}
    arms = make_experiment({"a": [1.11, 1.1, 1.09, 1.1, 1.12, 1.1], "b": [1.0] * 6})
    needs = [{"kind": "bound", "of": {"quantity": "q", "placement": "b"}, "at_least": 0.9}]

    def found(book, **changes):
        (verdict,) = judge_all([{**CLAIM, **small, **changes}], arms, looks=book)
        return verdict.look, verdict.verdict

    book = LookBook()
    assert found(book) == (1, "contradicted")
    assert found(book, margin="ours", zone=1.01) == (1, "smaller")
    assert found(book, requires=needs) == (1, "contradicted")
    assert found(book, requires=[{**needs[0], "says": "It is there."}], margin="ours") == (1, "smaller")
    assert len(book.looks["it"]) == 1
    assert found(book) == (1, "contradicted")
    other = LookBook()
    assert found(other, margin="ours") == (1, "smaller")
    assert found(other)[0] == 2
    zone = LookBook()
    assert found(zone, margin="ours", zone=1.01) == (1, "smaller")
    assert found(zone, margin="ours", zone=1.2)[0] == 2
    with_need = LookBook()
    assert found(with_need, requires=needs)[0] == 1
    assert found(with_need)[0] == 2


def test_a_new_name_makes_no_first_look():
    book = LookBook()
    assert [looked_at(book, n) for n in (5, 10)] == [(1, 0.05), (2, 0.0125)]
    assert looked_at(book, 10, id="renamed") == (2, 0.0125)
    again = LookBook.from_json(book.to_json())
    assert looked_at(again, 12, id="renamed") == (3, 0.00625)
    assert looked_at(again, 12) == (3, 0.00625)
    assert [looked_at(again, n) for n in (5, 10)] == [(1, 0.05), (2, 0.0125)]
    assert looked_at(again, 12, id="renamed", at_least=1.1)[0] == 4  # another range under that name
    assert looked_at(again, 12, id="another", at_least=1.2)[0] == 1  # another claim


def test_methods_that_are_called_otherwise_are_the_same_runs():
    def criterion(names, **claim):
        results = make_experiment(dict(zip("ab", (NUMBERS, NUMBERS), strict=True)))
        axes = results.axes.with_columns(axis=pl.lit("method"), label=pl.col("label").replace(names))
        axes = axes.with_columns(value=pl.format('"{}"', "label"))
        return claim_criterion({**CLAIM, **claim}, replace(results, axes=axes))[0]

    old, new = {"a": "AdamW", "b": "RAdam"}, {"a": "AdamW, no warm-up", "b": "Rectified Adam"}
    for claim in (
        {"of": {"quantity": "q", "method": "{a}"}},
        {"kind": "ratio", "of": {"quantity": "q", "method": "{a}"}, "to": {"method": "{b}"}},
        {"kind": "order", "of": {"quantity": "q"}, "over": "method", "order": "{a} < {b}"},
    ):
        of_old, of_new = (json.loads(_filled(json.dumps(claim), names)) for names in (old, new))
        assert criterion(old, **of_old) == criterion(new, **of_new) != criterion(old, **of_old, at_most=3)
    swapped = {"kind": "order", "of": {"quantity": "q"}, "over": "method", "order": "RAdam < AdamW"}
    assert criterion(old, **of_old) != criterion(old, **swapped)


def _filled(text, names):
    for arm, name in names.items():
        text = text.replace(f"{{{arm}}}", name)
    return text


def test_an_order_asks_the_same_on_fresh_seeds_of_the_values_that_it_names():
    order = {**CLAIM, "kind": "order", "of": {"quantity": "q"}, "over": "placement", "order": "b < a"}
    names = {"a": NUMBERS, "b": [number / 2 for number in NUMBERS], "c": NUMBERS[:5]}
    (before, first), (after, fresh) = (
        claim_criterion({**order, "seeds": seeds}, make_experiment(names)) for seeds in (range(1, 6), range(6, 13))
    )
    assert (before, first, fresh) == (after, tuple(range(1, 6)), tuple(range(6, 13)))


@pytest.mark.parametrize("numbers", [NUMBERS[:2], [*NUMBERS[:4], None]], ids=["too few", "one still runs"])
def test_what_a_rule_leaves_undecided_is_no_look(numbers):
    book = LookBook()
    ended = lambda arm, seed: None if numbers[seed - 1] is None else "finished"  # noqa: E731
    (found,) = judge_all([CLAIM], make_experiment({"a": numbers}, status=ended), looks=book)
    assert (found.verdict, book.to_json()) == ("undecided", {})


def test_declared_sizes_are_the_only_looks(golden):
    book, sizes = LookBook(), {"looks": [5, 10, 12]}
    assert looked_at(book, 5, **sizes) == (1, 0.025)
    (between,) = judge_all([{**CLAIM, **sizes}], results(7), looks=book)
    assert between.verdict == "undecided"
    golden(between.reason)
    assert looked_at(LookBook(), 10, **sizes) == (2, 0.0125)  # the first was skipped, and counts
    assert looked_at(book, 12, **sizes) == (3, 0.0125)
    (beyond,) = judge_all([{**CLAIM, "looks": [3, 5]}], results(7), looks=LookBook())
    assert beyond.verdict == "ill-posed"
    golden(beyond.reason)


def test_a_record_survives_json_and_fresh_seeds_are_a_look_too():
    book = LookBook()
    looked_at(book, 5)
    looked_at(book, 10)
    again = LookBook.from_json(book.to_json(), book.to_json())
    assert again.to_json() == book.to_json()
    assert looked_at(again, 12)[0] == 3
    claim = {**CLAIM, "of": {**CLAIM["of"], "seed": [1, 2, 3, 4, 5]}}
    book = LookBook()
    (first,) = judge_all([claim], results(10), looks=book)
    (fresh,) = judge_all([{**claim, "of": {**CLAIM["of"], "seed": [6, 7, 8, 9, 10]}}], results(10), looks=book)
    assert (first.look, fresh.look) == (1, 2)


def test_looks_of_the_past_belong_to_the_claim_as_it_is():
    past = {
        "it": [
            {"seeds": "1-3", "date": "2025-01-02", "commit": "abc"},
            {"seeds": [1, 2, 3, 4, 5], "date": "2025-01-03"},
        ]
    }
    book = LookBook.from_json(past)
    assert looked_at(book, 10) == (3, 0.00625)
    first = book.looks["it"][0]
    assert (first.seeds, first.date, first.commit) == ((1, 2, 3), "2025-01-02", "abc")
    assert first.criterion == claim_criterion(CLAIM, results(10))[0]
    assert looked_at(book, 10, at_least=1.2)[0] == 4
    joined = LookBook.from_json(past, book.to_json())
    assert [look.seeds for look in joined.looks["it"]][:2] == [(1, 2, 3), (1, 2, 3, 4, 5)]
    assert looked_at(joined, 10)[0] == 3
