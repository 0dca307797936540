"""A spec written in Python and the text made of it are the same data."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.errors import SpecError
from lnlab.printable import obeyed_character
from lnlab.specfile.dump import LINE_WIDTH, plain_spec, spec_yaml
from lnlab.specfile.load import parse_spec

# A spec holds no character that shows as none: such a text is refused when it is read.
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(lambda text: not obeyed_character(text))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    WORDS,
    st.sampled_from(["", "no", "~", "1:30", "0o17", "1e-3", "2020-01-01", "a: b", "# c", "<<", "- x", "null", ".inf"]),
)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(WORDS, DATA, min_size=1, max_size=5))
def test_reading_the_text_gives_the_data_again(data):
    document = parse_spec(spec_yaml(plain_spec(data)), Path("x.yaml"))
    assert document.data == data
    assert repr(document.data) == repr(data)  # 1 and 1.0 and true are different


def test_the_text_is_written_as_a_person_would(golden):
    data = {"lnlab": 2, "model": {"kind": "decoder", "layers": 2}, "sweep": [{"model.layers": (1, 2)}]}
    text = spec_yaml(plain_spec(data))
    golden(text)
    assert max(map(len, text.splitlines())) <= LINE_WIDTH


def test_everything_that_is_not_plain_data_is_refused_at_once():
    data = {"model": {"d_ff": float("nan"), "layers": [1, object()]}, "train": {3: 4}, "seeds": 2**70}
    with pytest.raises(SpecError) as caught:
        plain_spec(data)
    assert [problem.where for problem in caught.value.issues] == [
        "spec: model.d_ff",
        "spec: model.layers.1",
        "spec: train",
        "spec: seeds",
    ]
    assert all("\n" not in str(problem) for problem in caught.value.issues)
