"""Problems say where, what and what would do, in one line."""

import pickle

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.errors import MOST_LISTED, LabError, SpecError, closest, listed, nearest, shown
from lnlab.issues import Issue
from lnlab.registry import Flawed
from lnlab.report.registries import FRAME_REGISTRIES


def test_a_problem_is_one_line_of_place_cause_and_remedy(golden):
    golden(str(Issue("unknown-name", "a.yaml:3:1", "no key is called 'nrom'", "did you mean 'norm'?")))
    golden(str(Issue("wrong-value", "", "the store is full")))


def test_a_path_with_a_line_break_or_with_what_a_terminal_obeys_stays_in_its_line(golden):
    text = str(Issue("not-found", "a\nb\x1b[31m\r\x7f.yaml", "there is no such file"))
    golden(text)


def test_an_error_keeps_its_problems_on_the_way_between_processes(golden):
    error = SpecError(Issue("wrong-value", "a", "b", "c"), Issue("wrong-value", "d", "e"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is SpecError
    assert again.issues == error.issues
    golden(str(again))
    assert isinstance(again, LabError)


def test_the_nearest_word_is_named_with_all_that_are_known(golden):
    assert nearest("rsm", ["rms", "layer"]) == "did you mean 'rms'? (known: layer, rms)"
    assert nearest("RMS", ["rms", "layer"]) == "did you mean 'rms'? (known: layer, rms)"
    assert nearest("qqqq", ["rms", "layer"]) == "known: layer, rms"
    golden(nearest("adam", []))


@pytest.mark.parametrize(
    ("word", "meant"), [("rl", "lr"), ("fo", "of"), ("ot", "to"), ("lyaers", "layers"), ("rsm", "rms"), ("xy", None)]
)
def test_exchanged_letters_are_one_edit(word, meant):
    assert closest(word, ["lr", "of", "to", "layers", "rms"]) == meant


@pytest.mark.parametrize(("word", "meant"), [("o", "of"), ("t", "to"), ("f", "of")])
def test_of_equally_near_words_the_one_that_begins_alike_is_meant(word, meant):
    assert closest(word, ["lr", "of", "to"]) == meant


def test_of_many_known_words_the_nearest_eight_are_listed():
    known = [f"word_{i}" for i in range(1000)] + ["a, b", "gradient_norm", "gradient_norms"]
    remedy = nearest("gradient_nrom", known)
    assert remedy.startswith("did you mean 'gradient_norm'? (known: gradient_norm, gradient_norms, ")
    assert remedy.endswith(" and 995 more)")
    assert len(remedy) < 300
    assert nearest("a. b", known).startswith("did you mean 'a, b'? (known: 'a, b', ")
    assert listed(map(str, range(MOST_LISTED))) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert listed(["a", "b, c", ""], last="or") == "a, 'b, c' or ''"


@pytest.mark.parametrize(
    ("kind", "word", "meant"),
    [
        ("placement", "Pre-LN", "pre"),
        ("placement", "Post-LN", "post"),
        ("placement", "pre-norm", "pre"),
        ("placement", "PostNorm", "post"),
        ("placement", "Pre-LayerNorm", "pre"),
        ("placement", "Sandwich-LN", "sandwich"),
        ("placement", "Mix-LN", "mix"),
        ("placement", "ReZero", "rezero"),
        ("placement", "DeepNorm", "deepnorm"),
        ("norm", "LayerNorm", "layer"),
        ("norm", "Layer Normalization", "layer"),
        ("norm", "LN", "layer"),
        ("norm", "RMSNorm", "rms"),
        ("norm", "BatchNorm", "batch"),
        ("norm", "batch_norm", "batch"),
        ("norm", "frozen BatchNorm", "frozen_batch"),
        ("norm", "ScaleNorm", "scale"),
        ("norm", "InstanceNorm", "instance"),
        ("norm", "DyT", "dyt"),
        ("norm", "no norm", "none"),
        ("init", "T-Fixup", "t_fixup"),
        ("optimizer", "Adam-2k", "adam_2k"),
        ("optimizer", "AdamW", "adamw"),
        ("labelled_corpus", "csv", "labelled_table"),
        ("labelled_corpus", "TSV", "labelled_table"),
        ("text_corpus", "text_files", "text"),
        ("model", "decoder", "language_model"),
        ("model", "encoder_classifier", "classifier"),
    ],
)
def test_the_words_of_pages_and_papers_are_known(kind, word, meant):
    assert closest(word, REGISTRIES[kind].entries) == meant


def test_a_value_is_shown_briefly_and_without_what_a_terminal_obeys():
    assert shown("½ é") == '"½ é"'
    assert shown("\x9b31m\u202e") == r'"\u009b31m\u202e"'
    assert len(shown(list(range(1000)))) < 90


@pytest.mark.parametrize(("word", "meant"), [("delimiter", "separator"), ("sep", "separator"), ("path", "file")])
def test_the_words_of_other_tools_are_known_as_keys(word, meant):
    assert closest(word, ["file", "text", "label", "separator", "encoding"]) == meant
    assert closest(word, ["lr", "beta2"]) is None


def test_a_wrong_name_of_a_piece_is_answered_with_what_the_right_one_needs(golden):
    with pytest.raises(Flawed) as raised:
        REGISTRIES["labelled_corpus"].resolve({"kind": "csv", "file": "a.csv"})
    (flaw,) = raised.value.issues
    assert flaw.remedy.startswith("did you mean 'labelled_table'? (known: ")
    golden(flaw.remedy)
    with pytest.raises(Flawed) as raised:
        REGISTRIES["labelled_corpus"].resolve({"kind": "labelled_table", "file": "a.csv", "delimiter": ";"})
    assert "did you mean 'separator'?" in raised.value.issues[0].remedy


def test_the_usual_names_of_parameters_are_known_and_a_missing_selection_says_what_belongs_in_it():
    for word, meant in (("learning_rate", "lr"), ("Learning_Rate", "lr"), ("epsilon", "eps")):
        assert closest(word, ["beta1", "beta2", "eps", "lr", "weight_decay"]) == meant
    assert closest("learning_rate", ["learning_rate", "lr"]) == "learning_rate"
    with pytest.raises(Flawed) as caught:
        FRAME_REGISTRIES["claim"].resolve({"kind": "order", "over": "method", "order": "a < b"})
    (issue,) = caught.value.issues
    assert issue.what == "claim 'order' needs 'of'"
    assert "{quantity: NAME}" in issue.remedy
