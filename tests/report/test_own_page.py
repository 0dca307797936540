"""A page whose question comes from no paper: its claims are its author's, and no word of it speaks of a source."""

import re
from dataclasses import replace

import pytest

from lnlab.claims.judging import judge_claim
from lnlab.report.page.claim_list import grouped_by_role, roles_sentence
from lnlab.report.write import write_report
from lnlab.specfile.read import read_experiment

FOREIGN = re.compile(r"\b(sources?|published|papers?|predictions?)\b", re.IGNORECASE)
CLAIM = {"id": "grows", "says": "It grows.", "kind": "bound", "of": {"quantity": "gradient_norm"}, "at_least": 1}
CITED = {"source": {"cite": "Xiong et al. 2020"}}


def experiment(spec, **claim):
    reading = read_experiment({"lnlab": 2, "title": "A question", **spec, "claims": [{**CLAIM, **claim}]})
    return reading.experiment, [flaw.what for flaw in reading.issues]


@pytest.mark.parametrize(
    ("spec", "claim", "role"),
    [
        ({}, {}, "prediction"),
        (CITED, {}, "source"),
        ({}, {"source": "Kim et al. 2025"}, "source"),
        (CITED, {"role": "prediction"}, "prediction"),
        ({}, {"role": "control"}, "control"),
    ],
)
def test_a_claim_is_the_source_s_only_where_there_is_one(spec, claim, role):
    read, flaws = experiment(spec, **claim)
    assert (read.role_of(read.claims[0]), flaws) == (role, [])


def test_a_role_that_names_no_source_is_refused(golden):
    golden(experiment({}, role="source")[1])


@pytest.mark.parametrize("spec", [{}, CITED])
def test_without_a_source_a_prediction_may_be_primary(spec, golden):
    golden(experiment(spec, role="prediction", primary=True)[1])


def test_a_claim_judged_by_itself_is_a_prediction(results):
    of = {"quantity": "gradient_norm", "stack": "decoder", "layer": 6, "tensor": "w2", "placement": "pre"}
    of |= {"model.layers": 6, "model.tied": "target", "decoder.cross_attention": True}
    assert judge_claim({**CLAIM, "of": of}, results).role == "prediction"


@pytest.fixture(scope="module")
def own(small, tmp_path_factory):
    """A report without a source, with limits of its own; one verdict was stored with the role of an earlier lnlab."""
    facts, results, (one, other) = small
    sections = tuple({**section, "claims": [one.claim]} for section in facts.sections)
    stated = {"source": {}, "sources": {}, "differs": ("Small models.",), "sections": sections, "answers": ()}
    verdicts = [replace(one, role="prediction", reason=""), replace(other, role="source", reason="")]
    facts = replace(facts, **stated, spec="lnlab: 2\n", name="own", path="own.yaml")
    out = tmp_path_factory.mktemp("own") / "own"
    write_report(out, facts, results, verdicts)
    return out, facts, verdicts


def visible(page):
    """The text of a page as it is read, without scripts, styles and addresses."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", text)


def test_no_word_of_the_page_speaks_of_a_source(own):
    text = visible((own[0] / "index.html").read_text())
    assert FOREIGN.findall(text) == []
    places = [text.rindex(words) for words in ("does not show", "Small models.", "What was tested", "Claims")]
    assert places == sorted(places)


def test_with_a_source_each_role_keeps_its_heading(own, facts, golden):
    _, without, verdicts = own
    golden(list(grouped_by_role(facts, verdicts)))
    golden(roles_sentence(facts, verdicts))
    assert list(grouped_by_role(without, verdicts)) == ["Claims"]
    assert roles_sentence(without, verdicts) == ""
