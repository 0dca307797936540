"""Data roots, paths that must not lead out of them, and downloads that are whole or not there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lnlab.corpora.corpus import RemoteFile
from lnlab.corpora.files import fetch as room
from lnlab.corpora.files.fetch import data_roots, fetch, file_below, file_digest, verified_file
from lnlab.errors import CorpusError
from lnlab.keys import digest_bytes

CONTENT = os.urandom(200_000)


def remote(url, content=CONTENT):
    return RemoteFile(url, digest_bytes(content), len(content))


def silent(name, here, size):
    """Show nothing."""


# --- roots


def test_roots_are_the_specs_folder_then_lnlab_data_then_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "LNLAB_DATA", os.pathsep.join([str(tmp_path / "b"), "", str(tmp_path / "c"), str(tmp_path / "b")])
    )
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    roots = data_roots(tmp_path / "a")
    assert [root.relative_to(tmp_path).as_posix() for root in roots] == ["a", "b", "c", "own/lnlab"]


def test_roots_are_absolute_so_that_workers_elsewhere_find_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LNLAB_DATA", "data")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_roots(Path())[:2] == (tmp_path, tmp_path / "data")
    monkeypatch.setenv("LNLAB_DATA", "~/corpora")
    assert data_roots(Path())[1] == tmp_path / "home/corpora"


def test_the_first_root_that_has_a_file_wins(tmp_path):
    for name in "bc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    roots = (tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert file_below(roots, "x.txt") == (tmp_path / "b/x.txt").resolve()
    assert file_below(roots, "y.txt") is None


# --- paths

UP = ["../" * n + "etc/passwd" for n in range(1, 12)]
HOSTILE = [
    *UP,
    *[f"data/{path}" for path in UP[1:]],
    *[path.replace("../", ".././") for path in UP[3:6]],
    *[path.replace("../", "..//") for path in UP[3:6]],
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/etc/../etc/passwd",
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/self/root/etc/passwd",
    "/dev/null",
    "/dev/zero",
    "/dev/stdin",
    "/dev/fd/0",
    "/",
    "//",
    "..",
    "../",
    ".",
    "./",
    "./.",
    "data/..",
    "data/../..",
    "secret.txt\x00.de",
    "\x00",
    "data\x00/../../secret.txt",
    "\ud800",
    "../secret.txt",
    "../root/../secret.txt",
    "./../secret.txt",
    "data/../../secret.txt",
    "data/./.././../secret.txt",
    "link_to_file",
    "link_to_folder/secret.txt",
    "link_to_folder/../secret.txt",
    "data/deep_link/secret.txt",
    "link_to_link",
    "link_up/secret.txt",
    "link_absolute",
    "loop",
    "loop/secret.txt",
    "loop_a/b",
    "x" * 5000,
    "x/" * 3000 + "y",
]
HARMLESS_MISSES = [
    "data/../etc/passwd",
    "a\udcffb",
    "~/secret.txt",
    "~root/.ssh/id_rsa",
    "$HOME/secret.txt",
    "${LNLAB_DATA}/../secret.txt",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "..\\secret.txt",
    "C:\\secret.txt",
    "file:///etc/passwd",
    "http://127.0.0.1/secret.txt",
    "....//secret.txt",
    "data/...",
    "．．/secret.txt",
    "|cat secret.txt",
    "`cat secret.txt`",
    "pipe",
    "data",
    "data/",
    "broken_link_inside",
    "secret.txt",
    " ",
    "-",
    "\n",
]


@pytest.fixture
def house(tmp_path) -> tuple[Path, ...]:
    """Two roots with links of every kind, and a secret beside them."""
    (tmp_path / "secret.txt").write_text("secret")
    root, other = tmp_path / "root", tmp_path / "other"
    for folder in (root / "data", other, tmp_path / "outside"):
        folder.mkdir(parents=True)
    (tmp_path / "outside/secret.txt").write_text("secret")
    (root / "data/good.txt").write_text("good")
    links = {
        "link_to_file": "../secret.txt",
        "link_to_folder": "../outside",
        "data/deep_link": "../../outside",
        "link_to_link": "link_to_file",
        "link_up": "..",
        "link_absolute": str(tmp_path / "secret.txt"),
        "loop": "loop",
        "loop_a": "loop_b",
        "loop_b": "loop_a",
        "good_link": "data/good.txt",
        "link_to_other_root": "../other/more.txt",
        "broken_link_inside": "data/none.txt",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (other / "more.txt").write_text("more")
    os.mkfifo(root / "pipe")
    return root, other


def test_there_are_enough_hostile_paths():
    assert len({*HOSTILE, *HARMLESS_MISSES}) >= 60


@pytest.mark.parametrize("given", HOSTILE, ids=lambda path: ascii(path)[:40])
def test_no_path_leads_out_of_the_roots(house, given):
    with pytest.raises(CorpusError, match=r"leads out|not a path") as caught:
        file_below(house, given)
    assert "\n" not in str(caught.value)
    assert "secret\n" not in str(caught.value)


@pytest.mark.parametrize("given", HARMLESS_MISSES, ids=lambda path: ascii(path)[:40])
def test_nothing_in_a_path_is_expanded_decoded_or_opened(house, given):
    """Each is a plain name to look for below a root, and nothing is there; a pipe or a folder is no file."""
    assert file_below(house, given) is None


@pytest.mark.parametrize(
    "given", ["data/good.txt", "./data/good.txt", "data/../data/good.txt", "good_link", "data//good.txt"]
)
def test_paths_and_links_that_stay_inside_are_followed(house, given):
    assert file_below(house, given) == (house[0] / "data/good.txt").resolve()


def test_a_link_or_an_absolute_path_may_lead_to_another_root(house):
    more = (house[1] / "more.txt").resolve()
    assert file_below(house, "link_to_other_root") == more
    assert file_below(house, str(more)) == more
    with pytest.raises(CorpusError, match="leads out of"):
        file_below(house[:1], "link_to_other_root")


def test_a_neighbour_whose_name_begins_like_a_root_is_outside(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data2").mkdir()
    (tmp_path / "data2/x").write_text("x")
    with pytest.raises(CorpusError, match="leads out of"):
        file_below((tmp_path / "data",), "../data2/x")


# --- files that are there


def test_an_absent_file_says_both_ways_to_get_it(root, golden):
    with pytest.raises(CorpusError) as caught:
        verified_file((root,), "multi30k", "multi30k/train.de.gz", "0" * 64)
    said = str(caught.value)
    golden(said)
    assert "LNLAB_DATA" in said


def test_a_wrong_checksum_names_the_file_what_was_expected_and_what_was_found(root):
    (root / "x").write_bytes(b"other")
    with pytest.raises(CorpusError) as caught:
        verified_file((root,), "toy", "x", digest_bytes(b"right"))
    said = str(caught.value)
    assert said.startswith(str((root / "x").resolve()))
    assert digest_bytes(b"right") in said
    assert digest_bytes(b"other") in said


def test_a_verified_file_is_found(root):
    (root / "x").write_bytes(b"right")
    assert verified_file((root,), "toy", "x", digest_bytes(b"right")) == (root / "x").resolve()


def test_a_digest_is_kept_until_size_or_time_of_change_differ(root, monkeypatch):
    path = root / "x"
    path.write_bytes(b"one")
    assert file_digest(path) == digest_bytes(b"one")
    before = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_digest(path) == digest_bytes(b"one")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert file_digest(path) == digest_bytes(b"two")


# --- downloads


def test_a_download_is_whole_verified_and_shows_its_progress(server, root):
    server.files["/a"], server.files["/b"] = CONTENT, b"small"
    seen = []
    files = {"toy/a": remote(server.url("a")), "toy/b": remote(server.url("b"), b"small")}
    paths = fetch("toy", files, root, lambda *step: seen.append(step))
    assert [path.read_bytes() for path in paths] == [CONTENT, b"small"]
    assert paths == [root / "toy/a", root / "toy/b"]
    here = [step[1] for step in seen if step[0] == "a"]
    assert here == sorted(here)
    assert here[0] <= 65536
    assert seen[-1] == ("b", 5, 5)
    assert {step[2] for step in seen if step[0] == "a"} == {len(CONTENT)}


def test_what_is_there_and_verified_is_not_fetched_again(server, root):
    server.files["/a"] = CONTENT
    fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    assert server.requests == ["/a"]


def test_a_damaged_file_is_fetched_again(server, root):
    server.files["/a"] = CONTENT
    (root / "a").write_bytes(CONTENT[:-1])
    assert fetch("toy", {"a": remote(server.url("a"))}, root, silent)[0].read_bytes() == CONTENT


@pytest.mark.parametrize(
    "served", [CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]), CONTENT + b"more"], ids=["changed", "longer"]
)
def test_a_download_with_a_wrong_checksum_is_not_kept(server, root, served, golden):
    server.files["/a"] = served
    with golden.raises(CorpusError) as caught:
        fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    assert digest_bytes(CONTENT) in str(caught.value)
    assert list(root.iterdir()) == []


def test_a_bad_download_leaves_the_file_that_was_there(server, root):
    (root / "a").write_bytes(b"older")
    server.files["/a"] = b"bad"
    with pytest.raises(CorpusError):
        fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    assert [(path.name, path.read_bytes()) for path in root.iterdir()] == [("a", b"older")]


def test_a_connection_that_breaks_leaves_nothing(server, root):
    server.files["/a"], server.cut["/a"] = CONTENT, 100_000
    with pytest.raises(CorpusError, match="cannot be downloaded"):
        fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    assert list(root.iterdir()) == []


def test_an_endless_answer_is_cut_off(server, root):
    server.endless.add("/a")
    with pytest.raises(CorpusError, match="the SHA-256 of this download"):
        fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://127.0.0.1/\n", "file:///etc/passwd"])
def test_what_cannot_be_reached_says_so(server, root, url):
    with pytest.raises(CorpusError, match=r"cannot be downloaded: .+; try again"):
        fetch("toy", {"a": remote(url)}, root, silent)
    assert list(root.iterdir()) == []


def test_a_missing_page_and_a_redirect_to_a_file_say_so(server, root):
    server.redirects["/moved"] = "file:///etc/passwd"
    for name, why in (("none", "404"), ("moved", "another scheme|not allowed")):
        with pytest.raises(CorpusError, match=why):
            fetch("toy", {"a": remote(server.url(name))}, root, silent)
    assert list(root.iterdir()) == []


def test_an_interrupted_download_leaves_nothing(server, root):
    server.files["/a"] = CONTENT

    def interrupt(name, here, size):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("toy", {"a": remote(server.url("a"))}, root, interrupt)
    assert list(root.iterdir()) == []


def test_a_killed_download_never_leaves_a_file_under_its_name(server, root):
    """SIGKILL in the middle: no handler can tidy up, and still nothing half-written has the name."""
    server.files["/a"] = CONTENT
    url, digest = server.url("a"), digest_bytes(CONTENT)
    program = (
        "import sys, time; from pathlib import Path; from lnlab.corpora.corpus import RemoteFile\n"
        "from lnlab.corpora.files.fetch import fetch\n"
        f"fetch('toy', {{'a': RemoteFile({url!r}, {digest!r}, {len(CONTENT)})}}, Path({str(root)!r}),\n"
        "      lambda *step: (print('some', flush=True), time.sleep(60)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "some\n"
        child.send_signal(signal.SIGKILL)
    assert not (root / "a").exists()
    assert fetch("toy", {"a": remote(url)}, root, silent)[0].read_bytes() == CONTENT


def test_a_folder_that_cannot_be_written_says_so(server, root):
    server.files["/a"] = CONTENT
    (root / "toy").write_text("a file where a folder should be")
    with pytest.raises(CorpusError, match="cannot be downloaded"):
        fetch("toy", {"toy/a": remote(server.url("a"))}, root, silent)


def test_files_are_synced_before_they_take_their_name(server, root, monkeypatch):
    server.files["/a"] = CONTENT
    steps = []
    monkeypatch.setattr(room.os, "fsync", lambda number: steps.append("sync"))
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (steps.append("rename"), replace(self, to))[1])
    fetch("toy", {"a": remote(server.url("a"))}, root, silent)
    assert steps == ["sync", "rename", "sync"]
