"""Verdicts as tables that fit a column, and the tables of sections, never wider than the text."""

from collections.abc import Iterator, Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import VERDICT_SYMBOLS
from lnlab.report.facts import ReportFacts
from lnlab.report.page.claim_list import grouped_by_role
from lnlab.report.page.latex import escape_latex, tabular
from lnlab.report.paper.numbers import name_in_tex
from lnlab.report.table import Grid
from lnlab.report.words.verdict_words import verdict_interval
from lnlab.seed_words import seeds_word

_ROWS = 14
"""Claims in one table: each takes two to four lines of a column of some sixty."""
_LONGEST = 40


def verdict_tables(facts: ReportFacts, verdicts: Sequence[Verdict], cited: str) -> Iterator[str]:
    """The claims of each role, with estimate and verdict, as tables of one column.

    Args:
        facts: of the report. The name of its spec is part of each label.
        verdicts: in the order of the spec.
        cited: the citation of the source, or nothing.
    """
    for heading, judged in grouped_by_role(facts, verdicts).items():
        role = judged[0].role if facts.has_source else heading.split()[0].lower()
        for first in range(0, len(judged), _ROWS):
            caption = heading + (f" {cited}" if cited and role == "source" else "") + (", continued" if first else "")
            rows = []
            for verdict in judged[first : first + _ROWS]:
                estimate = verdict_interval(verdict)
                mark = {"smaller": "<"}.get(verdict.verdict, VERDICT_SYMBOLS[verdict.verdict])
                cells = (verdict.says, estimate, mark)
                rows.append(" & ".join(f"{{{escape_latex(cell)}}}" for cell in cells) + r" \\")
            label = f"tab:{name_in_tex(facts.name)}:{role}" + (f"-{first // _ROWS + 1}" if first else "")
            yield _VERDICTS.format(caption=caption, seeds=seeds_word(), label=label, rows="\n".join(rows))


_VERDICTS = r"""\begin{{table}}[tp]
\caption{{{caption}: estimates with 95\,\% intervals over {seeds}
($\surd$ supported, $\times$ contradicted, $<$ smaller than asked, $\neq$ larger than allowed, ? undecided,
-- not testable).}}
\label{{{label}}}
\footnotesize
\begin{{tabular}}{{@{{}}>{{\raggedright\arraybackslash}}p{{0.58\linewidth}}>{{\raggedright\arraybackslash}}p{{0.26\linewidth}}c@{{}}}}
\toprule
claim & estimate & \\
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}
"""


def section_table(name: str, grid: Grid) -> str | None:
    """A table of a section across both columns, scaled down if it is wider, or None if it is too long."""
    if len(grid.rows) > _LONGEST:
        return None
    return _SECTION.format(
        caption=escape_latex(grid.caption.partition(". ")[2]), label=f"tab:{name}:{grid.stem}", tabular=tabular(grid)
    )


_SECTION = r"""\begin{{table*}}[tp]
\centering
\caption{{{caption}}}
\label{{{label}}}
\footnotesize
\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
{tabular}}}
\end{{table*}}
"""
