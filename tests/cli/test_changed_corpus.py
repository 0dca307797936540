"""A corpus whose files change between plan and work: no row of the new text gets the key of the old one."""

from pathlib import Path

import pytest

from lnlab.app.rounds import units
from tests.support.toy_specs import LANGUAGE_MODEL, toy_spec

PROBES = "probes: [{kind: gradient_norm, at: init, batches: 1}]\n"
TEXT = "".join(f"the {word} sat on the {other} and saw a {word}\n" for word in "abcdefgh" for other in "mnopqrst")


@pytest.mark.parametrize("after", ["changed", "gone"])
def test_a_text_that_changes_before_it_is_read_stops_the_run_and_leaves_no_row(lnlab, workdir, monkeypatch, after):
    task = {"corpus": {"kind": "text", "files": ["mine.txt"]}, "vocabulary": 60}
    Path("tiny.yaml").write_text(toy_spec(LANGUAGE_MODEL, PROBES, task=task))
    Path("mine.txt").write_text(TEXT)
    sweep = units.sweep

    def late(*arguments, **options):
        Path("mine.txt").unlink() if after == "gone" else Path("mine.txt").write_text(TEXT[::-1])
        return sweep(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(units, "sweep", late)
        refused = lnlab("run", "tiny.yaml", "-w", 1)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert list(Path(".lnlab").rglob("sites.parquet")) == []
    Path("mine.txt").write_text(TEXT)
    ran = lnlab("run", "tiny.yaml", "--json", "-w", 1)
    assert (ran.code, ran.json["computed"]) == (0, 1)
