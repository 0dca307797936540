"""Citations with links: an arXiv number or a DOI leads to its paper."""

import re

_PAPER = re.compile(r"arXiv[: ]\s?(?P<arxiv>\d{4}\.\d{4,5})(?:v\d+)?|(?:doi:\s?)?(?P<doi>\b10\.\d{4,9}/[\w./:()-]*\w)")
_ADDRESS = re.compile(r"https?://[\w.-]+(?:/[\w./~%+=&?#-]*)?")


def linked_citations(text: str) -> list[tuple[str, str | None]]:
    """A text in pieces, each with the address it leads to or None; joined, they are the text again."""
    pieces: list[tuple[str, str | None]] = []
    end = 0
    for paper in _PAPER.finditer(text):
        address = f"https://arxiv.org/abs/{paper['arxiv']}" if paper["arxiv"] else f"https://doi.org/{paper['doi']}"
        pieces += [(text[end : paper.start()], None), (paper[0], address)]
        end = paper.end()
    return [piece for piece in (*pieces, (text[end:], None)) if piece[0]]


def web_address(text: str) -> str | None:
    """The text where it is an address of the web and nothing else, else None: a link never leads anywhere else."""
    return text if _ADDRESS.fullmatch(text) else None
