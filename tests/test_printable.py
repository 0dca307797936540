"""No text of a user does anything to a terminal but stand there."""

import io
import json
import os
import sys
import unicodedata

import pytest

from lnlab.cli.terminal import err, out, print_json, terminal_table
from lnlab.consoles import SafeConsole
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.printable import path_as_shown, printable, shown_path

OBEYED = [
    "\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\x85", "\r", "\x08", "\x7f", "\u202e", "\u2066", "\u200f", "\u2028",
]  # fmt: skip
OBEYED += ["\U000e0041", "\udce9", "\ud800"]
"""A colour, the title of the window, to clear the screen (C1), to write to the left; a tag, half a character."""


def is_obeyed(character: str) -> bool:
    """By the Unicode database, not by the code under test."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co") and character not in "\n\t"


@pytest.mark.parametrize("text", OBEYED)
def test_what_a_terminal_obeys_is_written_as_its_escape_also_in_a_problem(text):
    message = str(LabError(Issue("wrong-value", f"where{text}", f"what{text}\n", f"remedy{text}")))
    assert not any(map(is_obeyed, printable(f"a{text}b") + message))
    assert printable(f"a{text}b")[0 :: len(printable(f"a{text}b")) - 1] == "ab"
    assert "\n" not in message


@pytest.mark.parametrize("text", ["Schrödinger 5\u00a0% σ → ✓", "a\tb\nc", "می\u200cخواهم", "👩\u200d🔬", "日本語"])
def test_text_of_any_language_stays_as_it_is(text):
    assert printable(text) == text


@pytest.mark.parametrize("console", [out, err])
@pytest.mark.parametrize("text", OBEYED)
def test_every_way_of_printing_goes_through_the_one_door(console, text, capsys):
    console().print(text)
    console().print(terminal_table([f"head{text}"], [[f"cell{text}"]]))
    console().out(text)
    print_json({f"key{text}": [f"value{text}"]})
    captured = capsys.readouterr()
    assert not any(map(is_obeyed, captured.out + captured.err))


def test_colours_of_lnlab_itself_reach_a_terminal_and_those_of_a_text_do_not():
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="standard", width=80, highlight=False)
    console.print("\x1b[32mgreen", style="red")
    assert "\x1b[31m" in file.getvalue()
    assert "\x1b[32m" not in file.getvalue()
    assert "\\x1b[32mgreen" in file.getvalue()


def test_json_of_hostile_text_says_the_same_as_the_text(capsys):
    text = "\x1b[31m \x9b2J \u202e 5\u00a0% \U000e0041"
    print_json({"text": text})
    assert json.loads(capsys.readouterr().out) == {"text": text}


@pytest.mark.parametrize("name", [b"caf\xe9", b"\xff\xfe", b"plain", "é".encode(), b"a\x80b"])
def test_a_path_of_bytes_has_a_text_and_comes_back_from_it(name):
    text = shown_path(os.fsdecode(name))
    text.encode()
    assert os.fsencode(path_as_shown(text)) == name


def test_a_program_without_standard_error_can_print_there(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    err().print("nobody reads this")
