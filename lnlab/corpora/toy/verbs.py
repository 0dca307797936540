"""Verbs of the toy German by what they govern, the frequent ones first, with their English.

A verb is written ``infinitive participle English, past``: ``auf|machen`` is separable; ``sehen:sieh`` has the stem
*sieh-* in *du siehst, er sieht*; ``+gegangen`` forms its perfect with *sein*. A frame is written
``preposition case class`` for what follows; verbs with an object of a preposition name their own.
"""

from typing import NamedTuple

from lnlab.corpora.toy.words import with_s

IRREGULAR = {
    infinitive: tuple(forms.split())
    for infinitive, forms in {
        "sein": "bin bist ist sind seid sind",
        "haben": "habe hast hat haben habt haben",
        "werden": "werde wirst wird werden werdet werden",
        "wissen": "weiß weißt weiß wissen wisst wissen",
        "können": "kann kannst kann können könnt können",
        "müssen": "muss musst muss müssen müsst müssen",
        "wollen": "will willst will wollen wollt wollen",
        "sollen": "soll sollst soll sollen sollt sollen",
        "dürfen": "darf darfst darf dürfen dürft dürfen",
        "möchten": "möchte möchtest möchte möchten möchtet möchten",
    }.items()
}
NEEDS_E = ("t", "d", "ffn", "chn", "gn", "tm")


class Verb(NamedTuple):
    """A verb with its forms. ``finite`` holds the six persons of the present tense, without the prefix."""

    infinitive: str
    prefix: str
    finite: tuple[str, ...]
    participle: str
    auxiliary: str
    english: str
    english_third: str
    english_past: str
    preposition: str = ""
    case: int = 0
    kind: str = ""


THINGS = """
sehen:sieh gesehen see, saw; kaufen gekauft buy, bought; suchen gesucht look for, looked for; finden gefunden find,
found; nehmen:nimm genommen take, took; tragen:träg getragen carry, carried; verkaufen verkauft sell, sold;
mit|bringen mitgebracht bring along, brought along; verlieren verloren lose, lost; auf|heben aufgehoben pick up,
picked up; putzen geputzt clean, cleaned; vergessen:vergiss vergessen forget, forgot; ein|packen eingepackt pack,
packed; reparieren repariert repair, repaired; zeichnen gezeichnet draw, drew; weg|werfen:wirf weggeworfen throw away,
threw away; sammeln gesammelt collect, collected; waschen:wäsch gewaschen wash, washed; verstecken versteckt hide,
hid; bezahlen bezahlt pay for, paid for; bestellen bestellt order, ordered; stehlen:stiehl gestohlen steal, stole;
behalten:behält behalten keep, kept; um|tauschen umgetauscht exchange, exchanged; zerstören zerstört destroy,
destroyed
"""
PERSONS = """
sehen:sieh gesehen see, saw; besuchen besucht visit, visited; treffen:triff getroffen meet, met; fragen gefragt ask,
asked; an|rufen angerufen phone, phoned; kennen gekannt know, knew; lieben geliebt love, loved; ein|laden:läd
eingeladen invite, invited; hören gehört hear, heard; verstehen verstanden understand, understood; suchen gesucht look
for, looked for; grüßen gegrüßt greet, greeted; ab|holen abgeholt collect, collected; wecken geweckt wake, woke;
bewundern bewundert admire, admired; kennen|lernen kennengelernt get to know, got to know; warnen gewarnt warn,
warned; vermissen vermisst miss, missed; retten gerettet rescue, rescued; aus|lachen ausgelacht laugh at, laughed at;
stören gestört disturb, disturbed; auf|halten:hält aufgehalten delay, delayed
"""
ANIMALS = """
füttern gefüttert feed, fed; sehen:sieh gesehen see, saw; fangen:fäng gefangen catch, caught; jagen gejagt chase,
chased; streicheln gestreichelt stroke, stroked; malen gemalt paint, painted; ein|sperren eingesperrt lock up, locked
up
"""
OPENABLES = """
öffnen geöffnet open, opened; schließen geschlossen close, closed; auf|machen aufgemacht open, opened; zu|machen
zugemacht shut, shut; ab|schließen abgeschlossen lock, locked; auf|brechen:brich aufgebrochen break open, broke open
"""
TEXTS = """
lesen:lies gelesen read, read; schreiben geschrieben write, wrote; vor|lesen:lies vorgelesen read out, read out;
kennen gekannt know, knew; übersetzen übersetzt translate, translated; ab|schreiben abgeschrieben copy, copied;
durch|lesen:lies durchgelesen read through, read through; unterschreiben unterschrieben sign, signed; aus|drucken
ausgedruckt print out, printed out
"""
FOOD = """
essen:iss gegessen eat, ate; kochen gekocht cook, cooked; probieren probiert taste, tasted; auf|essen:iss aufgegessen
eat up, ate up; schneiden geschnitten cut, cut; teilen geteilt share, shared; zu|bereiten zubereitet prepare, prepared
"""
IDEAS = """
verstehen verstanden understand, understood; vergessen:vergiss vergessen forget, forgot; lösen gelöst solve, solved;
besprechen:besprich besprochen discuss, discussed; ändern geändert change, changed; ab|lehnen abgelehnt reject,
rejected; erkennen erkannt recognise, recognised; vor|schlagen:schläg vorgeschlagen propose, proposed; auf|geben:gib
aufgegeben give up, gave up
"""
VEHICLES = """
nehmen:nimm genommen take, took; sehen:sieh gesehen see, saw; waschen:wäsch gewaschen wash, washed; mieten gemietet
rent, rented; reparieren repariert repair, repaired; an|halten:hält angehalten stop, stopped; überholen überholt
overtake, overtook
"""
DATIVE = """
helfen:hilf geholfen help, helped; danken gedankt thank, thanked; antworten geantwortet answer, answered; folgen
+gefolgt follow, followed; glauben geglaubt believe, believed; zu|hören zugehört listen to, listened to; vertrauen
vertraut trust, trusted; zu|sehen:sieh zugesehen watch, watched; gratulieren gratuliert congratulate, congratulated;
begegnen +begegnet encounter, encountered; zu|stimmen zugestimmt agree with, agreed with; widersprechen:widersprich
widersprochen contradict, contradicted; verzeihen verziehen forgive, forgave; nach|laufen:läuf +nachgelaufen run
after, ran after
"""
GIVING = """
geben:gib gegeben give, gave; zeigen gezeigt show, showed; bringen gebracht bring, brought; schicken geschickt send,
sent; schenken geschenkt give, gave; leihen geliehen lend, lent; zurück|geben:gib zurückgegeben give back, gave back;
an|bieten angeboten offer, offered; empfehlen:empfiehl empfohlen recommend, recommended; reichen gereicht hand, handed
"""
TELLING = """
erklären erklärt explain, explained; beschreiben beschrieben describe, described; vor|stellen vorgestellt present,
presented; verraten:verrät verraten reveal, revealed
"""
GOING = """
gehen +gegangen go, went; laufen:läuf +gelaufen run, ran; fahren:fähr +gefahren drive, drove; kommen +gekommen come,
came; zurück|kehren +zurückgekehrt return, returned; klettern +geklettert climb, climbed; eilen +geeilt hurry,
hurried; springen +gesprungen jump, jumped; flüchten +geflüchtet flee, fled
"""
PUTTING = """
stellen gestellt put, put; legen gelegt lay, laid; bringen gebracht bring, brought; werfen:wirf geworfen throw, threw;
tragen:träg getragen carry, carried; zurück|legen zurückgelegt put back, put back
"""
STAYING = """
sitzen gesessen sit, sat; arbeiten gearbeitet work, worked; wohnen gewohnt live, lived; schlafen:schläf geschlafen
sleep, slept; warten gewartet wait, waited; spielen gespielt play, played; stehen gestanden stand, stood; bleiben
+geblieben stay, stayed; singen gesungen sing, sang; an|kommen +angekommen arrive, arrived; ein|schlafen:schläf
+eingeschlafen fall asleep, fell asleep; tanzen getanzt dance, danced; auf|wachen +aufgewacht wake up, woke up; liegen
gelegen lie, lay; lächeln gelächelt smile, smiled; weinen geweint cry, cried; ein|kaufen eingekauft shop, shopped;
rasten gerastet rest, rested; lachen gelacht laugh, laughed
"""
WITH_PREPOSITION = """
auf a PERSONS warten gewartet wait for, waited for; mit d PERSONS sprechen:sprich gesprochen talk to, talked to; an a
PERSONS denken gedacht think of, thought of; auf a VEHICLES warten gewartet wait for, waited for; von d EVENTS träumen
geträumt dream of, dreamed of; über a IDEAS nach|denken nachgedacht think about, thought about; nach d THINGS suchen
gesucht search for, searched for; auf a ANIMALS auf|passen aufgepasst look after, looked after; an d EVENTS
teil|nehmen:nimm teilgenommen take part in, took part in; über a IDEAS lachen gelacht laugh at, laughed at; mit d
IDEAS an|fangen:fäng angefangen begin with, began with; an d TEXTS arbeiten gearbeitet work on, worked on; um a THINGS
bitten gebeten ask for, asked for; nach d ROOMS fragen gefragt ask about, asked about; an a IDEAS glauben geglaubt
believe in, believed in; mit d ANIMALS spielen gespielt play with, played with; für a PERSONS sorgen gesorgt care for,
cared for; an d ROOMS vorbei|gehen +vorbeigegangen walk past, walked past; auf a EVENTS warten gewartet wait for,
waited for; gegen a PERSONS kämpfen gekämpft fight against, fought against; an d IDEAS zweifeln gezweifelt doubt,
doubted
"""
SAYING = """
sagen gesagt say, said; glauben geglaubt believe, believed; wissen gewusst know, knew; hoffen gehofft hope, hoped;
denken gedacht think, thought; erzählen erzählt say, said; merken gemerkt notice, noticed; behaupten behauptet claim,
claimed
"""
TRYING = """
versuchen versucht try, tried; beschließen beschlossen decide, decided; hoffen gehofft hope, hoped;
versprechen:versprich versprochen promise, promised; an|fangen:fäng angefangen start, started; vergessen:vergiss
vergessen forget, forgot
"""
BEING = Verb("sein", "", IRREGULAR["sein"], "gewesen", "sein", "be", "is", "was")


def verbs(table: str) -> list[Verb]:
    """The verbs of a table."""
    return [_verb(entry) for entry in table.split(";")]


def verbs_with_preposition() -> list[Verb]:
    """The verbs that govern a preposition; ``case`` is 1 for the accusative and 2 for the dative."""
    rows = (entry.split(maxsplit=3) for entry in WITH_PREPOSITION.split(";"))
    return [
        _verb(rest)._replace(preposition=word, case="nad".index(case), kind=kind) for word, case, kind, rest in rows
    ]


def _verb(entry: str) -> Verb:
    """One entry of a table."""
    german, participle, english = entry.split(maxsplit=2)
    english, past = (" ".join(form.split()) for form in english.split(","))
    word, _, strong = german.partition(":")
    prefix, _, infinitive = word.rpartition("|")
    auxiliary = "sein" if participle.startswith("+") else "haben"
    forms = finite(infinitive, strong)
    return Verb(infinitive, prefix, forms, participle.lstrip("+"), auxiliary, english, with_s(english), past)


def finite(infinitive: str, strong: str = "") -> tuple[str, ...]:
    """The present tense: ich, du, er, wir, ihr, sie. ``strong`` is the stem of du and er where the vowel changes."""
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive]
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    first = stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    link = "e" if stem.endswith(NEEDS_E) else ""
    second, third = _singular(strong, "") if strong else _singular(stem, link)
    return first, second, third, infinitive, f"{stem}{link}t", infinitive


def _singular(stem: str, link: str) -> tuple[str, str]:
    """*du* and *er*: no second s after a hissing sound, no second t after a strong stem in t."""
    second = stem + ("t" if stem[-1] in "sßzx" else f"{link}st")
    return second, stem if stem[-1] == "t" and not link else f"{stem}{link}t"
