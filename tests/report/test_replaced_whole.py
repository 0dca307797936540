"""A whole report, page and data, killed while it replaces another one: a reader finds the old one or the new one."""

import os
import shutil
import signal
from dataclasses import replace

import pytest

from lnlab.folders import is_leftover
from lnlab.report.folder import read_folder, write_files
from lnlab.report.write import write_report
from tests.support.interposer import CHANGES, Interposer, Killer, Recorder


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def in_a_child(root, around, action):
    """Do something in a process of its own, where every change of a file below ``root`` goes through ``around``."""
    child = os.fork()
    if not child:
        try:
            Interposer(root, around).install()
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


@pytest.fixture(scope="module")
def both(tmp_path_factory, small):
    """The old report, its bytes, those of the new one, and what writes the new one once it is drawn."""
    facts, results, verdicts = small
    root = tmp_path_factory.mktemp("whole")
    new = replace(facts, title="The new title", sections=facts.sections[:1])
    write_report(root / "old" / "q", facts, results, verdicts)
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lnlab.report.write.write_files", lambda *given: calls.append(given) or write_files(*given))
        write_report(root / "new" / "q", new, results, verdicts[:1])
    ((_, files, folders),) = calls  # a report is written by one call
    return root / "old", contents(root / "old" / "q"), contents(root / "new" / "q"), (files, folders)


@pytest.mark.parametrize("moment", ["before", "halfway", "after"])
def test_killed_at_a_change_of_the_disk_a_report_is_the_old_one_or_the_new_one(both, moment, tmp_path):
    old, before, after, new = both
    old_title = read_folder(old / "q")[0].title
    total = 0
    outcomes = []
    for share in (0.0, 0.3, 0.7, 0.9, 0.96, 1.0):
        place = tmp_path / f"{share}"
        shutil.copytree(old, place)
        if not total:
            total = changes(place, new, tmp_path)
        number = max(1, round(share * total))
        status = in_a_child(place, Killer(number, moment), lambda: write_files(place / "q", *new))  # noqa: B023
        assert os.WIFSIGNALED(status)
        assert os.WTERMSIG(status) == signal.SIGKILL
        found = contents(place / "q")
        assert found in (before, after)
        outcomes.append(found == after)
        assert read_folder(place / "q")[0].title == ("The new title" if found == after else old_title)
        write_files(place / "q", *new)
        assert contents(place / "q") == after
        assert not [path for path in place.rglob("*") if is_leftover(path.name)]
    assert not outcomes[0]
    assert outcomes[-1]


def changes(place, new, tmp_path):
    """How many changes of the disk a report is."""
    copy = tmp_path / "counted"
    shutil.copytree(place, copy)
    recorder = Recorder()
    reading, writing = os.pipe()

    def count():
        write_files(copy / "q", *new)
        os.write(writing, str(len(recorder.calls)).encode())

    assert in_a_child(copy, recorder, count) == 0
    number = int(os.read(reading, 20))
    assert number > len(CHANGES)
    return number
