"""Verb forms of the toy German, against a dictionary's."""

import pytest

from lnlab.corpora.toy import verbs

# infinitive, vowel change, then ich, du, er, wir, ihr, sie: from a dictionary
PRESENT = [
    ("machen", "", "mache machst macht machen macht machen"),
    ("arbeiten", "", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
    ("öffnen", "", "öffne öffnest öffnet öffnen öffnet öffnen"),
    ("begegnen", "", "begegne begegnest begegnet begegnen begegnet begegnen"),
    ("lernen", "", "lerne lernst lernt lernen lernt lernen"),
    ("sammeln", "", "sammle sammelst sammelt sammeln sammelt sammeln"),
    ("füttern", "", "füttere fütterst füttert füttern füttert füttern"),
    ("sitzen", "", "sitze sitzt sitzt sitzen sitzt sitzen"),
    ("schließen", "", "schließe schließt schließt schließen schließt schließen"),
    ("lesen", "lies", "lese liest liest lesen lest lesen"),
    ("sehen", "sieh", "sehe siehst sieht sehen seht sehen"),
    ("halten", "hält", "halte hältst hält halten haltet halten"),
    ("laden", "läd", "lade lädst lädt laden ladet laden"),
    ("essen", "iss", "esse isst isst essen esst essen"),
    ("nehmen", "nimm", "nehme nimmst nimmt nehmen nehmt nehmen"),
    ("verraten", "verrät", "verrate verrätst verrät verraten verratet verraten"),
    ("wissen", "", "weiß weißt weiß wissen wisst wissen"),
    ("sein", "", "bin bist ist sind seid sind"),
]
TABLES = [name for name in vars(verbs) if name.isupper() and isinstance(getattr(verbs, name), str)]


def every_verb():
    plain = [verb for name in TABLES if name != "WITH_PREPOSITION" for verb in verbs.verbs(getattr(verbs, name))]
    return plain + verbs.verbs_with_preposition()


@pytest.mark.parametrize(("infinitive", "strong", "forms"), PRESENT, ids=[row[0] for row in PRESENT])
def test_the_present_tense_is_that_of_the_dictionary(infinitive, strong, forms):
    assert verbs.finite(infinitive, strong) == tuple(forms.split())


def test_a_separable_participle_is_the_prefix_before_a_participle():
    for verb in every_verb():
        if verb.prefix:
            assert verb.participle.startswith(verb.prefix), verb
            assert verb.participle.endswith(("t", "en")), verb


def test_verbs_in_ieren_and_with_an_inseparable_prefix_have_no_ge():
    for verb in every_verb():
        if not verb.prefix and verb.infinitive.startswith(("be", "er", "ver", "emp")):
            assert not verb.participle.startswith("ge"), verb
        if verb.infinitive.endswith("ieren") and verb.infinitive != "verlieren":
            assert verb.participle == verb.infinitive[:-2] + "t", verb


@pytest.mark.parametrize("infinitive", ["gehen", "kommen", "bleiben", "folgen", "begegnen", "klettern", "laufen"])
def test_verbs_of_motion_and_change_take_sein(infinitive):
    assert {verb.auxiliary for verb in every_verb() if verb.infinitive == infinitive} == {"sein"}


@pytest.mark.parametrize("infinitive", ["helfen", "öffnen", "sitzen", "nehmen", "rufen", "wohnen", "stellen"])
def test_other_verbs_take_haben(infinitive):
    assert {verb.auxiliary for verb in every_verb() if verb.infinitive == infinitive} == {"haben"}


@pytest.mark.parametrize(
    ("infinitive", "preposition", "case"),
    [
        ("warten", "auf", 1),
        ("träumen", "von", 2),
        ("zweifeln", "an", 2),
        ("sorgen", "für", 1),
        ("bitten", "um", 1),
        ("nehmen", "an", 2),  # teilnehmen an
        ("passen", "auf", 1),  # aufpassen auf
        ("suchen", "nach", 2),
        ("kämpfen", "gegen", 1),
    ],
)
def test_verbs_govern_their_preposition_with_its_case(infinitive, preposition, case):
    """1 is the accusative, 2 the dative."""
    found = {(v.preposition, v.case) for v in verbs.verbs_with_preposition() if v.infinitive == infinitive}
    assert found == {(preposition, case)}
