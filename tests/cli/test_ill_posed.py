"""A claim that only the rows show to be ill-posed takes no other claim with it: verdicts, page and exit code stand."""

import re

import pytest

ILL = """\
  - id: which_one
    says: It is one, whichever it is.
    kind: bound
    of: {quantity: paired, placement: post}
    at_least: 0.5
  - id: after_which
    says: It is larger, if that one is one.
    kind: ratio
    of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
    to: {placement: pre}
    at_least: 1.1
    requires: {kind: bound, of: {quantity: paired, placement: post}, at_least: 0.5}
profiles:
"""


@pytest.fixture
def spec(plugged):
    text = plugged.read_text().replace("batches: 1}", "batches: 1}\n  - {kind: pair, at: init}")
    plugged.write_text(text.replace("profiles:\n", ILL))
    return plugged


def place(text, key, after):
    """``tiny.yaml:line:col`` of the value of a key, in the first line with it after a word."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if after in line)
    number = next(n for n in range(start, len(lines)) if f"{key}: " in lines[n])
    return f"tiny.yaml:{number + 1}:{lines[number].index(f'{key}: ') + len(key) + 3}"


def test_the_other_claims_are_judged_and_the_page_is_written(lnlab, console, spec):
    said = console("run", "tiny.yaml", "--with", "mine.py", "-w", 1)
    assert said.code == 0
    assert re.search(r"^4 claims: 1 supported, 1 contradicted, 2 ill-posed$", said.out, flags=re.MULTILINE)
    text = spec.read_text()
    for where in (
        f"{place(text, 'of', 'which_one')}: claims.which_one.of",
        f"{place(text, 'of', 'requires')}: claims.after_which.requires.0.of",
    ):
        assert f"{where}: " in said.out
    assert "! ill-posed" in said.out

    report = lnlab("report", "tiny.yaml", "--with", "mine.py")
    assert report.code == 0, report.err
    page = (spec.parent / report.out.splitlines()[0]).read_text()
    marks = re.findall(r'<li class="([a-z-]+)" id="claim-', page)
    assert (marks.count("ill-posed"), marks.count("supported")) == (2, 1)


def test_it_is_stored_like_any_other_and_changes_no_exit_code(lnlab, spec):
    first = lnlab("run", "tiny.yaml", "--with", "mine.py", "-w", 1, "--json").json["verdicts"]
    again = lnlab("run", "tiny.yaml", "--with", "mine.py", "--json", "--fail-on", "contradicted")
    assert (again.json["verdicts"], again.code) == (first, 3)
    assert [each["verdict"] for each in first] == ["supported", "contradicted", "ill-posed", "ill-posed"]
    spec.write_text(f"# a comment moves every line\n{spec.read_text()}")
    moved = lnlab("run", "tiny.yaml", "--with", "mine.py", "--json").json["verdicts"][2]["reason"]
    assert moved.startswith(place(spec.read_text(), "of", "which_one"))


def test_a_claim_in_a_section_is_located_there_with_what_it_inherits_and_requires(lnlab, spec):
    text = spec.read_text().replace(ILL, "profiles:\n")
    section = "  - {kind: depth_profile, quantity: paired, where: {placement: post}, claims: [\n"
    which_one = "      {id: which_one, says: It is one., kind: bound, over: null, at_least: 0.5},\n"
    required = "{kind: bound, of: {quantity: paired, placement: post}, at_least: 0.5}"
    of = "of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last}"
    after = "      {id: after_which, says: It is large., kind: bound, at_least: 0.01,"
    text = text.replace("claims:\n", f"{section}{which_one}{after} {of},\n       requires: {required}}}]}}\nclaims:\n")
    spec.write_text(text)
    reasons = {
        v["claim"]: v["reason"] for v in lnlab("run", "tiny.yaml", "--with", "mine.py", "--json").json["verdicts"]
    }
    lines = text.splitlines()
    line = lines.index(which_one.rstrip()) + 1
    assert reasons["which_one"].startswith(f"tiny.yaml:{line}:7: claims.which_one.of: "), "inherited whole"
    column = lines[line + 1].index("of: ") + 5
    assert reasons["after_which"].startswith(f"tiny.yaml:{line + 2}:{column}: claims.after_which.requires.0.of: ")
