"""Flaws of the experiment as a whole, and what overlays excuse."""

import pytest

from tests.support.refusals import refused


def test_a_file_that_the_task_names_must_be_there(plan, base, tmp_path, golden):
    text = base.replace("corpus: toy", "corpus: {kind: file, path: nowhere.txt}")
    (found,) = refused(plan, text, roots=(tmp_path,))
    golden(found)


def test_a_file_that_cannot_be_read_says_why(plan, base, tmp_path, monkeypatch):
    (tmp_path / "c.txt").write_text("x")

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("lnlab.compile.resolved_sweep.input_of", refuse)
    text = base.replace("corpus: toy", "corpus: {kind: file, path: c.txt}")
    (found,) = refused(plan, text, roots=(tmp_path,))
    assert found.endswith("c.txt: permission denied")


@pytest.mark.parametrize(
    "change",
    [
        ("probes: [{kind: gradient_norm}]\n", ""),
        ("kind: encoder_decoder", "kind: weightless"),
        ("seeds: 2", "seeds: 600000\nsweep: [{placement: [post, pre]}]"),
        ("seeds: 2", "sweep: [{placement: [post], except: [{placement: post}]}]"),
        ("placement: post", "placement: psot\nsweep: [{placement: [post, pre]}]"),
        ("seeds: 2", "encoder: {norm: layer}\nnorm: rms"),
        ("seeds: 2", "seeds: 150001"),
    ],
)
def test_flaws_of_the_whole(plan, base, change, golden):
    golden(refused(plan, base.replace(*change)))


def test_a_flaw_of_a_resolved_setting_is_shown_where_it_is_written(plan, base, golden):
    text = base.replace("layers: 2}", "layers: 2, d_model: 6}")
    (found,) = refused(plan, text)
    golden(found)


@pytest.mark.parametrize(
    "lines",
    [
        "{seeds: 0, model.layers: 3}",
        "{model.hds: 3}",
        "{probes: [{kind: gradient_nrom}]}",
        "{model.layers.deep: 3}",
        "{placement: [psot]}",
    ],
)
def test_what_a_profile_says_is_checked_though_it_is_not_chosen(plan, base, lines, golden):
    text = base + f"profiles: {{p: {lines}}}\n"
    if "placement" in lines:
        text = text.replace("seeds: 2\n", "").replace("probes:", "sweep: [{placement: [post]}]\nprobes:")
    golden(refused(plan, text))


def test_hundreds_of_flawed_points_are_not_all_looked_at(plan, base):
    values = ", ".join(f"x{i}" for i in range(2000))
    found = refused(plan, base + f"sweep: [{{norm: [{values}]}}]\n")
    assert len(found) == 200


def test_the_same_flaw_at_many_points_is_told_once(plan, base):
    text = base.replace("layers: 2}", "layers: 2, hds: 3}") + "sweep: [{placement: [post, pre], norm: [layer, rms]}]\n"
    assert len(refused(plan, text)) == 1


def test_a_single_value_in_the_sweep_is_a_list_of_one(plan, base):
    listed = plan(base.replace("seeds: 2", "sweep: [{placement: [post], model.layers: [2, 4], encoder.norm: [rms]}]"))
    single = plan(base.replace("seeds: 2", "sweep: [{placement: post, model.layers: [2, 4], encoder.norm: rms}]"))
    assert list(single.points.values()) == list(listed.points.values())
    assert (len(single.settings), single.settings) == (2, listed.settings)


NO_OPTIMIZER = "train: {steps: 5}\nschedule: constant\nmethods: {A: {optimizer: {kind: adam, lr: 0.1}}}\n"


@pytest.mark.parametrize(
    "sweep",
    ["[{method: {a: 1}}]", "[{method: [B]}]", "[{optimizer: }]", "[{optimzer: [adam]}]"],
)
def test_what_only_follows_from_a_broken_sweep_is_not_told(plan, base, sweep, golden):
    text = base.replace("seeds: 2", f"{NO_OPTIMIZER}sweep: {sweep}\nprofiles: {{long: {{train.steps: 8}}}}")
    (found,) = refused(plan, text)
    golden(found)


def test_without_a_broken_sweep_it_is(plan, base, golden):
    found = refused(plan, base.replace("seeds: 2", NO_OPTIMIZER))
    golden(found)


def test_what_only_follows_from_a_misspelt_key_is_not_told(plan, base):
    """Of the optimizer an axis of the sweep alone would be left."""
    spec = base + "optimzer: {kind: adam, lr: 0.1}\nsweep: [{optimizer.lr: [0.1, 0.2]}]\n"
    (line,) = refused(plan, spec)
    assert "'optimzer'" in line


def test_what_only_follows_from_a_flawed_probe_is_not_told(plan, base):
    claim = "claims: [{id: a, says: A., kind: bound, of: {quantity: gradient_norm}, at_most: 1}]\n"
    (found,) = refused(plan, base.replace("{kind: gradient_norm}", "{kind: gradient_norm, batchs: 1}") + claim)
    assert "probes.0.batchs" in found


@pytest.mark.parametrize("steps", [10**15, 3 * 10**7, 2**53 - 1])
@pytest.mark.parametrize("rule", ["every: 1", "log: 9000000000000", "every: 7"])
def test_more_measurements_than_a_plan_holds_are_counted_and_not_written_out(plan, base, steps, rule, golden):
    text = base.replace("{kind: gradient_norm}", f"{{kind: gradient_norm, at: {{{rule}}}}}")
    text += f"optimizer: {{kind: adam, lr: 1e-3}}\ntrain: {{steps: {steps}}}\n"
    (found,) = refused(plan, text)
    assert ": probes.0.at: " in found
    golden(found)


def test_a_long_run_that_is_measured_at_its_end_can_be_planned(plan, base):
    text = base + f"optimizer: {{kind: adam, lr: 1e-3}}\ntrain: {{steps: {10**15}, evaluate: end}}\n"
    assert {run.steps for run in plan(text).runs} == {10**15}


@pytest.mark.parametrize(
    "written",
    ["'0,001'", "'1.000,5'", "'1 000'", "'1e-3 '", "½", "'1,000'", "fast"],
)
def test_a_number_as_another_place_writes_it_gets_the_number_that_was_meant(plan, base, written, golden):
    text = base + f"optimizer: {{kind: adam, lr: {written}}}\ntrain: {{steps: 4}}\n"
    (found,) = refused(plan, text)
    golden(found)
