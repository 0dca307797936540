"""Gains of branches by hand."""

import pytest

from lnlab.analyse.quantities.branch_gain import branch_gain


@pytest.fixture(scope="module")
def measured(setting, experiment):
    """Attention is given 2 and gives 1/4 back, the feed-forward network is given 3 and gives 6."""

    def rows(variant, seed):
        for sublayer, given, back in (("self_attention", 2.0, 0.25), ("feed_forward", 3.0, 6.0)):
            at = {"quantity": "hidden_norm_sq", "stack": "encoder", "layer": 1, "sublayer": sublayer}
            yield {**at, "tensor": "in", "value": given}
            yield {**at, "tensor": "branch", "value": back}
            yield {**at, "tensor": "sum", "value": 50.0}
        yield {"quantity": "hidden_norm_sq", "stack": "encoder", "sublayer": "embedding", "tensor": "out", "value": 9.0}

    return experiment({"text": setting()}, (1,), rows)


def test_a_gain_is_the_branch_over_what_its_sublayer_was_given(measured):
    rows = branch_gain(measured).filter(variant="text")
    assert dict(rows.select("sublayer", "value").iter_rows()) == {"self_attention": 0.125, "feed_forward": 2.0}
    assert set(rows["tensor"]) == {"branch"}
