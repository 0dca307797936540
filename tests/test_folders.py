"""A folder is replaced whole or not at all, whatever happens and wherever it lies."""

import errno
import os
import signal
from pathlib import Path

import pytest

from lnlab import folders
from lnlab.folders import complete_interrupted, is_leftover, leftovers_beside, replace_folder
from tests.support.interposer import CHANGES, Call, Interposer, Killer, Refuser

OLD = {"index.html": b"old page", "data/runs": b"old runs", "figures/one": b"old one", "figures/two": b"old two"}
NEW = {"index.html": b"new page", "data/runs": b"new runs", "figures/one": b"new one", "tables/a": b"new table"}
FOREIGN = {"notes.txt": b"mine", "real/index.html": b"another report", "figures/my own": b"also mine"}


def is_stale(name):
    return name in OLD or name in NEW


def files_of(folder):
    """Every file by name, leftovers apart: what a reader of the folder sees."""
    found = {}
    for where, below, names in os.walk(folder):
        below[:] = [name for name in below if not is_leftover(name)]
        for name in names:
            if not is_leftover(name):
                path = Path(where, name)
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def names_in(folder):
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "reports" / "q"
    for name, content in (OLD | FOREIGN).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def without_exchange(_one, _other):
    return False


WAYS = ["exchanged", "moved in", "working folder"]


@pytest.fixture(params=WAYS)
def way(request, place, monkeypatch):
    """Each of the ways in which a folder is replaced."""
    if request.param == "moved in":
        monkeypatch.setattr(folders, "exchange", without_exchange)
    if request.param == "working folder":
        monkeypatch.chdir(place)
    return request.param


def test_new_files_are_there_stale_ones_are_gone_and_the_rest_stays(place, way):
    replace_folder(place, NEW, is_stale)
    assert files_of(place) == NEW | FOREIGN
    assert not any(map(is_leftover, names_in(place) + names_in(place.parent)))


def test_a_folder_that_is_not_there_is_made_with_those_above_it(tmp_path):
    replace_folder(tmp_path / "a" / "b", NEW, is_stale)
    assert files_of(tmp_path / "a" / "b") == NEW
    assert names_in(tmp_path / "a") == ["b"]


def test_a_file_with_the_same_content_stays_the_file_that_it_is(place, way):
    before = (place / "index.html").stat()
    replace_folder(place, {**NEW, "index.html": OLD["index.html"]}, is_stale)
    assert (place / "index.html").stat().st_mtime_ns == before.st_mtime_ns
    assert (place / "index.html").stat().st_nlink == 1


def test_links_of_a_user_are_kept_as_links(place, way, tmp_path):
    (place / "latest").symlink_to("real")
    (tmp_path / "elsewhere").mkdir()
    (place / "more").symlink_to(tmp_path / "elsewhere")
    replace_folder(place, NEW, is_stale)
    assert (place / "latest").readlink() == Path("real")
    assert names_in(tmp_path / "elsewhere") == []


def test_a_folder_that_is_reached_over_a_link_is_replaced_where_it_lies(place, tmp_path):
    (tmp_path / "link").symlink_to(place)
    replace_folder(tmp_path / "link", NEW, is_stale)
    assert (tmp_path / "link").is_symlink()
    assert files_of(place) == NEW | FOREIGN


def attempt(place, way, around):
    """Replace the folder in a process of its own, in which every change of a file goes through ``around``."""
    child = os.fork()
    if not child:
        try:
            if way != "exchanged":  # what C renames is one change as well
                folders.exchange = without_exchange
            else:
                real = folders.exchange
                folders.exchange = lambda *paths: around_exchange(around, real, *paths)
            Interposer(place.parents[1], around).install()
            link = os.link
            os.link = lambda a, b, **given: around(Call("create", str(b)), lambda: link(a, b, **given))
            replace_folder(place, NEW, is_stale)
        except OSError:
            os._exit(3)
        except BaseException:
            os._exit(4)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def around_exchange(around, real, one, other):
    return around(Call("rename", str(one), str(other)), lambda: real(one, other))


def seen(place, way):
    """What lnlab reads there: an interrupted move is completed first."""
    if way != "exchanged":
        complete_interrupted(place, is_stale)
    return files_of(place)


@pytest.mark.parametrize("way", [*WAYS[:2], pytest.param(WAYS[2], marks=pytest.mark.torture)], indirect=True)
@pytest.mark.parametrize(
    "moment", ["halfway", *(pytest.param(m, marks=pytest.mark.torture) for m in ("before", "after"))]
)
def test_killed_at_any_moment_the_folder_is_the_old_one_or_the_new_one(place, way, moment, tmp_path):
    outcomes = []
    for number in range(1, 1000):
        status = attempt(place, way, Killer(number, moment))
        if not os.WIFSIGNALED(status):
            assert status == 0
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        outcomes.append(seen(place, way))
        assert outcomes[-1] in (OLD | FOREIGN, NEW | FOREIGN)
        replace_folder(place, OLD, is_stale)
        assert files_of(place) == OLD | FOREIGN
        assert not any(map(is_leftover, names_in(place) + names_in(place.parent)))
        assert leftovers_beside(place) == []
    assert number > 20
    assert OLD | FOREIGN in outcomes
    assert NEW | FOREIGN in outcomes


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, *(pytest.param(n, marks=pytest.mark.torture) for n in (errno.EIO, errno.EDQUOT))]
)
def test_a_full_disk_leaves_the_old_folder_or_the_new_one_and_nothing_else(place, number):
    outcomes = set()
    for count in range(1, 200):
        code = os.waitstatus_to_exitcode(
            attempt(place, "exchanged", Refuser(count, number, lasting=True, names=CHANGES))
        )
        outcomes.add(code)
        assert code in (0, 3)
        assert files_of(place) in (OLD | FOREIGN, NEW | FOREIGN)
        if code == 0 and files_of(place) == NEW | FOREIGN:
            break
        replace_folder(place, OLD, is_stale)
    assert outcomes == {0, 3}
    assert count > 10


def test_two_processes_that_write_a_report_and_one_inside_it_lose_nothing(place):
    """The report of a profile lies in the folder of the default one, which is exchanged."""
    children = []
    for target in (place, place / "real") * 2:
        child = os.fork()
        if not child:
            try:
                for turn in range(20):
                    replace_folder(target, {"index.html": f"{target.name} {turn}".encode()}, lambda _: False)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    found = files_of(place)
    assert found["index.html"] == b"q 19"
    assert found["real/index.html"] == b"real 19"
    assert not any(map(is_leftover, names_in(place) + names_in(place.parent)))


def test_what_a_living_process_writes_is_no_leftover_of_a_dead_one(place):
    """Another report beside this one waits until this one is done, instead of removing it."""
    (place.parent / ".lnlab-0123456789abcdef.part").mkdir()
    (place / f".index.html.{'0' * 16}.part").write_bytes(b"half a page")
    replace_folder(place, NEW, is_stale)
    assert names_in(place.parent) == ["q"]
    assert files_of(place) == NEW | FOREIGN
