"""A plan compiled again where none of its files is at hand, from what it says that its keys hold of them."""

import json
from pathlib import Path

import pytest

from lnlab.compile.files_read import files_of_entries
from lnlab.compile.plan import compile_plan
from lnlab.errors import LabError
from lnlab.keys import canonical
from lnlab.specfile.load import parse_spec
from tests.compile.conftest import LNLAB

OF_A_FILE = """\
lnlab: 2
title: t
task: {kind: language_modeling, corpus: {kind: text, files: [book.txt]}, vocabulary: 40, length: 8, windows: 4}
model: {kind: language_model, layers: 1, d_model: 8, heads: 2, d_ff: 16}
optimizer: {kind: adam, lr: 0.1}
train: {epochs: 2}
probes: [{kind: gradient_norm, at: {epochs: 1}}]
sweep: [{placement: [post, pre]}]
"""


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("".join(f"the {n} cats of number {n * n} sleep\n" for n in range(60)))
    return path


def entries_of(plan):
    """As a report keeps them."""
    settings = plan.settings.values()
    return json.loads(
        json.dumps(plan.files_read.entries([each["task"] for each in settings], [each["init"] for each in settings]))
    )


def keys_of(plan):
    return [
        plan.runs,
        [need[:2] + need[3:] for need in plan.needs],
        [trajectory.key for trajectory in plan.trajectories],
    ]


def compiled(roots, files=(), text=OF_A_FILE):
    return compile_plan(parse_spec(text, Path("spec.yaml")), LNLAB, roots, known_files=files_of_entries(files, LNLAB))


def test_the_keys_and_the_length_of_an_epoch_are_those_of_the_files(book):
    plan = compiled((book.parent,))
    (entry,) = entries_of(plan)
    assert entry["epoch"] * 2 == plan.runs[0].steps
    book.unlink()
    assert keys_of(compiled((), [entry])) == keys_of(plan)


def test_other_files_make_other_runs_and_those_that_are_known_are_not_read(book):
    plan = compiled((book.parent,))
    book.write_text(book.read_text().replace("cats", "dogs"))
    assert keys_of(compiled((book.parent,), entries_of(plan))) == keys_of(plan)
    assert {run.key for run in compiled((book.parent,)).runs}.isdisjoint(run.key for run in plan.runs)


def test_a_task_of_which_nothing_is_known_needs_its_files(book):
    entries = entries_of(compiled((book.parent,)))
    book.unlink()
    other = OF_A_FILE.replace("length: 8", "length: 4")
    with pytest.raises(LabError, match=r"book\.txt"):
        compiled((book.parent,), entries, other)


def test_a_choice_kept_before_its_piece_got_a_parameter_is_found(book):
    plan = compiled((book.parent,))
    (entry,) = entries_of(plan)
    del entry["task"]["corpus"]["shares"]
    assert canonical(entry["task"]) not in plan.files_read.tasks
    assert keys_of(compiled((), [entry])) == keys_of(plan)


def test_a_choice_that_is_refused_today_is_as_good_as_none():
    assert files_of_entries([{"task": {"kind": "gone"}, "key": "0", "epoch": 3}], LNLAB).tasks == {}
