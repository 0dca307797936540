"""WMT14 in the layouts in which it is found, and how much of it is read."""

import gzip
import tracemalloc

import pytest

from lnlab.corpora.corpus import corpora
from lnlab.corpora.wmt14 import TRAIN_PARTS, WMT14_PARTS, wmt14
from lnlab.errors import CorpusError
from lnlab.registry import Flawed

FOLDER = dict(zip(TRAIN_PARTS, ("training", "", "training"), strict=True))
TESTS = ("newstest2014-deen-src.en.sgm", "newstest2014-deen-ref.de.sgm")


def sgml(side, texts):
    """As WMT writes it: no declaration, and ampersands as they come."""
    segments = "".join(f'<seg id="{n}">{text}</seg>\n' for n, text in enumerate(texts, start=1))
    body = f'<doc sysid="ref" docid="a.1" genre="news" origlang="en">\n<p>\n{segments}</p>\n</doc>'
    return f'<{side} setid="newstest2014" srclang="any">\n{body}\n</{side}>\n'


@pytest.fixture
def laid_out(root):
    """Every file where its archive unpacks it."""

    def write(name, text):
        path = root / "wmt14" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())

    for name in TRAIN_PARTS:
        for language in ("en", "de"):
            write(f"{FOLDER[name]}/{name}.{language}", "".join(f"{name} {language} {n}\n" for n in range(300)))
    for language in ("en", "de"):
        write(f"dev/newstest2013.{language}", f"News of 2013 {language}\n")
    write(f"test-full/{TESTS[0]}", sgml("srcset", ["Profit & Loss", "two"]))
    write(f"test-full/{TESTS[1]}", sgml("refset", ["Gewinn &amp; Verlust", "zwei"]))
    write("commoncrawl.de-en.en", "one two\n\none two three four\n" + "a " * 251 + "\nOne &amp; Two\n")
    write("commoncrawl.de-en.de", "eins zwei\n\neins zwei\n" + "a " * 251 + "\nEins &amp; Zwei\n")
    return root, write


def test_all_parts_are_read_english_first_and_case_is_kept(laid_out):
    splits = wmt14((laid_out[0],)).splits
    crawled = [("one two", "eins zwei"), ("One &amp; Two", "Eins &amp; Zwei")]
    assert list(splits["train"][300:302]) == crawled
    assert splits["train"][0] == ("europarl-v7.de-en en 0", "europarl-v7.de-en de 0")
    assert len(splits["train"]) == 602
    assert list(splits["validation"]) == [("News of 2013 en", "News of 2013 de")]
    assert list(splits["test"]) == [("Profit & Loss", "Gewinn & Verlust"), ("two", "zwei")]


def test_compressed_files_and_plain_test_sets_give_the_same(laid_out):
    root, write = laid_out
    before = wmt14((root,))
    for language in ("en", "de"):
        path = root / f"wmt14/training/europarl-v7.de-en.{language}"
        write(f"europarl-v7.de-en.{language}.gz", path.read_text())
        path.unlink()
    for name, language, texts in zip(TESTS, ("en", "de"), zip(*before.splits["test"], strict=True), strict=True):
        (root / "wmt14/test-full" / name).unlink()
        write(f"newstest2014.{language}", "\n".join(texts))
    assert wmt14((root,)).digest == before.digest


def test_a_share_is_part_of_a_larger_one_and_of_that_size(laid_out):
    whole, half, some = (set(wmt14((laid_out[0],), share=share).splits["train"]) for share in (1.0, 0.5, 0.1))
    assert some < half < whole
    assert len(half) == pytest.approx(300, rel=0.15)
    assert len(some) == pytest.approx(60, rel=0.4)


def test_files_are_never_in_memory_as_a_whole(laid_out):
    """Six megabytes on both sides together, of which a hundredth is kept."""
    for language in ("en", "de"):
        laid_out[1](f"training/europarl-v7.de-en.{language}", "".join(f"{n} {'word ' * 11}\n" for n in range(50_000)))
    tracemalloc.start()
    pairs = wmt14((laid_out[0],), share=0.01).splits["train"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 350 < len(pairs) < 650
    assert peak < 1_500_000


def test_absent_it_says_where_it_is_to_be_had_and_what_is_missing(laid_out, tmp_path, golden):
    with golden.raises(CorpusError) as caught:
        wmt14((tmp_path / "none",))
    assert all(forms[0][0] in str(caught.value) for forms in WMT14_PARTS)
    (laid_out[0] / "wmt14/commoncrawl.de-en.de").unlink()
    with pytest.raises(CorpusError, match=r"no folder 'wmt14' with commoncrawl\.de-en\.en, commoncrawl\.de-en\.de in"):
        wmt14((tmp_path / "none", laid_out[0]))


def test_damage_is_named_by_file_and_line(laid_out):
    root, write = laid_out

    def refused(match):
        with pytest.raises(CorpusError, match=match):
            wmt14((root,))

    write(f"test-full/{TESTS[1]}", sgml("refset", ["eins"]))
    refused(r"2 segments, and 1 in .*: document 'a\.1' has .* are '2' and none")
    write("training/news-commentary-v9.de-en.de", "eine\n")
    refused(r"news-commentary-v9\.de-en\.en: 300 lines, and 1 in .*\.de;")
    path = root / "wmt14/training/europarl-v7.de-en.de"
    path.write_bytes(path.read_bytes()[:100] + b"\xff\n")
    refused(r"europarl-v7\.de-en\.de: line 5 is not UTF-8")
    path.unlink()
    for language in ("en", "de"):
        write(f"training/europarl-v7.de-en.{language}.gz", "x\n")
    (root / "wmt14/training/europarl-v7.de-en.de.gz").write_bytes(gzip.compress(b"x\n" * 100_000)[:-9])
    refused(r"europarl-v7\.de-en\.de\.gz: ")


def test_a_spec_that_names_it_can_be_checked_while_it_is_absent(root, laid_out):
    choice = corpora.resolve("wmt14")
    assert choice == {"kind": "wmt14", "share": 1.0}
    assert len(corpora["wmt14"].facts.inputs((laid_out[0],), choice)) == 10
    assert corpora.key(choice, (laid_out[0],)) != corpora.key(choice, ())
    assert corpora.key(choice, (root,)) != corpora.key(corpora.resolve({"kind": "wmt14", "share": 0.5}), (root,))
    for share in (0, -1, 1.5, "all"):
        with pytest.raises(Flawed):
            corpora.resolve({"kind": "wmt14", "share": share})
