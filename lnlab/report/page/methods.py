"""How the experiment was made, in prose and as a table, from the resolved settings and nothing else."""

import json
from collections.abc import Iterator, Mapping, Sequence

from lnlab.keys import Json, canonical
from lnlab.report.facts import ReportFacts
from lnlab.report.loss_units import item_of
from lnlab.report.words.wording import article, count, in_order, listing, plain, value_of_axis
from lnlab.specfile.columns import METHOD
from lnlab.specfile.values import place
from lnlab.tables import Results


def settings(results: Results) -> list[dict[str, Json]]:
    """The resolved setting of every variant, each once, in the order of the plan."""
    return [json.loads(text) for text in results.runs["setting"].unique(maintain_order=True)]


def leaves(setting: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Every value of a setting with its dotted path; a choice gives its kind at its own path."""
    for key, value in setting.items():
        path = f"{prefix}.{key}" if prefix else key
        if key == "kind":
            yield prefix or "kind", value
        elif isinstance(value, Mapping):
            yield from leaves(value, path)
        else:
            yield path, value


def values(found: Sequence[Mapping[str, Json]]) -> dict[str, list[Json]]:
    """For each path, the values it takes over the settings: numbers rise, others stand in order of appearance."""
    taken: dict[str, dict[str, Json]] = {}
    for setting in found:
        for path, value in leaves(setting):
            taken.setdefault(path, {}).setdefault(canonical(value), value)
    return {path: in_order(distinct.values()) for path, distinct in taken.items()}


def corpus(results: Results) -> str:
    """The corpora of the experiment, by name."""
    return listing(plain(v) for v in values(settings(results)).get("task.corpus", []))


def prose(facts: ReportFacts, results: Results) -> list[str]:
    """Paragraphs: what was built, on what data, how it started, what was measured, how often."""
    taken = values(settings(results))
    if not taken:
        return ["The plan holds no run."]
    named = METHOD in results.axes["axis"]
    data = _data(taken, item_of(results))
    told = (_model(taken, named=named), data, _training(taken, named=named), _interventions(taken))
    return [p for p in (*told, _measured(facts), _replicates(results)) if p]


def _say(taken: Mapping[str, list[Json]], path: str) -> str:
    """The values of a path as a reader says them; two readings of one axis are joined by *or*."""
    return listing((value_of_axis(path, v, plain(v)) for v in taken.get(path, [])), "or")


def _plain(taken: Mapping[str, list[Json]], path: str) -> str:
    return listing((plain(v) for v in taken.get(path, [])), "or")


def _params(taken: Mapping[str, list[Json]], owner: str, leave: Sequence[str] = ()) -> str:
    """The parameters of a choice: ``d_model 128, heads 4``."""
    inside = [p for p in taken if p.startswith(f"{owner}.") and p not in leave and not _below_choice(taken, owner, p)]
    return ", ".join(f"{p.removeprefix(owner + '.')} {_plain(taken, p)}" for p in inside)


def _below_choice(taken: Mapping[str, list[Json]], owner: str, path: str) -> bool:
    parent = path.rpartition(".")[0]
    return parent != owner and parent in taken


def _model(taken: Mapping[str, list[Json]], *, named: bool) -> str:
    """The model and its stacks; of stacks that differ by method, a table says the rest."""
    describe = _layers if named else _stack
    stacks = {stack: describe(taken, stack) for stack in ("encoder", "decoder") if f"{stack}.layers" in taken}
    if "model" not in taken:
        return ""
    if len(stacks) > 1 and len(set(stacks.values())) == 1:
        each = f"Each stack has {stacks['encoder']}."
    else:
        each = " ".join(f"The {stack} has {what}." for stack, what in stacks.items())
    if named:
        each += " What a layer is made of and how its weights start is the method's, as the table says."
    cross = "" if named else _say(taken, "decoder.cross_attention")
    across = f" The decoder comes {cross}." if cross else ""
    kind = _plain(taken, "model").replace("_", "-")
    return f"The model is {article(kind)} {kind} ({_params(taken, 'model')}). {each}{across}"


def _layers(taken: Mapping[str, list[Json]], stack: str) -> str:
    depths = taken[f"{stack}.layers"]
    return f"{listing(map(plain, depths), 'or')} {'layer' if depths == [1] else 'layers'}"


def _stack(taken: Mapping[str, list[Json]], stack: str) -> str:
    norm = f"{_norm(taken.get(f'{stack}.norm', []))}{_bracket(_params(taken, f'{stack}.norm'))}"
    attention = f"{_plain(taken, f'{stack}.attention')} attention{_bracket(_params(taken, f'{stack}.attention'))}"
    return f"{_layers(taken, stack)}, {attention} and {norm}, placed as {_say(taken, f'{stack}.placement')}"


def _norm(kinds: Sequence[Json]) -> str:
    """``layer or rms norm``, ``layer norm or no norm``."""
    named = [plain(kind) for kind in kinds if kind != "none"]
    said = [f"{listing(named, 'or')} norm"] if named else []
    return listing([*said, "no norm"] if len(named) < len(kinds) else said, "or")


def _choice(taken: Mapping[str, list[Json]], path: str) -> str:
    """A choice with its parameters: ``adam (lr 0.001)``."""
    return f"{_plain(taken, path)}{_bracket(_params(taken, path))}"


def _bracket(text: str) -> str:
    return f" ({text})" if text else ""


def _data(taken: Mapping[str, list[Json]], over: str) -> str:
    if "task" not in taken:
        return ""
    corpus = f" on the corpus {_choice(taken, 'task.corpus')}" if "task.corpus" in taken else ""
    tokens = f", tokenized by {_choice(taken, 'task.tokenizer')}" if "task.tokenizer" in taken else ""
    given = _params(taken, "task", ("task.corpus", "task.tokenizer"))
    kind = _plain(taken, "task")
    return f"The task is {kind}{_bracket(given)}{corpus}{tokens}. The loss is a mean over {over}s, in nats."


def _training(taken: Mapping[str, list[Json]], *, named: bool) -> str:
    start = f"Weights start as {_choice(taken, 'init')}." if "init" in taken and not named else ""
    if taken.get("train.precision", ["float32"]) != ["float32"]:
        start += f" Everything is computed in {_plain(taken, 'train.precision')}."
    steps = taken.get("train.steps", [0])
    if steps == [0]:
        return f"{start} Nothing is trained: every number is measured at initialization.".strip()
    updates = [n for n in steps if n]
    rate = f" by {_chosen(taken, 'optimizer')}" if "optimizer" in taken else ""
    factor = _chosen(taken, "schedule")
    length = f"{listing(map(plain, updates), 'or')} {'update' if updates == [1] else 'updates'}"
    schedule = f", with the learning-rate schedule {factor}" if factor else ", at a constant learning rate"
    others = "" if len(updates) == len(steps) else " Other variants are measured at initialization and not trained."
    return f"{start} Training takes {length}{rate}{schedule}.{others}".strip()


def _chosen(taken: Mapping[str, list[Json]], path: str) -> str:
    """A choice with its parameters, of the variants that have one; or nothing."""
    kinds = [kind for kind in taken.get(path, []) if kind is not None]
    return f"{listing(map(plain, kinds), 'or')}{_bracket(_params(taken, path))}" if kinds else ""


def _interventions(taken: Mapping[str, list[Json]]) -> str:
    """What acts where, with the values of each parameter over all variants."""
    groups: dict[tuple[str, str], list[dict[str, Json]]] = {}
    for each in (choice for choices in taken.get("interventions", []) for choice in choices):
        rest = {name: value for name, value in each.items() if name not in ("kind", "where")}
        groups.setdefault((each["kind"], place(each.get("where", {}))), []).append(rest)
    said = [
        f"{kind} at {where}{_bracket(', '.join(f'{p} {_plain(given, p)}' for p in given))}"
        for (kind, where), every in groups.items()
        for given in [values(every)]
    ]
    return f"In some variants an intervention cuts an arrow: {'; '.join(said)}." if said else ""


def _measured(facts: ReportFacts) -> str:
    if not facts.probes:
        return ""
    said = [_probe(probe) for probe in facts.probes]
    return f"Measured: {listing(said)}. Dropout is off while measuring unless a probe says otherwise."


def _probe(probe: Mapping[str, Json]) -> str:
    given = ", ".join(f"{k} {plain(v)}" for k, v in probe.items() if k not in ("kind", "at"))
    at = f" at {plain(probe['at'])}" if "at" in probe else ""
    return f"{probe.get('kind', '')}{at}{_bracket(given)}"


def _replicates(results: Results) -> str:
    seeds = sorted(results.runs["seed"].unique().to_list())
    variants = results.runs["variant"].n_unique()
    return (
        f"{count(variants, 'variant')} with {count(len(seeds), 'seed')} each ({ranges(seeds)}), "
        f"{count(results.runs.height, 'run')} in all. A seed draws the weights, the batches and all else that is "
        "random, each from its own address, so that the variants of one seed share every draw they have in common "
        "and are compared in pairs. Intervals are Student intervals over seeds, on the logarithmic scale for positive "
        "numbers."
    )


def ranges(numbers: Sequence[int]) -> str:
    """``1–10, 12``: runs of consecutive numbers shortened."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)
