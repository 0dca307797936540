"""What stands at each axis of each run, swept in its grid or not."""


def values(plan, base, sweep):
    found = plan(base.replace("seeds: 2", "seeds: 1") + f"sweep: {sweep}\n")
    return [tuple(found.points[run.variant].values()) for run in found.runs]


def test_a_choice_is_a_word_where_all_is_default_else_the_whole(plan, base):
    sweep = "[{norm: [layer, {kind: rms, eps: 1e-6}, {kind: rms, eps: 1e-3}]}, {placement: [{kind: deep, alpha: 1}]}]"
    assert values(plan, base, sweep) == [
        ("layer", "post"),
        ("rms", "post"),
        ({"kind": "rms", "eps": 1e-3}, "post"),
        ("layer", {"kind": "deep", "alpha": 1.0}),
    ]


def test_axes_inside_choices_stacks_and_training(plan, base):
    corpora = "task.corpus: [toy, {kind: toy, pairs: 3}]"
    sweep = f"[{{{corpora}, encoder.attention: [softmax], norm.eps: [1e-3], train.stop: [patience]}}]"
    text = base.replace("placement: post\n", "placement: post\nnorm: rms\ndecoder: {attention: softmax}\n")
    assert values(plan, text, sweep) == [
        ("toy", "softmax", 0.001, "patience"),
        ({"kind": "toy", "pairs": 3}, "softmax", 0.001, "patience"),
    ]


def test_stacks_that_disagree_and_paths_that_are_not_there(plan, base):
    text = base.replace(", layers: 2", "").replace("placement: post\n", "encoder: {layers: 1}\ndecoder: {layers: 2}\n")
    both = "{placement: [{kind: deep, alpha: 1}, post]}"
    sweep = f"[{both}, {{encoder.placement: [{{kind: deep, alpha: 1}}], decoder.placement: [pre]}}]"
    deep = {"kind": "deep", "alpha": 1.0}
    assert values(plan, text, sweep) == [
        (deep, deep, deep),
        ("post", "post", "post"),
        ({"encoder": deep, "decoder": "pre"}, deep, "pre"),
    ]


def test_a_path_that_only_some_variants_have_is_null_in_the_others(plan, base):
    assert values(plan, base, "[{placement: [pre]}, {placement: [{kind: deep, alpha: 1}], placement.alpha: [2]}]") == [
        ("pre", {"encoder": None, "decoder": None}),
        ({"kind": "deep", "alpha": 2.0}, 2.0),
    ]
    assert values(plan, base, "[{placement: [pre]}, {optimizer: [{kind: adam, lr: 1}], optimizer.lr: [2]}]") == [
        ("pre", None, None),
        ("post", {"kind": "adam", "lr": 2.0, "betas": [0.9, 0.98]}, 2.0),
    ]


def test_layers_that_differ_by_stack(plan, base):
    text = base.replace(", layers: 2", "")
    sweep = "[{model.layers: [1]}, {encoder.layers: [1], decoder.layers: [2]}]"
    assert values(plan, text, sweep) == [(1, 1, 1), ({"encoder": 1, "decoder": 2}, 1, 2)]
