import json
import math

import pytest

from lnlab.app.formats import format_count, format_duration, format_quantity
from lnlab.cli.terminal import one_line, out, print_json, terminal_table


def test_control_characters_cannot_reach_the_terminal():
    assert one_line("a\x1b[31mred\n  b\x07") == "a\\x1b[31mred b\\x07"


def test_text_that_looks_like_markup_is_printed_as_it_stands(capsys):
    out().print(terminal_table(["a"], [["[bold]x[/bold] :smile:"]]))
    assert "[bold]x[/bold] :smile:" in capsys.readouterr().out


def test_a_row_is_one_line_in_a_pipe_however_long(capsys):
    out().print(terminal_table(["a", "b"], [["word " * 200, "end"]]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].rstrip().endswith("end")


def test_json_has_no_nan_and_keeps_every_number(capsys):
    print_json({"a": [1, 0.1, math.nan, math.inf], "b": None, "c": "é", "d": True})
    printed = capsys.readouterr().out
    assert json.loads(printed, parse_constant=pytest.fail) == {
        "a": [1, 0.1, None, None],
        "b": None,
        "c": "é",
        "d": True,
    }


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.44, "0.4 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3600, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_read_as_a_person_says_them(seconds, said):
    assert format_duration(seconds) == said


def test_quantities_carry_metric_prefixes():
    assert format_quantity(3.421e9, "FLOP") == "3.42 GFLOP"
    assert format_quantity(999, "B") == "999 B"
    assert format_quantity(1_200_000, "") == "1.2 M"


def test_counts_agree_with_their_noun():
    assert format_count(1, "run") == "1 run"
    assert format_count(12_000, "run") == "12,000 runs"
