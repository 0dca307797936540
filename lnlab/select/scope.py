"""What a number is about, in words: sizes, width, corpus, how far training went, how many seeds."""

from collections.abc import Iterable, Mapping

from lnlab.keys import Json
from lnlab.printable import shown_path
from lnlab.seed_words import seed_word
from lnlab.select.settings import settings_of
from lnlab.setting import STACKS
from lnlab.tables import TRAINED_ELSEWHERE, Results


def scope_sentence(results: Results, variants: Iterable[str], steps: Iterable[int], seeds: int) -> str:
    """``6-6 ... 14-14, d_model 128, toy_german_english, at init, 10 seeds``.

    Args:
        results: of an experiment.
        variants: keys of the variants concerned.
        steps: the steps at which something was measured. Empty if nothing was.
        seeds: how many replicates.
    """
    by_variant = settings_of(results).by_variant
    selected = [by_variant[variant] for variant in dict.fromkeys(variants)]
    widths = _distinct(setting.get("model.d_model") for setting in selected)
    layers = ([setting.get(f"{stack}.layers") for stack in STACKS] for setting in selected)
    sizes = sorted({tuple(n for n in of_stacks if isinstance(n, int)) for of_stacks in layers})
    corpora = [setting.get("task.corpus") for setting in selected]
    texts = [
        "-".join(map(str, size)) if len(size) > 1 else "1 layer" if size == (1,) else f"{size[0]} layers"
        for size in sizes
        if size
    ]
    match sorted(set(steps)):
        case []:
            trained = "without a number"
        case [0]:
            # Rows without a step of runs that something else trained are numbers of training: lnlab keeps them at 0.
            elsewhere = any(setting.get(TRAINED_ELSEWHERE) for setting in selected)
            trained = "" if elsewhere else "at init"
        case [1]:
            trained = "after 1 update"
        case [step]:
            trained = f"after {step} updates"
        case [first, *_, last]:
            trained = f"after {first} to {last} updates"
    parts = [
        ", ".join(texts) if len(texts) < 3 else f"{texts[0]} ... {texts[-1]}",
        f"d_model {', '.join(map(str, widths))}" if widths else "",
        ", ".join(_distinct(corpus_name(corpus) for corpus in corpora if isinstance(corpus, Mapping))),
        trained,
        f"{seeds} {seed_word(seeds)}",
    ]
    return ", ".join(part for part in parts if part)


def corpus_name(corpus: Mapping[str, Json]) -> str:
    """What readers call a corpus: its kind, or the names of the files of a text or table of one's own."""
    files = corpus.get("files", corpus.get("file"))
    paths = [files] if isinstance(files, str) else files if isinstance(files, list) else []
    return ", ".join(shown_path(str(path).rpartition("/")[2]) for path in paths) or str(corpus.get("kind", ""))


def _distinct(values: Iterable[Json]) -> list[Json]:
    return list(dict.fromkeys(v for v in values if v is not None))
