"""All families that are known, by the name of a class."""

from collections.abc import Mapping

from lnlab.own_model.families.bert import BERT
from lnlab.own_model.families.family import Family
from lnlab.own_model.families.gpt import GPT
from lnlab.own_model.families.llama import LLAMA
from lnlab.own_model.families.t5 import T5
from lnlab.own_model.families.torch_layers import TORCH
from lnlab.own_model.families.vision import VISION

_TABLES = (BERT, GPT, LLAMA, T5, TORCH, VISION)
FAMILIES: Mapping[str, tuple[Family, ...]] = {
    name: tuple(family for table in _TABLES for family in table.get(name, ()))
    for name in sorted({name for table in _TABLES for name in table})
}
"""By the name of a class what it may be."""
