"""Pieces of a model that do not go together: each check reads what the pieces say of themselves, their facts."""

from lnlab.compile.cost.data_passes import inits_of
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.setting_paths import stacks_of
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import listed
from lnlab.issues import Issue

_BRANCH_OUTPUTS = {"o", "w2"}
"""The matrices with which the branches end."""
MATRICES = {"q", "k", "v", "o", "w1", "w2", "w3"}


def causal_stacks_see_no_future(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A mean over positions, or over a batch of them, carries later tokens to earlier positions: the target leaks."""
    causal = registries["model"][setting["model"]["kind"]].facts.causal
    tokenwise = [entry.name for entry in registries["norm"] if entry.facts.statistics == "token"]
    flaws = []
    for stack in stacks_of(setting):
        kind = setting[stack]["norm"]["kind"]
        if stack in causal and (over := registries["norm"][kind].facts.statistics) != "token":
            what = f"'{kind}' has statistics of a {over}, so positions of the {stack} would see later tokens"
            flaws.append(
                Issue("conflict", (stack, "norm"), what, f"in a causal stack, choose from {', '.join(tokenwise)}")
            )
    return flaws


def averages_tell_sentences_apart(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """The mean over a sentence of what was centred over that sentence is the same for every sentence."""
    model = setting["model"]
    if not registries["model"][model["kind"]].facts.averages(model):
        return []
    flaws = []
    for stack in stacks_of(setting):
        norm = setting[stack]["norm"]
        coordinatewise = registries["norm"][norm["kind"]].facts.coordinatewise
        if coordinatewise(norm, model["d_model"]) and _normed_part(setting[stack], registries) != "nothing":
            what = f"'{norm['kind']}' centres each coordinate over a sentence, so its mean token carries no information"
            flaws.append(Issue("conflict", (stack, "norm"), what, "choose another norm or another pooling"))
    return flaws


def groups_divide_width(setting: ResolvedSetting, _: Registries) -> list[Issue]:
    """Every group of a norm gets the same number of coordinates."""
    width = setting["model"].get("d_model")
    flaws = []
    for stack in stacks_of(setting):
        groups = setting[stack]["norm"].get("groups")
        if isinstance(width, int) and isinstance(groups, int) and width % groups:
            fitting = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0 and n <= 64)
            what = f"{groups} groups do not divide d_model {width}"
            flaws.append(Issue("conflict", (stack, "norm", "groups"), what, f"these do: {fitting}"))
    return flaws


def init_suits_placement(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """Gains that were made for a normed stream mean nothing where it is never normed, or the other way round."""
    for init, _ in inits_of(setting["init"], registries):
        required = init.facts.norm_of
        for stack in stacks_of(setting) if required is not None else ():
            kind = setting[stack]["placement"]["kind"]
            normed = _normed_part(setting[stack], registries)
            if normed not in (None, required) and (normed != "both" or required == "nothing"):
                needs = f"'{init.name}' is made for {_NORMED_PHRASES[required]}"
                what = f"{needs}, and placement '{kind}' norms {_NORMED_PARTS[normed]}"
                remedy = "write norm: none" if required == "nothing" else f"choose another placement in the {stack}"
                return [Issue("conflict", ("init",), what, f"choose another init, or {remedy}")]
    return []


def init_suits_norm(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """An init that writes the parameters of a norm needs that norm in a stack."""
    norms = {setting[stack]["norm"]["kind"] for stack in stacks_of(setting)}
    for init, _ in inits_of(setting["init"], registries):
        if init.facts.norm is not None and init.facts.norm not in norms:
            what = f"'{init.name}' sets parameters of the norm '{init.facts.norm}', and no stack has it"
            return [Issue("conflict", ("init",), what, f"write norm: {init.facts.norm}, or choose another init")]
    return []


def init_suits_feed_forward(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A law that counts the matrices of a branch says nothing of a third one."""
    chosen = setting["model"].get("feed_forward")
    if chosen is None or registries["feed_forward"][chosen["kind"]].facts.matrices == 2:
        return []
    for init, _ in inits_of(setting["init"], registries):
        if init.facts.two_matrices:
            what = f"'{init.name}' is a law for feed-forward networks of two matrices, and '{chosen['kind']}' has more"
            remedy = "choose another init, or write feed_forward: relu"
            return [Issue("conflict", ("model", "feed_forward"), what, remedy)]
    return []


def output_has_its_own_table(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """An output of zeros, or one that is smaller the wider the model is, cannot share its table with an embedding."""
    tied = setting["model"].get("tied", "none")
    for init, _ in inits_of(setting["init"], registries) if tied != "none" else ():
        if "output" in init.facts.zeros or init.facts.untied:
            output = "the output to zero" if "output" in init.facts.zeros else "the output smaller than an embedding"
            what = f"'{init.name}' sets {output}, and 'tied: {tied}' makes its table that of an embedding"
            return [Issue("conflict", ("model", "tied"), what, "write tied: none, or choose another init")]
    return []


def own_models_initialize_themselves(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """The models of lnlab are built without values, and its inits know nothing of the parts of somebody's own model."""
    model = registries["model"][setting["model"]["kind"]]
    keeping = all(init.facts.own for init, _ in inits_of(setting["init"], registries))
    if keeping == model.facts.own:
        return []
    init = setting["init"]["kind"]
    if model.facts.own:
        what = f"'{model.name}' is a model of your own, and '{init}' does not know its parts"
        return [Issue("conflict", ("init",), what, "write init: own, and initialize the weights in the model")]
    what = f"'{model.name}' does not initialize the weights that '{init}' keeps"
    return [Issue("conflict", ("init",), what, "choose another init, or a model of your own")]


def nothing_divides_by_zero(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A matrix of zeros has no direction, and neither has a row of zeros."""
    kind = setting["model"].get("linear", {}).get("kind")
    divided = MATRICES if kind and registries["linear"][kind].facts.normalized else set()
    rows = {"output"} if setting["model"].get("fix_norm", False) else set()
    flaws = []
    for init, _ in inits_of(setting["init"], registries):
        for word, name, tensors in (("linear", kind, divided), ("fix_norm", "fix_norm", rows)):
            if both := sorted(tensors & set(init.facts.zeros)):
                what = f"'{name}' divides by the size of {', '.join(both)}, which init '{init.name}' sets to zero"
                flaws.append(Issue("conflict", ("model", word), what, f"choose another {word}, or another init"))
    return flaws


def closed_gates_have_something_behind_them(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A closed gate before a branch of zeros: neither has a gradient, and nothing in the layer ever moves."""
    zeroed = {tensor for init, _ in inits_of(setting["init"], registries) for tensor in init.facts.zeros}
    flaws = []
    for stack in stacks_of(setting):
        placement = setting[stack]["placement"]
        gate = registries["placement"][placement["kind"]].facts.gate
        if gate is not None and placement[gate] == 0 and zeroed >= _BRANCH_OUTPUTS:
            what = "the gates and the branches behind them start at 0, so no layer would ever get a gradient"
            flaws.append(
                Issue("conflict", (stack, "placement"), what, f"give another '{gate}', or choose another init")
            )
    return flaws


def bounds_are_in_order(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A law has a lower bound below the upper one."""
    flaws = []
    for init, choice in inits_of(setting["init"], registries):
        low, high = init.facts.bounds or ("", "")
        if low and choice[low] >= choice[high]:
            what = f"'{init.name}' would draw between {low} = {choice[low]} and {high} = {choice[high]}"
            flaws.append(Issue("out-of-range", ("init",), what, f"give a smaller '{low}', or a larger '{high}'"))
    return flaws


def model_suits_task(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """A model outputs what its task needs: a token at every position of a stack, or a label a sentence."""
    model, task = (registries[word][setting[word]["kind"]] for word in ("model", "task"))
    output = model.facts.says
    accepted = task.facts.says(setting["task"]) if task.facts.says is not None else None
    if output is None or accepted is None or output in accepted:
        return []
    requested = " or ".join(_output_phrase(word) for word in accepted)
    what = f"'{model.name}' gives {_output_phrase(output)}, and the task '{task.name}' asks for {requested}"
    fitting = listed(entry.name for entry in registries["model"] if entry.facts.says in accepted)
    return [Issue("conflict", ("model",), what, f"these models do: {fitting}, or choose another task")]


def every_stack_has_something_to_read(setting: ResolvedSetting, registries: Registries) -> list[Issue]:
    """An encoder reads sources, and running text has none."""
    model, task = (registries[word][setting[word]["kind"]] for word in ("model", "task"))
    if task.facts.sources or "encoder" not in model.facts.stacks:
        return []
    what = f"the task '{task.name}' has no sources, and the encoder of '{model.name}' would read nothing"
    fitting = listed(entry.name for entry in registries["model"] if entry.facts.stacks == ("decoder",))
    return [Issue("conflict", ("model",), what, f"these models read one text: {fitting}")]


GRAPH_CHECKS = (
    model_suits_task,
    every_stack_has_something_to_read,
    causal_stacks_see_no_future,
    averages_tell_sentences_apart,
    groups_divide_width,
    init_suits_placement,
    init_suits_norm,
    init_suits_feed_forward,
    own_models_initialize_themselves,
    output_has_its_own_table,
    nothing_divides_by_zero,
    closed_gates_have_something_behind_them,
    bounds_are_in_order,
)


_NORMED_PHRASES = {
    "stream": "a norm of the stream",
    "branch": "a norm of the branch",
    "nothing": "a model without norms",
}
_NORMED_PARTS = {"stream": "the stream", "branch": "the branch", "both": "both stream and branch", "nothing": "nothing"}


def _normed_part(stack: ResolvedSetting, registries: Registries) -> str | None:
    """What is normed in a stack, or None where its placement does not say."""
    if registries["norm"][stack["norm"]["kind"]].facts.identity:
        return "nothing"
    norm_of: str | None = registries["placement"][stack["placement"]["kind"]].facts.norm_of
    return norm_of


def _output_phrase(output: str) -> str:
    return "a label for each sentence" if output == "sentence" else f"a token at every position of the {output}"
