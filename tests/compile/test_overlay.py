"""Base, then profile, then arguments from left to right; pins; and where each part was written."""

from lnlab.compile.sweep.overlay import merge_spec


def drafted(document, text, profile=None, *arguments):
    return merge_spec(document(text), profile, arguments)


PROFILE = "profiles: {p: {norm.eps: 1, norm: rms, seeds: 3, model.layers: 9}}\n"


def test_later_layers_win_and_the_order_of_a_profile_does_not_matter(base, document):
    made = drafted(document, base + PROFILE, "p", "model.layers=5", "model.layers=6", "norm.eps=2")
    assert made.data["norm"] == {"kind": "rms", "eps": 2}
    assert made.data["model"]["layers"] == 6
    assert made.data["seeds"] == 3
    assert made.issues == []


def test_every_part_knows_where_it_was_written(base, document):
    made = drafted(document, base + PROFILE, "p", "norm.eps=2")
    assert made.written(("norm", "eps")) == "-s norm.eps=2"
    assert made.written(("norm", "kind")) == ("profiles", "p", "norm", "kind")
    assert made.written(("model", "layers")) == ("profiles", "p", "model.layers")
    assert made.written(("model", "kind")) == ("model", "kind")
    assert made.written(("seeds",)) == ("profiles", "p", "seeds")


SWEEP = "sweep: [{placement: [post, pre], norm: [layer]}, {placement: [post]}]\n"


def test_of_several_pins_of_a_path_the_last_counts(base, document):
    profile = "profiles: {p: {placement: post}}\n"
    for arguments, word in ((["placement=pre"], "pre"), (["placement=pre", "placement=post"], "post")):
        made = drafted(document, base + SWEEP + profile, "p", *arguments)
        assert made.pins["placement"].value == made.data["placement"] == word


def test_of_methods_whose_names_begin_alike_the_longest_that_fits_is_meant(base, document):
    methods = "methods: {a: {norm: rms}, a.norm: {placement: post}}\nsweep: [{method: [a, a.norm]}]\n"
    made = drafted(document, base + methods, None, "methods.a.norm.placement=pre")
    assert made.issues == []
    assert made.data["methods"] == {"a": {"norm": "rms"}, "a.norm": {"placement": "pre"}}


def test_flaws_of_a_profile_that_is_not_chosen_are_found_too(base, document):
    made = drafted(document, base + "profiles: {p: {titel: 1}, q: 3}\n")
    assert [issue.place for issue in made.issues] == [("profiles", "p", "titel")]
    assert drafted(document, base + "profiles: 3\n").issues == []
