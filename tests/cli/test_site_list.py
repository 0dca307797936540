"""``lnlab list site SPEC`` prints the sites of the models of a spec."""

import json

import pytest


def test_sites_are_those_of_the_models_of_a_spec(lnlab, tiny):
    found = lnlab("list", "site", "tiny.yaml", "--json")
    assert found.code == 0, found.err
    rows = json.loads(found.out)
    table = next(r for r in rows if r["stack"] == "encoder" and r["sublayer"] == "feed_forward" and r["tensor"] == "w2")
    assert table["layer"] == "1-2"
    assert "gradient_norm" in table["quantities"]
    assert "cross_attention" not in {row["sublayer"] for row in rows if row["stack"] == "encoder"}


def test_it_is_a_table_with_heads_as_an_index(lnlab, tiny):
    text = tiny.read_text()
    probe = "  - {kind: gradient_norm, at: init, batches: 1}\n"
    tiny.write_text(text.replace(probe, f"{probe}  - {{kind: attention_logits, at: init}}\n"))
    found = lnlab("list", "site", "tiny.yaml")
    assert found.code == 0, found.err
    heads = next(line.split() for line in found.out.splitlines() if "logits" in line)
    assert heads[:5] == ["encoder", "1-2", "self_attention", "logits", "1-2"]


@pytest.mark.parametrize(("arguments", "told"), [((), "name a spec"), (("no.yaml",), "no.yaml")])
def test_without_a_spec_there_is_no_model(lnlab, arguments, told):
    found = lnlab("list", "site", *arguments)
    assert found.code == 2
    assert told in found.err
