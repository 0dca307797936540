"""The real corpora, where they are at hand: as the environment names them before any test changes it."""

import gc
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from lnlab.execute import pool
from tests.support.forking import servers
from tests.support.golden import TESTS, Golden, Said, golden_file, read_golden

SAID = pytest.StashKey[Said]()
FOLDERS = [Path(folder).absolute() for folder in os.environ.get("LNLAB_DATA", "").split(os.pathsep) if folder]


# Children inherit what a parent ignores, and whoever started this may ignore signals that tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Workers that tests start have imported lnlab already, which takes longer than what they do. Polars, which comes with
# it, starts threads that a fork does not copy; lnlab itself therefore lets each worker import it.
pool.PRELOADED.extend(["lnlab.execute.worker", "lnlab.execute.registry_loader"])


# How long an example takes depends on what else the machine does, and so does how long the first one is drawn.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--golden`` keeps what tests say in place of comparing it: `make golden`. ``--shuffled`` is of every night."""
    parser.addoption("--golden", action="store_true", help="keep what tests say, and compare nothing")
    parser.addoption("--shuffled", type=int, metavar="SEED", help="files, and the functions of each, in another order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under ``--shuffled`` no test finds what another has left, but by chance."""
    if (seed := config.getoption("--shuffled")) is None:
        return
    random = Random(seed)
    places: dict[str, float] = {}

    def place(item: pytest.Item) -> tuple[float, float]:
        function = item.nodeid.partition("[")[0]  # its parameters stay together, as what they share is made once
        return places.setdefault(str(item.path), random.random()), places.setdefault(function, random.random())

    items.sort(key=place)


def pytest_configure(config: pytest.Config) -> None:
    """Nobody has said anything yet."""
    if config.getoption("--golden") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--golden: each process would keep what it has said alone; leave out --numprocesses")
    config.stash[SAID] = Said()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What failed said nothing, so that only a whole session is kept."""
    if session.config.getoption("--golden") and exitstatus == 0:
        session.config.stash[SAID].write()


@pytest.fixture
def golden(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Golden]:
    """``golden(text)`` and ``golden.raises(kind)``: the sentences of a test are those in tests/golden."""
    said: list[str] = []
    request.config.stash[SAID].sayings[request.path][request.node.name] = said
    kept = read_golden(golden_file(request.path)).get(request.node.name, [])
    names = {tmp_path: "TMP", tmp_path_factory.getbasetemp(): "TMP", TESTS.parent: "ROOT"}
    golden = Golden(said, None if request.config.getoption("--golden") else kept, names)
    yield golden
    golden.end()


def pytest_collection_finish() -> None:
    """The collector of garbage need not go through modules and tests again and again: none of them is ever freed."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The speed of this machine is measured under other work here: it is not kept for the user."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def forked() -> Callable[..., tuple[int, object]]:
    """``forked(job, *arguments)``: exit status and answer of a job of ``forked_jobs``, in a process of its own."""
    pool = servers()

    def run(job: str, *arguments: object) -> tuple[int, object]:
        answer: tuple[int, object] = pool.call(f"tests.support.forked_jobs:{job}", *arguments)
        assert all(server.process.poll() is None for server in pool.members)
        return answer

    return run


@pytest.fixture(scope="session")
def lnlab_process(forked: Callable[..., tuple[int, object]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``lnlab_process(words, folder)``: a command in a process of its own, which has imported lnlab already.

    Where no test asks what workers do, ``workers=False`` saves the start of a second interpreter and its workers.
    """

    def run(
        words: Sequence[str], folder: Path, environment: Mapping[str, str] = os.environ, *, workers: bool = True
    ) -> subprocess.CompletedProcess[str]:
        with TemporaryDirectory() as output:
            status, code = forked("command", list(words), str(folder), dict(environment), output, workers)
            printed = [(Path(output) / name).read_text() for name in ("stdout", "stderr")]
        assert status == 0, f"lnlab {' '.join(words)} ended with {status}: {code}\n{printed[1]}"
        return subprocess.CompletedProcess(words, int(str(code)), *printed)

    return run


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
def bible_root() -> Path:
    """The data folder that holds the Bible in English and Spanish."""
    for folder in FOLDERS:
        if (folder / "bible_kjv_rv1909/train.es.gz").is_file():
            return folder
    pytest.skip("needs real data: no folder of LNLAB_DATA holds bible_kjv_rv1909")


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
