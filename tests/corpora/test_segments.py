"""Test sets in XML and SGML: read as an independent parser reads them, refused with file, line, cause and remedy."""

import xml.etree.ElementTree as ElementTree
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lnlab.corpora.files import segments as room
from lnlab.corpora.files.archive import Content, read_content
from lnlab.corpora.files.segments import divergence, documents, segment_pairs
from lnlab.errors import CorpusError

TALKS = {"69": ["Eins.", "Zwei &amp; drei", "vier"], "70": ["fünf"]}


def content(text, where="x.xml"):
    return Content(where, text if isinstance(text, bytes) else text.encode())


def refusal(text, **given) -> str:
    with pytest.raises(CorpusError) as caught:
        documents(content(text), **given)
    assert len(caught.value.issues) == 1
    assert caught.value.issues[0].where == "x.xml"
    assert caught.value.issues[0].remedy
    return str(caught.value)


def test_segments_are_read_with_their_numbers_and_nothing_else_is_text_whatever_their_markup(mteval):
    read = documents(content(mteval(TALKS)))
    assert [document.name for document in read] == ["69", "70"]
    assert read[0].segments == [("1", "Eins."), ("2", "Zwei & drei"), ("3", "vier")]
    text = '\ufeff<SRCSET><DOC DOCID="1"><hl><SEG ID="1">a <b>bold</b>\n word</SEG></hl></DOC></SRCSET>'
    assert documents(content(text))[0].segments == [("1", "a bold word")]
    text = '<!DOCTYPE mteval SYSTEM "http://127.0.0.1:1/mteval.dtd">'
    text += '<mteval><doc docid="1"><seg id="1">x</seg></doc></mteval>'
    assert documents(content(text))[0].segments == [("1", "x")]


@pytest.mark.data
@pytest.mark.parametrize("name", ["dev2010", "tst2010", "tst2011", "tst2012"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_real_files_are_read_as_another_parser_reads_them(ted_root, name, language):
    path = ted_root / "iwslt_ted" / f"TED.{name}.de-en.{language}.xml"
    expected = [
        (doc.get("docid"), [(seg.get("id"), " ".join(seg.text.split())) for seg in doc.iter("seg")])
        for doc in ElementTree.parse(path).iter("doc")
    ]
    assert [(document.name, document.segments) for document in documents(read_content(path))] == expected


def test_a_bare_ampersand_is_named_with_its_line_and_what_to_write(mteval):
    said = refusal(mteval({"69": ["gut", "Kraut & Rüben"]}))
    assert "line 7" in said
    assert "not well-formed" in said
    assert "as &amp;" in said


@pytest.mark.parametrize("text", ["Kraut & Rüben", "R&D", "a && b", "&x;", "&#x; &#;", "&", "A &eacute; B"])
def test_in_sgml_a_bare_ampersand_is_one(mteval, text):
    found = documents(content(mteval({"1": [text, "&amp; &lt;&#65;"]})), sgml=True)
    assert [text for _, text in found[0].segments] == [text, "& <A"]


@pytest.mark.parametrize(
    ("text", "cause", "remedy"),
    [
        (b"", "is empty", "get the file again"),
        (b" \n", "is empty", "get the file again"),
        ("<doc><seg>schön</seg></doc>".encode("latin-1"), "line 1 is not UTF-8", "convert"),
        ("<doc>\n<seg>x</seg></doc>".encode("utf-16"), "line 1 is not UTF-8", "convert"),
        ("<doc>\n<seg>x</seg></doc>".encode("utf-16-le"), "line 1 is not UTF-8 (it holds a NUL", "convert"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?>\n<doc/>', "line 1: says that it is 'ISO-8859-1'", "convert"),
        (b"<mteval>\n<doc>\n<seg id='1'>x</seg>\n", "line 4, character 1: not well-formed", "cut off"),
        (b"<mteval>\n<doc>\n<seg id='1'>x</se", "line 3, character", "cut off"),
        (b"<mteval>\n<doc>\n<seg id='1'>x</doc>\n", "line 3, character", "close every element"),
        (b"<doc>\n<seg>a <seg>b</seg></seg></doc>", "line 2: <seg> inside a segment", "</seg>"),
        (b"<mteval>\n<seg>a</seg></mteval>", "line 2: a segment outside any document", "<doc"),
        (b"<mteval><doc></doc></mteval>", "holds no segments", "no test set"),
        (b"plain text", "not well-formed", "close every element"),
        (b"<a>" * 40, "more than 32 elements inside each other", "no test set"),
        (b"<doc><seg>&eacute;</seg></doc>", "undefined entity", "close every element"),
        (b"<!DOCTYPE d SYSTEM 'x.dtd'>\n<d><seg>&y;</seg></d>", "line 2: a segment outside", "between <doc"),
        (b"<!DOCTYPE doc SYSTEM 'x.dtd'>\n<doc>&y;</doc>", "line 2: nobody has declared the entity '&y;'", "character"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_a_remedy(text, cause, remedy):
    said = refusal(text)
    assert cause in said
    assert remedy in said


BOMB = '<!DOCTYPE doc [\n<!ENTITY a "ha">\n<!ENTITY b "&a;&a;&a;&a;">\n]>\n<doc><seg>&b;</seg></doc>'
OUTSIDE = '<!DOCTYPE doc [\n<!ENTITY a SYSTEM "file:///etc/passwd">\n]>\n<doc><seg>&a;</seg></doc>'
PARAMETER = '<!DOCTYPE doc [\n<!ENTITY % a SYSTEM "http://127.0.0.1/x">\n%a;]>\n<doc><seg>x</seg></doc>'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, PARAMETER])
@pytest.mark.parametrize("sgml", [False, True])
def test_no_file_may_declare_an_entity(text, sgml):
    assert "the entity 'a'" in refusal(text, sgml=sgml)


def test_its_size_is_bounded(monkeypatch, mteval):
    monkeypatch.setattr(room, "_LARGEST", 100)
    assert "more than 100 bytes" in refusal(mteval(TALKS))


# --- both sides


def test_both_sides_are_paired(mteval):
    english = {"69": ["One.", "two &amp; three", "four"], "70": ["five"]}
    pairs = segment_pairs(content(mteval(TALKS)), content(mteval(english, side="refset"), "y.xml"))
    assert pairs == [("Eins.", "One."), ("Zwei & drei", "two & three"), ("vier", "four"), ("fünf", "five")]


@pytest.mark.parametrize(
    ("english", "said"),
    [
        (
            {"69": ["a", "b"], "70": ["c"]},
            "4 segments, and 3 in y.xml: document '69' has 3 and 2 segments, and the first",
        ),
        ({"69": ["a", "b"], "70": ["c"]}, "the first that differ are '3' and none"),
        ({"69": ["a", "b", "c"]}, "4 segments, and 3 in y.xml: document '70' is in one of them only"),
        ({"69": ["a", "b", "c"], "71": ["c"]}, "document 2 is '70' here and '71' there"),
        ({"69": ["a", "b", "c"], "70": ["c"], "71": ["d"]}, "document '71' is in one of them only"),
    ],
)
def test_sides_that_differ_are_named_by_document_and_first_segment(mteval, english, said):
    with pytest.raises(CorpusError) as caught:
        segment_pairs(content(mteval(TALKS)), content(mteval(english), "y.xml"))
    assert said in str(caught.value)
    assert caught.value.issues[0].where == "x.xml"


def test_a_segment_that_is_missing_in_the_middle_is_named_though_others_follow(mteval, golden):
    other = mteval({"69": ["a", "b", "c"]}).replace('<seg id="2"> b </seg>\n', "")
    found = divergence(documents(content(mteval({"69": ["a", "b", "c"]}))), documents(content(other)))
    golden(found)


# --- anything at all

MARKUP = """<doc_docid='1'> </doc> <seg_id='1'> </seg> <seg> <DOC> <mteval> </mteval> <hl/> <!DOCTYPE_a>
<!DOCTYPE_a_[ ]> %a; &a; &amp; & &#0; &#xD800; &#1114112; <![CDATA[ ]]> <!-- --> <? ?> < > ' text <a:b> xmlns:a=''
<a_a='1'_a='2'> <?xml_version="1.0"?> <?xml_version="1.0"_encoding="x"?> <?xml_version="1.0"_encoding="utf-16"?>
<!ENTITY_a_"b"> <!ENTITY_%_a_"b"> <!ATTLIST_seg_id_CDATA_'x'>"""
PIECES = [*(piece.replace("_", " ") for piece in MARKUP.split()), "\0", "\ufeff", "\ud7ff", "\U0001f600", "\n"]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3))).map("".join), st.booleans())
@example('<?xml version="1.0" encoding="idna"?><doc/>', False)
@example("<doc><seg>" + "&#x0;" + "</seg></doc>", True)
def test_any_text_is_read_or_refused(text, sgml):
    with suppress(CorpusError):
        found = documents(Content("x", text.encode("utf-8", "surrogatepass")), sgml=sgml)
        assert any(document.segments for document in found)


@given(st.data())
def test_a_real_shape_with_changed_bytes_is_read_or_refused(data):
    raw = bytearray(SHAPE)
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(SHAPE) - 1), st.integers(0, 255)), max_size=4)):
        raw[place] = value
    del raw[data.draw(st.integers(0, len(raw))) :]
    with suppress(CorpusError):
        assert len(segment_pairs(Content("x", bytes(raw)), Content("y", SHAPE), sgml=data.draw(st.booleans()))) == 1


SHAPE = b'<?xml version="1.0" encoding="UTF-8"?>\n<mteval><doc docid="1"><seg id="1">a</seg></doc></mteval>'
