"""Tables for papers: every character prints as itself, and none of them is a command."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.report.page.latex import SPECIAL, booktabs_table, escape_latex
from lnlab.report.table import Grid, reader_grid
from lnlab.report.words.control_characters import without_control_characters
from tests.report.latex_reader import printed

STRINGS = json.loads(Path(__file__).with_name("hostile.json").read_text())
PRINTED = str.maketrans({"✓": "√", "✗": "×", "'": "’"})
"""Signs that look like another one on paper."""


@pytest.mark.parametrize("text", STRINGS)
def test_a_hostile_text_prints_as_it_stands(text):
    assert printed(escape_latex(text)) == without_control_characters(text).translate(PRINTED)


def test_so_does_every_sign_that_is_written_otherwise():
    for sign in SPECIAL:
        assert printed(escape_latex(sign)) == sign.translate(PRINTED)


@given(st.text(st.characters(exclude_characters="\u0302") | st.sampled_from("-–'’”‘“,`\\{}$&#%_^~")))
def test_so_does_any_text(text):
    assert printed(escape_latex(text)) == without_control_characters(text).translate(PRINTED)


@pytest.mark.parametrize("wrong", ["\\input{x}", "a_b", "{x}", "100 %", "#1", "a & b", "$x$", "\\%\\", "a^2"])
def test_the_reader_of_these_tests_takes_no_command_for_text(wrong):
    with pytest.raises(ValueError, match=r"no (text|formula)"):
        printed(wrong)


def test_a_table_is_a_booktabs_table_with_numbers_flush_right():
    rows = pl.DataFrame({"series": ["Post-LN", "Pre_LN"], "estimate": [1.5, None]})
    text = booktabs_table(reader_grid(rows, {"series": "variant", "estimate": "norm"}, "What."), "tab:x")
    assert r"\begin{tabular}{lr}" in text
    assert "variant & norm \\\\\n\\midrule\nPost-LN & 1.50 \\\\\nPre\\_LN & -- \\\\\n\\bottomrule" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2


def test_a_bracket_after_a_line_end_is_not_taken_for_its_argument():
    made = Grid("c", ("a",), ((("[2cm]", False),), (("*", False),)))
    assert "{[2cm]} \\\\\n{*} \\\\" in booktabs_table(made, "l")
