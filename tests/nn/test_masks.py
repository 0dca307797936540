"""Masks, position by position."""

import torch

from lnlab.nn.masks import causal, padding

TOKENS = torch.tensor([[5, 6, 0], [7, 0, 0]])


def test_padding_lets_every_query_see_what_is_not_padding():
    assert padding(TOKENS).tolist() == [[[[True, True, False]]], [[[True, False, False]]]]


def test_causal_lets_a_query_see_itself_and_what_came_before():
    first, second = causal(TOKENS)[:, 0].tolist()
    assert first == [[True, False, False], [True, True, False], [True, True, False]]
    assert second == [[True, False, False]] * 3
