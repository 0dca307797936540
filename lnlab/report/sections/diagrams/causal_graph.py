"""A causal graph with two verdicts at every arrow: of the observation, and of an intervention on the cause."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from lnlab.claims.claim import Verdict
from lnlab.claims.kinds.edges import Edges
from lnlab.claims.verdict_text import VERDICT_SYMBOLS, counted_word
from lnlab.report.charts.causal_graph import (
    OUTCOMES,
    VERDICT_COLOURS,
    EdgeMark,
    GraphEdge,
    GraphNode,
    Outcome,
)
from lnlab.report.figures.drawing import CausalGraph, diagram_data
from lnlab.report.section import Section, sections
from lnlab.report.theme import MUTED_COLOUR
from lnlab.report.words.cited_claims import claim_address
from lnlab.report.words.wording import count_noun, join_words
from lnlab.tables import Results

_HEADINGS = {
    "number": "edge",
    "cause": "cause",
    "effect": "effect",
    "observed": "observation",
    "observed_says": "what is observed",
    "cut": "intervention",
    "cut_says": "what the intervention does",
    "outcome": "under intervention",
}
_SUBJECT = (
    "Arrows go from cause to effect. Beside each arrow: its number and two linked verdicts, of the observation and of "
    "the intervention on the cause"
)
_NOT_JUDGED = "not judged"
_KEY = "observed, then intervened on: ✓ holds, ✗ does not, ‹ weaker, ? open"
_OUTCOME_WORDS: Mapping[Outcome, tuple[str, str]] = {
    "survives": ("survive the intervention", "Green: the intervention supports the arrow"),
    "fails": ("fail it", "Red, dashed: it contradicts the arrow"),
    "weaker": ("are weaker than asked", "Violet, finely dashed: its effect is smaller than asked"),
    "open": ("are open", "Brown, dotted: it is open"),
}
"""Outcome -> its words in the heading, and in the caption."""


class NodeBox(BaseModel):
    """A box of the graph: its label, and where it stands: column and row, from 0."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    label: Annotated[str, Field(min_length=1, max_length=60)]
    at: Annotated[
        tuple[Annotated[int, Field(ge=0, le=5)], Annotated[int, Field(ge=0, le=30)]],
        Field(description="the column and the row of the box, from 0"),
    ]


@sections.register("causal_graph")
def causal_graph(
    results: Results,
    verdicts: Sequence[Verdict],
    root: str | None,
    *,
    nodes: Annotated[dict[str, NodeBox], Field(min_length=2)],
    edges: Edges,
) -> Section:
    """``cause -> effect``: arrows, each with the verdict of an observation and of an intervention (Pearl, 2009).

    ``nodes`` are boxes by name, each with a label and its column and row, ``at``, from 0. ``edges`` are arrows between
    two of them, each with two claims of this spec, ``observed`` and ``cut``, which may cite others. A click on a
    verdict leads to its claim, on the page of another experiment if it is cited from there.
    """
    by_claim = {verdict.claim: verdict for verdict in verdicts}
    addresses = {verdict.claim: claim_address(verdict, n, results, root) for n, verdict in enumerate(verdicts, 1)}
    boxes = {name: GraphNode(node.label, *node.at) for name, node in nodes.items()}
    drawn, rows = [], []
    for number, edge in enumerate(edges, 1):
        cause, effect = (boxes[name] for name in edge.arrow)
        claims = (edge.observed, edge.cut)
        words = [by_claim[claim].verdict if claim in by_claim else _NOT_JUDGED for claim in claims]
        says = [by_claim[claim].says if claim in by_claim else "" for claim in claims]
        arrow = f"{number}. {cause.label} → {effect.label}"
        observed, cut = (
            EdgeMark(
                VERDICT_SYMBOLS.get(word, VERDICT_SYMBOLS["not testable here"]),
                VERDICT_COLOURS.get(word, MUTED_COLOUR),
                addresses.get(claim, ""),
                f"{arrow}, {role}: {word}",
            )
            for role, claim, word in zip(("observation", "intervention"), claims, words, strict=True)
        )
        outcome = edge_outcome(words[1])
        drawn.append(GraphEdge(number, cause, effect, outcome, marks=(observed, cut)))
        cells = (number, cause.label, effect.label, words[0], says[0], words[1], says[1], outcome)
        rows.append(dict(zip(_HEADINGS, cells, strict=True)))
    outcomes = [edge.outcome for edge in drawn]
    present = [name for name in OUTCOMES if name in outcomes]
    finding = f"Of {count_noun(len(outcomes), 'arrow')} " + join_words(
        [f"{outcomes.count(name)} {_OUTCOME_WORDS[name][0]}" for name in present]
    )
    signs = dict.fromkeys(word for row in rows for word in (row["observed"], row["cut"]) if word in VERDICT_SYMBOLS)
    marks = ", ".join(f"{VERDICT_SYMBOLS[word]} {counted_word(word)}" for word in VERDICT_SYMBOLS if word in signs)
    colours = ". ".join(_OUTCOME_WORDS[name][1] for name in present)
    edges_in_words = (f"{edge.marks[0].words} and {edge.marks[1].words.rpartition(', ')[2]}" for edge in drawn)
    figure = CausalGraph(
        data=diagram_data(pl.DataFrame(rows)),
        nodes=list(boxes.values()),
        edges=drawn,
        key=_KEY,
        subject=f"{_SUBJECT} ({marks}). {colours}" if marks else f"{_SUBJECT}. {colours}",
        shows=f"A causal graph. {finding}",
        finding="; ".join(edges_in_words),
        headings=_HEADINGS,
    )
    return Section(finding, (figure,))


def edge_outcome(cut: str) -> Outcome:
    """What the verdict of an intervention says of its arrow."""
    outcomes: Mapping[str, Outcome] = {"supported": "survives", "contradicted": "fails", "smaller": "weaker"}
    return outcomes.get(cut, "open")
