"""What a model computes, read off one forward pass of the model itself: its modules, and what passes between them.

A pass of tokens without values is recorded. Every module that stands for one box (a norm, a sublayer, a table) is a
node, and so is every operation between these modules. Operations that only arrange numbers anew are left out, and
dropout, too. So the graph is that of the model as it was built, whatever its placement, norm or attention.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.nn.attention import DotProductAttention
from lnlab.nn.embedding import Embedding, Output
from lnlab.nn.transformer import Features, Layer, Stack

_LENGTH = 3
_GREEK = {"alpha": "α", "omega": "ω"}
_ARRANGING = {
    "view",
    "reshape",
    "transpose",
    "flatten",
    "permute",
    "expand",
    "contiguous",
    "unsqueeze",
    "squeeze",
    "getitem",
    "get",
    "to",
    "type_as",
    "chunk",
    "split",
    "repeat_interleave",
    "dropout",
    "detach",
    "clone",
    "float",
}
"""Operations on which a number stays what it is."""
_SUBLAYERS = {"self_attention": "self-attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward"}


@dataclass(frozen=True)
class ModuleNode:
    """A box of the drawing.

    Attributes:
        operation: ``input``, ``module`` (a sublayer, a matrix or a table), ``norm``, ``sum``, or ``function``.
        label: what it is called.
        detail: its size in a few words, or nothing.
        module: its name in the module tree. Empty for what is no module.
        parameters: number of elements of its parameters, frozen ones included.
        inputs: the places of the nodes that it reads.
    """

    operation: str
    label: str
    detail: str = ""
    module: str = ""
    parameters: int = 0
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModulePanel:
    """The boxes of one stack, or of one sublayer opened.

    Attributes:
        name: what it is.
        nodes: each after those that it reads, except for inputs.
        frames: what is repeated: the first and last node of it, how often, and which layers these are.
    """

    name: str
    nodes: tuple[ModuleNode, ...]
    frames: tuple[tuple[int, int, int, str], ...] = ()


@dataclass
class _Recorded:
    """The nodes of a pass so far, each with the stack and the layer in which it was computed."""

    parameters: dict[int, tuple[str, nn.Parameter]]  # by what it is, or by a number that was made of it alone
    counted: set[int] = field(default_factory=set)
    nodes: list[ModuleNode] = field(default_factory=list)
    places: list[tuple[str, int | None]] = field(default_factory=list)
    of: dict[int, int] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)  # an id is that of a tensor only as long as it lives
    inside: list[tuple[str, int | None]] = field(default_factory=lambda: [("", None)])
    deep: int = 0

    def size(self, parameter: nn.Parameter) -> int:
        """Elements of a parameter at its first use, and none at any other."""
        new = id(parameter) not in self.counted
        self.counted.add(id(parameter))
        return parameter.numel() if new else 0

    def sources(self, *values: Any) -> tuple[int, ...]:
        """The nodes of which these values are, each once."""
        tensors = [t for value in values for t in (value if isinstance(value, list | tuple) else [value])]
        return tuple(dict.fromkeys(self.of[id(t)] for t in tensors if id(t) in self.of))

    def give(self, output: Any, place: int) -> None:
        """State that a value is the output of a node."""
        for tensor in output if isinstance(output, list | tuple) else [output]:
            if isinstance(tensor, Tensor):
                self.of[id(tensor)] = place
                self.alive.append(tensor)

    def add(self, node: ModuleNode, output: Any) -> None:
        """Append a node, and state that a value is its output."""
        self.nodes.append(node)
        self.places.append(self.inside[-1])
        self.give(output, len(self.nodes) - 1)


class _Operations(TorchFunctionMode):
    """Records what is computed between the modules that are boxes."""

    def __init__(self, recorded: _Recorded) -> None:
        super().__init__()
        self.recorded = recorded

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        recorded = self.recorded
        first = output[0] if isinstance(output, tuple) and output else output
        if recorded.deep or not isinstance(first, Tensor) or not first.is_floating_point() or id(first) in recorded.of:
            return output
        sources = recorded.sources(*args, *(kwargs or {}).values())
        name = getattr(func, "__name__", "").strip("_")
        others = [value for value in args if id(value) not in recorded.of]
        known = next((recorded.parameters[id(value)] for value in others if id(value) in recorded.parameters), None)
        if not sources or name.startswith(("new_", "zeros", "ones", "empty")):
            if known is not None and not sources:
                word = f"(1-{known[0]})" if name == "rsub" and 1 in args[1:] else known[0]
                recorded.parameters[id(output)] = (word, known[1])
                recorded.alive.append(output)
            return output
        if name in _ARRANGING:
            recorded.give(output, sources[0])
        elif name == "scaled_dot_product_attention":
            _attend(recorded, args, kwargs or {}, output)
        elif name in ("add", "iadd", "radd"):
            if len(sources) > 1 or not others:
                recorded.add(ModuleNode("sum", "+", inputs=sources), output)
            elif known is not None:
                recorded.add(
                    ModuleNode("function", f"+ {known[0]}", parameters=recorded.size(known[1]), inputs=sources), output
                )
            else:  # a constant such as the zero by which frozen features ask for a gradient
                recorded.give(output, sources[0])
        elif name in ("mul", "rmul", "imul", "div", "truediv"):
            number = next((value for value in others if isinstance(value, int | float)), None)
            word = known[0] if known else "c" if number is None else f"{number:.2g}"
            label = " ".join(["×" if "mul" in name else "/", *([word] if others else [])])
            size = recorded.size(known[1]) if known else 0
            recorded.add(ModuleNode("function", label, parameters=size, inputs=sources), output)
        else:
            recorded.add(ModuleNode("function", name, inputs=sources), output)
        return output


def _attend(recorded: _Recorded, args: Sequence[Any], kwargs: Mapping[str, Any], output: Tensor) -> None:
    """The steps of which torch's fused attention consists (Vaswani et al., 2017, Figure 2)."""
    q, k, v = (recorded.of[id(value)] for value in args[:3])
    heads, width = args[0].shape[1], args[0].shape[-1]
    scale = kwargs.get("scale")
    root = f"/ √{width}" if scale is None else f"× {scale:.2g}"
    recorded.add(ModuleNode("function", "q kᵀ", f"{heads} heads of {width}", inputs=(q, k)), None)
    recorded.add(ModuleNode("function", root, inputs=(len(recorded.nodes) - 1,)), None)
    if kwargs.get("attn_mask") is not None:
        recorded.add(ModuleNode("function", "mask", inputs=(len(recorded.nodes) - 1,)), None)
    recorded.add(ModuleNode("function", "softmax", "over keys", inputs=(len(recorded.nodes) - 1,)), None)
    recorded.add(
        ModuleNode("function", "weights v", f"{heads} heads of {width}", inputs=(len(recorded.nodes) - 1, v)), None
    )
    recorded.add(
        ModuleNode("function", "heads joined", f"{heads} × {width}", inputs=(len(recorded.nodes) - 1,)), output
    )


@contextmanager
def _recording(root: nn.Module, boxes: Mapping[nn.Module, ModuleNode], prefix: str = "") -> Iterator[_Recorded]:
    """Record the pass that is made inside the block, with these modules as boxes."""
    named = {}
    for name, p in root.named_parameters():
        word = [word for word in f"{prefix}{name}".split(".") if not word.isdecimal()][-1]
        named[id(p)] = (_GREEK.get(word, word), p)
    recorded = _Recorded(named)

    def enter(*_: object) -> None:
        recorded.deep += 1

    def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        recorded.deep -= 1
        if not recorded.deep:
            recorded.add(replace(boxes[module], inputs=recorded.sources(*args)), output)
            if isinstance(module, Embedding) and module.positions != "none":
                place = (len(recorded.nodes) - 1,)
                recorded.add(ModuleNode("function", "+ positions", module.positions, inputs=place), output)

    with ExitStack() as hooks:
        for module in boxes:
            hooks.callback(module.register_forward_pre_hook(enter).remove)
            hooks.callback(module.register_forward_hook(leave).remove)
        for name, module in root.named_modules():
            if isinstance(module, Stack | Layer):
                words = name.split(".")
                place = (".".join(words[:-2]), int(words[-1])) if isinstance(module, Layer) else (name, None)
                push = lambda *_, place=place: recorded.inside.append(place)  # noqa: E731
                hooks.callback(module.register_forward_pre_hook(push).remove)
                hooks.callback(module.register_forward_hook(lambda *_: recorded.inside.pop() and None).remove)
        hooks.enter_context(torch.no_grad())
        hooks.enter_context(_Operations(recorded))
        yield recorded


@torch.no_grad()
def module_panels(model: nn.Module) -> list[ModulePanel]:
    """The stacks of a model from the input to the output, then each kind of sublayer opened.

    Args:
        model: on the meta device, of lnlab's parts. It is left in evaluation mode.

    Raises:
        LabError: the model has no stack of lnlab's.
    """
    model.eval()
    stacks = {name: module for name, module in model.named_modules() if isinstance(module, Stack)}
    if not stacks:
        what = f"{type(model).__name__} has no stacks of lnlab's"
        raise LabError(Issue("unsupported", "model", what, "leave out whole: true"))
    boxes: dict[nn.Module, ModuleNode] = {}
    opened: dict[str, nn.Module] = {}
    tables: dict[int, str] = {}
    for name, module in model.named_modules():
        if isinstance(module, Embedding) and f"{name}.frozen" not in stacks:
            rows, width = module.table.shape
            boxes[module] = _box("module", "embedding", f"{rows:,} × {width}", name, module)
            tables.setdefault(id(module.table), name)
        elif isinstance(module, Output):
            tied = tables.get(id(module.table))
            detail = f"{module.table.shape[0]:,} logits"
            node = _box("module", "output", detail, name, module)
            own = node.parameters - (module.table.numel() if tied else 0)
            boxes[module] = replace(node, label="output, tied" if tied else "output", parameters=own)
        elif isinstance(module, Layer):
            for word, sublayer in module.sublayers.items():
                detail = f"{sublayer.heads} heads" if isinstance(sublayer, DotProductAttention) else ""
                boxes[sublayer] = _box("module", _SUBLAYERS[word], detail, f"{name}.{word}", sublayer)
                opened[f"{name}.{word}"] = sublayer
            for path, norm in module.placement.named_modules(prefix=f"{name}.placement"):
                if path.split(".")[-1].isdecimal() and not isinstance(norm, nn.Identity):
                    boxes[norm] = _box("norm", type(norm).__name__, "", path, norm)
        elif isinstance(module, Stack) and not isinstance(module.final_norm, nn.Identity | None):
            boxes[module.final_norm] = _box(
                "norm", type(module.final_norm).__name__, "", f"{name}.final_norm", module.final_norm
            )
        elif name == "output" and not list(module.children()):
            boxes[module] = _box("module", "output", f"{module.out_features} labels", name, module)
    calls: dict[str, tuple[Tensor, ...]] = {}
    with ExitStack() as hooks, torch.device("meta"):
        for name, sublayer in opened.items():
            keep = lambda _, args, name=name: calls.__setitem__(name, args)  # noqa: E731
            hooks.callback(sublayer.register_forward_pre_hook(keep).remove)
        tokens = torch.ones(1, _LENGTH, dtype=torch.int64)
        recorded = hooks.enter_context(_recording(model, boxes))
        model(SimpleNamespace(source=tokens, target_in=tokens.clone()))
    panels = _stack_panels(model, recorded)
    kinds: dict[tuple[Json, ...], list[str]] = {}
    insides: dict[tuple[Json, ...], ModulePanel] = {}
    for name, args in calls.items():
        panel = _inside(name, opened[name], args, crosses=any(other.endswith("cross_attention") for other in calls))
        kind = tuple((n.operation, n.label, n.detail, n.parameters, n.inputs) for n in panel.nodes)
        kinds.setdefault(kind, []).append(name)
        insides.setdefault(kind, panel)
    of_word: dict[str, int] = {}
    for kind in kinds:
        of_word[insides[kind].name] = of_word.get(insides[kind].name, 0) + 1
    for kind, names in kinds.items():
        panel = insides[kind]
        several = of_word[panel.name] > 1
        panels.append(replace(panel, name=f"{panel.name} of {names[0].split('.layers')[0]}" if several else panel.name))
    return panels


def panels_to_json(panels: Sequence[ModulePanel]) -> list[Json]:
    """The panels as plain data."""
    return [asdict(panel) for panel in panels]


def _box(operation: str, label: str, detail: str, name: str, module: nn.Module) -> ModuleNode:
    tensors = {id(p): p for p in (*module.parameters(), *module.buffers())}
    return ModuleNode(operation, label, detail, module=name, parameters=sum(p.numel() for p in tensors.values()))


def _stack_panels(model: nn.Module, recorded: _Recorded) -> list[ModulePanel]:
    """A panel for each stack. What is computed outside every stack belongs to the last one."""
    order = list(dict.fromkeys(stack for stack, _ in recorded.places if stack))
    last = order[-1]
    called = {
        name: "pre-trained, frozen" if isinstance(model.get_submodule(name.rpartition(".")[0]), Features) else name
        for name in order
    }
    if len(order) > 1 and "pre-trained, frozen" in called.values():
        called |= {name: "new layers" for name in order if called[name] == name}
    panels = []
    for stack in order:
        mine = [i for i, (place, _) in enumerate(recorded.places) if place == stack or (not place and stack == last)]
        nodes: list[ModuleNode] = []
        layers: list[int | None] = []
        at: dict[int, int] = {}
        foreign: dict[str, int] = {}
        for i in mine:
            node, (place, layer) = recorded.nodes[i], recorded.places[i]
            if not node.inputs:
                nodes.append(ModuleNode("input", "target" if stack == "decoder" and "encoder" in order else "tokens"))
                layers.append(None)
                node = replace(node, inputs=(-1,))
            pooled = getattr(model, "pool", None)
            if not place and node.operation == "function" and pooled:  # one box for the steps of a mean
                before = nodes[-1]
                if before.module == "pool":
                    at[i] = len(nodes) - 1
                    continue
                node = replace(node, label=f"pool: {pooled}", module="pool")
            places = []
            for source in node.inputs:
                if source == -1:
                    places.append(len(nodes) - 1)
                elif source in at:
                    places.append(at[source])
                else:
                    name = called[recorded.places[source][0]]
                    if name not in foreign:
                        foreign[name] = len(nodes)
                        memory = name == "encoder"
                        nodes.append(ModuleNode("input", "encoder" if memory else "features"))
                        layers.append(
                            layer if memory else None
                        )  # a layer reads the one, the stack begins with the other
                    places.append(foreign[name])
            at[i] = len(nodes)
            nodes.append(replace(node, inputs=tuple(dict.fromkeys(places))))
            layers.append(layer)
        panels.append(_with_layers_once(called[stack], nodes, layers))
    return panels


def _with_layers_once(name: str, nodes: Sequence[ModuleNode], layers: Sequence[int | None]) -> ModulePanel:
    """The panel in which equal layers that follow each other are drawn once."""
    boxes: list[ModuleNode] = []
    at: dict[int, int] = {}
    drawn: list[tuple[tuple[Json, ...], list[int], list[int]]] = []  # what a frame has: its shape, places and layers
    for layer, group in groupby(range(len(nodes)), key=layers.__getitem__):
        places = list(group)
        own = [i for i in places if nodes[i].operation != "input"] if layer is not None else []
        shape = tuple(_shape(nodes, i, own) for i in own)
        if drawn and layer is not None and drawn[-1][0] == shape:
            at |= {i: at[first] for i, first in zip(own, drawn[-1][1], strict=True)}
            drawn[-1][2].append(layer)
            continue
        for i in places:
            at[i] = len(boxes)
            boxes.append(replace(nodes[i], inputs=tuple(at[source] for source in nodes[i].inputs)))
        if layer is not None:
            drawn.append((shape, own, [layer]))
    frames = []
    for _, own, span in drawn:
        numbers = f"layer {span[0] + 1}" + (f" to {span[-1] + 1}" if span[1:] else "")
        frames.append((at[own[0]], at[own[-1]], len(span), f"× {len(span)}" if len(drawn) == 1 else numbers))
    return ModulePanel(name, tuple(boxes), tuple(frames))


def _shape(nodes: Sequence[ModuleNode], place: int, own: Sequence[int]) -> tuple[Json, ...]:
    """What makes two nodes of different layers the same box: a constant may differ from layer to layer."""
    node = nodes[place]
    label = "× c" if re.fullmatch(r"[×/] [\d.e-]+", node.label) else node.label
    reads = (own.index(i) if i in own else "encoder" if nodes[i].label == "encoder" else "below" for i in node.inputs)
    return (node.operation, label, node.parameters, *reads)


def _inside(name: str, sublayer: nn.Module, args: tuple[Tensor, ...], *, crosses: bool) -> ModulePanel:
    """A sublayer opened. Queries and keys that the attention transforms have one box for it.

    Where some attention of the model ``crosses``, keys and values have an input of their own.
    """
    boxes = {}
    for path, module in sublayer.named_modules():
        if path and not list(module.children()) and not isinstance(module, nn.Identity):
            shape = f"{module.in_features}→{module.out_features}" if hasattr(module, "in_features") else ""
            operation = "module" if shape else "norm"
            label = path.split(".")[-1] if shape else type(module).__name__
            boxes[module] = _box(operation, label, shape, f"{name}.{path}", module)
    attends = len(args) > 1
    memory = [torch.empty_like(args[0]) if crosses else args[0]] if attends else []
    inputs = [args[0], *memory, *args[2:]]
    with ExitStack() as hooks, torch.device("meta"):
        recorded = hooks.enter_context(_recording(sublayer, boxes, f"{name}."))
        recorded.add(ModuleNode("input", "x"), inputs[0])
        if attends and crosses:
            recorded.add(ModuleNode("input", "x or encoder"), inputs[1])
        if isinstance(sublayer, DotProductAttention):
            ready = sublayer.ready

            def as_one_box(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
                recorded.deep += 1
                rotated = ready(q, k)
                recorded.deep -= 1
                for before, after in zip((q, k), rotated, strict=True):
                    if after is not before:
                        word = type(sublayer).__name__.removesuffix("Attention")
                        recorded.add(ModuleNode("function", word, inputs=recorded.sources(before)), after)
                return rotated

            sublayer.ready = as_one_box  # type: ignore[method-assign]
            hooks.callback(lambda: sublayer.__dict__.pop("ready"))
        sublayer(*inputs)
    return ModulePanel("attention" if attends else "feed-forward", tuple(recorded.nodes))
