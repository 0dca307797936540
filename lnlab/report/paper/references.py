"""The papers that a report cites, as BibTeX."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lnlab.report.page.citation_links import cited_papers
from lnlab.report.page.latex import escape_latex

_SURNAMES = re.compile(r",\s+| and ")
_TITLE = re.compile(r"(?:19|20)\d\d\)?,\s+(?P<title>[^();]+?)\s*\((?:arXiv|doi)")


@dataclass(frozen=True)
class Reference:
    """A paper.

    Attributes:
        key: what ``\\cite`` names: first author and year.
        authors: surnames, ``others`` last where the citation says "et al.".
        year: of the paper.
        title: or nothing, where no citation of it has one.
        address: of the paper on the web.
    """

    key: str
    authors: tuple[str, ...]
    year: str
    title: str
    address: str


def cited_references(texts: Iterable[str]) -> list[Reference]:
    """Every paper that is cited with its number somewhere in the texts, once, in the order of their keys."""
    addresses: dict[str, str] = {}
    titles: dict[str, str] = {}
    for citation in (part for text in texts for part in text.split(";")):
        for short, address in cited_papers(citation).items():
            addresses.setdefault(address, short)
            if match := _TITLE.search(citation):
                titles.setdefault(address, match["title"])
    references: list[Reference] = []
    for address, short in sorted(addresses.items(), key=lambda item: item[1]):
        authors, year = short.rsplit(" ", 1)
        surnames = tuple(_SURNAMES.split(authors.replace(" et al.", " and others")))
        stem = re.sub(r"[^a-z]", "", surnames[0].lower()) + year
        # a second paper of an author and year is called b
        same = sum(reference.key.rstrip("bcdef") == stem for reference in references)
        key = stem + ("", *"bcdef")[same]
        references.append(
            Reference(key=key, authors=surnames, year=year, title=titles.get(address, ""), address=address)
        )
    return references


def cite(text: str, references: Iterable[Reference]) -> str:
    """``\\cite`` of the papers that a text cites with their numbers, or nothing."""
    key_of: Mapping[str, str] = {reference.address: reference.key for reference in references}
    keys = [key_of[address] for address in cited_papers(text).values() if address in key_of]
    return rf"\cite{{{','.join(dict.fromkeys(keys))}}}" if keys else ""


def bibtex(references: Iterable[Reference]) -> str:
    """One ``@misc`` entry for each paper."""
    entries = []
    for reference in references:
        fields = {
            "author": " and ".join(escape_latex(name) if name != "others" else name for name in reference.authors),
            "title": f"{{{_braces_paired(escape_latex(reference.title))}}}" if reference.title else "",
            "year": reference.year,
            "howpublished": rf"\url{{{reference.address}}}",
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        entries.append("\n".join([f"@misc{{{reference.key},", *lines, "}", ""]))
    return "\n".join(entries)


def _braces_paired(text: str) -> str:
    # BibTeX pairs braces whatever stands before them
    return text.replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")
