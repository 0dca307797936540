"""Build the documentation site: guides, gallery, reference, API and reports, with every local link checked.

Commands of guides are run and shown with what they print, and notebooks with the outputs that they hold.

    python docs/site/build.py build/site [https://example.org/lnlab]      # build/site/html is the site

With the address at which it will stand, the pages of reports have pictures for links to them: social sites take no SVG,
and no address without a host.

Pages that are made from others stand in no repository: the reference comes from the registries, the gallery from the
committed reports, the home page from README.md. Committed reports are copied as they are, but for these pictures.
"""

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from html import escape, unescape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from ruamel.yaml import YAML
from sphinx.cmd.build import build_main

from lnlab.catalogue import REGISTRIES
from lnlab.claims.verdict_text import VERDICT_SYMBOLS, region_text, statistic_words, verdict_label
from lnlab.compile.reference.reference import reference
from lnlab.referee.review import RULES
from lnlab.report.charts.render import svg_to_png, to_svg
from lnlab.report.compose import build_parts
from lnlab.report.folder import read_folder
from lnlab.report.index import Card, grouped_cards, read_cards
from lnlab.report.page.figures import spec_with_data
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.words.answer_text import answers_of_profile, fill_answer
from lnlab.report.words.verdict_words import verdict_interval

HERE = Path(__file__).parent
DOCS = HERE.parent
ROOT = DOCS.parent
GUIDES = (
    "how_do_i",
    "first_question",
    "training_question",
    "your_own_model",
    "record_your_training",
    "tables_from_elsewhere",
    "reading_results",
    "judging",
    "review",
    "looks_and_margins",
    "margins_and_settings",
    "committing",
    "verifying",
    "verification_power",
    "cluster",
    "extending",
    "faults",
    "beside_other_tools",
    "stability",
)
"""The guides in the order in which they are read."""
EXECUTED = ("first_question", "tables_from_elsewhere", "committing", "verifying", "extending")
"""The guides whose commands are run, as they stand, beside the files of docs/examples."""
WRAPPED = "\n```{raw} html\n<style>.highlight-console pre { white-space: pre-wrap; }</style>\n```\n"
"""What a command prints has long lines; those of code are scrolled."""
PROJECT = {
    "changelog": "what a reader of an earlier version has to know.",
    "contributing": "set-up, tests, and how to add a piece or a question.",
    "architecture": "the way of the data, what each room holds, and where to add what.",
}
"""Pages about lnlab itself, with what is in them."""
PAGES = {
    ROOT / "README.md": "index",
    ROOT / "ARCHITECTURE.md": "architecture",
    ROOT / "CONTRIBUTING.md": "contributing",
    ROOT / "CHANGELOG.md": "changelog",
    ROOT / "reports" / "index.html": "gallery",
    HERE / "api.md": "api",
    **{DOCS / f"{name}.md": name for name in GUIDES},
}
"""The pages at the top of the site, by the file that a repository has in their place."""
RULES_PLACE = "<!-- the rules: the site writes their table here, from the registry -->"
OG_IMAGE = re.compile('<meta property="og:image" content="([^":]+)">')
WHEN = {"report": "reports", "both": "plans and reports"}
SHOWN = "reports/xiong_fig3/real"
"""The report whose question, answer and figure the home page shows: the figure of README.md is its first one."""
SHOWN_CLAIM = "post_grows"
"""Its claim that stands below them with its verdict."""
SIDE_BY_SIDE = """<style>
.shown { display: grid; gap: 0 2rem; align-items: start;
  grid-template: "asked" "figure" "claim" "verdict" / minmax(0, 1fr); }
@media (min-width: 48rem) {
  .shown { grid-template: "asked figure" auto "claim figure" auto "claim verdict" 1fr / minmax(0, 1fr) minmax(0, 1fr); }
}
</style>"""
"""The claim stands below the answer, so that a tall figure leaves no gap. On a phone the figure is between them."""
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL | re.MULTILINE)
"""A block of code, or code in a sentence."""


def main(target: Path, address: str) -> int:
    """Write the sources, build them with warnings as errors, copy the reports, check the links."""
    begin = time.monotonic()
    shutil.rmtree(target, ignore_errors=True)
    source, html = target / "source", target / "html"
    write_sources(source)
    if code := build_main(["-W", "--keep-going", "-q", "-c", str(HERE), "-b", "html", str(source), str(html)]):
        return int(code)
    for script in (html / "_static" / "scripts" / "pydata-sphinx-theme.js", html / "search.html"):
        # the theme tells the console what it does
        script.write_text(re.sub(r"\bconsole\.(?:log|info|debug)\(", "void(", script.read_text()))
    copy_reports(html / "reports")
    if address:
        write_cards(html, address.rstrip("/"))
    (html / "favicon.ico").write_bytes(as_icon(svg_to_png((HERE / "favicon.svg").read_text())))
    broken, checked = check_links(html)
    for line in broken:
        print(line, file=sys.stderr)
    pages = len(list(source.rglob("*.md")))
    reports = len(list((html / "reports").glob("*/real/data")))
    print(
        f"{html}: {pages} pages and {reports} reports in {time.monotonic() - begin:.0f} s; "
        f"{checked:,} local links, {len(broken)} broken"
    )
    return int(bool(broken))


def write_sources(source: Path) -> None:
    """Write the pages as Markdown, with their links led to pages of the site."""
    if unlisted := set(DOCS.glob("*.md")) - set(PAGES):
        raise SystemExit(f"not in GUIDES: {', '.join(sorted(path.name for path in unlisted))}")
    source.mkdir(parents=True)
    for path, name in PAGES.items():
        if path.suffix == ".md":
            (source / f"{name}.md").write_text(with_site_links(path.read_text(), path, source))
    for name in EXECUTED:
        page = source / f"{name}.md"
        page.write_text(with_outputs(page.read_text()) + WRAPPED)
    review = source / "review.md"
    review.write_text(review.read_text().replace(RULES_PLACE, rules_table()))
    home = source / "index.md"
    title, sentence, rest = home.read_text().split("\n\n", 2)
    picture = re.search(r"!\[.*?\n\n\*.*?\*\n\n", rest, re.DOTALL)
    if picture is None:
        raise SystemExit("README.md has no picture with a caption")
    rest = rest.replace(picture[0], "")
    (source / "shown.svg").write_text(shown_figure())
    picture_here = re.sub(r"\]\([^)]*\)", "](shown.svg)", picture[0].strip(), count=1)
    cells = {**question_and_answer(picture_here), **claim_and_verdict()}
    divisions = [f'<div style="grid-area: {area}">\n\n{cell}\n\n</div>' for area, cell in cells.items()]
    shown = SIDE_BY_SIDE, '<div class="shown">', *divisions, "</div>"
    home.write_text("\n\n".join((title, sentence, *shown, rest)))
    parts = "guides\nreference/index\napi\ngallery\nproject\n"
    with (source / "index.md").open("a") as file:
        file.write(f"\n```{{toctree}}\n:hidden:\n\n{parts}```\n")
    write_contents(source, "guides", "Guides", {name: promise(DOCS / f"{name}.md") for name in GUIDES})
    write_contents(source, "project", "Project", PROJECT)
    (source / "gallery.md").write_text(gallery(read_cards(ROOT / "reports", ["real"])))
    write_reference(source / "reference")


def question_and_answer(picture: str) -> dict[str, str]:
    """Return the question of a page with its answer, and its picture with a caption."""
    facts, _, verdicts = read_folder(ROOT / SHOWN)
    says = fill_answer(str(answers_of_profile(facts)[0]["says"]), verdicts)
    return {"asked": f"*{facts.question}*\n\n{says}", "figure": picture}


def shown_figure() -> str:
    """Return the first figure of the report for a column of a page, as a phone shows it, with letters of full size."""
    facts, results, verdicts = read_folder(ROOT / SHOWN)
    part, *_ = build_parts(replace(facts, sections=facts.sections[:1]), results, verdicts)
    if part.section is None:
        raise SystemExit(part.error)
    room = {"width": 380, "height": 225, "autosize": {"type": "fit-x", "contains": "padding"}}
    return to_svg({**spec_with_data(part.section.charts[0]), **room})


def claim_and_verdict() -> dict[str, str]:
    """Return a claim as its spec writes it, and the verdict that its committed report gives."""
    facts, _, verdicts = read_folder(ROOT / SHOWN)
    verdict = next(verdict for verdict in verdicts if verdict.claim == SHOWN_CLAIM)
    # A claim in braces ends where a line ends with the last of them.
    written = re.search(rf"^( *- {{id: {verdict.claim},.*?}})$", facts.spec, re.MULTILINE | re.DOTALL)
    if written is None:
        raise SystemExit(f"{SHOWN_CLAIM}: its spec does not write this claim in braces")
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style, yaml.width, yaml.sort_base_mapping_type_on_output = False, 44, False
    claim = StringIO()
    yaml.dump(yaml.load(written[1])[0], claim)  # in lines, as a narrow column has no room for the braces
    page = SHOWN.removeprefix("reports/")
    rows = (
        ("estimate", escape(f"{statistic_words(verdict)} {verdict_interval(verdict)}")),
        ("accepted", escape(region_text(verdict))),
        ("seeds", str(verdict.n)),
    )
    table = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    label = f"{VERDICT_SYMBOLS[verdict.verdict]} {escape(verdict_label(verdict))}"
    told = (
        f"<p>Verdict on {verdict.claim}: <strong>{label}</strong></p>",
        f'<table style="margin-left: 0">{table}</table>',
        f'<p><a href="reports/{page}/index.html">The page of this spec</a> has every number.</p>',
    )
    return {"claim": f"A claim of `{facts.path}`:\n\n```yaml\n{claim.getvalue()}```", "verdict": "\n".join(told)}


def with_outputs(text: str) -> str:
    """Return a guide in which each command of a block ``sh`` stands with what it prints.

    Raises:
        SystemExit: a command has another exit code than its comment says, which is 0 where it says none.
    """
    with TemporaryDirectory() as made:
        folder = Path(made).resolve() / "work"
        shutil.copytree(DOCS / "examples", folder)

        def ran(line: str) -> str:
            words = shlex.split(line, comments=True)
            if words[0] == "lnlab":
                words[:1] = [sys.executable, "-m", "lnlab"]
            environment = {**os.environ, "LNLAB_STORE": ".lnlab"}
            done = subprocess.run(  # noqa: S603 - commands of our own guides
                words, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != int("exit code 1" in line.partition("#")[2]):
                raise SystemExit(f"{line}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            return "\n".join(filter(None, (f"$ {line}", done.stdout.replace(f"{folder}/", "").strip("\n"))))

        def block(match: re.Match[str]) -> str:
            return "\n".join(("```console", *map(ran, match[1].splitlines()), "```"))

        return re.sub(r"^```sh\n(.*?)^```$", block, text, flags=re.DOTALL | re.MULTILINE)


def notebook_page(path: Path, folder: Path) -> str:
    """Return a notebook as a page, with the outputs that it holds."""
    parts = ["---\norphan: true\n---"]  # it stands in no contents; guides lead to it
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else with_site_links(text, path, folder))
        for data in (output.get("data", {}) for output in cell.get("outputs", ())):
            shown = "".join(data.get("image/svg+xml") or data.get("text/html", ""))
            shown = re.sub("</?a\\b[^>]*>", "", shown)  # links to what the notebook wrote
            parts.append(f'````{{raw}} html\n<div style="overflow-x: auto">{shown}</div>\n````')
    return "\n\n".join((*parts, f"[This notebook]({path.name}) as a file.")) + "\n"


def rules_table() -> str:
    """Return the rules of the review as a table: their question, and what would settle it."""
    rows = [f"| {rule.name} | {rule.asks} | {rule.settles or '–'} | {WHEN[rule.when]} |" for rule in RULES.values()]
    return "\n".join(("| rule | asks | settled by | asked of |", "|---|---|---|---|", *rows)) + "\n"


def write_contents(source: Path, name: str, title: str, pages: dict[str, str]) -> None:
    """Write a page that lists others, each with a few words."""
    entries = []
    for page, words in pages.items():
        heading = (source / f"{page}.md").read_text().partition("\n")[0].removeprefix("# ")
        entries.append(f"- [{heading}]({page}.md): {words}")
    toctree = "\n".join(("```{toctree}", ":hidden:", "", *pages, "```"))
    (source / f"{name}.md").write_text("\n\n".join((f"# {title}", "\n".join(entries), toctree)) + "\n")


def promise(path: Path) -> str:
    """Return what one has at the end of a guide, in the words of its first sentence."""
    first = " ".join(path.read_text().split("\n\n")[1].split())
    return re.sub(r"\.( .*)?$", ".", first.removeprefix("At the end of this page "))


def gallery(cards: list[Card]) -> str:
    """Return the page of all questions with their answers by source and theme, which the search of the site reads."""
    lines = [
        "# Gallery",
        "[All reports](reports:index.html) has the same questions with figures, every claim and a search of its own. "
        "`lnlab report --from FOLDER --out OTHER` writes the notebook, the figures and the tables of a report.",
        "Two things in the sources are not run: WMT14, whose models train for days on many GPUs, and a convolutional "
        "network as the tutorial's control.",
    ]
    for group in grouped_cards(cards):
        paper = plain("".join(text for text, _ in group.paper))
        lines += [f"## {plain(group.heading)}", f"{paper}." if paper else ""]
        for card in group.cards:
            if card.facts is None:
                sys.exit(f"{card.folder}: {card.error}")
            answers = " ".join(answer.text for answer in card.answers)
            lines += [f"### {plain(card.facts.title)}", f"*{plain(card.facts.question)}*", plain(answers)]
            if card.figure:
                image = f'<img loading="lazy" width="480" src="reports/{card.figure}" alt="">'
                lines.append(f'<a href="reports/{card.page}">{image}</a>')
            lines.append(f"[The report](reports:{card.page}) and its spec, `{card.facts.path}`.")
    return "\n\n".join(line for line in lines if line.strip("*")) + "\n"


def plain(text: str) -> str:
    """Return a text in which Markdown reads no markup."""
    return re.sub(r"([\\`*_{}\[\]<>|~$])", r"\\\1", " ".join(text.split()))


def write_reference(folder: Path) -> None:
    """Write the reference of the spec language: its grammar, and a page for each kind of piece."""
    folder.mkdir()
    text = reference({**REGISTRIES, **FRAME_REGISTRIES})
    head, *parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    pages = dict(zip(parts[::2], parts[1::2], strict=True))
    names = {heading: re.sub(r"[^a-z]+", "_", heading.lower()) for heading in pages}
    contents = head.partition("\n\n")[2]
    for heading, name in names.items():
        slug = heading.lower().replace(" ", "-").replace(",", "")
        contents = contents.replace(f"](#{slug})", f"]({name}.md)")
        body = re.sub(r'^<a id="(.+)"></a>$', r"(\1)=", pages[heading], flags=re.MULTILINE)
        body = with_site_links(re.sub(r"^###", "##", body, flags=re.MULTILINE), ROOT / "reference", folder)
        (folder / f"{name}.md").write_text(f"# {heading}\n{body}")
    toctree = "\n".join(("```{toctree}", ":hidden:", "", *names.values(), "```"))
    (folder / "index.md").write_text(f"# The spec language\n\n{contents}\n{toctree}\n")


def with_site_links(text: str, path: Path, folder: Path) -> str:
    """Return a page whose links to files lead to pages, to reports, or to copies of the files.

    Args:
        text: the page as a repository has it.
        path: where that is; links are relative to it.
        folder: where the page of the site stands.
    """

    def led(match: re.Match[str]) -> str:
        mark, words, link = match.groups()
        address, _, fragment = link.partition("#")
        if not address or re.match(r"[a-z]+:", address):
            return match[0]
        file = Path(os.path.normpath(path.parent / unquote(address)))
        fragment = f"#{fragment}" if fragment else ""
        if file in PAGES:
            return f"{mark}[{words}]({PAGES[file]}.md{fragment})"
        if (ROOT / "reports") in file.parents and not mark:
            return f"{mark}[{words}](reports:{file.relative_to(ROOT / 'reports').as_posix()}{fragment})"
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        if file.suffix == ".ipynb":
            copy = copy.with_suffix(".md")
            copy.write_text(notebook_page(file, copy.parent))
        return f"{mark}[{words}]({copy.relative_to(folder).as_posix()})"

    code = [span.span() for span in CODE.finditer(text)]
    # code within the words of a link is part of the link; a link within code is none
    return LINK.sub(lambda m: m[0] if any(a < m.start() < b for a, b in code) else led(m), text)


def copy_reports(target: Path) -> None:
    """Copy what is committed of the reports: the index, the pages of profile real, and what pages share."""
    for path in (ROOT / "reports" / "index.html", *(ROOT / "reports" / "assets").iterdir()):
        copy = target / path.relative_to(ROOT / "reports")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for folder in (ROOT / "reports").glob("*/real"):
        shutil.copytree(folder, target / folder.relative_to(ROOT / "reports"))


def write_cards(html: Path, address: str) -> None:
    """Draw the first figure of each report as PNG, and name it by its whole address in the page."""
    for page in (html / "reports").glob("*/real/index.html"):
        text = page.read_text()
        image = OG_IMAGE.search(text)
        if image is None:
            continue
        card = page.with_name("card.png")
        card.write_bytes(svg_to_png((page.parent / unquote(image[1])).read_text()))
        place = f"{address}/{card.relative_to(html).as_posix()}"
        tags = (
            f'<meta property="og:image" content="{escape(place)}">',
            '<meta name="twitter:card" content="summary_large_image">',
        )
        page.write_text(text.replace(image[0], "\n".join(tags)))


def as_icon(png: bytes) -> bytes:
    """Return a PNG of at most 256 pixels as a file ICO, which browsers ask for at the root of a site."""
    width, height = struct.unpack(">II", png[16:24])
    entry = struct.pack("<BBBBHHII", width % 256, height % 256, 0, 0, 1, 32, len(png), 22)
    return struct.pack("<HHH", 0, 1, 1) + entry + png


def check_links(html: Path) -> tuple[list[str], int]:
    """Return the links of all pages that lead to no file or to no place in it, and how many were followed."""
    places: dict[Path, set[str]] = {}
    for page in html.rglob("*.html"):
        if "_static" in page.parts:  # parts of the theme, not pages
            continue
        places[page] = set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text()))
    broken, count = [], 0
    for page in places:
        for link in sorted(links_of(page)):
            address, _, fragment = link.partition("#")
            file = Path(os.path.normpath(page.parent / unquote(address.partition("?")[0]))) if address else page
            file = file / "index.html" if file.is_dir() else file
            count += 1
            if not file.is_file():
                broken.append(f"{page.relative_to(html)}: {link} leads to no file")
            elif fragment and file in places and unquote(fragment) not in places[file]:
                broken.append(f"{page.relative_to(html)}: {link} leads to no place in {file.name}")
    return broken, count


def links_of(page: Path) -> Iterator[str]:
    """Return the distinct links of a page that stay on the site."""
    text = re.sub(r"<script\b[^>]*>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    links = {unescape(link) for link in re.findall(r'\b(?:href|src)="([^"]+)"', text)}
    return (link for link in links if not re.match(r"[a-z]+:|//", link) and link != "#")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *(sys.argv[2:] or [""])))
