"""Multi30k, task 1: 29,000 captions of photographs with their German translations, as published."""

from pathlib import Path

from lnlab.corpora.corpus import Corpus, RemoteFile, corpora
from lnlab.corpora.files.fetch import file_below, verified_file
from lnlab.corpora.files.parallel import parallel_corpus
from lnlab.keys import digest
from lnlab.registry import Roots

_ORIGIN = "https://github.com/multi30k/dataset/raw/master/data/task1/raw/"
_FOLDER = "multi30k/"
_SUMS = {
    "train.de.gz": ("726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6", 637044),
    "train.en.gz": ("d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f", 568929),
    "val.de.gz": ("f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a", 24681),
    "val.en.gz": ("14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28", 21650),
    "test_2016_flickr.de.gz": ("9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8", 22890),
    "test_2016_flickr.en.gz": ("611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9", 21077),
}
FILES = {_FOLDER + name: RemoteFile(_ORIGIN + name, sha256, size) for name, (sha256, size) in _SUMS.items()}


def _locate(roots: Roots) -> list[Path] | None:
    """The files, if all exist."""
    paths = [path for name in FILES if (path := file_below(roots, name))]
    return paths if len(paths) == len(FILES) else None


@corpora.register(
    "multi30k",
    licence="research use (captions of Flickr30k photographs)",
    citation="Elliott et al. 2016, Multi30K: Multilingual English-German Image Descriptions",
    files=FILES,
    locate=_locate,
    # The pinned checksums: nothing else is ever read, so that the key is the same before and after the download.
    fingerprint=lambda _roots, _choice: digest({name: remote.sha256 for name, remote in FILES.items()}),
)
def multi30k(roots: Roots) -> Corpus:
    """``task 1, raw``: captions, German to English, 29,000 / 1,014 / 1,000 pairs (Elliott et al., 2016).

    Raises:
        CorpusError: a file is absent or damaged.
    """
    paths = {name: verified_file(roots, "multi30k", name, remote.sha256) for name, remote in FILES.items()}
    train, validation, test = (
        (paths[f"{_FOLDER}{part}.de.gz"], paths[f"{_FOLDER}{part}.en.gz"])
        for part in ("train", "val", "test_2016_flickr")
    )
    return parallel_corpus(train, validation, test)
