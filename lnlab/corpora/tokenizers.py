"""The registry of tokenizers."""

from collections.abc import Callable
from typing import Protocol

from lnlab.registry import Registry


class Tokenizer(Protocol):
    """Text to tokens and back."""


tokenizers: Registry[Callable[..., Tokenizer]] = Registry("tokenizer")
