"""The peak memory of a probe of curvature, estimated before it runs.

    a graph    = 3 V + SLACK Σ_stacks (d + Σ_layers ((12 d + 3 h l) A + 4 d + f d_ff))
    graphs     = bytes * tokens of a batch * (one of every batch and operator, or one alone, and the rows together)
    vectors    = 8 n * (draws together * (steps + WORKING) + MORE)

with V rows of logits (none where a sentence has one answer), h heads, A attentions of a layer, l tokens of a sentence,
n coordinates of the scope, and f numbers stored for each of the d_ff coordinates, 2 with a rectifier. The numbers of a
graph count those that autograd saves per token for a second backward pass through Post-LN with LayerNorm. They are
exact up to masks, and the same for the Hessian and the GGN. Other norms, placements and attentions save 0.87 to 1.6
times as much, and SLACK is in the middle of this range. A row in a pass through a graph needs about as much again, as
every activation has a pending gradient. Before the first row, the second evaluation of a loss needs a forward pass,
which is less. The estimate was 0.85 to 1.48 times the growth of a process, at 30 MB to 1.3 GB
(``benchmarks/curvature_memory.py``).
"""

from collections.abc import Mapping

from lnlab.compile.cost.cost import Workload, sentence_length
from lnlab.compile.setting_paths import stacks_of
from lnlab.curvature.operators import ROWS_AT_ONCE, rows_together
from lnlab.curvature.spectrum import DENSE_BELOW
from lnlab.nn.feedforward import FeedForwardFacts, feed_forwards
from lnlab.probes.support.scopes import Scope

LOGITS = 3
_SLACK = 1.15
WORKING = 10
"""Vectors of float64 beside the basis: the last two, the product, and temporaries of it."""
VECTORS = 2**31
"""Bytes: as many draws advance together as have their vectors in them, and share the passes."""


def draws_at_once(draws: int, steps: int, size: int) -> int:
    """Number of draws that share their passes, so that their vectors take at most ``VECTORS`` bytes."""
    return min(draws, max(1, VECTORS // (8 * steps * size)))


def rows_at_once(size: int, draws: int, *, basis: bool, device: str = "cpu") -> int:
    """Number of vectors that one backward pass through a graph multiplies, as the rows of a batch.

    Args:
        size: number of coordinates of a vector.
        draws: start vectors that advance together.
        basis: as in ``peak_bytes``. A small matrix is then computed whole, and its columns are the rows.
        device: type of the device.
    """
    if basis and size < DENSE_BELOW:
        return min(size, ROWS_AT_ONCE)
    return min(draws, rows_together(size, device))


def peak_bytes(
    load: Workload,
    operators: int,
    scope: Scope,
    *,
    batches: int,
    keep: bool,
    double: bool,
    steps: int,
    draws: int = 1,
    basis: bool = True,
    extra_vectors: int = 0,
) -> int:
    """Peak bytes beside the state.

    Args:
        load: the model and a batch.
        operators: number of operators that have a graph of each batch.
        scope: scope of the vectors.
        batches: number of batches of one operator.
        keep: whether the graphs of all batches are stored, or each is built anew for each product.
        double: whether products are in float64.
        steps: Lanczos steps.
        draws: number of start vectors.
        basis: whether every vector is stored, and a small matrix is computed whole.
        extra_vectors: number of further vectors in float64.
    """
    size = coordinates(load, scope)
    number = 8 if double else load.number
    together = draws_at_once(draws, steps, size)
    device = str((load.setting.get("train") or {}).get("device", "cpu"))
    graphs = operators * batches if keep else 1
    vectors = 8 * size * (together * ((steps if basis else 0) + WORKING) + extra_vectors)
    model_copy = number * load.parameters if number != load.number else 0
    graph_bytes = number * load.tokens * graph_elements(load)
    return graph_bytes * (graphs + rows_at_once(size, together, basis=basis, device=device)) + vectors + model_copy


def graph_elements(load: Workload) -> int:
    """Numbers per token that the graph of a gradient stores."""
    model = load.setting["model"]
    width, inner = _shape(load)
    facts = _feed_forward(load)
    products = 3 * int(model.get("heads") or 1) * sentence_length(load.setting, load.tokens)
    layers = 0
    for stack in stacks_of(load.setting):
        count, attentions = _layers(load, stack)
        layers += width + count * ((12 * width + products) * attentions + 4 * width + facts.inner * inner)
    task = load.setting["task"]
    return int(_SLACK * layers) + LOGITS * (0 if task.get("classes") else int(task.get("vocabulary") or 0))


def coordinates(load: Workload, scope: Scope) -> int:
    """Approximate number of elements of a scope. Parameters outside layers count as those of the tables."""
    width, inner = _shape(load)
    shapes = [_layers(load, stack) for stack in stacks_of(load.setting)]
    attention = 4 * width * (width + 1) * sum(count * attentions for count, attentions in shapes)
    matrices = _feed_forward(load).matrices
    feed_forward = (matrices * width * inner + width + (matrices - 1) * inner) * sum(count for count, _ in shapes)
    norms = 2 * width * sum(count * (attentions + 1) for count, attentions in shapes)
    tables = load.parameters - attention - feed_forward - norms
    sizes: Mapping[str, int] = {
        "all": load.parameters,
        "embeddings": tables,
        "without_embeddings": load.parameters - tables,
        "attention": attention,
        "attention_qk": attention // 2,
        "attention_vo": attention // 2,
        "feed_forward": feed_forward,
        "norms": norms,
    }
    return max(1, sizes[scope])


def _shape(load: Workload) -> tuple[int, int]:
    """d_model and d_ff, 0 where a model has none."""
    model = load.setting["model"]
    return int(model.get("d_model") or 0), int(model.get("d_ff") or 0)


def _feed_forward(load: Workload) -> FeedForwardFacts:
    chosen = load.setting["model"].get("feed_forward") or {"kind": "relu"}
    facts: FeedForwardFacts = feed_forwards[chosen["kind"]].facts
    return facts


def _layers(load: Workload, stack: str) -> tuple[int, int]:
    """Number of layers of a stack, and of attentions in each."""
    return int(load.setting[stack]["layers"]), 2 if load.setting[stack].get("cross_attention") else 1
