"""What each parameter means: the sentence of its docstring that names it, else what the name means everywhere."""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import getdoc
from typing import Any

COMMON_MEANINGS: Mapping[str, str] = {
    "a": "lower end of the interval",
    "alpha": "exponent of the length penalty",
    "against": "the law that it is compared with",
    "at_least": "lower edge of the accepted range",
    "at_most": "upper edge of the accepted range",
    "b": "upper end of the interval",
    "base_width": "the width at which the parametrization is the standard one",
    "batches": "number of batches that are averaged",
    "beam": "beam width; 1 decodes greedily",
    "below": "share of what can be learned below which a candidate fails",
    "beta1": "decay of Adam's first moment",
    "beta2": "decay of Adam's second moment",
    "between": "the accepted range, as [low, high]",
    "bins": "number of bins",
    "columns": "path or column with one column per value",
    "corpus": "where the text comes from",
    "d_ff": "width of the feed-forward networks",
    "d_model": "width of the residual stream",
    "decay": "share of the run, at its end, over which the learning rate falls",
    "direction": "`up` or `down`",
    "draws": "random start vectors that are averaged",
    "dropout": "dropout probability",
    "eps": "added under the square root or to the denominator",
    "epsilon": "relative excess over the mean that counts",
    "factor": "factor by which a quantity is multiplied, or within which two count as equal",
    "feed_forward": "the feed-forward network of every layer",
    "fix_norm": "normalize embeddings to a fixed length",
    "floor": "factor of the learning rate at the end",
    "gradient_relative": "size of the step against the gradient's sign, in units of each matrix's r.m.s.",
    "heads": "number of attention heads",
    "iterations": "steps of the Newton-Schulz iteration",
    "keep": "keep the Lanczos basis in memory; `false` needs less and takes longer",
    "label_smoothing": "share of the target distribution that is spread over the vocabulary",
    "language": "`en`, the King James Version, or `es`, the Reina-Valera of 1909",
    "lanczos": "`full` re-orthogonalization, or `papyan`, without",
    "law": "the law that is claimed",
    "length": "tokens per sentence",
    "length_penalty": "form of the divisor that grows with the length of a hypothesis",
    "linear": "the linear map of attention and feed-forward networks",
    "lines": "path of the setting that tells the lines of a panel apart",
    "lowercase": "lowercase the text",
    "lr": "learning rate",
    "matrices": "the matrices that are drawn by the rule; the others are Xavier uniform",
    "matrices_warmup_steps": "training steps of warm-up of the hidden matrices",
    "max_len_a": "longest translation, as a multiple of the source's length",
    "max_len_b": "longest translation, in tokens on top of that multiple",
    "momentum": "decay of the accumulated gradient; 0 is plain SGD",
    "nesterov": "whether the momentum is Nesterov's, which looks one step ahead",
    "of": "selection of the rows that are judged or drawn",
    "operator": "`hessian`, `ggn` or `hessian_minus_ggn`",
    "less": "what `of` changes for the effect that is subtracted",
    "less_to": "what the other selection of that effect changes besides",
    "others": "the optimizer of all other parameters",
    "others_warmup_steps": "training steps of warm-up of all other parameters",
    "over": "path or column along which there is one number per seed and value",
    "panels": "path of the setting that has one panel per value",
    "positions": "positional encoding",
    "precision": "floating-point type of the computation",
    "qk_gain": "gain of the query and key matrices",
    "quantity": "the measured or derived quantity that is shown",
    "random_relative": "size of the random step, in units of each matrix's r.m.s.",
    "reduce": "how the numbers along `over` become one per seed",
    "rows": "path or column with one row per value",
    "scale": "`log` or `linear`: of axis and interval",
    "scope": "which parameters: `all`, or the part that is named",
    "sentences": "number of sentences",
    "shape": "which dimensions count as fan-in and fan-out",
    "share": "how far the loss must lie below the entropy of the labels, as a share of it",
    "sigma": "standard deviation of the simulated gradients",
    "split": "which split of the corpus is read",
    "tables": "whether embedding tables are drawn by the rule, too",
    "test": "sentences of the test split",
    "to": "what the other selection changes",
    "tokenizer": "how text becomes tokens",
    "train": "sentences of the training split",
    "validation": "sentences of the validation split",
    "vocabulary": "number of tokens in the vocabulary",
    "warmup_steps": "training steps of warm-up",
    "weight_decay": "decoupled weight decay per training step, of every parameter but gates",
    "where": "selection of the rows that are shown, or of the sites that change",
    "words": "tokenization of words, as sacreBLEU names it",
    "x": "path or column of the horizontal axis",
}
"""Parameters that mean the same wherever they occur, so that no docstring has to explain them again."""
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z`])")
_CODE_SECTIONS = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):", re.MULTILINE)
_SPOKEN = 2
"""Sentences that a parameter's meaning may have."""


def meaning(build: Callable[..., Any], name: str) -> str:
    """What a parameter of a builder means, in at most two sentences with single backticks. Empty if undocumented."""
    token = re.compile(rf"``{re.escape(name)}(``|:|=| )")
    _, *after_formula = _sentences(getdoc(build) or "-")
    stated = [sentence for sentence in after_formula if token.search(sentence)]
    whole = (sentence.removesuffix(";") + "." * sentence.endswith(";") for sentence in stated[:_SPOKEN])
    return " ".join(whole).replace("``", "`") or COMMON_MEANINGS.get(name, "")


def remaining_text(build: Callable[..., Any], names: Iterable[str]) -> str:
    """What the docstring of a builder says after its first line that is the meaning of none of these parameters."""
    meanings = " ".join(meaning(build, name) for name in names)
    body = (getdoc(build) or "").partition("\n")[2]
    sentences = (sentence.replace("``", "`") for sentence in _sentences(body))
    return " ".join(sentence for sentence in sentences if sentence.removesuffix(";") not in meanings)


def _sentences(text: str) -> list[str]:
    """The sentences of a docstring, without what is for callers of the code."""
    prose = _CODE_SECTIONS.split(text)[0]
    return [sentence for sentence in _SENTENCE.split(" ".join(prose.split())) if sentence]
