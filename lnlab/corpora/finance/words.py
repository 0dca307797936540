"""The words of the toy financial news, the frequent ones first. Companies and people are made up."""

from lnlab.corpora.toy.urns import Urn


def _urn(table: str) -> Urn[str]:
    """The entries of a table, parted by semicolons."""
    return Urn([" ".join(entry.split()) for entry in table.split(";")])


GAINS = """net sales; operating profit; net profit; turnover; order intake; pretax profit; cash flow from operations;
gross profit; the order backlog; revenue from services; export sales; comparable earnings; rental income;
licence revenue"""
"""What an investor wants to rise."""
BURDENS = """operating loss; net debt; operating costs; net loss; raw material costs; credit losses; personnel expenses;
pretax loss; financing costs; warranty provisions; the cost of energy; overdue receivables"""
"""What an investor wants to fall."""

WORDS = {
    "gain": _urn(GAINS),
    "burden": _urn(BURDENS),
    "rose": _urn("rose; increased; grew; went up; climbed; moved up; advanced"),
    "fell": _urn("fell; decreased; declined; dropped; went down; slipped; shrank"),
    "rise": _urn("increase; rise; grow; go up"),
    "fall": _urn("decrease; fall; decline; go down"),
    "totalled": _urn("totalled; amounted to; came in at; stood at; reached; was"),
    "company": _urn(
        """Kaskinen; Raumo; Tornela; Vaskio; Merikarvia; Nordlink; Suomela; Pohja; Lahtinen Group; Varsio; Ostrobotnia;
        Helvio; Savonia Steel; Karelius; Teknira; Ilmari; Aurajoki; Finnwood; Kantele; Kuusi Foods; Satakunta Power;
        Norrland Paper; Baltica Shipping; Ruska; Vuoksi; Saimaa Lines; Lumo; Talvio; Marja; Inari Networks; Oulunsalo;
        Hamina Ports; Kotka Mills; Pyhtaa; Sipoo Software; Nuuksio; Porkkala; Hanko Cables; Ekenas; Loviisa Energy"""
    ),
    "form": _urn("; Oyj; Plc; Oy; Corporation; Abp; Group"),
    "sector": _urn(
        """paper; software; steel; shipping; construction; food; machinery; telecom; energy; retail; publishing;
        banking; forest; packaging; mining; clothing; airline; chemicals; electronics; real estate"""
    ),
    "country": _urn("Finland; Sweden; Russia; Estonia; Germany; China; Norway; Poland; Latvia; Denmark; Brazil; India"),
    "nation": _urn("Finnish; Swedish; Nordic; Estonian; Danish; Norwegian; Baltic; German"),
    "city": _urn("Helsinki; Espoo; Tampere; Turku; Oulu; Stockholm; Tallinn; Vantaa; Lahti; Kuopio; Riga; Vaasa; Pori"),
    "product": _urn(
        """paper machines; mobile networks; steel plates; passenger ferries; office buildings; harbour cranes; wind
        turbines; printing papers; payment terminals; rock drills; frozen foods; lifts and escalators;
        forest harvesters; fishing lures; plywood; fertilizers; fine chemicals; sports watches; ship engines;
        heat pumps; data centres;
        magazines; dairy products; water pipes; medical devices; car tyres; cardboard boxes; power cables"""
    ),
    "customer": _urn(
        """the paper industry; network operators; hospitals; shipyards; retail chains; the mining industry; schools;
        energy companies; private households; the car industry; banks; farmers; the building trade; ministries"""
    ),
    "first": _urn("Matti; Anna; Jukka; Pekka; Mika; Kari; Sari; Eija; Timo; Juha; Ritva; Heikki; Leena; Olli; Tuula"),
    "last": _urn(
        """Virtala; Korhola; Makinen; Niemela; Heikkala; Koskela; Jarvio; Lehtola; Saarela; Salmio; Heinola; Niskala;
        Turula; Laakso; Ahola; Hirvela; Kallio; Rantala; Mattila; Ojala"""
    ),
    "title": _urn("CEO; CFO; managing director; chairman; analyst; head of sales; vice president; plant manager"),
    "month": _urn("January; February; March; April; May; June; July; August; September; October; November; December"),
    "period": _urn(
        """the third quarter; the first half; the fourth quarter; the second quarter; the financial year; the first nine
        months; the first quarter; the review period; the past year"""
    ),
    "before": _urn(
        """the corresponding period; the same period last year; the previous quarter; the year before;
        the comparison period; the same quarter of last year"""
    ),
}
