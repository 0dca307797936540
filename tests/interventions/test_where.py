"""Sites as a spec writes them: a word or a list, known words only, and a mistake named with its remedy."""

import pytest

from lnlab.errors import LabError
from lnlab.interventions.intervention import interventions
from lnlab.interventions.where import Activations, Weights
from lnlab.nn.sites import Site
from lnlab.registry import Flawed

SITES = [Site("encoder", n, "feed_forward", word) for n in (1, 2, 3) for word in ("in", "out")]
SITES += [Site("decoder", 1, "cross_attention", "in"), Site("decoder", None, "embedding", "out")]
SITES += [Site(None, None, "output", "out")]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Weights(), SITES),
        (Weights(stack="encoder", layer="last"), SITES[4:6]),
        (Weights(layer="last"), [*SITES[4:6], SITES[6]]),
        (Weights(layer=["first", 3]), [*SITES[:2], *SITES[4:6], SITES[6]]),
        (Weights(sublayer=["output", "embedding"]), SITES[7:]),
        (Activations(tensor="in", stack=["encoder", "decoder"]), [SITES[0], SITES[2], SITES[4], SITES[6]]),
    ],
)
def test_sites_are_chosen_in_their_order_and_layers_by_number_or_end(where, found):
    assert where.select(SITES, "site") == found


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (Weights(layer=4), "where.layer: no site there has layer 4; there is 1, 2, 3"),
        (Weights(stack="decoder", sublayer="final_norm"), "no site there has sublayer final_norm; there is cross_att"),
        (Weights(sublayer="output", layer=1), "no site there has sublayer output; there is feed_forward"),
    ],
)
def test_the_condition_that_leaves_nothing_is_named(where, said):
    with pytest.raises(LabError, match=said):
        where.select(SITES, "site")


@pytest.mark.parametrize(
    ("where", "path", "said"),
    [
        ({"tensor": "w2"}, ("where", "tensor"), 'found "w2"'),
        ({"tensor": ["in", 3]}, ("where", "tensor"), "found"),
        ({"tensor": []}, ("where", "tensor"), "found []"),
        ({"tensor": "in", "layer": 0}, ("where", "layer"), "found 0"),
        ({"tensor": "in", "layer": True}, ("where", "layer"), "found true"),
        ({"tensor": "in", "stack": "encodr"}, ("where", "stack"), 'found "encodr"'),
        ({"tensor": "in", "layr": 1}, ("where", "layr"), "'where' has no key 'layr'"),
        ({"stack": "encoder"}, ("where",), "needs 'tensor'"),
    ],
)
def test_what_is_no_site_is_refused_with_its_place(where, path, said):
    with pytest.raises(Flawed) as caught:
        interventions.resolve({"kind": "clamp", "where": where})
    (flaw,) = caught.value.issues
    assert flaw.path == path
    assert said in flaw.what
    assert flaw.remedy
