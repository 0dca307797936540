"""A plan in words, briefly where there is much of it."""

from lnlab.compile.reference.explain import call_label, explain, seed_spans


def test_many_variants_are_cut(plan, base):
    lines = explain(plan(base + f"sweep: [{{model.layers: {list(range(1, 61))}}}]\n"))
    assert sum(line.startswith("variant") for line in lines) == 40
    assert "and 20 variants more" in lines


def test_seeds_in_spans():
    assert seed_spans((1, 2, 3, 7, 9, 10)) == "1-3, 7, 9-10"


def test_labels():
    assert call_label({"kind": "rms", "eps": 1e-3}) == "rms(eps=0.001)"
    assert call_label({"encoder": "layer", "decoder": None}) == "layer/null"
    assert call_label([1, 2]) == "[1,2]"


def test_many_steps_of_a_probe_share_a_line(plan, base):
    text = base.replace("{kind: gradient_norm}", "{kind: gradient_norm, at: {every: 1}}")
    trained = text + "optimizer: {kind: adam, lr: 1e-3}\ntrain: {steps: 5000}\n"
    lines = [line for line in explain(plan(trained)) if "gradient_norm" in line]
    assert lines == ["probe gradient_norm(batches=6) at 5,001 steps from 0 to 5000: 10,002 measurements"]
