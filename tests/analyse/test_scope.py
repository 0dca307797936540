"""What a number is about, in words."""

from lnlab.select.scope import scope_sentence


def test_a_scope_has_sizes_corpus_steps_and_seeds_also_of_a_lone_stack(setting, experiment):
    variants = {str(n): setting(encoder=n, decoder=n, d_model=128) for n in (10, 6, 8)}
    told = experiment(variants, (1,), lambda v, s: [])
    assert scope_sentence(told, variants, [0], 10) == "6-6 ... 10-10, d_model 128, toy, at init, 10 seeds"
    assert scope_sentence(told, ["6", "8"], [0], 1) == "6-6, 8-8, d_model 128, toy, at init, 1 seed"
    told = experiment({"a": setting()}, (1,), lambda v, s: [])
    assert "after 0 to 100 updates" in scope_sentence(told, ["a"], [100, 0, 50], 3)
    assert "after 100 updates" in scope_sentence(told, ["a"], [100], 3)
    assert scope_sentence(told, ["a"], [1], 3).endswith("after 1 update, 3 seeds")
    assert "without a number" in scope_sentence(told, ["a"], [], 0)
    told = experiment({"a": {"encoder": {"layers": 3}}, "b": {"task": None}}, (1,), lambda v, s: [])
    assert scope_sentence(told, ["a"], [0], 2) == "3 layers, at init, 2 seeds"
    one = experiment({"a": {"encoder": {"layers": 1}}}, (1,), lambda v, s: [])
    assert scope_sentence(one, ["a"], [0], 2) == "1 layer, at init, 2 seeds"
    assert scope_sentence(told, ["b"], [0], 2) == "at init, 2 seeds"
