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
    .replace("[post, pre]}", "[post, pre], optimizer.lr: [1e-3, 2e-3]}\nselect: {optimizer.lr: best, seeds: [9]}")
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


def page(folder="reports/tiny"):
    text = Path(folder, "index.html").read_text(encoding="utf-8")
    return re.findall(r"Criteria frozen[^<]*", text), re.findall(r'<p class="dated">(.*?)</p>', text)


def test_criteria_that_were_frozen_before_the_first_run_say_so(capsys):
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert frozen().keys() == {"default"}
    assert {entry["date"] for entry in frozen()["default"].values()} == {TODAY}
    assert {entry["seeds"] for entry in frozen()["default"].values()} == {"1-3"}
    capsys.readouterr()
    assert main(["check", "tiny.yaml"]) == 0
    assert f"note: Criteria frozen on {TODAY}, before the first run.\n" in capsys.readouterr().out
    report()
    assert page() == (
        [f"Criteria frozen on {TODAY}, before the first run."],
        [f"Its criterion was frozen on {TODAY}, before the first run."] * 2,
    )
    before = Path("reports/tiny/index.html").read_bytes()
    assert main(["report", "--from", "reports/tiny", "-q"]) == 0
    assert Path("reports/tiny/index.html").read_bytes() == before
    assert main(["lock", "tiny.yaml", "-q"]) == 0
    capsys.readouterr()
    assert main(["verify", "tiny.lock", "--level", "1", "-w", "1"]) == 0
    assert f"tiny.lock: Criteria frozen on {TODAY}, before the first run." in capsys.readouterr().err
    text = Path("tiny.criteria").read_text()
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0  # what is frozen keeps its date and commit
    assert Path("tiny.criteria").read_text() == text
    Path("tiny.criteria").write_text(text.replace(TODAY, "2020-01-02"))
    assert main(["verify", "tiny.lock", "-q"]) == 1
    assert "tiny.criteria: has another frozen criterion of far_above than the report" in capsys.readouterr().out


def test_a_criterion_that_was_changed_after_it_was_frozen_is_named(capsys):
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    report()
    words = SPEC.replace("It is a million times as large.", "It is larger by six orders.")
    Path("tiny.yaml").write_text(words.replace("at_least: 1.1", "at_least: 1.2"))
    capsys.readouterr()
    assert main(["check", "tiny.yaml"]) == 0
    note = f"Criteria frozen on {TODAY}, before the first run; changed since: post_above_pre."
    assert f"note: {note}\n" in capsys.readouterr().out
    report()
    statement, (changed, kept) = page()
    assert statement == [note]
    frozen_then = f"Its criterion was frozen on {TODAY}, before the first run"
    assert changed.startswith("The accepted range was changed from at least 1.1 to at least 1.2 by")
    assert changed.endswith(f"{frozen_then}, and changed by {TODAY}.")
    assert kept == f"{frozen_then}."
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert {claim: entry.get("after") for claim, entry in frozen()["default"].items()} == {
        "post_above_pre": "a look",
        "far_above": None,
    }
    assert main(["report", "--from", "reports/tiny", "-q"]) == 0
    assert page()[0] == [f"Criteria frozen on {TODAY}, before the first run; after a look: post_above_pre."]


def test_a_claim_that_came_later_is_not_frozen_and_one_frozen_after_a_run_says_so():
    lines = SPEC.splitlines(keepends=True)
    start = lines.index("  - id: far_above\n")
    end = lines.index("profiles:\n")
    Path("tiny.yaml").write_text("".join(lines[:start] + lines[end:]))
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    report()
    Path("tiny.yaml").write_text(SPEC)
    assert main(["report", "tiny.yaml", "-q"]) == 0
    assert page()[0] == [f"Criteria frozen on {TODAY}, before the first run; not frozen: far_above."]
    Path("tiny.criteria").unlink()
    Path("tiny.yaml").write_text(SPEC.replace("id: far_above", "id: another").replace("1000000", "2"))
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert frozen()["default"]["another"]["after"] == "a run"


def test_each_profile_has_criteria_of_its_own():
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert main(["lock", "tiny.yaml", "--claims", "-q", "-p", "deep"]) == 0
    default, deep = frozen()["default"], frozen()["deep"]
    assert default.keys() == deep.keys()
    assert all(default[claim]["digest"] != deep[claim]["digest"] for claim in default)
    report("-p", "deep")
    assert page("reports/tiny/deep")[0] == [f"Criteria frozen on {TODAY}, before the first run."]


def test_what_is_chosen_on_tuning_seeds_is_frozen_with_its_question(capsys):
    Path("tiny.yaml").write_text(TUNED)
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    first = frozen()["default"]["far_above"]["digest"]
    Path("tiny.yaml").write_text(TUNED.replace("seeds: [9]", "seeds: [8, 9]"))
    capsys.readouterr()
    assert main(["check", "tiny.yaml"]) == 0
    assert "changed since: post_above_pre, far_above." in capsys.readouterr().out
    Path("tiny.yaml").write_text(TUNED)
    Path("tiny.criteria").unlink()
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 0
    assert frozen()["default"]["far_above"]["digest"] == first


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--claims", "--all"], "--claims is of specs, not of reports"),
        (["--claims", "absent.yaml"], "absent.yaml"),
        (["--claims"], "name specs, or --all"),
    ],
)
def test_mistakes_are_one_line(arguments, told, capsys):
    assert main(["lock", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_damaged_file_is_named(capsys):
    Path("tiny.criteria").write_text("[default]\nfar_above = 3\n")
    assert main(["lock", "tiny.yaml", "--claims", "-q"]) == 2
    assert "tiny.criteria: is not as lnlab lock --claims writes it" in capsys.readouterr().err
