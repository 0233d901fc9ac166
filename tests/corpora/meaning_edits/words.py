"""Words to exchange.

The lists are this project's own choice: words that people use about themselves, not a whole
dictionary. Entries are lower case unless the word never is, and may have several words. `a/b` works
both ways, `a>b` one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal

Language = Literal["en", "de"]

Exchanges = Mapping[str, tuple[str, ...]]
"""Replacements of a lower-case word."""


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for entry in (part.strip() for part in " ".join(text.split()).split(",")):
        if ">" in entry:
            old, _, new = entry.partition(">")
            yield old.strip(), new.strip()
        elif "/" in entry:
            one, _, other = entry.partition("/")
            yield from ((one.strip(), other.strip()), (other.strip(), one.strip()))


def listed(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def exchanges(text: str) -> Exchanges:
    """Read comma-separated entries `a/b` (both ways) and `a>b` (one way)."""
    found: dict[str, tuple[str, ...]] = {}
    for old, new in _entries(text):
        known = found.get(old.lower(), ())
        found[old.lower()] = known if new in known else (*known, new)
    return MappingProxyType(found)


def _round(text: str) -> str:
    """Return entries that replace each word by the next, and the last by the first."""
    words = text.split()
    following = [*words[1:], words[0]]
    return ", ".join(f"{old}>{new}" for old, new in zip(words, following, strict=True))


ENGLISH: Final[Mapping[str, Exchanges]] = {
    "direction": exchanges(
        """left/right, up/down, above/below, over/under, north/south, east/west,
        northern/southern, eastern/western, upstairs/downstairs, inside/outside, top/bottom,
        in front of/behind, indoors/outdoors, uphill/downhill, forwards/backwards, into/out of"""
    ),
    "before_after": exchanges(
        """before/after, until/since, earlier/later, till>from, beforehand/afterwards,
        past/to, prior to/following, ago>from now"""
    ),
    "modality": exchanges(
        """must>may, must>should, may>must, can>must, might>must, should>may, should>must,
        could>must, would>must, must not>need not, need not>must not, have to>want to,
        has to>wants to, had to>wanted to, want to>have to, wants to>has to,
        definitely/possibly, certainly/perhaps, maybe>certainly, probably>certainly"""
    ),
    "tense": exchanges(
        """is>was, are>were, am>was, was>is, were>are, has>had, have>had, had>has,
        will be>was, used to be>is, still>no longer, no longer>still, currently/formerly"""
    ),
    "number": exchanges(
        """one>two, two/three, four/five, six/seven, eight/nine, ten/eleven, twelve>twenty,
        thirteen/thirty, fourteen/forty, fifteen/fifty, sixteen/sixty, seventeen/seventy,
        eighteen/eighty, nineteen/ninety, twenty>twelve, hundred/thousand, million/billion,
        half/double, once/twice, first/second, third/fourth, fifth/sixth"""
    ),
    "date": exchanges(
        """today>tomorrow, tomorrow>yesterday, yesterday>today, tonight>last night,
        last week/next week, last month/next month, last year/next year, this week>next week,
        this month>next month, this year>last year, spring/autumn, summer/winter"""
    ),
    "time": exchanges(
        """am/pm, a.m./p.m., morning/evening, noon/midnight, afternoon>night,
        quarter past/quarter to, half past>quarter past"""
    ),
    "quantifier": exchanges(
        """all>some, all>no, every>one, every>no, each>one, some>all, some>no, most>few,
        many/few, much/little,
        all of/none of, some of>none of, most of>none of, each of>none of,
        none>all, no>some, any>every,
        both/neither, either>neither,
        everyone>no one, everybody>nobody, no one>everyone, nobody>everybody,
        someone>no one, somebody>nobody, everything/nothing, something>nothing,
        everywhere/nowhere, only>also, at least/at most, more than/less than,
        about>exactly, exactly>about, several>no"""
    ),
    "comparative": exchanges(
        """more/less, better/worse, best/worst, bigger/smaller, larger>smaller, higher/lower,
        older/younger, taller/shorter, longer>shorter, faster/slower, cheaper/dearer,
        warmer/colder, hotter>colder, heavier/lighter, harder/easier, richer/poorer,
        most/least, biggest/smallest, oldest/youngest, highest/lowest, longest/shortest,
        minimum/maximum, stronger/weaker, nearer/farther, closer>farther"""
    ),
    "frequency": exchanges(
        """always/never, often/rarely, sometimes>always, usually>rarely, seldom>often,
        daily/weekly, monthly/yearly, ever>never, every day/every week,
        every month/every year, frequently>rarely"""
    ),
    "possessive": exchanges(
        """my>your, my>his, your>my, his/her, our/their, its>their,
        mine/yours, hers/theirs, ours>theirs"""
    ),
    "pronoun": exchanges("he/she, him/her, himself/herself, we/they, us>them, them>us, me>him"),
    "unit": exchanges(
        """km/miles, kilometres/miles, kilometers/miles, kilometre>mile, kg/lb, kilos/pounds,
        kilograms/pounds, grams/ounces, cm/inches, metres/feet, meters/feet, litres/gallons,
        liters/gallons, euros/dollars, euro/dollar, EUR/USD, GBP>EUR, francs>euros,
        percent>percentage points, per cent>percentage points,
        seconds/minutes, minutes>hours, hours>days, days/weeks, weeks>months, months/years,
        minute/hour, day/week, month/year, Celsius/Fahrenheit, cents>euros"""
    ),
    "antonym": exchanges(
        """borrowed from/lent to, bought/sold, buy/sell, buys/sells, won/lost, win/lose,
        love/hate, loves/hates, loved/hated, like/dislike, likes/dislikes, liked/disliked,
        arrived/departed, arrives/departs, opened/closed, open/closed, started/stopped,
        start/stop, starts/stops, accepted/rejected, hired/fired, on time/late,
        remember/forget, remembered/forgot, married/divorced, alive/dead, hot/cold, big/small,
        old/young, rich/poor, cheap/expensive, safe/dangerous, happy/unhappy, able/unable,
        possible/impossible, agree/disagree, agrees/disagrees, agreed/disagreed,
        healthy/ill, sent/received, push/pull, import/export, true/false, father/mother,
        brother/sister, son/daughter, husband/wife, uncle/aunt, with/without, against>for"""
    ),
    "weekday": exchanges(
        _round("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
        + ", "
        + _round("Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays")
    ),
    "month": exchanges(
        _round(
            "January February March April May June July August September October November December"
        )
    ),
    "name": exchanges(
        """Anna/Hannah, Bob/Rob, Alice/Alicia, Maria/Marie, Tom/Tim, Eric/Erica, Erik/Erika,
        Paul/Paula, Daniel/Daniela, John/Joan, Jonas/Jona, Peter/Petra, Lena/Lina, Sara/Sarah,
        Smith/Smyth, Meyer/Mayer, Austria/Australia, Oslo/Bergen, Rome/Paris, London/Lisbon,
        Berlin/Bern, Sweden/Switzerland, Norway/Denmark, Spain/Portugal"""
    ),
}

GERMAN: Final[Mapping[str, Exchanges]] = {
    "direction": exchanges(
        """links/rechts, linken/rechten, linke/rechte, linkes/rechtes, oben/unten, hoch/runter,
        hinauf/hinunter, über/unter, Norden/Süden, Osten/Westen, nördlich/südlich,
        östlich/westlich, innen/außen, drinnen/draußen, vorne/hinten, vorwärts/rückwärts"""
    ),
    "before_after": exchanges(
        """bevor/nachdem, vorher/nachher, früher/später, bis>seit, seit>bis, vor dem/nach dem,
        vor der/nach der, vor den/nach den, vor meinem/nach meinem, vor meiner/nach meiner,
        viertel vor/viertel nach"""
    ),
    "modality": exchanges(
        """muss>darf, musst>darfst, müssen>dürfen, darf>muss, darfst>musst, dürfen>müssen,
        kann>muss, kannst>musst, können>müssen, soll>darf, sollst>darfst, sollen>dürfen,
        will>muss, willst>musst, wollen>müssen, möchte>muss, möchten>müssen, sollte>muss,
        vielleicht>bestimmt, wahrscheinlich>bestimmt, sicher>vielleicht, bestimmt>vielleicht"""
    ),
    "tense": exchanges(
        """ist/war, bin>war, sind/waren, hat/hatte, habe>hatte, haben/hatten, bist/warst,
        hast/hattest, wird>wurde, werde>wurde, noch>nicht mehr, nicht mehr>noch, muss>musste,
        kann>konnte, konnte>kann, musste>muss"""
    ),
    "number": exchanges(
        """zwei/drei, vier/fünf, sechs/sieben, acht/neun, zehn/elf, zwölf>zwanzig,
        dreizehn/dreißig, vierzehn/vierzig, fünfzehn/fünfzig, sechzehn/sechzig,
        siebzehn/siebzig, achtzehn/achtzig, neunzehn/neunzig, zwanzig>zwölf, hundert/tausend,
        Millionen/Milliarden, einmal/zweimal, ersten/zweiten, erste/zweite, dritten/vierten"""
    ),
    "date": exchanges(
        """heute>morgen, morgen>gestern, gestern>heute, übermorgen>morgen, vorgestern>gestern,
        letzte woche/nächste woche, letzten monat/nächsten monat, letztes jahr/nächstes jahr,
        Frühling/Herbst, Sommer/Winter"""
    ),
    "time": exchanges(
        """morgens/abends, vormittags/nachmittags, mittags>nachts, Mittag/Mitternacht,
        Vormittag/Nachmittag, viertel nach/viertel vor, um halb>um"""
    ),
    "quantifier": exchanges(
        """alle>einige, alle>keine, alles/nichts, allen>einigen, einige>alle, manche>alle,
        jeder>keiner, jede>keine, jedes>keines, jeden>keinen, jeder>mancher, niemand>jeder,
        jemand>niemand, etwas>nichts, viele/wenige, viel/wenig, meisten>wenigsten,
        beide>keine, nur>auch, mindestens/höchstens, überall/nirgends, etwa>genau,
        ungefähr>genau, genau>ungefähr"""
    ),
    "comparative": exchanges(
        """mehr/weniger, besser/schlechter, größer/kleiner, höher/niedriger, älter/jünger,
        länger/kürzer, schneller/langsamer, billiger/teurer, wärmer/kälter, schwerer/leichter,
        stärker/schwächer, am meisten/am wenigsten, größte/kleinste, älteste/jüngste"""
    ),
    "frequency": exchanges(
        """immer/nie, oft/selten, manchmal>immer, meistens>selten, häufig>selten,
        täglich/wöchentlich, monatlich/jährlich, niemals>immer, jeden Tag/jede Woche"""
    ),
    "possessive": exchanges(
        """mein/dein, meine/deine, meinen/deinen, meinem/deinem, meiner/deiner, meines/deines,
        mein>sein, meine>seine, sein>ihr, seine/ihre, seinen/ihren, seinem/ihrem,
        seiner/ihrer, unser>euer, unsere>eure, unserer>eurer, unseren>euren"""
    ),
    "pronoun": exchanges("er/sie, ihn>sie, ihm>ihr, wir>ihr, mich/dich, mir/dir, uns>euch"),
    "unit": exchanges(
        """km/Meilen, Kilometer/Meilen, kg/Pfund, Kilo/Pfund, Euro/Dollar, EUR/USD,
        Franken>Euro, Prozent>Prozentpunkte, Sekunden/Minuten, Minuten>Stunden,
        Stunden>Tage, Tage/Wochen, Tagen/Wochen, Monate/Jahre, Monaten/Jahren,
        Minute/Stunde, Tag/Woche, Monat/Jahr, Celsius/Fahrenheit, Cent>Euro"""
    ),
    "antonym": exchanges(
        """gekauft/verkauft, kaufe/verkaufe, kauft/verkauft, kaufen/verkaufen,
        gewonnen/verloren, liebe/hasse, liebt/hasst, lieben/hassen, angefangen/aufgehört,
        offen/geschlossen, verheiratet/geschieden, heiß/kalt, groß/klein, alt/jung,
        reich/arm, billig/teuer, gesund/krank, glücklich/unglücklich, möglich/unmöglich,
        mit/ohne, für/gegen, Vater/Mutter, Bruder/Schwester, Sohn/Tochter, Mann/Frau,
        richtig/falsch, früh/spät, schnell/langsam"""
    ),
    "weekday": exchanges(
        _round("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag")
        + ", "
        + _round("montags dienstags mittwochs donnerstags freitags samstags sonntags")
    ),
    "month": exchanges(
        _round("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")
    ),
    "name": exchanges(
        """Anna/Hanna, Thomas/Tobias, Julia/Juliane, Peter/Petra, Schmidt/Schmitt, Meyer/Maier,
        Lena/Lina, Jonas/Jona, Österreich/Australien, Köln/Bonn, Berlin/Bern, Wien/Graz,
        München/Münster, Rom/Paris, Oslo/Bergen, Schweden/Schweiz, Maria/Marie, Paul/Paula"""
    ),
}

WORDS: Final[Mapping[Language, Mapping[str, Exchanges]]] = {"en": ENGLISH, "de": GERMAN}

ENGLISH_CUES: Final = listed(
    """the a i i'm you he she it we they is are was were has have had do does did don't not to of
    and at with for from my your our their this that be been can his him them on by as or but
    if there what when who how which would should must may might"""
)
GERMAN_CUES: Final = listed(
    """der die das den dem des ein eine einen einem einer ich du er sie es wir ihr ist sind war
    bin hat habe haben hatte nicht kein keine keinen und mit von zu im am auf für aus mein
    meine meinen dein sein unser bei nach vor um uns mir mich dich dir auch oder aber wenn
    dass wird werde kann muss darf soll zum zur vom bitte immer nur"""
)


# Base form, third person, past. Regular verbs are derived from the second list.
_IRREGULAR = """go goes went, have has had, do does did, make makes made, take takes took,
come comes came, see sees saw, know knows knew, get gets got, give gives gave, find finds found,
think thinks thought, tell tells told, eat eats ate, drink drinks drank, drive drives drove,
buy buys bought, sell sells sold, teach teaches taught, write writes wrote, run runs ran,
swim swims swam, sing sings sang, sleep sleeps slept, speak speaks spoke, meet meets met,
pay pays paid, leave leaves left, keep keeps kept, feel feels felt, wear wears wore,
lend lends lent, lose loses lost, win wins won, send sends sent, owe owes owed, fly flies flew,
study studies studied, marry marries married, carry carries carried"""
_REGULAR = """work live like love hate play want need use call visit travel move start stop
prefer help study teach cook paint walk ask owe smoke dance watch listen enjoy rent plan
own trust remember support attend manage borrow repair train believe hope miss collect"""


def _regular(base: str) -> tuple[str, str, str]:
    """Conjugate a regular English verb; verbs that double the last consonant are listed.

    >>> _regular("stop"), _regular("watch")
    (('stop', 'stops', 'stopped'), ('watch', 'watches', 'watched'))
    """
    stem = base + base[-1] if base in {"stop", "plan", "prefer"} else base
    third = base + ("es" if base.endswith(("ch", "sh", "ss")) else "s")
    return base, third, stem + ("d" if stem.endswith("e") else "ed")


def _verbs() -> dict[str, tuple[str, str, str]]:
    irregular = (entry.split() for entry in _IRREGULAR.split(","))
    forms = {base: (base, third, past) for base, third, past in irregular}
    return {base: _regular(base) for base in _REGULAR.split()} | forms


ENGLISH_VERBS: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(_verbs())
"""Base form: base form, third person singular, simple past."""

# Stems of weak verbs, with regular forms.
_WEAK = """arbeit wohn lern lieb hass kauf verkauf spiel reis koch brauch mach sag frag zahl leb
rauch such hör tanz mal sammel"""
_STRONG = """esse isst aß essen aßen, trinke trinkt trank trinken tranken,
fahre fährt fuhr fahren fuhren, gehe geht ging gehen gingen, komme kommt kam kommen kamen,
schreibe schreibt schrieb schreiben schrieben, lese liest las lesen lasen,
mag mag mochte mögen mochten, heiße heißt hieß heißen hießen, nehme nimmt nahm nehmen nahmen,
singe singt sang singen sangen, gebe gibt gab geben gaben"""


def _weak(stem: str) -> tuple[str, str, str, str, str]:
    link = "e" if stem.endswith(("t", "d")) else ""
    return f"{stem}e", f"{stem}{link}t", f"{stem}{link}te", f"{stem}en", f"{stem}{link}ten"


def _german_past() -> dict[str, str]:
    past: dict[str, str] = {}
    strong = [tuple(entry.split()) for entry in _STRONG.split(",")]
    for first, third, single, plural, plural_past in [*map(_weak, _WEAK.split()), *strong]:
        past |= {first: single, third: single, plural: plural_past}
    return past


GERMAN_PAST: Final[Mapping[str, str]] = MappingProxyType(_german_past())
"""Simple past of a present form (ich, er, wir) of the same person."""


def _single_words(tables: Mapping[str, Exchanges]) -> frozenset[str]:
    return frozenset(word for table in tables.values() for word in table if " " not in word)


_IN_ENGLISH: Final = _single_words(ENGLISH) | ENGLISH_CUES | ENGLISH_VERBS.keys()
_IN_GERMAN: Final = _single_words(GERMAN) | GERMAN_CUES | GERMAN_PAST.keys()
_ONLY_GERMAN: Final = _IN_GERMAN - _IN_ENGLISH
_ONLY_ENGLISH: Final = _IN_ENGLISH - _IN_GERMAN


def language_of(sentence: str) -> Language:
    """Return the language by words that only one of the two has; English in a tie."""
    words = re.findall(r"[\w']+", sentence.lower())
    german = sum(word in _ONLY_GERMAN or bool(re.search("[äöüß]", word)) for word in words)
    return "de" if german > sum(word in _ONLY_ENGLISH for word in words) else "en"
