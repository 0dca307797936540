"""How the experiment was run, in prose and as a table, from the resolved settings and nothing else."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import polars as pl

from lnlab.keys import Json, canonical
from lnlab.measured.updates import RECORDED_UPDATES
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
from lnlab.select.seeds import results_of_seeds
from lnlab.specfile.columns import METHOD
from lnlab.specfile.values import site_label
from lnlab.tables import TRAINED_ELSEWHERE, Results


def settings_of_variants(results: Results) -> list[dict[str, Json]]:
    """The resolved setting of every variant, each once, in the order of the plan."""
    return [json.loads(text) for text in results.runs["setting"].unique(maintain_order=True)]


def setting_leaves(setting: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Every value of a setting with its dotted path; a choice gives its kind at its own path."""
    for key, value in setting.items():
        path = f"{prefix}.{key}" if prefix else key
        if key == "kind":
            yield prefix or "kind", value
        elif isinstance(value, Mapping):
            yield from setting_leaves(value, path)
        else:
            yield path, value


def values_by_path(variant_settings: Sequence[Mapping[str, Json]]) -> dict[str, list[Json]]:
    """For each path, the values it takes over the settings: numbers rise, others stand in order of appearance."""
    distinct_values: dict[str, dict[str, Json]] = {}
    for setting in variant_settings:
        for path, value in setting_leaves(setting):
            distinct_values.setdefault(path, {}).setdefault(canonical(value), value)
    return {path: numbers_first(by_key.values()) for path, by_key in distinct_values.items()}


def corpus_names(results: Results) -> str:
    """The corpora of the experiment, by name."""
    return join_words(format_value(v) for v in values_by_path(settings_of_variants(results)).get("task.corpus", []))


def methods_paragraphs(facts: ReportFacts, results: Results) -> list[str]:
    """Paragraphs: what was built, on what data, how it started, what was measured, how often."""
    by_path = values_by_path(settings_of_variants(results))
    if not by_path:
        return ["The plan holds no run."]
    by_method = METHOD in results.axes["axis"]
    trained_on_task = any(path.partition(".")[0] == "task" for path in by_path)
    described = (
        _model(by_path, by_method=by_method),
        _data(by_path, loss_item(results)),
        _training(by_path, by_method=by_method),
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
    """What was measured or trained outside of lnlab, each model with its size where it is known."""
    loss = f"Batches and loss are the caller's; the loss is a mean over {loss_item(results)}s."
    counts = results.runs["parameters"].drop_nulls().unique(maintain_order=True).to_list()
    axes = results.axes["axis"].unique(maintain_order=True).to_list()
    if measured_elsewhere(results):
        varied = [f"{path_name(axis)} {_values_in_words(by_path, axis)}" for axis in axes if axis in by_path]
        size = f" of {join_words([f'{count:,}' for count in counts], 'or')} parameters" if counts else ""
        longest = int(results.runs["steps"].max() or 0)  # type: ignore[arg-type]
        updates = f", up to {count_noun(longest, 'update')}" if longest else ""
        variants = f", with {join_words(varied)}" if varied else ""
        text = f"Trained elsewhere, and recorded: models{size}{variants}{updates}."
        said = [text, loss if counts else "", *_copies_elsewhere(results)]
        return " ".join(sentence for sentence in said if sentence)
    sizes = results.runs.join(results.axes, on="run").select("label", "parameters").unique(maintain_order=True).rows()
    models = join_words([label if size is None else f"{label} ({size:,} parameters)" for label, size in sizes])
    said = [f"Measured from Python: {models}, with the weights that they had.", loss if counts else ""]
    for value, used in (("batch", "the statistics of each batch"), ("running", "their running statistics")):
        if value in by_path.get("statistics", []):
            said.append(f"Norms over batches use {used}.")
    joined = results.runs.join(results.axes, on="run").select("label", "setting").unique(maintain_order=True)
    copies = {label: json.loads(setting).get("copies") for label, setting in joined.iter_rows()}
    for label, seeds in copies.items():
        if seeds:
            noun = "seeds" if len(seeds) > 1 else "seed"
            said.append(f"The {noun} {number_ranges(seeds)} of {label} had the parameters of an earlier one.")
    return " ".join(text for text in said if text)


def _copies_elsewhere(results: Results) -> Iterator[str]:
    """Of each variant the seeds whose numbers are those of another one."""
    for (setting,), runs in results.runs.group_by("setting", maintain_order=True):
        seeds = json.loads(str(setting)).get("copies")
        if seeds:
            of_run = results.axes.filter(pl.col("run") == runs["run"][0])
            variant = join_words(f"{path_name(axis)} {label}" for axis, label in of_run.select("axis", "label").rows())
            noun, verb = ("seeds", "count") if len(seeds) > 1 else ("seed", "counts")
            of = f" of {variant}" if variant else ""
            yield f"The {noun} {number_ranges(seeds)}{of} had the numbers of an earlier one and {verb} with it once."


def measured_elsewhere(results: Results) -> bool:
    """Whether runs were trained by something else than lnlab, so that it knows nothing of their random numbers."""
    settings = settings_of_variants(results)
    stated = any(TRAINED_ELSEWHERE in setting for setting in settings)
    return not any("task" in setting for setting in settings) and (stated or bool((results.runs["steps"] > 0).any()))


def _values_in_words(by_path: Mapping[str, list[Json]], path: str) -> str:
    """The values of a path as a reader says them; two readings of one axis are joined by *or*."""
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


def _model(by_path: Mapping[str, list[Json]], *, by_method: bool) -> str:
    """The model and its stacks; of stacks that differ by method, a table says the rest."""
    describe = _layers if by_method else _stack
    stacks = {stack: describe(by_path, stack) for stack in ("encoder", "decoder") if f"{stack}.layers" in by_path}
    if "model" not in by_path:
        return ""
    if len(stacks) > 1 and len(set(stacks.values())) == 1:
        stacks_text = f"Each stack has {stacks['encoder']}."
    else:
        stacks_text = " ".join(f"The {stack} has {what}." for stack, what in stacks.items())
    if by_method:
        stacks_text += " Layers and initialization differ by method (see the table)."
    cross = "" if by_method else _values_in_words(by_path, "decoder.cross_attention")
    cross_text = f" The decoder comes {cross}." if cross else ""
    kind = _plain_values(by_path, "model").replace("_", "-")
    return f"The model is {indefinite_article(kind)} {kind} ({_params(by_path, 'model')}). {stacks_text}{cross_text}"


def _layers(by_path: Mapping[str, list[Json]], stack: str) -> str:
    depths = by_path[f"{stack}.layers"]
    return f"{join_words(map(format_value, depths), 'or')} {'layer' if depths == [1] else 'layers'}"


def _stack(by_path: Mapping[str, list[Json]], stack: str) -> str:
    norms = by_path.get(f"{stack}.norm", [])
    named = [format_value(norm) for norm in norms if norm != "none"]
    texts = [f"{join_words(named, 'or')} norm"] if named else []
    kinds = join_words([*texts, "no norm"] if len(named) < len(norms) else texts, "or")
    norm = f"{kinds}{_bracket(_params(by_path, f'{stack}.norm'))}"
    kind = _plain_values(by_path, f"{stack}.attention")
    parameters = _params(by_path, f"{stack}.attention")
    placement = _values_in_words(by_path, f"{stack}.placement")
    return f"{_layers(by_path, stack)}, {kind} attention{_bracket(parameters)} and {norm}, placed as {placement}"


def _choice(by_path: Mapping[str, list[Json]], path: str) -> str:
    """A choice with its parameters: ``adam (lr 0.001)``."""
    return f"{_plain_values(by_path, path)}{_bracket(_params(by_path, path))}"


def _bracket(text: str) -> str:
    return f" ({text})" if text else ""


def _data(by_path: Mapping[str, list[Json]], item: str) -> str:
    if "task" not in by_path:
        return ""
    corpus = f" on the corpus {_choice(by_path, 'task.corpus')}" if "task.corpus" in by_path else ""
    tokens = f", tokenized by {_choice(by_path, 'task.tokenizer')}" if "task.tokenizer" in by_path else ""
    parameters = _params(by_path, "task", ("task.corpus", "task.tokenizer"))
    kind = _plain_values(by_path, "task")
    return f"The task is {kind}{_bracket(parameters)}{corpus}{tokens}. The loss is a mean over {item}s, in nats."


def _training(by_path: Mapping[str, list[Json]], *, by_method: bool) -> str:
    start = f"Weights start as {_choice(by_path, 'init')}." if "init" in by_path and not by_method else ""
    start += _numbers(by_path)
    steps = by_path.get("train.steps", [0])
    if steps == [0]:
        return f"{start} Nothing is trained: every number is measured at initialization.".strip()
    updates = [n for n in steps if n]
    rate = f" by {_chosen(by_path, 'optimizer')}" if "optimizer" in by_path else ""
    factor = _chosen(by_path, "schedule")
    length = f"{join_words(map(format_value, updates), 'or')} {'update' if updates == [1] else 'updates'}"
    schedule = f", with the learning-rate schedule {factor}" if factor else ", at a constant learning rate"
    others = "" if len(updates) == len(steps) else " Other variants are measured at initialization and not trained."
    return f"{start} Training takes {length}{rate}{schedule}.{others}".strip()


def _numbers(by_path: Mapping[str, list[Json]]) -> str:
    """Precision and device, where they are not float32 and the CPU."""
    formats = by_path.get("train.precision", ["float32"])
    devices = by_path.get("train.device", ["cpu"])
    text = ""
    if formats == ["bfloat16"]:
        text += " Forward passes of updates are in bfloat16, and weights and all else in float32."
    elif formats != ["float32"]:
        text += f" Everything is computed in {_plain_values(by_path, 'train.precision')}."
    return text if devices == ["cpu"] else f"{text} It was computed on {_plain_values(by_path, 'train.device')}."


def _chosen(by_path: Mapping[str, list[Json]], path: str) -> str:
    """A choice with its parameters, of the variants that have one; or nothing."""
    kinds = [kind for kind in by_path.get(path, []) if kind is not None]
    return f"{join_words(map(format_value, kinds), 'or')}{_bracket(_params(by_path, path))}" if kinds else ""


def _interventions(by_path: Mapping[str, list[Json]]) -> str:
    """What acts where, with the values of each parameter over all variants."""
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
        texts.append("What is read at an update is of its training batch, with dropout and after clipping.")
    return " ".join(texts)


def _replicates(facts: ReportFacts, results: Results) -> str:
    drawn_runs = results_of_seeds(results, facts.seeds).runs
    seeds = sorted(drawn_runs["seed"].unique().to_list())
    variants = drawn_runs["variant"].n_unique()
    further = results.runs.filter(~pl.col("seed").is_in(seeds))["seed"].to_list()
    alone = f"{count_noun(len(further), 'more run')} (seeds {number_ranges(further)})"
    pairs = (
        "Runs of one seed are compared in pairs; what they share, those who trained them know."
        if measured_elsewhere(results)
        else "Random numbers are keyed by seed and purpose, so that the variants of a seed share them where they can "
        "and are compared in pairs."
    )
    return (
        f"{count_noun(variants, 'variant')} with {count_noun(len(seeds), 'seed')} each ({number_ranges(seeds)}), "
        f"{count_noun(drawn_runs.height, 'run')} in all. "
        f"{f'Single claims alone read {alone}. ' if further else ''}{pairs} Intervals are Student "
        "intervals over seeds, on the logarithmic scale for positive numbers."
    )
