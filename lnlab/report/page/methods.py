"""How the experiment was run, in prose and as a table, from the resolved settings and nothing else."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import polars as pl

from lnlab.keys import Json, canonical
from lnlab.report.facts import ReportFacts
from lnlab.report.loss_units import loss_item
from lnlab.report.words.path_names import number_ranges, path_name
from lnlab.report.words.wording import (
    axis_value_name,
    count_noun,
    format_value,
    indefinite_article,
    join_words,
    numbers_first,
)
from lnlab.seed_words import UNIT, counted_seeds, seed_word, seeds_word
from lnlab.select.scope import corpus_name
from lnlab.select.seeds import drawn_results
from lnlab.select.series import clusters_of, trained_elsewhere
from lnlab.setting import STACKS
from lnlab.specfile.columns import METHOD, TIMES
from lnlab.specfile.values import site_label
from lnlab.tables import CLUSTERS, TRAINED_ELSEWHERE, Results
from lnlab.vocabulary.updates import RECORDED_UPDATES

_TOLD = ("copies", CLUSTERS, TRAINED_ELSEWHERE, UNIT)
"""What runs from elsewhere say in their settings of replicates and steps, which sentences tell."""


def settings_of_variants(results: Results) -> list[dict[str, Json]]:
    """The resolved setting of every variant, each once, in the order of the plan."""
    settings = [json.loads(text) for text in results.runs["setting"].unique(maintain_order=True)]
    return [{path: value for path, value in setting.items() if path not in _TOLD} for setting in settings]


def setting_leaves(setting: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Every value of a setting with its dotted path. A choice gives its kind at its own path."""
    for key, value in setting.items():
        path = f"{prefix}.{key}" if prefix else key
        if key == "kind":
            yield prefix or "kind", value
        elif isinstance(value, Mapping):
            yield from setting_leaves(value, path)
        else:
            yield path, value


def values_by_path(variant_settings: Sequence[Mapping[str, Json]]) -> dict[str, list[Json]]:
    """For each path, its values over the settings. Numbers are in ascending order, others in order of appearance."""
    distinct_values: dict[str, dict[str, Json]] = {}
    for setting in variant_settings:
        for path, value in setting_leaves(setting):
            distinct_values.setdefault(path, {}).setdefault(canonical(value), value)
    return {path: numbers_first(by_key.values()) for path, by_key in distinct_values.items()}


def values_in_words(settings: Sequence[Mapping[str, Json]]) -> dict[str, str]:
    """The values of each path in words. Where they differ by the kind of their choice, each kind has its own."""
    by_path = values_by_path(settings)
    by_kind: dict[str, dict[str, dict[str, list[Json]]]] = {}
    texts = {}
    for path, values in by_path.items():
        owner = path.rpartition(".")[0]
        # the nearest path above it that is a choice, and so has kinds
        while owner and owner not in by_path:
            owner = owner.rpartition(".")[0]
        kinds = [kind for kind in by_path.get(owner, []) if isinstance(kind, str)]
        if len(kinds) > 1 and owner not in by_kind:
            by_kind[owner] = {kind: values_by_path(_of_kind(settings, owner, kind)) for kind in kinds}
        of_kind = {kind: _plain_values(taken, path) for kind, taken in by_kind.get(owner, {}).items()}
        told = len(set(of_kind.values())) > 1
        own = [f"{text} ({kind})" for kind, text in of_kind.items() if text]
        texts[path] = join_words(own if told else map(format_value, values), "or")
    return texts


def _of_kind(settings: Sequence[Mapping[str, Json]], path: str, kind: Json) -> list[Mapping[str, Json]]:
    return [setting for setting in settings if dict(setting_leaves(setting)).get(path) == kind]


def _differing_by_method(results: Results) -> list[str]:
    """The paths that have one value in each method that has them, not the same in all, in the order of the settings.

    What is swept within a method is no part of it, and the table of methods leaves it out.
    """
    named = results.axes.filter(axis=METHOD).join(results.runs, on="run", maintain_order="left")
    methods = named.select("value", "setting").unique(maintain_order=True).group_by("value", maintain_order=True)
    values = [
        {path: set(map(canonical, taken)) for path, taken in values_by_path([json.loads(s) for s in group]).items()}
        for group in methods.agg("setting")["setting"].to_list()
    ]
    paths = dict.fromkeys(chain.from_iterable(values))
    one = [p for p in paths if p not in (METHOD, TIMES) and all(len(v.get(p, ())) < 2 for v in values)]
    return [p for p in one if any(v.get(p) != values[0].get(p) for v in values)]


def _differs(by_method: Sequence[str], piece: str) -> bool:
    return any(path == piece or path.startswith(f"{piece}.") for path in by_method)


def corpus_names(results: Results) -> str:
    """The corpora of the experiment by name. The user's own texts and tables are named by their files."""
    corpora = (setting.get("task", {}).get("corpus") for setting in settings_of_variants(results))
    return join_words(dict.fromkeys(corpus_name(corpus) for corpus in corpora if corpus is not None))


def methods_paragraphs(facts: ReportFacts, results: Results) -> list[str]:
    """Write paragraphs on the model, the data, the start, the measurements and the replicates."""
    settings = settings_of_variants(results)
    by_path = values_by_path(settings)
    if not by_path:
        return ["The plan holds no run."]
    by_method = _differing_by_method(results)
    trained_on_task = any(path.partition(".")[0] == "task" for path in by_path)
    described = (
        _model(settings, by_path, by_method),
        " ".join(filter(None, (_data(settings, by_path, loss_item(results)), *facts.left_out))),
        _training(settings, by_path, by_method),
        _interventions(by_path),
    )
    paragraphs = (
        *(described if trained_on_task else (_from_elsewhere(results, by_path),)),
        " ".join(facts.transfers),
        _measured(facts, results),
        _replicates(facts, results),
    )
    return [paragraph for paragraph in paragraphs if paragraph]


def _from_elsewhere(results: Results, by_path: Mapping[str, list[Json]]) -> str:
    """Describe what was measured or trained outside of lnlab, each model with its size if known."""
    loss = "Batches and loss are those of the caller."
    counts = results.runs["parameters"].drop_nulls().unique(maintain_order=True).to_list()
    axes = results.axes["axis"].unique(maintain_order=True).to_list()
    if measured_elsewhere(results):
        values = {path_name(axis): _values_in_words(by_path, axis) for axis in axes if axis in by_path}
        # The words of numbers name the axis: warmup 0 or warmup 100.
        varied = [text if name in text else f"{name} {text}" for name, text in values.items()]
        size = f" of {join_words([f'{count:,}' for count in counts], 'or')} parameters" if counts else ""
        longest = int(results.runs["steps"].max() or 0)  # type: ignore[arg-type]
        updates = f", up to {count_noun(longest, 'update')}" if longest else ""
        variants = f", with {join_words(varied)}" if varied else ""
        text = f"Trained and recorded outside lnlab: models{size}{variants}{updates}."
        said = [text, loss if counts else ""]
        for (setting,), runs in results.runs.group_by("setting", maintain_order=True):
            seeds = json.loads(str(setting)).get("copies")
            if not seeds:
                continue
            of_run = results.axes.filter(pl.col("run") == runs["run"][0])
            variant = join_words(f"{path_name(axis)} {label}" for axis, label in of_run.select("axis", "label").rows())
            noun, verb = seed_word(len(seeds)), "repeat" if len(seeds) > 1 else "repeats"
            of = f" of {variant}" if variant else ""
            repeated = f"the numbers of an earlier {seed_word()}; both count once"
            said.append(f"The {noun} {number_ranges(seeds)}{of} {verb} {repeated}.")
        return " ".join(sentence for sentence in said if sentence)
    sizes = results.runs.join(results.axes, on="run").select("label", "parameters").unique(maintain_order=True).rows()
    models = join_words([label if size is None else f"{label} ({size:,} parameters)" for label, size in sizes])
    said = [f"Measured from Python: {models}, with their weights at that time.", loss if counts else ""]
    for value, used in (("batch", "the statistics of each batch"), ("running", "their running statistics")):
        if value in by_path.get("statistics", []):
            said.append(f"Norms over batches use {used}.")
    joined = results.runs.join(results.axes, on="run").select("label", "setting").unique(maintain_order=True)
    copies = {label: json.loads(setting).get("copies") for label, setting in joined.iter_rows()}
    for label, seeds in copies.items():
        if seeds:
            noun, verb = seed_word(len(seeds)), "have" if len(seeds) > 1 else "has"
            said.append(
                f"The {noun} {number_ranges(seeds)} of {label} {verb} the parameters of an earlier {seed_word()}."
            )
    return " ".join(text for text in said if text)


def measured_elsewhere(results: Results) -> bool:
    """Whether runs were trained by something else than lnlab, so that it knows nothing of their random numbers."""
    lnlab_s = any("task" in setting for setting in settings_of_variants(results))
    return not lnlab_s and (trained_elsewhere(results.runs) or bool((results.runs["steps"] > 0).any()))


def _values_in_words(by_path: Mapping[str, list[Json]], path: str) -> str:
    """The values of a path as a reader says them, joined by *or*."""
    return join_words((axis_value_name(path, v, format_value(v)) for v in by_path.get(path, [])), "or")


def _plain_values(by_path: Mapping[str, list[Json]], path: str) -> str:
    return join_words((format_value(v) for v in by_path.get(path, [])), "or")


def _params(by_path: Mapping[str, list[Json]], owner: str, excluded: Sequence[str] = ()) -> str:
    """The parameters of a choice: ``d_model 128, heads 4``."""
    inside = [p for p in by_path if p.startswith(f"{owner}.") and p not in excluded]
    own = [
        p for p in inside if p.rpartition(".")[0] == owner or p.rpartition(".")[0] not in by_path
    ]  # not of a choice below
    return ", ".join(f"{p.removeprefix(owner + '.')} {_plain_values(by_path, p)}" for p in own)


_NAMES_OF_PIECES = {
    "init": "the initialization",
    "optimizer": "the optimizer",
    "schedule": "the learning-rate schedule",
    "interventions": "interventions",
    "model.linear": "the linear layers",
}


def _model(settings: Sequence[Mapping[str, Json]], by_path: Mapping[str, list[Json]], by_method: Sequence[str]) -> str:
    """Describe the model and its stacks. For pieces that differ by method it refers to the table."""
    if "model" not in by_path:
        return ""
    stacks: dict[str, str] = {}
    for stack in ("encoder", "decoder"):
        if f"{stack}.layers" not in by_path:
            continue
        attention, norm, placement = (
            "" if _differs(by_method, f"{stack}.{piece}") else _choice(settings, f"{stack}.{piece}", noun)
            for piece, noun in (("attention", "attention"), ("norm", "norm"), ("placement", ""))
        )
        depths = by_path[f"{stack}.layers"]
        layers = f"{join_words(map(format_value, depths), 'or')} {'layer' if depths == [1] else 'layers'}"
        built = ", ".join(filter(None, (layers, join_words(filter(None, (attention, norm))))))
        placed = _values_in_words(by_path, f"{stack}.placement") if placement else ""
        stacks[stack] = f"{built}, placed as {placed}" if placed else built
    if len(stacks) > 1 and len(set(stacks.values())) == 1:
        stacks_text = f"Each stack has {stacks['encoder']}."
    else:
        stacks_text = " ".join(f"The {stack} has {what}." for stack, what in stacks.items())
    cross = "" if "decoder.cross_attention" in by_method else _values_in_words(by_path, "decoder.cross_attention")
    cross_text = f" The decoder is built {cross}." if cross else ""
    kind = _plain_values(by_path, "model").replace("encoder_decoder", "encoder-decoder").replace("_", " ")
    text = f"The model is {indefinite_article(kind)} {kind} ({_params(by_path, 'model')}). {stacks_text}{cross_text}"
    names: dict[str, None] = {}
    for path in by_method:
        piece = next((p for p in _NAMES_OF_PIECES if _differs([path], p)), "")
        stack, _, rest = path.partition(".")
        of_stack = f"the {path_name(rest.split('.')[0])}" if stack in STACKS else path
        names[_NAMES_OF_PIECES.get(piece, of_stack)] = None
    return f"{text} Methods differ in {join_words(names)} (see the table)." if names else text


def _choice(settings: Sequence[Mapping[str, Json]], path: str, noun: str = "") -> str:
    """A choice with its parameters: ``adam (lr 0.001)``. Each of several kinds has those of its own variants.

    Kinds with the same parameters share their bracket: ``layer or rms norm (eps 1e-05) or no norm``.
    """
    of_parameters: dict[str, list[str]] = {}
    without = ""
    for kind in values_by_path(settings).get(path, []):
        if kind is None:
            continue
        if kind == "none" and noun:
            without = f"no {noun}"
            continue
        parameters = _params(values_by_path(_of_kind(settings, path, kind)), path)
        of_parameters.setdefault(parameters, []).append(format_value(kind))
    named = (f"{join_words(kinds, 'or')} {noun}".strip() + _bracket(text) for text, kinds in of_parameters.items())
    return join_words(filter(None, (*named, without)), "or")


def _bracket(text: str) -> str:
    return f" ({text})" if text else ""


def _data(settings: Sequence[Mapping[str, Json]], by_path: Mapping[str, list[Json]], item: str) -> str:
    if "task" not in by_path:
        return ""
    corpora: dict[str, None] = {}
    for corpus in (setting.get("task", {}).get("corpus") for setting in settings):
        if corpus is None:
            continue
        # a text or a table of one's own has the names of its files, and not the parameters that were left open
        given = {k: v for k, v in corpus.items() if k not in ("kind", "file", "files") and v is not None}
        named = _bracket(", ".join(f"{k} {format_value(v)}" for k, v in given.items()))
        own = "the table " if "file" in corpus else "the text " if "files" in corpus else "the corpus "
        corpora[f"{own}{corpus_name(corpus)}{named}"] = None
    on = f" on {join_words(corpora, 'or')}" if "task.corpus" in by_path else ""
    tokens = f", tokenized by {_choice(settings, 'task.tokenizer')}" if "task.tokenizer" in by_path else ""
    parameters = _params(by_path, "task", ("task.corpus", "task.tokenizer"))
    kind = _plain_values(by_path, "task").replace("_", " ")
    return f"The task is {kind}{_bracket(parameters)}{on}{tokens}. The loss is a mean over {item}s, in nats."


def _training(
    settings: Sequence[Mapping[str, Json]], by_path: Mapping[str, list[Json]], by_method: Sequence[str]
) -> str:
    start = (
        f"Weights start as {_choice(settings, 'init')}."
        if "init" in by_path and not _differs(by_method, "init")
        else ""
    )
    precision = by_path.get("train.precision", ["float32"])
    if precision == ["bfloat16"]:
        start += " Forward passes of updates are in bfloat16; weights and everything else are in float32."
    elif precision != ["float32"]:
        start += f" Everything is computed in {_plain_values(by_path, 'train.precision')}."
    if by_path.get("train.device", ["cpu"]) != ["cpu"]:
        start += f" It was computed on {_plain_values(by_path, 'train.device')}."
    steps = by_path.get("train.steps", [0])
    if steps == [0]:
        return f"{start} Nothing is trained: every number is measured at initialization.".strip()
    updates = [n for n in steps if n]
    rate = f" by {_choice(settings, 'optimizer')}" if "optimizer" in by_path else ""
    factor = _choice(settings, "schedule")
    length = f"{join_words(map(format_value, updates), 'or')} {'update' if updates == [1] else 'updates'}"
    schedule = f", with the learning-rate schedule {factor}" if factor else ", at a constant learning rate"
    others = "" if len(updates) == len(steps) else " Other variants are measured at initialization and not trained."
    return f"{start} Training takes {length}{rate}{schedule}.{others}".strip()


def _interventions(by_path: Mapping[str, list[Json]]) -> str:
    """Describe which interventions act where, with the values of each parameter over all variants."""
    groups: dict[tuple[str, str], list[dict[str, Json]]] = {}
    for choice in chain.from_iterable(by_path.get("interventions", [])):
        parameters = {name: value for name, value in choice.items() if name not in ("kind", "where")}
        groups.setdefault((choice["kind"], site_label(choice.get("where", {}))), []).append(parameters)
    texts = []
    for (kind, where), settings_of_choice in groups.items():
        by_name = values_by_path(settings_of_choice)
        texts.append(f"{kind} at {where}{_bracket(', '.join(f'{p} {_plain_values(by_name, p)}' for p in by_name))}")
    return f"Interventions in some variants: {'; '.join(texts)}." if texts else ""


def _measured(facts: ReportFacts, results: Results) -> str:
    texts = []
    if facts.probes:
        probes = []
        for probe in facts.probes:
            parameters = ", ".join(f"{k} {format_value(v)}" for k, v in probe.items() if k not in ("kind", "at"))
            at = f" at {format_value(probe['at'])}" if "at" in probe else ""
            probes.append(f"{probe.get('kind', '')}{at}{_bracket(parameters)}")
        texts.append(f"Measured: {join_words(probes)}. Dropout is off while measuring unless a probe says otherwise.")
    if "sites" in results.tables and results.tables["sites"]["quantity"].is_in(list(RECORDED_UPDATES)).any():
        texts.append("Quantities of an update use its training batch, with dropout and after clipping.")
    return " ".join(texts)


def _replicates(facts: ReportFacts, results: Results) -> str:
    drawn_runs = drawn_results(results, facts.seeds, facts.grid_seeds).runs
    # Each list of seeds with the number of variants that have it: several only where grids have seeds of their own.
    lists = drawn_runs.group_by("variant", maintain_order=True).agg(pl.col("seed").unique().sort())["seed"].to_list()
    if not facts.grid_seeds and not measured_elsewhere(results):
        lists = [drawn_runs["seed"].unique().sort().to_list()] * len(lists)
    counted = Counter(map(tuple, lists))
    of_lists = [
        f"{count_noun(variants, 'variant')} with {counted_seeds(len(seeds))} each ({number_ranges(seeds)})"
        for seeds, variants in counted.items()
    ]
    further = results.runs.join(drawn_runs, on="run", how="anti", maintain_order="left")["seed"].to_list()
    alone = f"{count_noun(len(further), 'more run')} ({seeds_word()} {number_ranges(further)})"
    pairs = (
        f"Runs with the same {seed_word()} are compared in pairs; their training decides what they share."
        if measured_elsewhere(results)
        else "Random numbers are keyed by seed and purpose. Variants with the same seed share them where possible and "
        "are compared in pairs."
    )
    clusters = set(clusters_of(results.runs).values())
    independence = (
        f" {seeds_word().capitalize()} stand in {count_noun(len(clusters), 'cluster')}: the intervals of claims are "
        f"those of clustered means (Bell & McCaffrey, 2002); those of figures take {seeds_word()} as independent."
        if clusters
        else f" {seeds_word().capitalize()} are taken as independent of each other."
    )
    return (
        f"{join_words(of_lists)}, {count_noun(drawn_runs.height, 'run')} in all. "
        f"{f'Some claims use {alone}. ' if further else ''}{pairs} Intervals are over {seeds_word()}, and each caption "
        "names their kind: the Student interval of a geometric mean is on the logarithmic scale, that of a mean on the "
        f"linear scale.{independence if measured_elsewhere(results) else ''}"
    )
