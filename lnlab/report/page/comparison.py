"""The page of a comparison: every claim with its estimates side by side on one line, and lists of what differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import VERDICT_SYMBOLS
from lnlab.report.page import html
from lnlab.report.page.verdict_strip import VerdictStrip, verdict_strip
from lnlab.report.table import Grid
from lnlab.report.words.answer_text import estimate_in_words
from lnlab.report.words.verdict_words import VERDICT_CLASSES


@dataclass(frozen=True)
class ComparedClaim:
    """A claim of either side.

    Attributes:
        claim: its id.
        a: its verdict on the first side, or None.
        b: its verdict on the second side, or None.
        differs: whether they say something else.
    """

    claim: str
    a: Verdict | None
    b: Verdict | None
    differs: bool

    @property
    def says(self) -> str:
        """The claim as a sentence: of the second side where it has one; its id where no side has the sentence."""
        sentences = [verdict.says for verdict in (self.b, self.a) if verdict and verdict.says != self.claim]
        return sentences[0] if sentences else self.claim

    @property
    def strips(self) -> tuple[VerdictStrip | None, VerdictStrip | None]:
        """The drawings of both verdicts, on one line."""
        return (
            verdict_strip(self.a, self.b) if self.a else None,
            verdict_strip(self.b, self.a) if self.b else None,
        )


def render_comparison(
    sides: tuple[str, str],
    sentence: str,
    claims: Sequence[ComparedClaim],
    lists: Mapping[str, Sequence[tuple[str, str, str]]],
    notes: Sequence[str],
    templates: Path | None = None,
) -> str:
    """The page as one file of HTML without a script.

    Args:
        sides: what is compared, as the user named it.
        sentence: what differs, in one sentence.
        claims: of either side, in the order in which they are listed.
        lists: by heading, what differs: its place, and what stands there on either side.
        notes: what was not compared, and why.
        templates: a folder whose templates come before those of lnlab.

    Raises:
        ReportError: the templates are not there.
    """
    jinja = html.template_environment(html.template_folders(templates))
    style = jinja.get_template("style.css").render() + jinja.get_template("comparison.css").render()
    return jinja.get_template("comparison.html.j2").render(
        sides=sides,
        sentence=sentence,
        claims=[(claim, _cells(claim)) for claim in claims],
        tables=[
            Grid(f"{heading}: {len(rows)}", ("where", *sides), tuple(tuple((cell, False) for cell in r) for r in rows))
            for heading, rows in lists.items()
        ],
        notes=notes,
        symbols=VERDICT_SYMBOLS,
        classes=VERDICT_CLASSES,
        policy=html.policy(style, ""),
        style=Markup(style),  # noqa: S704 - our own style sheets
    )


def _cells(claim: ComparedClaim) -> list[tuple[Verdict | None, str, VerdictStrip | None]]:
    """For either side its verdict, its estimate in words, and its drawing."""
    pairs = zip((claim.a, claim.b), claim.strips, strict=True)
    return [(verdict, estimate_in_words(verdict) if verdict else "", strip) for verdict, strip in pairs]
