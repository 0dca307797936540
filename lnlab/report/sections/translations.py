"""Sentences with their references and the translations of the models, and the BLEU of each translation.

Of a corpus whose text may not be shown there is only the number of each sentence and its BLEU.
"""

from typing import Annotated, Any

import polars as pl
from pydantic import Field

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.labels import SINGLE_SERIES, label_series
from lnlab.report.data.series import missing_runs_sentence
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Grid
from lnlab.report.words.control_characters import without_control_characters
from lnlab.report.words.wording import count_noun, format_number, format_short, join_words
from lnlab.select.rows import narrow_rows
from lnlab.select.select import runs_with
from lnlab.tables import Results

_SCORE = "sentence_bleu"
_STATE_AND_INDEX = ("run", "step", "index")
_SCHEMA = {
    "sentence": pl.Int64,
    "line": pl.String,
    "seed": pl.Int64,
    "step": pl.Int64,
    "text": pl.String,
    "bleu": pl.Float64,
}
_HEADINGS = {"sentence": "sentence", "line": "of", "seed": "seed", "step": "updates", "text": "text", "bleu": "BLEU"}


@sections.register("translations")
def translations(
    results: Results,
    *,
    where: dict[str, Json] | None = None,
    sentences: Annotated[int, Field(ge=1, le=100)] = 3,
) -> Section:
    """``source, reference, hypothesis``: of the first ``sentences`` that were stored, with the BLEU of each.

    Of every variant that ``where`` leaves its first seed is shown, after its last update that was measured. Texts are
    written by the probe ``translations``, BLEU by the probe ``bleu`` with ``each``.

    Raises:
        ReportError: a state has several translations or scores of one sentence.
    """
    missing_note = missing_runs_sentence(runs_with(results, where or {}))
    texts = results.tables["texts"]
    for key, condition in (where or {}).items():
        texts = narrow_rows(results, texts, key, condition)
    texts = texts.filter(pl.col("step") == pl.col("step").max().over("run"))
    texts = texts.filter(pl.col("seed") == pl.col("seed").min().over("variant"))
    first = texts["index"].drop_nulls().unique().sort().head(sentences)
    # a row without a number is about the whole split: the signature of its score
    texts = texts.filter(pl.col("index").is_in(first.implode()) | pl.col("index").is_null())
    states = texts.select(_STATE_AND_INDEX).unique()
    scores = results.tables["sites"].filter(quantity=_SCORE)
    scores = scores.join(states, on=_STATE_AND_INDEX, how="semi", maintain_order="left")
    for rows_of, probe in ((texts, "translations"), (scores, "bleu")):
        if rows_of.select(*_STATE_AND_INDEX, "quantity").is_duplicated().any():
            what = f"a sentence has several rows at one state: the probe '{probe}' stands there more than once"
            raise ReportError(Issue("ambiguous", "probes", what, "ask once, or at different steps"))
    if texts.is_empty():
        return Section("No translation has been kept yet", missing=missing_note)
    runs = results.runs.filter(pl.col("run").is_in(texts["run"].unique().implode()))
    names = label_series(results, runs, "")[2].select("run", "line", line_name="series")
    written = pl.col("text").map_elements(without_control_characters, return_dtype=pl.String)
    said = texts.drop_nulls("index").with_columns(written)
    said = said.pivot("quantity", index=["seed", *_STATE_AND_INDEX], values="text").join(names, on="run")
    scored = scores.select(*_STATE_AND_INDEX, bleu="value")
    said = said.join(scored, on=_STATE_AND_INDEX, how="left")
    said = said.sort("index", "line").with_columns(pl.col("line_name").replace(SINGLE_SERIES, "translation"))
    # source and reference, where they may be shown, and a line for each model, sentence by sentence
    lines: list[tuple[Any, ...]] = []
    # variants with another corpus have another sentence of the same number
    for (number, *originals), group in said.group_by("index", "source", "reference", maintain_order=True):
        given = zip(("source", "reference"), originals, strict=True)
        lines += [(number, word, None, None, text, None) for word, text in given if text is not None]
        lines += group.select("index", "line_name", "seed", "step", "hypothesis", "bleu").rows()
    withheld = said["hypothesis"].null_count() == said.height
    shown = [name for name in ("sentence", "line", "text", "bleu") if not (withheld and name == "text")]
    body = []
    for (number, word, seed, _, text, bleu), before in zip(lines, [(), *lines], strict=False):
        cells = {
            "sentence": ("" if before and before[0] == number else str(number), False),
            "line": (word, False),
            "text": (text or "–", False),
            "bleu": ("" if seed is None else format_number(bleu), True),
        }
        body.append(tuple(cells[name] for name in shown))
    steps, seeds = (join_words(map(str, said[word].unique().sort())) for word in ("step", "seed"))
    signatures = texts.filter(quantity="signature")["text"].drop_nulls().unique().sort()
    named = join_words(without_control_characters(text) for text in signatures)
    table = Table(
        pl.DataFrame(lines, schema=_SCHEMA, orient="row"),
        _HEADINGS,
        f"Sentences by their number in the split, after {steps} updates, seed {seeds}. Sentence BLEU, from 0 to 100"
        f"{f' (sacreBLEU {named})' if named else ''}",
        Grid("", tuple(_HEADINGS[name] for name in shown), tuple(body)),
        notes=("The text of this corpus may not be shown.",) if withheld else (),
    )
    # how many are translated as the reference has it, or, where texts may not be shown, how good they are
    of_model = said.group_by("line_name", maintain_order=True).agg(
        exact=(pl.col("hypothesis") == pl.col("reference")).sum(), bleu=pl.col("bleu").mean()
    )
    numbers = of_model.select("line_name", "bleu" if withheld else "exact").drop_nulls()
    counted = join_words(f"{format_short(number)} ({name})" for name, number in numbers.iter_rows())
    how_many = count_noun(said["index"].n_unique(), "sentence")
    finding = f"Of {how_many}, identical to the reference: {counted}"
    if withheld:
        finding = f"{how_many} of a corpus whose text may not be shown"
        finding = f"Mean sentence BLEU over {how_many}: {counted}" if counted else finding
    stored = {name: rows for name, rows in (("texts", texts), ("sites", scores)) if rows.height}
    return Section(finding, tables=(table,), missing=missing_note, rows=stored)
