"""Group and instance norm against torch's, sentence by sentence without their padding."""

import pytest
import torch
from torch import nn

from lnlab.nn.norms import norms
from lnlab.nn.pooled import token_mask
from lnlab.nn.sequence_norms import GroupNorm

LENGTHS = (5, 3, 1)
KINDS = {
    "instance": (norms.builder(norms.resolve("instance")), nn.GroupNorm(8, 8)),
    "4 groups": (norms.builder(norms.resolve({"kind": "group", "groups": 4})), nn.GroupNorm(4, 8)),
    "1 group": (norms.builder(norms.resolve({"kind": "group", "groups": 1})), nn.GroupNorm(1, 8)),
}


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(3, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3 + 1


@pytest.mark.parametrize(("make", "theirs"), KINDS.values(), ids=KINDS.keys())
def test_each_sentence_is_torchs_norm_of_its_tokens(x, make, theirs):
    mine, theirs = make(8).double(), theirs.double()
    for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.nn.init.normal_(p)
        q.data.copy_(p.data)
    present = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    with token_mask([mine], present):
        found = mine(x)
    for row, sentence, length in zip(found, x, LENGTHS, strict=True):
        if length > 1 or make is not KINDS["instance"][0]:  # torch refuses a statistic of one value
            torch.testing.assert_close(row[:length], theirs(sentence[:length].T[None])[0].T)


def test_instance_norm_is_torchs_and_one_group_the_norm_of_the_whole_matrix(x):
    mine, theirs = KINDS["instance"][0](8).double(), nn.InstanceNorm1d(8)
    torch.testing.assert_close(mine(x), theirs(x.mT).mT)
    whole = (x - x.mean((1, 2), keepdim=True)) / (x.var((1, 2), correction=0, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(GroupNorm(8, groups=1).double()(x), whole)
    norm = KINDS["instance"][0](8).double()
    nn.init.normal_(norm.bias)
    torch.testing.assert_close(norm(x[:, :1]), norm.bias.expand(3, 1, 8))
    with pytest.raises(ValueError, match="width 8, which 3 groups"):
        GroupNorm(8, groups=3)
