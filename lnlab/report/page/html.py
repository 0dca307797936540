"""The page: Jinja with escaping always on, drawings as JSON data, a policy that lets no other script or style run."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

import lnlab
from lnlab.claims.claim import Verdict
from lnlab.errors import LabError, Problem, ReportError
from lnlab.report.charts.render import bundle
from lnlab.report.facts import ReportFacts
from lnlab.report.page import answers, methods, provenance
from lnlab.report.page.figures import Plate, Shown
from lnlab.report.page.methods_table import named
from lnlab.report.page.verdict_strip import Dots, dots
from lnlab.report.words.wording import listing
from lnlab.tables import Results
from lnlab.userfiles import read_user_file

_SIZE = re.compile(r'<svg[^>]*? width="(\d+)(?:\.\d+)?" height="(\d+)')


@dataclass(frozen=True)
class _Row:
    """A verdict as the page shows it."""

    number: int
    verdict: Verdict
    statistic: str
    aside: str
    dots: Dots | None


def template_folders(given: Path | None = None) -> tuple[Path, ...]:
    """Where each template is looked for: the folder given, then inside the package or beside it (a checkout).

    Raises:
        ReportError: the folder given is not there, or no ``page.html.j2`` is.
    """
    package = Path(lnlab.__file__).parent
    places = (package / "templates", package.parent / "templates")
    shipped = tuple(place for place in places if (place / "page.html.j2").is_file())[:1]
    if given is not None and not given.is_dir():
        raise ReportError(Problem(str(given), "is no folder", "name a folder of templates with --templates"))
    if not shipped and (given is None or not (given / "page.html.j2").is_file()):
        where = listing(map(str, places), "or")
        raise ReportError(Problem(where, "holds no page.html.j2", "name a folder of templates with --templates"))
    return (*(() if given is None else (given,)), *shipped)


def environment(folders: Sequence[Path]) -> Environment:
    """Jinja as every template is rendered: escaped, and refusing names that do not exist."""
    made = Environment(
        loader=FunctionLoader(lambda name: template(folders, name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"sort_keys": True, "allow_nan": False, "ensure_ascii": False}
    return made


def template(folders: Sequence[Path], name: str) -> str | None:
    """The text of the first template of that name, or None where there is none.

    Raises:
        ReportError: it cannot be read, or is not UTF-8.
    """
    for path in (folder / name for folder in folders if (folder / name).exists()):
        try:
            return read_user_file(path, "template").decode()
        except LabError as error:
            raise ReportError(*error.problems) from error
        except UnicodeDecodeError as error:
            raise ReportError(Problem(str(path), "is not UTF-8", "save it as UTF-8")) from error
    return None


def script(folders: Sequence[Path]) -> str:
    """The one script of a page: Vega and the lines that put the live drawings into their places."""
    return bundle(template(folders, "page.js") or "")


def page(
    folders: Sequence[Path],
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    shown: Sequence[Shown],
    overview: Shown | None,
    *,
    shared: str | None,
) -> str:
    """The page as text.

    Args:
        folders: of the templates.
        facts: what no table says.
        results: for methods, provenance and missing runs.
        verdicts: in the order of the spec.
        shown: the sections, drawn.
        overview: all verdicts side by side, drawn.
        shared: the path of the shared script as the page names it; None puts everything into one file.
    """
    made = environment(folders)
    style = made.get_template("style.css").render()
    inline = None if shared else script(folders)
    rows = {v.claim: _row(n, v, facts) for n, v in enumerate(verdicts, 1)}
    beside = [c for s in shown for c in s.part.claims]
    return made.get_template("page.html.j2").render(
        facts=facts,
        policy=policy(style, inline),
        script_path=shared,
        script=None if inline is None else Markup(inline),  # noqa: S704 - our own bundle, checked for </script
        answer=answers.answer(verdicts),
        headline=answers.headline(verdicts),
        numbers={claim: row.number for claim, row in rows.items()},
        symbols=answers.SYMBOLS,
        classes=answers.CLASSES,
        missing_runs=provenance.missing_runs(results),
        provenance=provenance.provenance(facts, results),
        parts=[_part(s, rows, single=shared is None) for s in shown],
        overview=None if overview is None else _part(overview, rows, single=shared is None),
        rest=[row for claim, row in rows.items() if claim not in beside],
        methods=methods.prose(facts, results),
        named=named(results),
        decisions=provenance.decisions(facts),
        outcomes=provenance.outcomes(results),
        settings=provenance.settings_grid(results),
        multiplicity=answers.multiplicity(verdicts) if verdicts else "No claim was judged.",
        commands=provenance.commands(facts),
    )


def policy(style: str, inline: str | None) -> str:
    """The content security policy: this style, this script, images of this page, and nothing else."""
    scripts, images = (f"'{_hash(inline)}'", "data:") if inline is not None else ("'self'", "'self'")
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(style)}'; img-src {images}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


def _row(number: int, verdict: Verdict, facts: ReportFacts) -> _Row:
    return _Row(number, verdict, answers.statistic(verdict), _aside(verdict, facts), dots(verdict))


def _aside(verdict: Verdict, facts: ReportFacts) -> str:
    """What decided, where it holds, and where the claim comes from, as sentences."""
    source = facts.sources.get(verdict.claim)
    said = (verdict.reason, verdict.scope, f"Source: {source}" if source else "")
    if verdict.verdict == "ill-posed":  # its reason begins with the name of a file
        return f"{verdict.reason}."
    return " ".join(f"{s[0].upper()}{s[1:].rstrip('.')}." for s in said if s)


def _part(shown: Shown, rows: Mapping[str, _Row], *, single: bool) -> dict[str, Any]:
    part, section = shown.part, shown.part.section
    return {
        "number": part.number,
        "title": part.title,
        "error": part.error,
        "finding": section.finding if section else "",
        "missing": section.missing if section else "",
        "plates": [_plate(plate, single=single) for plate in shown.plates],
        "tables": shown.tables,
        "verdicts": [rows[claim] for claim in part.claims if claim in rows],
    }


def _plate(plate: Plate, *, single: bool) -> dict[str, Any]:
    size = _SIZE.search(plate.svg)
    width, height = size.groups() if size else ("", "")
    inside = "data:image/svg+xml;base64," + base64.b64encode(plate.svg.encode()).decode()
    return {
        "number": plate.number,
        "stem": plate.stem,
        "chart": plate.chart,
        "table": plate.table,
        "spec": plate.spec,
        "source": inside if single else f"figures/{plate.stem}.svg",
        "width": width,
        "height": height,
    }
