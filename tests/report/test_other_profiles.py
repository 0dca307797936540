"""The page of another profile than real says nothing that its own numbers do not."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from lnlab.committed.registries import load_registries
from lnlab.compile.plan import compile_plan
from lnlab.errors import SpecError
from lnlab.report.compose import build_all_parts
from lnlab.report.question import question_fields
from lnlab.specfile.load import load_spec
from tests.report.conftest import make_facts, verdict

SPEC = Path(__file__).parents[2] / "specs/xiong_fig3.yaml"
WRITTEN = "It grows toward the output"


@cache
def question(profile):
    plan = compile_plan(load_spec(SPEC), load_registries(()), (), profile=profile)
    return question_fields(plan.experiment, plan.sections, load_registries(()), profile=profile)


def test_differences_from_the_source_are_those_of_the_profile_that_is_compared_with_it(golden):
    golden(question(None)["differs"])
    assert question("smoke")["differs"][0].startswith("Profile smoke: ")
    assert {"what": "Data", "source": "IWSLT14 German-English", "ours": "Multi30k"}.items() <= (
        question("real")["differs"][0].items()
    )


def test_a_heading_without_verdicts_stands_over_the_profile_that_it_was_written_for_alone():
    real, default = (question(profile)["sections"] for profile in ("real", None))
    assert all(section["heading"] for section in real)
    bare = [n for n, section in enumerate(real) if "while" not in section]
    assert bare
    assert [default[n]["heading"] for n in bare] == [None] * len(bare)
    assert all(default[n] == real[n] or default[n]["heading"] for n in range(len(real)) if n not in bare)


@pytest.mark.parametrize(("word", "stands"), [("supported", True), ("undecided", False), ("contradicted", False)])
def test_a_heading_stands_while_its_verdicts_are_those_that_it_was_written_for(results, word, stands):
    facts = make_facts()
    first = {**facts.sections[0], "heading": WRITTEN, "while": {"grows": "supported"}}
    judged = [replace(verdict("grows", {1: 5.0, 2: 6.0, 3: 7.0}), verdict=word)]
    (part,) = build_all_parts(replace(facts, sections=(first,)), results, judged)
    assert (part.head == WRITTEN) is stands
    assert part.head


def test_a_heading_of_a_claim_that_does_not_exist_is_a_mistake_in_its_line(tmp_path, golden):
    text = SPEC.read_text().replace("while: {post_after_warmup_flatter:", "while: {post_after_warmup_flat:")
    (tmp_path / "xiong.yaml").write_text(text)
    with golden.raises(SpecError):
        compile_plan(load_spec(tmp_path / "xiong.yaml"), load_registries(()), (), profile="real")
