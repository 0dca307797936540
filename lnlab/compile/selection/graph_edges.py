"""Are the edges of a causal graph about claims of this spec, and do its arrows join nodes of the graph?"""

from collections.abc import Collection, Iterator

from lnlab.errors import nearest
from lnlab.issues import Issue
from lnlab.registry import Choice


def flaws_of_edges(choice: Choice, claims: Collection[str]) -> Iterator[Issue]:
    """What is wrong with the edges of a section or claim; paths are below it.

    Args:
        choice: resolved.
        claims: the ids of all claims of the spec.
    """
    nodes = choice.get("nodes")
    for number, edge in enumerate(choice.get("edges") or ()):
        for end, name in enumerate(edge["arrow"]):
            if nodes is not None and name not in nodes:
                yield Issue(
                    "unknown-name", ("edges", number, "arrow", end), f"no node is called '{name}'", nearest(name, nodes)
                )
        for role in ("observed", "cut"):
            if edge[role] not in claims:
                yield Issue(
                    "unknown-name",
                    ("edges", number, role),
                    f"no claim is called '{edge[role]}'",
                    nearest(edge[role], claims),
                )
