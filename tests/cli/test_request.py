"""Between the command line and a plan: what is wrong with the text and what is wrong with its meaning come together."""

from lnlab.cli import main

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


def test_faulty_values_second_keys_unknown_keys_and_unknown_kinds_are_all_told_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text(SPEC)
    assert main(["check", "bad.yaml"]) == 2
    told = capsys.readouterr().err.splitlines()
    places = [line.split(": ")[0] for line in told]
    assert sorted(places) == ["bad.yaml:4:72", "bad.yaml:6:1", "bad.yaml:7:1", "bad.yaml:8:7"]
    assert "did you mean 'layer'" in next(line for line in told if "leyer" in line)


def test_text_that_is_faulty_and_otherwise_right_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text(SPEC.replace("d_ff: .nan", "d_ff: 64").replace("sed: 5\nnorm: leyer\n", ""))
    assert main(["check", "bad.yaml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bad.yaml:6:1: 'placement' is given twice")
