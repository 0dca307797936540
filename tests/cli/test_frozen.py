"""``lnlab lock --claims`` freezes criteria before a run; pages, checks and locks say what became of them."""

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

from lnlab.cli import main
from tests.cli.conftest import REST, TINY
from tests.support.toy_specs import TRAINED, toy_spec

TODAY = date.today().isoformat()
SPEC = f"{TINY}  deep: {{model.layers: 3}}\n"
TUNED = (
    toy_spec(TRAINED, REST)
    .replace("[post, pre]}", "[post, pre], optimizer.lr: [1e-3, 2e-3]}\nchoose: {optimizer.lr: best, seeds: [9]}")
    .replace("at: init", "at: end")
    .replace("seeds: 3\n", "seeds: 3\ntrain: {steps: 2}\n")
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(SPEC)


def frozen():
    return tomllib.loads(Path("tiny.criteria").read_text())


def report(*options):
    assert main(["run", "tiny.yaml", "-q", *options]) == 0
    assert main(["report", "tiny.yaml", "-q", *options]) == 0


@pytest.fixture
def lines(golden):
    """``lines(text)``: the lines of a text that speak of criteria are kept, without the day."""
    return lambda text: golden([line.replace(TODAY, "TODAY") for line in text.splitlines() if "riteri" in line])


def page(folder="reports/tiny"):
    text = Path(folder, "index.html").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"Criteria frozen[^<]*", text) + re.findall(r'<p class="dated">(.*?)</p>', text))


def test_criteria_that_were_frozen_before_the_first_run_say_so(capsys, lines):
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert frozen().keys() == {"default"}
    assert {entry["date"] for entry in frozen()["default"].values()} == {TODAY}
    assert {entry["seeds"] for entry in frozen()["default"].values()} == {"1-3"}
    capsys.readouterr()
    assert main(["check", "tiny.yaml"]) == 0
    lines(capsys.readouterr().out)
    report()
    lines(page())
    before = Path("reports/tiny/index.html").read_bytes()
    assert main(["report", "--from", "reports/tiny", "-q"]) == 0
    assert Path("reports/tiny/index.html").read_bytes() == before
    assert main(["lock", "tiny.yaml", "-q"]) == 0
    capsys.readouterr()
    assert main(["verify", "tiny.lock", "--level", "1", "-w", "1"]) == 0
    lines(capsys.readouterr().err)
    text = Path("tiny.criteria").read_text()
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0  # what is frozen keeps its date and commit
    assert Path("tiny.criteria").read_text() == text
    Path("tiny.criteria").write_text(text.replace(TODAY, "2020-01-02"))
    assert main(["verify", "tiny.lock", "-q"]) == 1
    lines(capsys.readouterr().out)


def test_a_criterion_that_was_changed_after_it_was_frozen_is_named(capsys, lines):
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    report()
    words = SPEC.replace("It is a million times as large.", "It is larger by six orders.")
    Path("tiny.yaml").write_text(words.replace("at_least: 1.1", "at_least: 1.2"))
    capsys.readouterr()
    assert main(["check", "tiny.yaml"]) == 0
    lines(capsys.readouterr().out)
    report()
    lines(page())
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert {claim: entry.get("after") for claim, entry in frozen()["default"].items()} == {
        "post_above_pre": "a look",
        "far_above": None,
    }
    assert main(["report", "--from", "reports/tiny", "-q"]) == 0
    lines(page().splitlines()[0])


def test_a_claim_that_came_later_is_not_frozen_and_one_frozen_after_a_run_says_so(lines):
    claims = SPEC.splitlines(keepends=True)
    start = claims.index("  - id: far_above\n")
    end = claims.index("profiles:\n")
    Path("tiny.yaml").write_text("".join(claims[:start] + claims[end:]))
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    report()
    Path("tiny.yaml").write_text(SPEC)
    assert main(["report", "tiny.yaml", "-q"]) == 0
    lines(page().splitlines()[0])
    Path("tiny.criteria").unlink()
    Path("tiny.yaml").write_text(SPEC.replace("id: far_above", "id: another").replace("1000000", "2"))
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert frozen()["default"]["another"]["after"] == "a run"


def test_each_profile_has_criteria_of_its_own(lines):
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert main(["lock", "tiny.yaml", "--claims", "-q", "-p", "deep"]) == 0
    default, deep = frozen()["default"], frozen()["deep"]
    assert default.keys() == deep.keys()
    assert all(default[claim]["digest"] != deep[claim]["digest"] for claim in default)
    report("-p", "deep")
    lines(page("reports/tiny/deep").splitlines()[0])


def test_what_is_chosen_on_tuning_seeds_is_frozen_with_its_question(capsys, lines):
    Path("tiny.yaml").write_text(TUNED)
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    first = frozen()["default"]["far_above"]["digest"]
    Path("tiny.yaml").write_text(TUNED.replace("seeds: [9]", "seeds: [8, 9]"))
    capsys.readouterr()
    assert main(["check", "tiny.yaml"]) == 0
    lines(capsys.readouterr().out)
    Path("tiny.yaml").write_text(TUNED)
    Path("tiny.criteria").unlink()
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert frozen()["default"]["far_above"]["digest"] == first


def test_mistakes_are_one_line(console):
    for words in (["--claims", "--all"], ["--claims", "absent.yaml"], ["--claims"]):
        console.refused("lock", *words)
    Path("tiny.criteria").write_text("[default]\nfar_above = 3\n")
    console.refused("lock", "tiny.yaml", "--claims", "-q")
