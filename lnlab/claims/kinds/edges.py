"""Edges of a causal graph, each with a claim by observation and one by intervention: do the two agree?

An observed association need not be causal. An edge counts where one of its two claims is supported and the other is
contradicted.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lnlab.claims.claim import Finding, Verdict, VerdictLabel, claims
from lnlab.errors import LabError
from lnlab.issues import Issue

EDGES_STATISTIC = "edges whose intervention contradicts their observation"
_DECIDED = {"supported", "contradicted"}


class Edge(BaseModel):
    """An arrow from a cause to an effect, with the ids of the claims about it.

    Attributes:
        arrow: the names of two nodes, from cause to effect.
        observed: the claim that cause and effect are seen together.
        cut: the claim that an intervention on the cause changes the effect.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    arrow: tuple[str, str]
    observed: str
    cut: str


Edges = Annotated[tuple[Edge, ...], Field(min_length=1)]


@claims.register("edges", reads="verdicts", measure="edges", about=(), law=False, margin=False)
def edges(verdicts: Sequence[Verdict], *, edges: Edges, at_most: Annotated[int, Field(ge=0)] = 0) -> Finding:
    """``#{observed differs from cut}``: edges of which one claim is supported and the other contradicted (Pearl, 2009).

    Of ``edges``, each with an arrow and two claims, those of the section ``causal_graph`` are taken in which it stands.
    Contradicted if more than ``at_most`` disagree, supported if no more do, whatever becomes of claims that are open.
    """
    words = {verdict.claim: verdict.verdict for verdict in verdicts}
    if unknown := [claim for edge in edges for claim in (edge.observed, edge.cut) if claim not in words]:
        raise LabError(Issue("unknown-name", "edges", f"no claim is called '{unknown[0]}'", "name claims of this spec"))
    pairs = [(words[edge.observed], words[edge.cut]) for edge in edges]
    decided = [pair for pair in pairs if set(pair) <= _DECIDED]
    disagreeing = sum(len(set(pair)) == 2 for pair in decided)
    n_open = len(pairs) - len(decided)
    # Supported only if no more disagree even where every open edge were to.
    verdict: VerdictLabel = (
        "contradicted" if disagreeing > at_most else "supported" if disagreeing + n_open <= at_most else "undecided"
    )
    agreeing = len(decided) - disagreeing
    reason = f"of {len(pairs)} edges {disagreeing} disagree, {agreeing} agree, and of {n_open} a claim is not decided"
    return Finding(verdict, EDGES_STATISTIC, reason, estimate=float(disagreeing), region_high=float(at_most))
