"""Nouns, adjectives and adverbs of the toy German, the frequent ones first, with their English.

A noun is written ``German gender plural English [English plural]``. Genders are m, f, n, and M: a masculine whose
accusative and dative singular are its plural form (der Junge, den Jungen). An adjective is written ``German English``,
or ``German:stem English`` where endings go on another stem (teuer, teure).
"""

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun with its forms; ``oblique`` is the accusative and dative singular."""

    singular: str
    gender: str
    oblique: str
    plural: str
    dative_plural: str
    english: str
    english_plural: str
    who: bool


class Adjective(NamedTuple):
    """An adjective: as predicate, and the stem that takes endings."""

    predicate: str
    stem: str
    english: str


PERSONS = """
Mann m Männer man men; Frau f Frauen woman women; Kind n Kinder child children; Lehrer m Lehrer teacher; Mädchen n
Mädchen girl; Junge M Jungen boy; Freund m Freunde friend; Mutter f Mütter mother; Vater m Väter father; Arzt m Ärzte
doctor; Nachbar M Nachbarn neighbour; Schülerin f Schülerinnen pupil; Bruder m Brüder brother; Schwester f Schwestern
sister; Student M Studenten student; Gast m Gäste guest; Bäcker m Bäcker baker; Verkäuferin f Verkäuferinnen
saleswoman saleswomen; Koch m Köche cook; Bauer M Bauern farmer; König m Könige king; Polizist M Polizisten policeman
policemen; Künstlerin f Künstlerinnen artist; Richter m Richter judge; Tante f Tanten aunt; Onkel m Onkel uncle;
Soldat M Soldaten soldier; Sängerin f Sängerinnen singer; Tochter f Töchter daughter; Sohn m Söhne son; Gärtner m
Gärtner gardener; Ingenieur m Ingenieure engineer; Kellner m Kellner waiter; Maler m Maler painter; Dichter m Dichter
poet; Großmutter f Großmütter grandmother; Kapitän m Kapitäne captain; Dieb m Diebe thief thieves; Zwilling m
Zwillinge twin; Zeuge M Zeugen witness
"""
ANIMALS = """
Hund m Hunde dog; Katze f Katzen cat; Pferd n Pferde horse; Vogel m Vögel bird; Fisch m Fische fish fish; Kuh f Kühe
cow; Maus f Mäuse mouse mice; Affe M Affen monkey; Schaf n Schafe sheep sheep; Ente f Enten duck; Hase M Hasen hare;
Bär M Bären bear; Esel m Esel donkey; Ziege f Ziegen goat; Fuchs m Füchse fox; Löwe M Löwen lion
"""
THINGS = """
Buch n Bücher book; Brief m Briefe letter; Bild n Bilder picture; Schlüssel m Schlüssel key; Tasche f Taschen bag;
Ball m Bälle ball; Uhr f Uhren clock; Stuhl m Stühle chair; Lampe f Lampen lamp; Hut m Hüte hat; Flasche f Flaschen
bottle; Zeitung f Zeitungen newspaper; Messer n Messer knife knives; Fahrrad n Fahrräder bicycle; Schuh m Schuhe shoe;
Glas n Gläser glass; Karte f Karten map; Koffer m Koffer suitcase; Jacke f Jacken jacket; Geschenk n Geschenke
present; Teller m Teller plate; Blume f Blumen flower; Korb m Körbe basket; Spiegel m Spiegel mirror; Hemd n Hemden
shirt; Mantel m Mäntel coat; Kamera f Kameras camera; Schirm m Schirme umbrella; Tasse f Tassen cup; Ring m Ringe
ring; Decke f Decken blanket; Kiste f Kisten box; Gitarre f Gitarren guitar; Werkzeug n Werkzeuge tool; Löffel m
Löffel spoon; Seil n Seile rope; Kerze f Kerzen candle; Münze f Münzen coin; Vase f Vasen vase; Kissen n Kissen
cushion
"""
FOOD = """
Apfel m Äpfel apple; Kuchen m Kuchen cake; Ei n Eier egg; Suppe f Suppen soup; Kartoffel f Kartoffeln potato potatoes;
Birne f Birnen pear; Brötchen n Brötchen roll; Orange f Orangen orange; Salat m Salate salad; Wurst f Würste sausage;
Tomate f Tomaten tomato tomatoes; Kirsche f Kirschen cherry; Banane f Bananen banana; Pilz m Pilze mushroom
"""
OPENABLES = """
Tür f Türen door; Fenster n Fenster window; Koffer m Koffer suitcase; Schrank m Schränke cupboard; Tor n Tore gate;
Kiste f Kisten box; Schublade f Schubladen drawer; Dose f Dosen tin; Umschlag m Umschläge envelope
"""
TEXTS = """
Buch n Bücher book; Brief m Briefe letter; Geschichte f Geschichten story; Zeitung f Zeitungen newspaper; Gedicht n
Gedichte poem; Bericht m Berichte report; Nachricht f Nachrichten message; Roman m Romane novel; Satz m Sätze
sentence; Artikel m Artikel article; Rezept n Rezepte recipe; Vertrag m Verträge contract
"""
IDEAS = """
Problem n Probleme problem; Plan m Pläne plan; Frage f Fragen question; Spiel n Spiele game; Idee f Ideen idea;
Aufgabe f Aufgaben task; Antwort f Antworten answer; Grund m Gründe reason; Fehler m Fehler mistake; Traum m Träume
dream; Regel f Regeln rule; Geheimnis n Geheimnisse secret; Meinung f Meinungen opinion; Gefahr f Gefahren danger
"""
VEHICLES = """
Bus m Busse bus; Auto n Autos car; Zug m Züge train; Schiff n Schiffe ship; Taxi n Taxis taxi; Boot n Boote boat;
Straßenbahn f Straßenbahnen tram; Lastwagen m Lastwagen lorry; Flugzeug n Flugzeuge plane; Traktor m Traktoren tractor
"""
EVENTS = """
Fest n Feste party; Reise f Reisen trip; Konzert n Konzerte concert; Prüfung f Prüfungen test; Hochzeit f Hochzeiten
wedding; Pause f Pausen break; Sitzung f Sitzungen meeting; Sturm m Stürme storm; Krieg m Kriege war; Rennen n Rennen
race; Ausflug m Ausflüge outing; Vortrag m Vorträge lecture
"""
ROOMS = """
Garten m Gärten garden; Haus n Häuser house; Stadt f Städte city; Schule f Schulen school; Park m Parks park; Küche f
Küchen kitchen; Wald m Wälder forest; Zimmer n Zimmer room; Dorf n Dörfer village; Kirche f Kirchen church; Büro n
Büros office; Laden m Läden shop; Museum n Museen museum; Fabrik f Fabriken factory; Hafen m Häfen harbour; Theater n
Theater theatre; Bibliothek f Bibliotheken library; Keller m Keller cellar; Hotel n Hotels hotel; Schloss n Schlösser
castle; Höhle f Höhlen cave; Krankenhaus n Krankenhäuser hospital; Werkstatt f Werkstätten workshop; Zelt n Zelte tent
"""
SURFACES = """
Straße f Straßen street; Tisch m Tische table; Bank f Bänke bench; Dach n Dächer roof; Boden m Böden floor; Markt m
Märkte market; Brücke f Brücken bridge; Berg m Berge mountain; Wiese f Wiesen meadow; Bett n Betten bed; Platz m
Plätze square; Insel f Inseln island; Feld n Felder field; Regal n Regale shelf shelves; Teppich m Teppiche carpet
"""
OF_PERSONS = """
alt old; jung young; klein small; groß tall; müde:müd tired; freundlich friendly; arm poor; reich rich; klug clever;
ruhig calm; stark strong; hungrig hungry; fröhlich cheerful; traurig sad; berühmt famous; fleißig diligent; nett nice;
mutig brave; krank sick; höflich polite; fremd strange; still silent; vorsichtig careful; faul lazy; stolz proud;
ernst serious; neugierig curious; schüchtern shy; zornig angry; schlank slim
"""
OF_THINGS = """
groß big; alt old; klein small; neu new; schön beautiful; rot red; schwarz black; weiß white; schwer heavy; blau blue;
teuer:teur expensive; billig cheap; grün green; gelb yellow; leicht light; rund round; leer empty; kaputt broken; bunt
colourful; sauber clean; braun brown; schmutzig dirty; seltsam odd; dunkel:dunkl dark; hell bright; lang long; kurz
short; warm warm; kalt cold; modern modern; golden golden; wertvoll valuable; grau grey; breit wide; schmal narrow
"""
OF_IDEAS = """
gut good; neu new; wichtig important; alt old; einfach simple; schwierig difficult; lang long; lustig funny; seltsam
odd; klar clear; langweilig boring; kurz short; ernst serious; berühmt famous; geheim secret; dumm silly; falsch wrong
"""
MANNERS = "schnell quickly; langsam slowly; leise quietly; vorsichtig carefully; allein alone; laut loudly"
NAMES = "Anna; Peter; Maria; Paul; Lena; Hans; Julia; Karl; Sophie; Max; Clara; Otto; Emma; Felix; Greta; Jakob"


def rows(table: str) -> list[list[str]]:
    """The words of each entry of a table."""
    return [entry.split() for entry in table.split(";")]


def nouns(table: str, *, who: bool = False) -> list[Noun]:
    """The nouns of a table; ``who`` for those that are asked for by *who*."""
    return [_noun(*row, who=who) for row in rows(table)]


def _noun(german: str, gender: str, plural: str, english: str, english_plural: str = "", *, who: bool) -> Noun:
    oblique = plural if gender == "M" else german
    dative = plural if plural[-1] in "ns" else plural + "n"
    return Noun(german, gender.lower(), oblique, plural, dative, english, english_plural or with_s(english), who)


def adjectives(table: str) -> list[Adjective]:
    """The adjectives of a table."""
    pairs = ((german.partition(":"), english) for german, english in rows(table))
    return [Adjective(predicate, stem or predicate, english) for (predicate, _, stem), english in pairs]


def with_s(english: str) -> str:
    """The regular plural of a noun, and the third person singular of a verb: *boxes*, *cities*, *keys*, *looks for*."""
    word, space, rest = english.partition(" ")
    if word.endswith(("s", "x", "ch", "sh", "z", "o")):
        word += "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "ies"
    else:
        word += "s"
    return word + space + rest
