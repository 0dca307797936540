"""Data roots, paths that must not lead out of them, and downloads that are whole or not there."""

import os
from pathlib import Path

import pytest

from lnlab.corpora.corpus import RemoteFile
from lnlab.corpora.files.fetch import data_roots, fetch, file_below, file_digest, verified_file
from lnlab.errors import CorpusError
from lnlab.keys import digest_bytes

CONTENT = os.urandom(200_000)


def remote(url, content=CONTENT):
    return RemoteFile(url, digest_bytes(content), len(content))


def silent(name, here, size):
    """Show nothing."""


# --- roots


def test_roots_are_the_specs_folder_then_lnlab_data_then_the_users_own_and_absolute(tmp_path, monkeypatch):
    """So that workers elsewhere find them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LNLAB_DATA", os.pathsep.join(["b", "", str(tmp_path / "c"), "~/d", str(tmp_path / "b")]))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    roots = data_roots(Path("a"))
    assert [root.relative_to(tmp_path).as_posix() for root in roots] == ["a", "b", "c", "home/d", "own/lnlab"]
    for root in roots[1:3]:
        root.mkdir()
        (root / "x.txt").write_text(root.name)
    assert file_below(roots, "x.txt") == roots[1] / "x.txt", "the first that has it"


# --- paths

UP = ["../" * n + "etc/passwd" for n in range(1, 12)]
OUT = """/etc/passwd //etc/passwd ///etc/passwd /etc/../etc/passwd /proc/self/environ /proc/self/fd/0 /dev/null
/proc/self/root/etc/passwd /dev/zero /dev/stdin /dev/fd/0 / // .. ../ . ./ ./. data/.. data/../.. ../secret.txt
../root/../secret.txt ./../secret.txt data/../../secret.txt data/./.././../secret.txt link_to_file link_to_link
link_to_folder/secret.txt link_to_folder/../secret.txt data/deep_link/secret.txt link_up/secret.txt link_absolute"""
HOSTILE = [
    *[*OUT.split(), *UP, *(f"data/{path}" for path in UP[1:])],
    *[path.replace("../", other) for path in UP[3:6] for other in (".././", "..//")],
    *["secret.txt\x00.de", "\x00", "data\x00/../../secret.txt", "\ud800", "x" * 5000, "x/" * 3000 + "y"],
]
NOTHING = r"""data/../etc/passwd ~/secret.txt ~root/.ssh/id_rsa $HOME/secret.txt ${LNLAB_DATA}/../secret.txt
%2e%2e/secret.txt ..%2fsecret.txt ..\secret.txt C:\secret.txt file:///etc/passwd http://127.0.0.1/secret.txt
....//secret.txt data/... ．．/secret.txt pipe data data/ broken_link_inside secret.txt -
loop loop/secret.txt loop_a/b"""
HARMLESS_MISSES = [*NOTHING.split(), "a\udcffb", "|cat secret.txt", "`cat secret.txt`", " ", "\n"]


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


def test_no_path_leads_out_of_the_roots(house):
    assert len({*HOSTILE, *HARMLESS_MISSES}) >= 60
    for given in HOSTILE:
        with pytest.raises(CorpusError, match=r"leads out|not a path") as caught:
            file_below(house, given)
        assert "\n" not in str(caught.value)
        assert "secret\n" not in str(caught.value)


def test_nothing_in_a_path_is_expanded_decoded_or_opened(house):
    """Each is a plain name to look for below a root, and nothing is there; a pipe or a folder is no file."""
    assert {given: file_below(house, given) for given in HARMLESS_MISSES} == dict.fromkeys(HARMLESS_MISSES)


def test_paths_and_links_that_stay_inside_are_followed_to_another_root_as_well(house):
    for given in ("data/good.txt", "./data/good.txt", "data/../data/good.txt", "good_link", "data//good.txt"):
        assert file_below(house, given) == (house[0] / "data/good.txt").resolve()
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


def test_a_file_is_verified_by_its_digest_and_an_absent_or_changed_one_refused(root, golden):
    with golden.raises(CorpusError):
        verified_file((root,), "multi30k", "multi30k/train.de.gz", "0" * 64)
    right, other = digest_bytes(b"right"), digest_bytes(b"other")
    (root / "x").write_bytes(b"other")
    with pytest.raises(CorpusError, match=f"(?s)x: .*{right}.*{other}|x: .*{other}.*{right}") as caught:
        verified_file((root,), "toy", "x", right)
    assert caught.value.issues[0].where == str((root / "x").resolve())
    assert verified_file((root,), "toy", "x", other) == (root / "x").resolve()


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


def refused(root, url, match):
    """The download of ``a`` is refused, and leaves what was there."""
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    with pytest.raises(CorpusError, match=match):
        fetch("toy", {"a": remote(url)}, root, silent)
    assert {path.name: path.read_bytes() for path in root.iterdir()} == before


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
    fetch("toy", files, root, silent)
    assert server.requests == ["/a", "/b"], "what is there and verified is not fetched again"
    (root / "toy/a").write_bytes(CONTENT[:-1])
    assert fetch("toy", files, root, silent)[0].read_bytes() == CONTENT


@pytest.mark.parametrize("older", [None, b"older"])
def test_a_download_that_is_not_what_it_should_be_leaves_what_was_there(server, root, older):
    if older:
        (root / "a").write_bytes(older)
    for served in (CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]), CONTENT + b"more"):
        server.files["/a"] = served
        refused(root, server.url("a"), digest_bytes(CONTENT))
    server.files["/a"] = b"bad"
    refused(root, server.url("a"), "ended after 3 of 200000 bytes")
    server.files["/a"], server.cut["/a"] = CONTENT, 100_000
    refused(root, server.url("a"), "cannot be downloaded")
    server.endless.add("/endless")
    refused(root, server.url("endless"), "the SHA-256 of this download")
    server.redirects["/moved"] = "file:///etc/passwd"
    refused(root, server.url("none"), "404")
    refused(root, server.url("moved"), "another scheme|not allowed")
    for url in ("http://127.0.0.1:1/x", "http://127.0.0.1/\n", "file:///etc/passwd"):
        refused(root, url, r"cannot be downloaded: .+; try again")
    (root / "toy").write_text("a file where a folder should be")
    with pytest.raises(CorpusError, match="cannot be downloaded"):
        fetch("toy", {"toy/a": remote(server.url("a"))}, root, silent)


def test_an_interrupted_download_leaves_nothing(server, root):
    server.files["/a"] = CONTENT

    def interrupt(name, here, size):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("toy", {"a": remote(server.url("a"))}, root, interrupt)
    assert list(root.iterdir()) == []


def test_one_byte_more_than_is_expected_is_received_and_no_more(server, root):
    """It shows that the answer is longer; an answer without an end costs no more than that."""
    server.files["/long"] = CONTENT + b"more" * 50_000
    server.endless.add("/endless")
    for name in ("long", "endless"):
        seen: list[tuple[str, int, int]] = []
        with pytest.raises(CorpusError):
            fetch("toy", {"a": remote(server.url(name))}, root, lambda *step, seen=seen: seen.append(step))
        assert seen[-1][1:] == (len(CONTENT) + 1, len(CONTENT))
