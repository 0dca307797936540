"""``lnlab review`` of a plan, of a report and of all reports, and what ``check`` refuses of answers."""

import json
import shutil
from pathlib import Path


def claims_of(text, line):
    """The spec with a line behind the first claim's sentence."""
    return text.replace("at_least: 1.1", f"at_least: 1.1\n    {line}", 1)


def test_a_spec_that_was_not_run_is_reviewed_by_its_plan_and_nothing_is_written(console, tiny, workdir):
    before = sorted(workdir.rglob("*"))
    reviewed = console("review", tiny)
    assert reviewed.code == 0
    assert sorted(workdir.rglob("*")) == before


def test_wrong_commands_and_an_answer_to_no_rule_are_refused(console, tiny):
    for words in ((), ("--all", "tiny.yaml")):
        console.refused("review", *words)
    tiny.write_text(claims_of(tiny.read_text(), "answered: {R99: The grid is wide.}"))
    assert console.refused("check", tiny).startswith(f"{tiny}:")


def test_the_lines_of_a_report_are_those_of_its_page_and_fail_only_where_asked(lnlab, once, workdir):
    shutil.copytree(once, workdir, dirs_exist_ok=True)  # others read what is stored there
    shutil.rmtree("reports", ignore_errors=True)  # of another test
    spec = Path("tiny.yaml")
    cited = spec.read_text().replace("seeds: 3", "seeds: 3\nsource: {cite: A paper}", 1)
    spec.write_text(cited.replace("at_least: 1000000", "at_least: 1000000\n    role: source"))
    assert lnlab("report", spec).code == 0
    kept = json.loads(Path("reports/tiny/data/experiment.json").read_text())["review"]
    assert [(line["rule"], line["claims"]) for line in kept] == [("R31", ["far_above"])]
    (reviewed,) = lnlab("review", "--all", "--json").json
    assert reviewed["lines"] == kept
    assert lnlab("review", "--all").code == 0
    assert lnlab("review", "--all", "--fail-on", "review").code == 3
