"""Translations of a state's model as text, with the sentences of their corpus, for two probes."""

from typing import Annotated, Any, Literal

from pydantic import Field

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.modes import in_mode
from lnlab.probes.probe import State
from lnlab.tasks.decoding import Search, Translator, translate
from lnlab.tasks.translation import Examples, Translation

Split = Literal["train", "validation", "test"]
Number = Annotated[int, Field(ge=1)]
Beam = Annotated[int, Field(ge=1, le=64)]
Alpha = Annotated[float, Field(ge=0, le=10)]
Slope = Annotated[float, Field(ge=0, le=10)]
Offset = Annotated[int, Field(ge=1, le=1_000)]
WHOLE, BATCH, LENGTH = 1_000, 25, 20
"""Assumed sentences of a split, sentences of a batch, and tokens of a sentence, for the cost."""


def prefixes_read(params: dict[str, Any]) -> float:
    """The fact ``passes``: at each token of a sentence the decoder reads all earlier tokens of every prefix again."""
    return float((params["sentences"] or WHOLE) / BATCH * params["beam"] * LENGTH / 2)


def translations_of(state: State, split: str, sentences: int | None, search: Search) -> tuple[Examples, list[str]]:
    """The first sentences of a split and the model's translations. Dropout is off.

    Batch norms use their running statistics, so that no translation depends on the others of its batch.

    Raises:
        CorpusError: the corpus is absent or damaged.
        LabError: there is nothing to translate, or nothing that can, or the split has fewer sentences.
    """
    task, model = state.task, state.model
    if not isinstance(task, Translation) or not isinstance(model, Translator):
        what = f"the model {type(model).__name__} on the task {task.__class__.__name__} does not translate"
        raise LabError(Issue("unsupported", "", what, "measure an encoder_decoder on the task translation"))
    examples = task.examples(split, sentences)
    with in_mode(model, training=False, remembered=True):
        hypotheses = translate(model, examples.sources, examples.rows, search)
    return examples, [examples.tokenizer.decode(hypothesis.tokens) for hypothesis in hypotheses]
