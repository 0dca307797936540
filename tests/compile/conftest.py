"""A toy laboratory: registries of every kind, with formulas so small that plans can be checked by hand."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from lnlab.catalogue import REGISTRIES
from lnlab.compile.plan import Plan, compile_plan
from lnlab.compile.reference.schema import spec_schema
from lnlab.errors import CorpusError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.registry import Registry, default
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import SpecDocument, parse_spec
from tests.support.toy_specs import PIECES, toy_spec

LNLAB = {**REGISTRIES, **FRAME_REGISTRIES}
KINDS = (
    *("task", "corpus", "tokenizer", "model", "norm", "placement", "attention", "init", "optimizer", "schedule"),
    *("stop", "intervention", "probe", "claim", "section", "quantity", "rule", "convergence"),
)
Count = Annotated[int, Field(ge=1)]
Selection = dict[str, Any]


def find(roots: tuple[Path, ...], path: str) -> Path:
    for root in roots:
        if (root / path).is_file():
            return root / path
    raise CorpusError(Issue("wrong-value", path, "no such corpus", "put it beside the spec"))


def size(setting: dict[str, Any]) -> tuple[int, int]:
    """12 d² elements a layer, as many FLOPs twice a token."""
    layers = sum(setting[stack]["layers"] for stack in ("encoder", "decoder") if stack in setting)
    elements = 12 * layers * setting["model"]["d_model"] ** 2
    return elements, 2 * elements


def toys() -> Mapping[str, Registry[Any]]:
    lab: dict[str, Registry[Any]] = {kind: Registry(kind, LNLAB[kind].facts) for kind in KINDS}
    corpora, tokenizers = lab["corpus"], lab["tokenizer"]
    content = {"fingerprint": lambda roots, c: digest_bytes(find(roots, c["path"]).read_bytes())}

    @corpora.register("toy")
    def toy(roots, *, pairs: int = 1000): ...

    @corpora.register("multi30k")
    def multi30k(roots): ...

    @corpora.register("file", inputs=lambda roots, c: [find(roots, c["path"])], **content)
    def file(roots, *, path: str): ...

    @tokenizers.register("bpe")
    def bpe(texts): ...

    @lab["task"].register("translation")
    def translation(
        draw,
        roots,
        *,
        corpus: Annotated[Callable[..., Any], corpora],
        tokenizer: Annotated[Callable[..., Any], tokenizers] = default("bpe"),
        vocabulary: Count = 1000,
        batch_tokens: Count = 512,
        label_smoothing: float = 0.1,
    ): ...

    @lab["model"].register("encoder_decoder", stacks=("encoder", "decoder"), size=size)
    def encoder_decoder(
        size,
        parts,
        *,
        d_model: Count = 64,
        heads: Count = 4,
        d_ff: Count = 128,
        dropout: float = 0.0,
        tied: Literal["target", "all", "none"] = "target",
    ): ...

    @lab["model"].register("decoder_only", stacks=("decoder",), size=size)
    def decoder_only(size, parts, *, d_model: Count = 64, heads: Count = 4): ...

    @lab["model"].register("silent")
    def silent(size, parts): ...

    @lab["model"].register("weightless", stacks=("encoder",))
    def weightless(size, parts): ...

    @lab["norm"].register("layer", statistics="token")
    def layer(width, *, eps: float = 1e-5): ...

    @lab["norm"].register("rms", statistics="token")
    def rms(width, *, eps: float = 1e-6): ...

    @lab["norm"].register("none", statistics="token")
    def none(width): ...

    for word in ("post", "pre"):
        lab["placement"].register(word)(lambda at: None)

    @lab["placement"].register("deep")
    def deep(at, *, alpha: float): ...

    @lab["attention"].register("softmax")
    def softmax(width, heads, *, dropout: float = 0.0): ...

    @lab["init"].register("xavier_normal")
    def xavier_normal(model, draw, *, gain: float = 1.0): ...

    @lab["optimizer"].register("adam")
    def adam(parameters, *, lr: float, betas: tuple[float, float] = (0.9, 0.98)): ...

    @lab["schedule"].register("constant")
    def constant(*, warmup_steps: int = 0): ...

    @lab["schedule"].register("linear")
    def linear(steps, *, warmup_steps: int = 0): ...

    @lab["stop"].register("non_finite")
    def non_finite(): ...

    @lab["stop"].register("patience", evaluations=True)
    def patience(*, looks: int = 3): ...

    @lab["intervention"].register("freeze", acts_on="update")
    def freeze(model, optimizer, *, tensor: str = "w2"): ...

    @lab["intervention"].register("rescale", acts_on="function")
    def rescale(model, optimizer, *, where: dict[str, Any], factor: float = 1.0): ...

    quantities = {"passes": lambda params: 3.0 * params["batches"], "table": "sites"}

    @lab["probe"].register("gradient_norm", **quantities, quantities=("gradient_norm", "gradient_rms"))
    def gradient_norm(state, *, batches: Count = 6): ...

    @lab["probe"].register("hidden_norm", **quantities, quantities=("hidden_norm",))
    def hidden_norm(state, *, batches: Count = 6): ...

    @lab["probe"].register("mute", **quantities)
    def mute(state, *, batches: Count = 1): ...

    @lab["quantity"].register("scaled_gradient_norm")
    def scaled_gradient_norm(results): ...

    @lab["quantity"].register("final_nll", trained=True)
    def final_nll(results): ...

    @lab["quantity"].register("best_lr", trained=True, over="optimizer.lr")
    def best_lr(results): ...

    @lab["quantity"].register("converged", trained=True)
    def converged(results): ...

    @lab["convergence"].register("learned")
    def learned(curve): ...

    @lab["claim"].register("power_law")
    def power_law(results, *, of: Selection, over: str, between: tuple[float, float]): ...

    @lab["claim"].register("bound")
    def bound(
        results,
        *,
        of: Selection,
        over: str | None = None,
        reduce: str | None = None,
        at_most: float,
        exact: bool = False,
    ): ...

    @lab["claim"].register("ratio")
    def ratio(results, *, of: Selection, to: Selection, over: str | None = None, at_least: float): ...

    @lab["section"].register("depth_profile")
    def depth_profile(results, *, quantity: str, where: Selection = {}, x: str = "layer"): ...  # noqa: B006 - a field's default

    @lab["rule"].register("best")
    def best(trials, reference): ...

    @lab["rule"].register("failing", numbers=True)
    def failing(trials, reference, *, below: Annotated[float, Field(gt=0, lt=1)] = 0.25): ...

    return lab


@pytest.fixture(scope="session")
def laboratory() -> Mapping[str, Registry[Any]]:
    """For property tests, which must not change it."""
    return toys()


@pytest.fixture(scope="session")
def checked_by_schema(laboratory) -> Callable[[Any], list[str]]:
    """What the JSON Schema has against a spec."""
    checker = Draft202012Validator(spec_schema(laboratory))
    return lambda data: [f"{error.json_path}: {error.message}" for error in checker.iter_errors(data)]


@pytest.fixture
def registries() -> Mapping[str, Registry[Any]]:
    return toys()


BASE = toy_spec(PIECES, seeds=2, probes=[{"kind": "gradient_norm"}])


@pytest.fixture
def base() -> str:
    """A spec that is sound and sweeps nothing."""
    return BASE


@pytest.fixture
def document() -> Callable[[str], SpecDocument]:
    return lambda text: parse_spec(text, Path("spec.yaml"))


@pytest.fixture
def plan(registries, document) -> Callable[..., Plan]:
    """``plan(text, **options)``: compiled by the toy laboratory."""
    return lambda text, roots=(), **options: compile_plan(document(text), registries, roots, **options)
