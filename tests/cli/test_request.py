"""Between the command line and a plan: what is wrong with the text and what is wrong with its meaning come together."""

from pathlib import Path

SPEC = """lnlab: 2
title: x
task: {kind: translation, corpus: toy_german_english}
model: {kind: encoder_decoder, layers: 2, d_model: 32, heads: 4, d_ff: .nan}
placement: post
placement: pre
sed: 5
norm: leyer
probes: [{kind: gradient_norm}]
"""


def test_faulty_values_second_keys_unknown_keys_and_unknown_kinds_are_all_told_at_once(workdir, console):
    Path("bad.yaml").write_text(SPEC)
    places = [line.split(": ")[0] for line in console.refused("check", "bad.yaml", lines=4).splitlines()]
    assert sorted(places) == ["bad.yaml:4:72", "bad.yaml:6:1", "bad.yaml:7:1", "bad.yaml:8:7"]
    Path("bad.yaml").write_text(SPEC.replace("d_ff: .nan", "d_ff: 64").replace("sed: 5\nnorm: leyer\n", ""))
    assert console.refused("check", "bad.yaml").startswith("bad.yaml:6:1: ")
