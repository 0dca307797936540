"""Every shipped spec is right in every profile, says what it claims, and is as fast as it promises."""

import json
import re
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.check import sound_claims
from lnlab.compile.plan import compile_plan
from lnlab.compile.reference.schema import spec_schema
from lnlab.corpora.files.fetch import data_roots
from lnlab.corpora.files.parallel import ABSENT
from lnlab.errors import CorpusError
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import load_spec
from tests.compile.spec_keys import keys_of

ROOT = Path(__file__).parents[1]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}
PROFILES = (None, pytest.param("real", marks=pytest.mark.data))
"""Whose pages are committed; .ci/smoke.py goes through the others as well."""
KEYS = json.loads((ROOT / "tests/fixtures/keys.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator
CORPORA = {entry.name: entry for kind in ("corpus", "labelled_corpus", "text_corpus") for entry in REGISTRIES[kind]}


@cache
def document_of(path):
    """The spec, read once for all tests of this file."""
    return load_spec(path)


@pytest.fixture(scope="module")
def schema():
    """The schema of today's registries, made once."""
    return spec_schema(EVERY)


def stated_claims(data):
    """The claims of a spec as it states them: in its sections, and those of none."""
    return [claim for section in (*data["report"], data) for claim in section.get("claims", ())]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if n % 4 == 0 else pytest.mark.nightly) for n, path in enumerate(SPECS)],
)
def test_default_and_real_profile_compile_and_judge_something(path, profile):
    document, roots = document_of(path), data_roots(path.parent)
    try:
        plan, absent = compile_plan(document, EVERY, roots, profile=profile), None
    except CorpusError as error:
        plan, absent = compile_plan(document, EVERY, roots, profile=profile, assume_data=True), error
    assert plan.runs
    assert stated_claims(document.data)
    assert plan.undecided or (plan.claims and plan.sections), "only runs that choose are not judged"
    absent = absent or absent_text(plan, roots)
    if absent:  # its digest, or the length of an epoch, is part of every key
        pytest.skip(f"the rest is as it should be, but keys need real data in LNLAB_DATA: {absent}")
    assert keys_of(plan) == KEYS[path.stem][profile or "default"], "a key has moved; if it has to: make keys"


def absent_text(plan, roots):
    """The first corpus of a plan whose digest cannot be known here, or None."""
    tasks = (setting["task"] for setting in plan.settings.values())
    choices = [task["corpus"] for task in tasks if "corpus" in task]
    return next((choice for choice in choices if CORPORA[choice["kind"]].facts.content(roots, choice) == ABSENT), None)


def test_every_spec_fits_the_schema_that_it_names(schema):
    for path in SPECS:
        assert path.read_text().startswith("# yaml-language-server: $schema=experiment.schema.json\n"), path
        assert [error.message for error in VALIDATOR(schema).iter_errors(document_of(path).data)] == [], path


def test_the_committed_schema_is_what_the_registries_say_today(schema):
    VALIDATOR.check_schema(schema)
    committed = json.loads((ROOT / "specs/experiment.schema.json").read_text())
    assert committed == schema, "run `make reference`"


def test_every_section_of_every_committed_page_could_be_made():
    pages = [data.parent / "index.html" for data in sorted((ROOT / "reports").glob("*/real/data"))]
    assert pages
    assert [page.parts[-3] for page in pages if 'class="broken"' in page.read_text()] == []


def test_every_spec_leads_to_others_and_to_nothing_else():
    related = {path.stem: set(document_of(path).data.get("related", ())) for path in SPECS}
    assert [name for name, others in related.items() if not others] == []
    assert [name for name, others in related.items() if not others <= related.keys() - {name}] == []
    assert set(related) - set.union(*related.values()) == set(), "no page leads to these"


@cache
def claims_of(path):
    """The claims of a spec, one for each value of ``for_each``: id -> its resolved parameters."""
    profile = "real" if "real" in document_of(path).data["profiles"] else None
    return {text.id: choice for text, choice in sound_claims(document_of(path), EVERY, profile, ())[1]}


@pytest.mark.nightly
def test_a_claim_cites_claims_that_stand_in_their_specs():
    known = {path.stem: set(claims_of(path)) for path in SPECS}
    cited = [
        (path.stem, claim, spec, name)
        for path in SPECS
        for claim, choice in claims_of(path).items()
        for spec, names in (choice.get("evidence") or {}).items()
        for name in names
    ]
    assert len(cited) > 30
    assert [place for place in cited if place[3] not in known.get(place[2], ())] == []


def texts_of(path):
    """Every sentence of a spec that stands on its page."""
    data = document_of(path).data
    yield from (
        data["title"],
        data.get("question", ""),
        *(cell for one in data.get("differs", ()) for cell in cells(one)),
    )
    yield from (claim[word] for claim in stated_claims(data) for word in ("says", "source") if word in claim)
    yield from (section.get(word, "") for section in data["report"] for word in ("title", "heading"))


def cells(difference):
    return [difference] if isinstance(difference, str) else list(difference.values())


def test_numbers_in_sentences_have_their_zero_and_answers_two_numbers_at_most():
    """A page writes 0.05 beside every sentence of a spec, and stands an interval beside each estimate of its answer."""
    every = [(path.stem, text) for path in SPECS for text in texts_of(path)]
    assert [place for place in every if re.search(r"(?<![\w.)])-?\.\d", place[1])] == []
    for path in SPECS:
        answers = document_of(path).data.get("answer") or []
        for says in (one["says"] for one in (answers if isinstance(answers, list) else [answers])):
            placeholders = re.findall(r"\{[^{}]+\}", says)
            assert len(placeholders) <= 2, says
            parts = [re.sub(r"\[[^]]*\]", "", name.strip("{}")) for name in placeholders]
            # a claim alone is its estimate with its interval, where that is wide
            assert all(re.fullmatch(r"\w+(\.estimate|\.n)?", part) for part in parts), says
