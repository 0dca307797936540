"""Every registered piece serves a shipped spec, or says here why it stays although none needs it."""

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.check import check_spec
from lnlab.compile.checked import CheckedSpec
from lnlab.corpora.files.fetch import data_roots
from lnlab.report.gallery import page_of_builder
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import load_spec

ROOT = Path(__file__).parents[1]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
EVERY = {**REGISTRIES, **FRAME_REGISTRIES}

OF_RATES = "what a grid of learning rates shows, for whoever tunes one; Wortsman et al. (2023) report all of them"
TODAY = "a part of the language models of today, for whoever trains one of their kind"
OF_A_LAW = "a number freed of what a paper's law says of it: where the law holds it is the same at every depth"
OWN_DATA = "for a reader's own text"
OF_LOOPS = "what users of other tools look at in their own training, see docs/record_your_training.md"
VERSES = "the largest text in the public domain of which two translations are aligned"
UNUSED = {
    "corpus": {
        "wmt14": "the corpus of Xiong et al., Figure 4 (c, d), which nobody can train on a laptop",
        "bible_en_es": VERSES,
    },
    "labelled_corpus": {"labelled_table": OWN_DATA},
    "text_corpus": {"bible_en_es": VERSES},
    "init": {
        "own": "leaves a reader's own model as it was built",
    },
    "feed_forward": {"gelu": TODAY},
    "stop": {
        "plateau": "the usual early stopping; no run of a spec may stop early, as its curve would be cut",
        "target": "ends a run at a loss, for whoever wants no more of it than how long that takes",
    },
    "intervention": {
        "freeze": "trains all weights but those of some sites, the commonest of ablations",
    },
    "probe": {
        "attention_sink": OF_LOOPS,
        "activation_outliers": OF_LOOPS,
        "gradient_noise": OF_LOOPS,
    },
    "quantity": {
        "gradient_growth": "the gradient of a layer over that of the one before, the plainest sign of vanishing",
        "best_lr": OF_RATES,
        "clipped_share": OF_LOOPS,
        "spike_score": OF_LOOPS,
        "scaled_gradient_norm": OF_A_LAW,
    },
}


def pieces_of_choice(kind: str, choice: Mapping) -> Iterator[tuple[str, str]]:
    """The piece that a resolved choice names, and those of its parameters."""
    yield kind, choice["kind"]
    for parameter, registry in EVERY[kind][choice["kind"]].nested.items():
        yield from pieces_of_choice(registry.kind, choice[parameter])


def pieces_of_setting(setting: Mapping) -> Iterator[tuple[str, str]]:
    """All pieces of a resolved setting."""
    kinds = ("task", "model", "init", "optimizer", "schedule")
    choices = [(kind, setting.get(kind)) for kind in kinds] + [("stop", (setting.get("train") or {}).get("stop"))]
    choices += [("intervention", choice) for choice in setting["interventions"]]
    for stack in (setting[name] for name in ("encoder", "decoder") if name in setting):
        choices += [(kind, stack[kind]) for kind in ("norm", "placement", "attention")]
    for kind, choice in choices:
        if choice:  # what is not trained has no optimizer, and a run need have no rule that ends it
            yield from pieces_of_choice(kind, choice)


def words(value: object) -> Iterator[str]:
    """All text in nested data but the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from words(inner)


def pieces_of_requests(checked: CheckedSpec) -> Iterator[tuple[str, str]]:
    """The probes, sections and claims of a spec; what they name or draw; and the rule that chooses a value."""
    requests = checked.requests
    kinds = (
        ("probe", requests.probes),
        ("section", requests.sections),
        ("claim", requests.claims),
        ("claim", requests.requires),
    )
    for kind, resolved in kinds:
        for request in resolved:
            yield kind, request.choice["kind"]
            named = {*words(request.choice), *request.implied}
            yield from (("quantity", name) for name in named & EVERY["quantity"].entries.keys())
            yield from (("convergence", name) for name in named & EVERY["convergence"].entries.keys())
    for section in requests.sections:  # numbers that it shows whatever it is asked for, by their names in its module
        text = inspect.getsource(inspect.getmodule(EVERY["section"][section.choice["kind"]].build))
        yield from (("quantity", name) for name in EVERY["quantity"].entries if f'"{name}"' in text)
    if checked.tuning:
        yield from (("rule", problem.select.rule["kind"]) for problem in checked.tuning.problems)


@pytest.fixture(scope="module")
def used_by_spec():
    used = {}
    for path in SPECS:
        pieces = used[path.stem] = defaultdict(set)
        document = load_spec(path)
        for profile in (None, *document.data["profiles"]):
            checked = check_spec(document, EVERY, data_roots(path.parent), profile=profile, overrides=(), files=False)
            for kind, name in (
                *pieces_of_requests(checked),
                *(p for s in checked.settings for p in pieces_of_setting(s)),
            ):
                pieces[kind].add(name)
    return used


@pytest.fixture(scope="module")
def used(used_by_spec):
    pieces = defaultdict(set)
    for of_spec in used_by_spec.values():
        for kind, names in of_spec.items():
            pieces[kind] |= names
    return pieces


@pytest.mark.nightly
def test_what_stands_in_the_gallery_is_for_the_spec_of_its_file_alone(used_by_spec):
    users = {
        (entry.kind, entry.name, page): {spec for spec, used in used_by_spec.items() if entry.name in used[entry.kind]}
        for registry in EVERY.values()
        for entry in registry
        if (page := page_of_builder(entry.build))
    }
    assert users
    assert users == {piece: {piece[-1]} for piece in users}


@pytest.mark.nightly
def test_every_piece_is_used_or_says_why_it_stays(used):
    shipped = {
        kind: {entry.name for entry in registry if entry.origin.name == "lnlab"} for kind, registry in EVERY.items()
    }
    unused = {(kind, name) for kind, names in shipped.items() for name in names - used[kind]}
    excused = {(kind, name) for kind, reasons in UNUSED.items() for name in reasons}
    assert unused - excused == set(), "use it in a spec, remove it, or say why it stays"
    assert excused & {(kind, name) for kind, names in used.items() for name in names} == set(), "these are used"
    assert excused <= {(kind, name) for kind, names in shipped.items() for name in names}, "these are gone"
