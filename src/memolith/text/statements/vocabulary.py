"""Words of which it is known what they name, and which of them exclude each other.

English and German. From general knowledge: a guess at what is frequent. Of what is not listed
nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memolith.text.lists import word_set

_COLOURS = """
red rot|blue blau|green grün|yellow gelb|orange|purple lila violet violett|pink rosa|black schwarz
|white weiß|grey gray grau|brown braun|turquoise türkis|teal|beige|gold|silver|navy|maroon|indigo
|magenta|lavender|mint|crimson|burgundy|blond blonde|ginger
"""
_MAKES = """
volvo|tesla|toyota|honda|ford|bmw|audi|mercedes mercedes-benz|volkswagen vw|porsche|fiat|renault
|peugeot|citroën citroen|opel vauxhall|skoda škoda|seat|hyundai|kia|mazda|nissan|subaru|suzuki
|mitsubishi|lexus|jeep|chevrolet chevy|dodge|chrysler|cadillac|buick|jaguar|saab|dacia|mini|smart
|ferrari|lamborghini|polestar|rivian|byd|lada|tata|gmc|acura|infiniti
"""
_UNITS = """
zero null|one eins|two zwei|three drei|four vier|five fünf|six sechs|seven sieben|eight acht
|nine neun|ten zehn|eleven elf|twelve zwölf|thirteen dreizehn|fourteen vierzehn|fifteen fünfzehn
|sixteen sechzehn|seventeen siebzehn|eighteen achtzehn|nineteen neunzehn|twenty zwanzig
"""
_TENS = """
zero|ten|twenty zwanzig|thirty dreißig|forty vierzig|fifty fünfzig|sixty sechzig|seventy siebzig
|eighty achtzig|ninety neunzig
"""


def _index_groups(names: str) -> Mapping[str, str]:
    """Return, for each name in groups of names for one thing, the first of its group."""
    groups = (group.split() for group in names.split("|"))
    return MappingProxyType({name: group[0] for group in groups for name in group})


def _index_numbers(names: str, step: int) -> Mapping[str, int]:
    """Return, for each name in groups of names for one number, that number."""
    groups = enumerate(group.split() for group in names.split("|"))
    return MappingProxyType({name: at * step for at, group in groups for name in group})


UNIT_VALUES = _index_numbers(_UNITS, 1)
"""The numbers up to twenty by their names."""

TENS_VALUES = _index_numbers(_TENS, 10)
"""The tens by their names."""

COLOURS = _index_groups(_COLOURS)
"""A colour's first name by each of its names; see `SHADES` for those that may be another's."""

SHADES = (
    word_set("red crimson burgundy maroon"),
    word_set("blue navy indigo teal turquoise"),
    word_set("green teal mint turquoise"),
    word_set("purple indigo lavender magenta"),
    word_set("pink magenta"),
    word_set("yellow gold"),
    word_set("grey silver"),
    word_set("brown beige"),
    word_set("red ginger orange"),
    word_set("blond ginger"),
)
"""Colours of which one may be called another."""

MAKES = _index_groups(_MAKES)
"""A car maker's first name by each of its names."""

OCCUPATIONS = tuple(
    frozenset(name.strip() for name in line.split(","))
    for line in """
    nurse, paediatric nurse, pediatric nurse, midwife, krankenschwester, krankenpfleger
    doctor, surgeon, cardiologist, paediatrician, pediatrician, physician, gp, arzt, ärztin
    dentist, zahnarzt, zahnärztin
    vet, veterinarian, tierarzt, tierärztin
    pharmacist, apotheker, apothekerin
    teacher, schoolteacher, maths teacher, primary school teacher, lehrer, lehrerin
    software engineer, software developer, programmer, web developer, developer, engineer, \
data engineer, backend developer, frontend developer, programmierer, programmiererin, \
data scientist, data analyst, devops engineer, mechanical engineer, civil engineer, \
ingenieur, ingenieurin
    plumber, klempner
    electrician, elektriker
    carpenter, joiner, tischler, tischlerin, schreiner
    baker, bäcker, bäckerin, pastry chef
    chef, cook, sous-chef, koch, köchin
    waiter, waitress, barista, bartender, kellner, kellnerin
    lawyer, solicitor, barrister, attorney, anwalt, anwältin
    accountant, bookkeeper, buchhalter, buchhalterin
    pilot, co-pilot
    bus driver, taxi driver, truck driver, lorry driver, busfahrer, busfahrerin
    librarian, bibliothekar, bibliothekarin
    journalist, reporter, journalistin
    architect, architekt, architektin
    firefighter, feuerwehrmann
    police officer, detective, polizist, polizistin
    farmer, gardener, bauer, gärtner, gärtnerin
    hairdresser, barber, friseur, friseurin
    estate agent, real estate agent
    receptionist
    cashier, shop assistant, sales assistant, verkäufer, verkäuferin
    mechanic, car mechanic, mechaniker, mechanikerin
    physiotherapist, physiotherapeut
    postman, mail carrier, briefträger
    """.strip().replace("\\\n", " ").splitlines()
)  # fmt: skip
"""Groups of occupations: one of a group may be another name of one, or a kind of it. One person
rarely has two of different groups."""

ORGANISATIONS = tuple(
    frozenset(name.strip() for name in line.split(","))
    for line in """
    google, alphabet, youtube, deepmind, google deepmind, waymo, fitbit, verily, android
    meta, facebook, instagram, whatsapp
    microsoft, github, linkedin, skype, xbox, mojang, activision, blizzard
    amazon, aws, amazon web services, twitch, audible, imdb, whole foods, zappos
    volkswagen, vw, audi, porsche, skoda, seat, bentley, lamborghini
    bmw, mini, rolls-royce
    nasa, jpl, goddard, ames, jet propulsion laboratory
    salesforce, slack, tableau, heroku
    apple, beats
    roche, genentech
    ibm, red hat
    oracle, sun
    ikea, ingka
    sony, playstation
    disney, pixar, marvel, espn, lucasfilm
    x, twitter
    hp, hewlett packard, hpe
    siemens, siemens healthineers, siemens energy
    bbc, bbc news
    unilever, ben & jerry's
    """.strip().splitlines()
)
"""Groups of organisations that are parts of one."""

WELL_KNOWN_ORGANISATIONS = frozenset().union(*ORGANISATIONS) | word_set(
    """
    intel nvidia amd cisco dell adobe netflix uber airbnb spotify stripe shopify dropbox zoom
    snapchat pinterest reddit tiktok bytedance alibaba tencent samsung lg huawei xiaomi nokia
    ericsson siemens bosch sap bayer basf daimler mercedes continental lufthansa allianz adidas
    puma aldi lidl rewe edeka zalando deloitte pwc kpmg ey accenture mckinsey bcg bain capgemini
    infosys barclays lloyds hsbc natwest santander ubs citi citigroup jpmorgan goldman morgan
    visa mastercard paypal klarna revolut monzo wise shell bp equinor total exxon chevron tesco
    sainsbury's walmart target costco starbucks mcdonald's nestlé unilever pepsico coca-cola
    heineken airbus boeing esa cern nato unicef oxfam philips asml ing abb novartis pfizer
    moderna astrazeneca sanofi gsk merck tesla toyota honda ford volvo renault ibm oracle
    salesforce openai anthropic mozilla wikimedia canonical gitlab atlassian jetbrains twilio
    cloudflare nasa
    """
)
"""Organisations of one name that nobody takes for a person's."""

SHORT_NAMES = tuple(
    word_set(line)
    for line in """
    bob rob robert bobby robbie bert
    bill will william billy willy liam
    dick rick richard richie
    peggy meg maggie margaret greta gretchen margarete
    liz beth elizabeth betty eliza lisa lizzy elisabeth ella elise
    jack john johnny jon jonathan johannes hans
    jim james jimmy jamie
    chuck charles charlie karl
    ted ed edward eddie teddy theodore ned
    harry henry hank harold
    kate katherine kathy catherine cathy katie kitty kat karen katharina
    alex sandra alexandra alexander sasha sandy lexi
    tony anthony antonio antonia
    molly mary polly maria marie mia
    nell ellen helen eleanor nelly elena lena
    nancy ann anne anna annie hannah
    sally sarah sara
    jenny jennifer guinevere
    gerry jerry gerald jeremy gerard
    bea trixie beatrice
    steve stephen steven stefan
    mike michael mick mitch
    tina christina chris kristina christian christopher kit
    toni antonia
    nate nathan nathaniel
    drew andrew andy
    zoe chloe
    gus august augustus angus
    fred freddie frederick alfred winifred
    gene eugene
    lou louis louise luis
    max maximilian maxine
    """.strip().splitlines()
)
"""Names of which one may be short for another."""

NON_PERSON_WORDS = word_set(
    """
    american british english french german spanish italian dutch danish swedish norwegian finnish
    polish czech russian ukrainian greek turkish irish scottish welsh swiss austrian belgian
    portuguese hungarian romanian bulgarian serbian croatian chinese japanese korean indian
    pakistani thai vietnamese indonesian filipino australian canadian mexican brazilian
    argentinian colombian peruvian chilean egyptian moroccan nigerian kenyan african european
    asian israeli iranian iraqi lebanese jewish christian muslim catholic protestant buddhist
    hindu republican democrat aries taurus gemini cancer leo virgo libra scorpio sagittarius
    capricorn aquarius pisces deutsch deutscher deutsche
    """
)
"""Capitalised words that say what somebody is, not who."""

BROAD_VALUES = word_set(
    """
    pasta noodles meat fish seafood vegetables fruit dessert desserts cheese soup bread rice cake
    sweets candy salad chocolate tea coffee beer wine juice soda water milk music rock classical
    electronic metal fiction fantasy comedy drama horror thriller animals birds cats dogs
    vegetarian italian mexican indian chinese thai japanese french greek anything everything
    nothing something food spicy asian football ball
    """
)
"""Values under which another may fall: "pasta" and "lasagne" may both be the favourite food."""
