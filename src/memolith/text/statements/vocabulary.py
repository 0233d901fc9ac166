"""Vocabulary with known meaning: synonyms, and groups whose members exclude each other.

English and German, from general knowledge: a guess at frequent words. Nothing is concluded from
unlisted words.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memolith.text.lexicon.language import word_set

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
    """Return a map from each name to the first name of its group."""
    groups = (group.split() for group in names.split("|"))
    return MappingProxyType({name: group[0] for group in groups for name in group})


def _index_numbers(names: str, step: int) -> Mapping[str, int]:
    """Return a map from each number word to its value; groups are in numeric order."""
    groups = enumerate(group.split() for group in names.split("|"))
    return MappingProxyType({name: at * step for at, group in groups for name in group})


UNIT_VALUES = _index_numbers(_UNITS, 1)
"""Number words up to twenty."""

TENS_VALUES = _index_numbers(_TENS, 10)
"""Number words for the tens."""

COLOURS = _index_groups(_COLOURS)
"""Canonical name of each colour; `SHADES` has colours that overlap."""

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
"""Groups of colours that people may use for each other."""

MAKES = _index_groups(_MAKES)
"""Canonical name of each car maker."""

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
"""Groups of related occupations: synonyms and specialisations. One person rarely has two from
different groups."""

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
"""Groups of organisations that belong together."""

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
"""Organisations with one-word names that are not mistaken for people."""

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
"""Groups of first names that may be short for each other."""

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
"""Capitalised words that describe a person, but are no names."""

BROAD_VALUES = word_set(
    """
    pasta noodles meat fish seafood vegetables fruit dessert desserts cheese soup bread rice cake
    sweets candy salad chocolate tea coffee beer wine juice soda water milk music rock classical
    electronic metal fiction fantasy comedy drama horror thriller animals birds cats dogs
    vegetarian italian mexican indian chinese thai japanese french greek anything everything
    nothing something food spicy asian football ball
    """
)
"""Values that include others: "pasta" and "lasagne" may both be the favourite food."""


# --- Numbers up to 99, in digits and words


AGE_STEP = 10
"""Maximum plausible increase of an age between two statements, in years. A guess: more suggests a
slip or another person."""

_TEN = 10
_HYPHEN = "-"


def parse_number(text: str) -> int | None:
    """Return the value of a number in digits ("34") or words ("thirty-four"); None if invalid."""
    lower = text.casefold()
    if lower.isdecimal():
        return int(lower)
    first, _, rest = lower.replace(_HYPHEN, " ").partition(" ")
    unit = UNIT_VALUES.get(rest, 0)
    if first in TENS_VALUES and (not rest or 0 < unit < _TEN):
        return TENS_VALUES[first] + unit
    return UNIT_VALUES.get(lower)


def get_number_words(value: int) -> set[str]:
    """Return the digits of a number, and the words of its name."""
    tens, unit = divmod(value, _TEN)
    parts = {tens * _TEN, unit, value}
    words = {
        word
        for numbers in (UNIT_VALUES, TENS_VALUES)
        for word, each in numbers.items()
        if each in parts
    }
    return {str(value), *(word for word in words if value)}


# --- Groups of values that exclude each other


def _parse_groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(name.strip() for name in line.split(","))
        for line in text.strip().replace("\n  ", " ").splitlines()
    )


EXCLUSIVE_GROUPS = _parse_groups(
    """
sushi, pizza, lasagne, lasagna, ramen, tacos, burgers, curry, paella, risotto, ratatouille,
  goulash, pancakes, dumplings, falafel, burritos, moussaka, pho, pad thai, schnitzel, kebab,
  fish and chips, mac and cheese, gnocchi, haggis, chili, ceviche, biryani, shakshuka
coffee, tea, cider, gin, whisky, whiskey, water, lemonade, cola, hot chocolate, orange juice, wine,
  beer, rum, vodka, kombucha, mate
cats, dogs, horses, elephants, dolphins, owls, penguins, foxes, wolves, tigers, lions, otters,
  rabbits, turtles, pandas, koalas, bears, giraffes, sloths
cat, dog, horse, elephant, dolphin, owl, penguin, fox, wolf, tiger, lion, otter, rabbit, turtle,
  panda, koala, giraffe, sloth, the cat, the dog, the horse, the elephant, the dolphin, the owl
tennis, rowing, football, basketball, volleyball, cricket, rugby, golf, swimming, badminton,
  hockey, baseball, handball, fencing, climbing, cycling, surfing, skiing, boxing, judo, archery,
  table tennis, sailing, snowboarding
spring, summer, autumn, winter
frühling, sommer, herbst, winter
january, february, march, april, may, june, july, august, september, october, november, december
monday, tuesday, wednesday, thursday, friday, saturday, sunday
piano, guitar, violin, cello, flute, drums, trumpet, saxophone, clarinet, harp, oboe, ukulele
apples, bananas, oranges, mangoes, strawberries, cherries, grapes, pears, peaches, pineapple,
  watermelon, blueberries, raspberries, kiwis, plums
mango, apple, banana, orange, strawberry, cherry, pear, peach, kiwi, plum, blueberry, raspberry
physics, history, biology, chemistry, geography, maths, mathematics, math, economics, philosophy,
  psychology, law, medicine, linguistics, sociology, computer science, architecture, music, art,
  literature, english, latin
python, java, rust, go, ruby, javascript, kotlin, swift, c++, c#, haskell, php, scala, perl, lua
vim, emacs, vs code, nano, sublime text, intellij, pycharm, notepad++
firefox, chrome, safari, edge, brave, opera, vivaldi
windows, macos, linux, android, ios
english, german, french, spanish, italian, dutch, norwegian, swedish, danish, portuguese, polish
chess, go, scrabble, monopoly, catan, poker, bridge, risk, backgammon
"""
)
"""Groups of values that exclude each other as favourites."""

NAMED = word_set(
    """
    band singer musician song album film movie restaurant cafe café bar pub
    footballer actor actress director comedian rapper composer artist
    """
)
"""Kinds of favourites whose names exclude each other."""

FIRST_NAMES = word_set(
    """
    aaron abby abigail adam adele adrian agnes ahmed aisha alan albert alex alexander alexandra
    alfred ali alice alicia alina alison amanda amber amelia amir amy ana andrea andreas andrew
    angela anita anja anna anne annie anthony antonio anton antonia aria arthur astrid audrey
    barbara bastian beatrice ben benjamin bernd bernard beth betty bill birgit bob bjorn bjørn
    brandon brenda brian bridget bruce bruno caleb camille carl carla carlos carmen carol caroline
    catherine charles charlie charlotte chloe chris christian christina christine christoph
    claire clara claudia clemens colin connor craig cristina cynthia daisy dan daniel daniela
    danielle dave david dawn dean deborah dennis derek diana diego dieter dimitri dirk dominic
    don donald donna dora doris dorothy doug douglas dylan ed eddie edgar edith edward elaine
    eleanor elena eli elias elif elisa elise elizabeth ella ellen ellie elsa emil emilia emily
    emma emre enrique eric erica erik erika ernst esther ethan eva evan eve evelyn fabian fatima
    felix finn fiona florian frances francesca francis frank franz frida fred frederik gabriel
    gabriela gary gavin george georgia gerald gerd gina giovanni giulia gloria gordon grace graham
    greg greta gustav hana hanna hannah hannes hans harald harold harry hassan heather heidi heike
    heinz helen helena helga henrik henry hilda holly howard hugo ian ibrahim ida ines ingrid
    irene iris isaac isabel isabella ivan jack jackie jacob jake jakob james jamie jan jana jane
    janet jason javier jean jeff jen jennifer jens jeremy jerry jesse jessica jill jim joan joanna
    joe joel johan johannes john johnny jon jonas jonathan jordan jorge jose josef joseph josh
    joshua joy joyce juan judith judy julia julian julie jürgen justin kai kara karen karin karl
    karla kate katharina katherine kathleen kathy katie katja keith kelly ken kenneth kerry kevin
    kim kirsten klaus konrad kristin kurt kyle lara larry lars laura lauren laurence lea leah lee
    lena leo leon leonie leyla lia liam lily linda linus lisa liz louis louise luca lucas lucia
    lucy luis luisa lukas luke lydia maggie magnus maja malte manuel marc marco marcus margaret
    maria marie marina mario mark marlene markus marta martha martin martina mary mateo mathias
    matt matteo matthew matthias maureen maurice max maya megan mehmet melanie melissa mia michael
    michelle miguel mike mila milan miriam mohamed mohammed moira molly monica monika moritz
    nadia nadja naomi natalie natasha nathan neil nick nicholas nico nicole nigel nikita nils nina
    noah noor nora norman oleg oliver olivia olga omar oscar oskar otto owen pablo pamela pat
    patricia patrick paul paula pedro peggy penny pete peter petra phil philip philipp phoebe
    pia pierre piet priya quentin rachel raj ralph ramona raphael raul ravi raymond rebecca regina
    rene renate rhys ricardo richard rita rob robert roberto robin roger roland rolf roman ron
    ronald rosa rose rosie ross roy ruby rudi rupert ruth ryan sabine sabrina sally sam samantha
    samir samuel sandra sara sarah sascha scott sean sebastian selma sergio shannon sharon sheila
    shirley silke silvia simon simone sofia sofie sonja sophia sophie stefan stefanie stella
    stephanie stephen steve steven stuart sue susan susanne suzanne sven svenja sylvia tamara tanja
    tara ted teresa terry thea theo theresa thomas tim timo tina tobias todd tom tommy tony tracy
    trevor tristan ulrich ursula ute uwe valentina vanessa vera veronica victor victoria viktor
    vincent violet virginia wade walter wanda wayne wendy werner will william wolfgang xavier yara
    yasmin yusuf yvonne zack zara zoe zoey
    """
)
"""First names only: "Karen" and "Smith" may be the same person."""
