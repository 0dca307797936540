"""Citations with links: an arXiv number or a DOI leads to its paper, and so does a short citation of it."""

import re
from collections.abc import Mapping

_PAPER = re.compile(r"arXiv[: ]\s?(?P<arxiv>\d{4}\.\d{4,5})(?:v\d+)?|(?:doi:\s?)?(?P<doi>\b10\.\d{4,9}/[\w./:()-]*\w)")
_ADDRESS = re.compile(r"https?://[\w.-]+(?:/[\w./~%+=&?#-]*)?")
_NAME = r"[A-Z][\w-]{1,60}"
_SHORT = re.compile(rf"\b{_NAME}(?:,? {_NAME}){{,20}}(?: et al\.| and {_NAME})?,? \(?(?:19|20)\d\d\)?")
"""``Xiong et al. 2020``, ``Wu and He (2018)``. Without the bounds each of many names would be sought to the end."""


def linked_citations(text: str, known: Mapping[str, str] | None = None) -> list[tuple[str, str | None]]:
    """Split a text into pieces, each with the address it leads to or None. Joined, they are the text again.

    Args:
        text: with citations.
        known: addresses of short citations, see ``cited_papers``. They are used if the text has no number itself.
    """
    places = [(paper.span(), _address(paper)) for paper in _PAPER.finditer(text)]
    places += [
        (short.span(), known[_plain(short[0])])
        for short in _SHORT.finditer(text)
        if known and not places and _plain(short[0]) in known
    ]
    pieces: list[tuple[str, str | None]] = []
    end = 0
    for (start, stop), address in sorted(places):
        pieces += [(text[end:start], None), (text[start:stop], address)]
        end = stop
    return [piece for piece in (*pieces, (text[end:], None)) if piece[0]]


def cited_papers(text: str) -> dict[str, str]:
    """The address of each paper that a citation names with its number, by its short citation.

    ``Xiong et al. 2020, On Layer Normalization (arXiv 2002.04745); ...`` -> ``{"Xiong et al. 2020": ...}``. Citations
    are separated by semicolons.
    """
    papers = {}
    for citation in text.split(";"):
        short, paper = _SHORT.search(citation), _PAPER.search(citation)
        if short and paper:
            papers[_plain(short[0])] = _address(paper)
    return papers


def _address(paper: re.Match[str]) -> str:
    return f"https://arxiv.org/abs/{paper['arxiv']}" if paper["arxiv"] else f"https://doi.org/{paper['doi']}"


def _plain(short: str) -> str:
    """A short citation without the brackets and the comma about its year."""
    return re.sub(r",(?= \d)|[()]", "", short)


def web_address(text: str) -> str | None:
    """The text where it is an address of the web and nothing else, else None: a link never leads anywhere else."""
    return text if _ADDRESS.fullmatch(text) else None
