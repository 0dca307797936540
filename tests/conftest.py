"""The real corpora, where they are at hand: as the environment names them before any test changes it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDERS = [Path(folder).absolute() for folder in os.environ.get("LNLAB_DATA", "").split(os.pathsep) if folder]


# Children inherit what a parent ignores, and whoever started this may ignore signals that tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The speed of this machine is measured under other work here: it is not kept for the user."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def promptly() -> Iterator[None]:
    """A test that would wait for ever, as for a pipe that nobody writes to, fails instead."""

    def fail(*_: object) -> None:
        raise AssertionError("still waiting after 60 s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def multi30k_root() -> Path:
    """The data folder that holds Multi30k."""
    for folder in FOLDERS:
        if (folder / "multi30k/train.de.gz").is_file():
            return folder
    pytest.skip("needs real data: no folder of LNLAB_DATA holds multi30k")


@pytest.fixture(scope="session")
def ted_root() -> Path:
    """The data folder that holds the dev and test sets of TED talks."""
    for folder in FOLDERS:
        if (folder / "iwslt_ted/TED.tst2012.de-en.en.xml").is_file():
            return folder
    pytest.skip("needs real data: no folder of LNLAB_DATA holds iwslt_ted")


@pytest.fixture(scope="session")
def phrasebank_root() -> Path:
    """The data folder that holds Financial PhraseBank."""
    for folder in FOLDERS:
        if (folder / "financial_phrasebank/Sentences_AllAgree.txt").is_file():
            return folder
    pytest.skip("needs real data: no folder of LNLAB_DATA holds financial_phrasebank")


@pytest.fixture(scope="session")
def bert_root() -> Path:
    """The data folder that holds BERT's vocabulary."""
    for folder in FOLDERS:
        if (folder / "bert_base_uncased/vocab.txt").is_file():
            return folder
    pytest.skip("needs real data: no folder of LNLAB_DATA holds bert_base_uncased")
