"""The signature is the schema."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from typing import Annotated, Any, Literal

import pytest

from lnlab import registry as module
from lnlab.errors import LabError
from lnlab.facts import DataFacts, Facts
from lnlab.issues import Issue
from lnlab.plugins import Origin, load_plugin
from lnlab.registry import Flawed, Registry, default


@dataclass(frozen=True)
class Speed(Facts):
    """How fast."""

    speed: int
    unit: Literal["tokens", "sentences"] = "tokens"
    passes: Callable[[dict[str, Any]], float] | None = None


def lab() -> tuple[Registry[Callable[..., Any]], Registry[Callable[..., Any]]]:
    """Two toy registries: tasks, one of whose parameters is a corpus."""
    corpora: Registry[Callable[..., Any]] = Registry("corpus", DataFacts)
    tasks: Registry[Callable[..., Any]] = Registry("task", Speed)

    @corpora.register("toy")
    def toy(roots: tuple[str, ...], *, pairs: int = 10) -> tuple[object, int]:
        """``toy``: a corpus (nobody, 2000)."""
        return roots, pairs

    @corpora.register("file", fingerprint=lambda roots, choice: f"content of {roots[0]}/{choice['path']}")
    def file(roots: tuple[str, ...], *, path: str) -> str:
        """``file``: a corpus (nobody, 2000)."""
        return path

    @tasks.register("translate", version=2, speed=3)
    def translate(
        draw: object,
        *,
        corpus: Annotated[Callable[..., Any], corpora],
        spare: Annotated[Callable[..., Any], corpora] = default("toy", pairs=1),
        rate: float = 1,
        betas: tuple[float, float] = (0.9, 0.98),
    ) -> object:
        """``translate``: a task (nobody, 2001)."""
        return corpus(("root",)), spare(("root",)), rate, betas

    return tasks, corpora


def flaws(registry: Registry[Any], given: object) -> tuple[Issue, ...]:
    with pytest.raises(Flawed) as caught:
        registry.resolve(given)
    return caught.value.issues


def test_a_resolved_choice_holds_every_default_in_the_order_of_the_signature_and_resolving_is_idempotent():
    tasks, _ = lab()
    resolved = tasks.resolve({"kind": "translate", "betas": [1, 2], "corpus": "toy"})
    assert resolved == {
        "kind": "translate",
        "corpus": {"kind": "toy", "pairs": 10},
        "spare": {"kind": "toy", "pairs": 1},
        "rate": 1.0,
        "betas": [1.0, 2.0],
    }
    assert list(resolved) == ["kind", "corpus", "spare", "rate", "betas"]
    assert isinstance(resolved["rate"], float)
    assert tasks.resolve(resolved) == resolved


def test_the_builder_gets_its_parameters_in_the_types_of_its_signature_and_waits_for_what_the_lab_supplies():
    tasks, _ = lab()
    built = tasks.builder(tasks.resolve({"kind": "translate", "corpus": {"kind": "toy", "pairs": 1e1}}))(None)
    assert built == ((("root",), 10), (("root",), 1), 1.0, (0.9, 0.98))
    assert isinstance(built[3], tuple)


def test_every_flaw_is_reported_at_once_with_its_path():
    tasks, _ = lab()
    found = flaws(tasks, {"kind": "translate", "corpus": {"kind": "toy", "pairz": 1}, "rate": "fast", "bettas": 1})
    assert {flaw.path for flaw in found} == {("corpus", "pairz"), ("rate",), ("bettas",)}
    remedies = {flaw.path: flaw.remedy for flaw in found}
    assert "did you mean 'pairs'" in remedies[("corpus", "pairz")]
    assert "did you mean 'betas'" in remedies[("bettas",)]


@pytest.mark.parametrize(
    ("given", "path", "what"),
    [
        ("translat", ("kind",), "no task is called 'translat'"),
        ({"kind": "translate"}, (), "'corpus' is required"),
        ({"rate": 1}, (), "expected a task"),
        (3, (), "expected a task, found 3"),
        ({"kind": "translate", "corpus": "toy", "rate": True}, ("rate",), "found true"),
        ({"kind": "translate", "corpus": "toy", "rate": "1e-3"}, ("rate",), 'found "1e-3"'),
        ({"kind": "translate", "corpus": "toy", "rate": float("nan")}, ("rate",), "found NaN"),
        ({"kind": "translate", "corpus": {"kind": "toy", "pairs": 1.5}}, ("corpus", "pairs"), "found 1.5"),
    ],
)
def test_a_wrong_choice_says_where_and_what(given, path, what):
    tasks, _ = lab()
    (flaw,) = flaws(tasks, given)
    assert flaw.path == path
    assert what in flaw.what
    assert flaw.remedy


def test_the_key_depends_on_parameters_version_nested_choices_and_content_and_on_nothing_else(monkeypatch):
    tasks, corpora = lab()
    key = lambda given, roots=(): tasks.key(tasks.resolve(given), roots)  # noqa: E731
    base = {"kind": "translate", "corpus": "toy"}
    assert key(base) == key({"corpus": {"kind": "toy"}, "kind": "translate", "rate": 1})
    others = [
        key({**base, "rate": 2}),
        key({**base, "corpus": {"kind": "toy", "pairs": 11}}),
        key({**base, "corpus": {"kind": "file", "path": "x"}}, ("a",)),
        key({**base, "corpus": {"kind": "file", "path": "x"}}, ("b",)),
    ]
    assert len({key(base), *others}) == 5
    before = key(base)
    monkeypatch.setattr(corpora, "_entries", {**corpora._entries, "toy": _bumped(corpora["toy"])})
    assert key(base) != before


def _bumped(entry):
    return type(entry)(entry.kind, entry.name, entry.build, entry.version + 1, entry.origin, entry.facts)


def test_names_cannot_be_taken_twice_nor_parameters_called_as_pydantic_or_the_grammar_calls_its_own(golden):
    tasks, _ = lab()
    with golden.raises(ValueError):
        tasks.register("translate", speed=1)(lambda: None)
    for word in ("model_dump", "copy", "kind"):
        namespace: dict[str, Any] = {}
        exec(f"def build(*, {word}=1): pass", namespace)
        with pytest.raises(ValueError, match=f"cannot be called '{word}'"):
            tasks.register("other", speed=1)(namespace["build"])


def test_third_parties_register_through_entry_points_loaded_when_first_asked(monkeypatch):
    tasks: Registry[Callable[..., Any]] = Registry("task")
    loaded = []

    class Point(EntryPoint):
        def load(self):
            loaded.append(self.name)
            tasks.register("theirs")(lambda draw: draw)

    monkeypatch.setattr(module, "installed_pieces", lambda: EntryPoints([Point("theirs", "x", "lnlab.task")]))
    assert not loaded
    assert [e.name for e in tasks] == ["theirs"]
    assert tasks["theirs"].origin.name == "theirs"
    assert loaded == ["theirs"]


def test_a_package_that_fails_while_it_registers_is_named_each_time(monkeypatch, golden):
    tasks: Registry[Callable[..., Any]] = Registry("task")

    class Point(EntryPoint):
        def load(self):
            raise ImportError("no module named 'numpi'")

    monkeypatch.setattr(module, "installed_pieces", lambda: EntryPoints([Point("theirs", "x", "lnlab.task")]))
    for _ in range(2):
        with golden.raises(LabError):
            list(tasks)


def test_a_plugin_file_registers_its_pieces_and_its_digest_joins_their_keys(tmp_path, monkeypatch):
    tasks: Registry[Callable[..., Any]] = Registry("task")
    monkeypatch.setattr(module, "TASKS", tasks, raising=False)
    keys = []
    for body in ("return 1", "return 2"):
        monkeypatch.setattr(tasks, "_entries", {})
        plugin = tmp_path / "mine.py"
        plugin.write_text(f"from lnlab.registry import TASKS\n@TASKS.register('mine')\ndef mine(draw):\n    {body}\n")
        digest = load_plugin(plugin)
        assert tasks["mine"].origin == Origin("mine.py", digest)
        keys.append(tasks.key(tasks.resolve("mine")))
    assert keys[0] != keys[1]


def test_a_plugin_that_is_absent_broken_or_not_python_is_named(tmp_path, golden):
    plugin = tmp_path / "mine.py"
    for text, what in ((None, "there is no such file"), ("1/0", "fails while it loads")):
        if text is not None:
            plugin.write_text(text)
        with pytest.raises(LabError, match=what) as caught:
            load_plugin(plugin)
        assert caught.value.issues[0].where == (str(plugin) if text is None else f"{plugin}:1")
    (tmp_path / "mine.txt").write_text("hello")
    with golden.raises(LabError):
        load_plugin(tmp_path / "mine.txt")


@pytest.mark.parametrize(
    "facts",
    [
        *({"speed": 1, "units": "tokens"}, {}, {"speed": "1"}, {"speed": True}, {"speed": 1, "unit": "bytes"}),
        *({"speed": 1, "passes": 3.0}, {"colour": 1, "speed": None}),
    ],
)
def test_what_is_no_fact_of_a_registry_is_refused_when_it_is_registered(facts, golden):
    tasks: Registry[Callable[..., Any]] = Registry("task", Speed)
    with golden.raises(LabError):
        tasks.register("mine", **facts)
    assert not tasks.entries
    with pytest.raises(LabError, match="causal"):
        Registry("attention").register("mine", causal=True)


def test_a_misspelt_fact_of_a_plugin_is_told_with_its_line(tmp_path, golden):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        'from lnlab.nn.norms import norms\n\n@norms.register("mine", statistic="batch")\ndef mine(width): ...\n'
    )
    with pytest.raises(LabError) as raised:
        load_plugin(plugin)
    misspelt, missing = raised.value.issues
    assert all(str(issue).startswith(f"{plugin}:3: ") for issue in (misspelt, missing))
    golden(str(misspelt))
    golden(str(missing))
