"""Sentences with their references and the translations of the models, and the BLEU of each translation.

Of a corpus whose text may not be shown there is only the number of each sentence and its BLEU.
"""

from dataclasses import dataclass
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
_SCHEMA = {"sentence": pl.Int64, "line": pl.String, "seed": pl.Int64, "step": pl.Int64, "text": pl.String}
_HEADINGS = {"sentence": "sentence", "line": "of", "seed": "seed", "step": "updates", "text": "text", "bleu": "BLEU"}


@dataclass(frozen=True)
class TranslatedSentence:
    """One model's translation of one sentence. Texts that may not be shown and a BLEU nobody measured are None."""

    sentence: int
    name: str
    seed: int
    step: int
    source: str | None
    reference: str | None
    hypothesis: str | None
    bleu: float | None


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
    scored = results.tables["sites"].filter(quantity=_SCORE)
    scores = scored.join(states, on=_STATE_AND_INDEX, how="semi", maintain_order="left")
    for rows_of, probe in ((texts, "translations"), (scores, "bleu")):
        if rows_of.select(*_STATE_AND_INDEX, "quantity").is_duplicated().any():
            what = f"a sentence has several rows at one state: the probe '{probe}' stands there more than once"
            raise ReportError(Issue("ambiguous", "probes", what, "ask once, or at different steps"))
    runs = results.runs.filter(pl.col("run").is_in(texts["run"].unique().implode()))
    names, _, labels = label_series(results, runs, "")
    name = dict(labels.select("run", "series").iter_rows())
    texts_by_state: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in texts.drop_nulls("index").iter_rows(named=True):
        place = tuple(row[key] for key in _STATE_AND_INDEX)
        texts_by_state.setdefault(place, {"seed": row["seed"]})[row["quantity"]] = without_control_characters(
            row["text"]
        )
    for *at, value in scores.select(*_STATE_AND_INDEX, "value").iter_rows():
        texts_by_state[tuple(at)]["bleu"] = value
    translated = [
        TranslatedSentence(
            sentence=index,
            name=name[run],
            seed=entry["seed"],
            step=step,
            source=entry.get("source"),
            reference=entry.get("reference"),
            hypothesis=entry.get("hypothesis"),
            bleu=entry.get("bleu"),
        )
        for (run, step, index), entry in texts_by_state.items()
    ]
    translated.sort(key=lambda translation: (translation.sentence, names.index(translation.name)))
    if not translated:
        return Section("No translation has been kept yet", missing=missing_note)
    # source and reference, where they may be shown, and a line for each model, sentence by sentence
    withheld = all(translation.hypothesis is None for translation in translated)
    # variants with another corpus have another sentence of the same number
    by_sentence: dict[tuple[Any, ...], list[TranslatedSentence]] = {}
    for translation in translated:
        original = (translation.sentence, translation.source, translation.reference)
        by_sentence.setdefault(original, []).append(translation)
    lines: list[tuple[Any, ...]] = []
    for (number, source, reference), group in by_sentence.items():
        originals = (("source", source), ("reference", reference))
        lines += [(number, word, None, None, text, None) for word, text in originals if text is not None]
        lines += [(number, _name(s), s.seed, s.step, s.hypothesis, s.bleu) for s in group]
    shown = [name for name in ("sentence", "line", "text", "bleu") if not (withheld and name == "text")]
    body = []
    for line, before in zip(lines, [None, *lines], strict=False):
        number, word, seed, _, text, bleu = line
        cells = {
            "sentence": ("" if before and before[0] == number else str(number), False),
            "line": (word, False),
            "text": (text or "–", False),
            "bleu": ("" if seed is None else format_number(bleu), True),
        }
        body.append(tuple(cells[name] for name in shown))
    steps, seeds = (sorted({getattr(translation, word) for translation in translated}) for word in ("step", "seed"))
    after = f"after {join_words(map(str, steps))} updates, seed {join_words(map(str, seeds))}"
    signatures = texts.filter(quantity="signature")["text"].drop_nulls().unique().sort()
    named = join_words(without_control_characters(text) for text in signatures)
    scored_by = f" (sacreBLEU {named})" if len(signatures) else ""
    table = Table(
        pl.DataFrame(lines, schema={**_SCHEMA, "bleu": pl.Float64}, orient="row"),
        _HEADINGS,
        f"Sentences by their number in the split, {after}. Sentence BLEU, from 0 to 100{scored_by}",
        Grid("", tuple(_HEADINGS[name] for name in shown), tuple(body)),
        notes=("The text of this corpus may not be shown.",) if withheld else (),
    )
    rows = {"texts": texts, "sites": scores}
    stored_rows = {name: frame for name, frame in rows.items() if frame.height}
    # how many are translated as the reference has it, or, where texts may not be shown, how good they are
    by_name: dict[str, list[TranslatedSentence]] = {}
    for translation in translated:
        by_name.setdefault(_name(translation), []).append(translation)
    how_many = count_noun(len({translation.sentence for translation in translated}), "sentence")
    if not withheld:
        exact = {name: sum(s.hypothesis == s.reference for s in group) for name, group in by_name.items()}
        agreeing = join_words(f"{n} ({name})" for name, n in exact.items())
        finding = f"Of {how_many}, identical to the reference: {agreeing}"
    else:
        bleus = {name: [s.bleu for s in group if s.bleu is not None] for name, group in by_name.items()}
        means = [f"{format_short(sum(values) / len(values))} ({name})" for name, values in bleus.items() if values]
        finding = f"{how_many} of a corpus whose text may not be shown"
        if means:
            finding = f"Mean sentence BLEU over {how_many}: {join_words(means)}"
    return Section(finding, tables=(table,), missing=missing_note, rows=stored_rows)


def _name(translation: TranslatedSentence) -> str:
    return "translation" if translation.name == SINGLE_SERIES else translation.name
