"""The TED talks of WIT3, German and English, as IWSLT distributes them: a folder, or the archive itself.

``de-en.tgz`` of 2014-01 holds ``de-en/train.tags.de-en.{de,en}`` and ``de-en/IWSLT14.TED.dev2010.de-en.{de,en}.xml``
with its sisters. Archives of other years hold the same sets under another prefix, and folders may have no prefix.

Source: Cettolo, Girardi and Federico 2012, WIT3: Web Inventory of Transcribed and Translated Talks.
"""

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from lnlab.corpora.corpus import Pair
from lnlab.corpora.files.archive import Content, read_archive, read_content
from lnlab.corpora.files.fetch import file_below
from lnlab.corpora.files.lines import lines_in
from lnlab.corpora.files.segments import SegmentedDocument, divergence, segment_pairs, texts
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.registry import Roots

ORIGIN = (
    "https://wit3.fbk.eu (release 2014-01, texts/de/en/de-en.tgz; "
    "also http://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz)"
)
LICENCE = "CC BY-NC-ND (TED talks)"
TRAIN_FILES = ("train.tags.de-en.de", "train.tags.de-en.en")
_FOLDERS = ("iwslt14/de-en", "iwslt14", "de-en")
_ARCHIVES = ("iwslt14/de-en.tgz", "de-en.tgz")
PREFIXES = ("IWSLT14.", "IWSLT16.", "")
PREFIX = re.compile(r"IWSLT\d\d\.(?=TEDX?\.)")

DROPPED = ("<url>", "<talkid>", "<keywords>")
STRIPPED = re.compile("</?(?:title|description)>")
TALK = re.compile("<talkid>(.*?)</talkid>")


def set_names(*sets: str) -> tuple[str, ...]:
    """The files of these sets, both languages, without the prefix of a year."""
    return tuple(f"{name}.de-en.{language}.xml" for name in sets for language in ("de", "en"))


def locate_release(roots: Roots, names: Sequence[str]) -> list[Path] | None:
    """Paths of these files in the first folder that has all of them, or else of an archive, or None."""
    for root in roots:
        for folder in _FOLDERS:
            paths = []
            for name in names:
                # Sets of another year have its prefix; the training files have none in any year.
                prefixes = PREFIXES if name.startswith("TED") else ("",)
                candidates = (file_below((root,), f"{folder}/{prefix}{name}") for prefix in prefixes)
                if (found := next(filter(None, candidates), None)) is None:
                    break
                paths.append(found)
            else:
                return paths
        for archive in _ARCHIVES:
            if path := file_below((root,), archive):
                return [path]
    return None


def contents(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Content]:
    """The contents of files by name, read from the folder or the archive that ``locate_release`` found.

    Raises:
        CorpusError: a file or the archive cannot be read, or the archive lacks one of them.
    """
    if [path.suffix for path in paths] != [".tgz"]:
        return {name: read_content(path) for name, path in zip(names, paths, strict=True)}

    def select(name: str) -> str | None:
        plain = PREFIX.sub("", name)
        return plain if plain in names else None

    members = read_archive(paths[0], select)
    if missing := [name for name in names if name not in members]:
        what = f"this archive has no {', '.join(missing)}"
        raise CorpusError(Issue("damaged", str(paths[0]), what, f"get the one of {ORIGIN}"))
    return members


def tagged_pairs(source: Content, target: Content) -> list[Pair]:
    """The training pairs, without lines of url, talkid or keywords and without the tags of titles and descriptions.

    Raises:
        CorpusError: a file is empty or is not UTF-8, or their numbers of lines differ.
    """
    sources, targets = _talks(source), _talks(target)
    counts = [sum(len(talk.segments) for talk in side) for side in (sources, targets)]
    if counts[0] != counts[1]:
        what = f"{counts[0]} lines of text, and {counts[1]} in {target.where}: {divergence(sources, targets)}"
        raise CorpusError(
            Issue("differs", source.where, what, "both files need the same number of lines: get them again")
        )
    if not counts[0]:
        raise CorpusError(Issue("damaged", source.where, "has no line of text", "get the file again"))
    return texts(sources, targets)


def _talks(content: Content) -> list[SegmentedDocument]:
    """The lines of text of each talk, numbered within it."""
    talks = [SegmentedDocument("")]
    for line in lines_in(BytesIO(content.raw), content.where):
        if talk := TALK.search(line):
            talks.append(SegmentedDocument(talk[1].strip()))
        if not any(tag in line for tag in DROPPED):
            segments = talks[-1].segments
            segments.append((str(len(segments) + 1), " ".join(STRIPPED.sub("", line).split())))
    return talks


def set_pairs(members: dict[str, Content], *sets: str) -> list[Pair]:
    """The pairs of these sets in order, with curly apostrophes made straight, as in the training text.

    Raises:
        CorpusError: a file is damaged, or both sides of a set differ in their segments.
    """
    read = (segment_pairs(*(members[name] for name in set_names(set_name))) for set_name in sets)
    return [(source.replace("’", "'"), target.replace("’", "'")) for pairs in read for source, target in pairs]
