"""Problems say where, what and what would do, in one line."""

import pickle

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.errors import MOST_LISTED, LabError, SpecError, closest, listed, nearest, shown
from lnlab.issues import Issue
from lnlab.registry import Flawed
from lnlab.report.registries import FRAME_REGISTRIES


def test_a_problem_is_one_line_of_place_cause_and_remedy_whatever_it_holds(golden):
    golden(str(Issue("unknown-name", "a.yaml:3:1", "no key is called 'nrom'", "did you mean 'norm'?")))
    golden(str(Issue("wrong-value", "", "the store is full")))
    golden(str(Issue("not-found", "a\nb\x1b[31m\r\x7f.yaml", "there is no such file")))


def test_an_error_keeps_its_problems_on_the_way_between_processes(golden):
    error = SpecError(Issue("wrong-value", "a", "b", "c"), Issue("wrong-value", "d", "e"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is SpecError
    assert again.issues == error.issues
    golden(str(again))
    assert isinstance(again, LabError)


def test_the_nearest_word_is_named_with_all_that_are_known(golden):
    golden([nearest(word, ["rms", "layer"]) for word in ("rsm", "RMS", "qqqq")])
    golden(nearest("adam", []))


@pytest.mark.parametrize(
    ("known", "meant"),
    [
        ("lr of to layers rms", {"rl": "lr", "fo": "of", "ot": "to", "lyaers": "layers", "rsm": "rms", "xy": None}),
        ("lr of to", {"o": "of", "t": "to", "f": "of"}),  # of equally near ones the one that begins alike
        ("file text label separator encoding", {"delimiter": "separator", "sep": "separator", "path": "file"}),
        ("lr beta2", {"delimiter": None, "sep": None, "path": None}),
        ("beta1 eps lr", {"learning_rate": "lr", "Learning_Rate": "lr", "epsilon": "eps"}),
        ("learning_rate lr", {"learning_rate": "learning_rate"}),
    ],
)
def test_the_nearest_word_is_meant_and_those_of_other_tools_are_known(known, meant):
    assert {word: closest(word, known.split()) for word in meant} == meant


def test_of_many_known_words_the_nearest_eight_are_listed():
    known = [f"word_{i}" for i in range(1000)] + ["a, b", "gradient_norm", "gradient_norms"]
    remedy = nearest("gradient_nrom", known)
    assert remedy.startswith("did you mean 'gradient_norm'? (known: gradient_norm, gradient_norms, ")
    assert remedy.endswith(" and 995 more)")
    assert len(remedy) < 300
    assert nearest("a. b", known).startswith("did you mean 'a, b'? (known: 'a, b', ")
    assert listed(map(str, range(MOST_LISTED))) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert listed(["a", "b, c", ""], last="or") == "a, 'b, c' or ''"


CALLED = """placement: Pre-LN = pre, Post-LN = post, pre-norm = pre, PostNorm = post, Pre-LayerNorm = pre
placement: ReZero = rezero, Sandwich-LN = sandwich, Mix-LN = mix, DeepNorm = deepnorm
norm: LayerNorm = layer, Layer Normalization = layer, LN = layer, RMSNorm = rms, BatchNorm = batch, batch_norm = batch
norm: frozen BatchNorm = frozen_batch, ScaleNorm = scale, InstanceNorm = instance, DyT = dyt, no norm = none
init: T-Fixup = t_fixup
optimizer: Adam-2k = adam_2k, AdamW = adamw
labelled_corpus: csv = labelled_table, TSV = labelled_table
text_corpus: text_files = text
model: decoder = language_model, encoder_classifier = classifier"""


@pytest.mark.parametrize("line", CALLED.splitlines())
def test_the_words_of_pages_and_papers_are_known(line):
    kind, _, pairs = line.partition(": ")
    meant = dict(pair.split(" = ") for pair in pairs.split(", "))
    assert {word: closest(word, REGISTRIES[kind].entries) for word in meant} == meant


def test_a_value_is_shown_briefly_and_without_what_a_terminal_obeys():
    assert shown("½ é") == '"½ é"'
    assert shown("\x9b31m\u202e") == r'"\u009b31m\u202e"'
    assert len(shown(list(range(1000)))) < 90


def test_a_wrong_name_of_a_piece_is_answered_with_what_the_right_one_needs(golden):
    with pytest.raises(Flawed) as raised:
        REGISTRIES["labelled_corpus"].resolve({"kind": "csv", "file": "a.csv"})
    (flaw,) = raised.value.issues
    assert flaw.remedy.startswith("did you mean 'labelled_table'? (known: ")
    golden(flaw.remedy)
    with pytest.raises(Flawed) as raised:
        REGISTRIES["labelled_corpus"].resolve({"kind": "labelled_table", "file": "a.csv", "delimiter": ";"})
    assert "did you mean 'separator'?" in raised.value.issues[0].remedy


def test_a_missing_selection_says_what_belongs_in_it(golden):
    with pytest.raises(Flawed) as caught:
        FRAME_REGISTRIES["claim"].resolve({"kind": "order", "over": "method", "order": "a < b"})
    golden([str(issue) for issue in caught.value.issues])
