"""A causal graph with two verdicts at every arrow: of the observation, and of an intervention on the cause."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from lnlab.claims.claim import Verdict
from lnlab.claims.kinds.edges import Edges
from lnlab.claims.verdict_text import VERDICT_SYMBOLS
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
    "outcome": "together",
}
_SUBJECT = (
    "Arrows go from cause to effect. Beside each arrow: its number and two linked verdicts, of the observation and of "
    "the intervention on the cause (✓ supported, ✗ contradicted, ‹ smaller than asked, ≠ larger than allowed, "
    "? undecided, – not testable here or missing). Green: both support it. Red, dashed: they disagree. Red, finely "
    "dashed: both contradict it. Brown, dotted: one of them is open"
)
_NOT_JUDGED = "not judged"
_KEY = "observed, then intervened on: ✓ holds, ✗ does not, ‹ weaker, ? open"
_OUTCOME_WORDS: Mapping[Outcome, str] = {
    "both hold": "hold under observation and intervention",
    "they disagree": "hold under one alone",
    "both fail": "hold under neither",
    "open": "are open or weaker",
}


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
        outcome = edge_outcome(*words)
        drawn.append(GraphEdge(number, cause, effect, outcome, marks=(observed, cut)))
        cells = (number, cause.label, effect.label, words[0], says[0], words[1], says[1], outcome)
        rows.append(dict(zip(_HEADINGS, cells, strict=True)))
    outcomes = [edge.outcome for edge in drawn]
    counted = [f"{outcomes.count(name)} {_OUTCOME_WORDS[name]}" for name in OUTCOMES if name in outcomes]
    finding = f"Of {count_noun(len(outcomes), 'arrow')} {join_words(counted)}"
    edges_in_words = (f"{edge.marks[0].words} and {edge.marks[1].words.rpartition(', ')[2]}" for edge in drawn)
    figure = CausalGraph(
        data=diagram_data(pl.DataFrame(rows)),
        nodes=list(boxes.values()),
        edges=drawn,
        key=_KEY,
        subject=_SUBJECT,
        shows=f"A causal graph. {finding}",
        finding="; ".join(edges_in_words),
        headings=_HEADINGS,
    )
    return Section(finding, (figure,))


def edge_outcome(observed: str, cut: str) -> Outcome:
    """Combine the verdicts of an observation and of an intervention."""
    if not {observed, cut} <= {"supported", "contradicted"}:
        return "open"
    if observed != cut:
        return "they disagree"
    return "both hold" if cut == "supported" else "both fail"
