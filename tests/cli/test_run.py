"""From an empty folder to verdicts, and what a second run does not do again."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lnlab.claims.claim import Verdict
from lnlab.cli.run import FailOn, exit_code

PLUGIN = '''
from lnlab.probes.probe import State, probes

@probes.register("fragile", table="sites", quantities=("constant",), passes=lambda params: 1.0)
def fragile(state: State, *, on: int = 2):
    """``1``: fails on one seed."""
    if state.draw.seed == on:
        raise RuntimeError("no luck")
    yield {"quantity": "constant", "value": 1.0}
'''


def test_what_is_finished_is_never_computed_again(lnlab, tiny):
    first = lnlab("run", "tiny.yaml", "--json")
    assert first.code == 0, first.err
    assert (first.json["computed"], first.json["reused"]) == (4, 0)
    assert first.json["runs"] == {"finished": 4}
    assert [v["claim"] for v in first.json["verdicts"]] == ["post_above_pre"]

    again = lnlab("run", "tiny.yaml", "--json")
    assert (again.json["computed"], again.json["reused"]) == (0, 4)
    assert again.json["verdicts"] == first.json["verdicts"]

    more = lnlab("run", "tiny.yaml", "-s", "seeds=3", "--json")
    assert (more.json["computed"], more.json["reused"]) == (2, 4)
    (verdict,) = more.json["verdicts"]
    assert verdict["n"] == 3
    assert {seed: number for seed, number in verdict["seeds"].items() if seed != "3"} == first.json["verdicts"][0][
        "seeds"
    ]

    title = tiny.read_text().replace("A tiny", "The same")
    tiny.write_text(title)
    renamed = lnlab("run", "tiny.yaml", "--json")
    assert (renamed.json["computed"], renamed.json["reused"]) == (0, 4)


def test_a_rerun_imports_neither_torch_nor_scipy_and_prints_the_same_verdicts(ran):
    probe = (
        "import sys\nfrom lnlab.cli import main\ncode = main(['run', 'tiny.yaml'])\n"
        "print({'torch', 'scipy', 'altair'} & set(sys.modules), file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ran, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "set()"
    assert "post_above_pre" in done.stdout
    assert "4 runs: 4 finished; 0 units computed, 4 reused" in done.stdout


def test_progress_goes_to_standard_error_and_quiet_says_nothing_there(lnlab, tiny):
    said = lnlab("run", "tiny.yaml", "--quiet")
    assert said.err == ""
    assert "4 units computed" in said.out
    assert "lnlab report tiny.yaml" in lnlab("run", "tiny.yaml").err


def test_what_fails_is_a_result_with_its_reason_and_is_tried_again_only_when_asked(process, tiny):
    (tiny.parent / "mine.py").write_text(PLUGIN)
    tiny.write_text(tiny.read_text().replace("probes:\n", "probes:\n  - {kind: fragile}\n"))
    first = process("--with", "mine.py", "run", "tiny.yaml")
    assert first.code == 1
    told = [line for line in first.out.splitlines() if line.startswith("placement=")]
    assert sorted(told) == [
        f"placement={placement}, seed 2: failed: fragile: RuntimeError: no luck" for placement in ("post", "pre")
    ]
    assert "--retry-failed" in first.err

    again = process("run", "tiny.yaml", "--with", "mine.py", "--json")
    assert again.code == 1
    assert again.json["computed"] == 0
    assert again.json["runs"] == {"finished": 2, "failed": 2}

    retried = process("run", "tiny.yaml", "--with", "mine.py", "--retry-failed", "--json")
    assert (retried.code, retried.json["computed"]) == (1, 2)

    report = process("report")
    assert (report.code, report.err.splitlines()) == (
        2,
        ["lnlab report: this run was made with mine.py; add --with mine.py"],
    )


def test_a_store_that_became_read_only_still_answers(ran, monkeypatch, lnlab):
    from lnlab.store import files

    def refuse(operation: str, path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.chdir(ran)
    monkeypatch.setattr(files, "before", refuse)
    said = lnlab("run", "tiny.yaml", "--json")
    assert (said.code, said.json["computed"]) == (0, 0)


@pytest.fixture
def verdict():
    return Verdict("a", "ratio", "A.", False, "paper", "contradicted", "ratio", 1, 1, 1, 2, None, 3, 0, {}, "", "")


@pytest.mark.parametrize(
    ("statuses", "interrupted", "fail_on", "code"),
    [
        (["finished"], False, None, 0),
        (["finished"], False, FailOn.contradicted, 3),
        (["finished", "diverged"], False, FailOn.contradicted, 1),
        (["finished", None], False, None, 1),
        (["finished", None], True, FailOn.contradicted, 130),
    ],
)
def test_exit_codes(verdict, statuses, interrupted, fail_on, code):
    import polars as pl

    from lnlab.cli.done import Done
    from lnlab.tables import Results

    results = Results(pl.DataFrame({"status": statuses}), pl.DataFrame())
    assert exit_code(Done(None, interrupted=interrupted), results, [verdict], fail_on) == code


def test_fail_on_contradicted(lnlab, tiny):
    tiny.write_text(tiny.read_text().replace("at_least: 1.1", "at_least: 1000000").replace("seeds: 2", "seeds: 3"))
    said = lnlab("run", "tiny.yaml", "--fail-on", "contradicted")
    assert said.code == 3
    assert re.search(r"^✗ contradicted .* at least 1e\+06 +3 *$", said.out, flags=re.MULTILINE)
    assert lnlab("run", "tiny.yaml").code == 0
