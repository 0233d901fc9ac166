"""German grammar of statements, limited to the most frequent ones."""

from __future__ import annotations

from types import MappingProxyType

from memolith.text.lexicon.language import word_set
from memolith.text.statements.grammar import Attribute, Grammar, Mark

_CAPITAL = r"[A-ZÄÖÜ][\wäöüß.-]*"
_NAME = rf"(?!Ich\b|Du\b|Er\b|Sie\b|Es\b|Wir\b|Ihr\b|Mein){_CAPITAL}(?: {_CAPITAL})?"

_SLOTS = MappingProxyType(
    {
        "S": rf"(?P<s>ich|wir|{_NAME})",
        "P": rf"(?P<s>meine?|unsere?|{_NAME}s)",
        "only": "(?P<a>Frau|Mann)",
        "hired": "(?P<a>Chef|Chefin|Vermieter|Vermieterin|Zahnarzt|Zahnärztin|Arzt|Ärztin)",
        "T": r"(?P<s>(?:der|die|das|mein|meine|unser|unsere) [A-ZÄÖÜ][\wäöüß-]*)",
    }
)

_ATTRIBUTES = (
    Attribute(
        name="home",
        value="place",
        sentences=("{S} (?:wohnen?|wohnt|lebe|lebt|leben) in {V}",),
        change_sentences=(
            "{S} (?:bin|ist|sind) (?:von {W} )?nach {V} (?:um)?gezogen",
            "{S} (?:bin|ist|sind) aus {W} nach {V} gezogen",
        ),
        anchors=word_set("wohne wohnt wohnen lebe lebt leben gezogen umgezogen"),
    ),
    Attribute(
        name="employer",
        value="organisation",
        sentences=("{S} arbeite[tn]? (?:bei|für) (?:der |dem )?{V}",),
        change_sentences=(
            "{S} (?:habe?|hat) (?:von {W} )?zu {V} gewechselt",
            "{S} (?:bin|ist) (?:von {W} )?zu {V} gewechselt",
        ),
        # Many people have a second job.
        is_exclusive=False,
        anchors=word_set("arbeite arbeitet arbeiten gewechselt"),
    ),
    Attribute(
        name="occupation",
        value="occupation",
        sentences=("{S} arbeite[tn]? als {V}",),
        weak_sentences=("{S} (?:bin|ist) {V}",),
        change_sentences=("{S} (?:bin|ist) {V} geworden",),
        is_exclusive=False,
    ),
    Attribute(
        name="age",
        value="age",
        sentences=("{S} (?:bin|ist) {V}", "{S} (?:bin|ist) {V} Jahre alt"),
        change_sentences=("{S} (?:bin|ist) {V} geworden",),
    ),
    Attribute(
        name="birthday",
        value="date",
        sentences=("{P} Geburtstag ist (?:am )?{V}", "{S} habe? (?:am )?{V} Geburtstag"),
        anchors=word_set("Geburtstag"),
    ),
    Attribute(
        name="name",
        value="full name",
        sentences=("{P} Name ist {V}", "{S} heiß(?:e|t) {V}"),
        anchors=word_set("Name heiße heißt"),
    ),
    Attribute(
        name="nickname",
        value="nickname",
        sentences=("nenn(?: (?P<s>mich)|e mich) {V}",),
        # Friends and colleagues may use different nicknames.
        is_exclusive=False,
        anchors=word_set("nenn nenne"),
    ),
    Attribute(
        name="best",
        value="best",
        sentences=(
            r"{P} (?P<a>Lieblings[a-zäöüß]+) (?:ist|heißt) {V}",
            r"{V} ist {P} (?P<a>Lieblings[a-zäöüß]+)",
        ),
        change_sentences=(r"{P} neue[sr]? (?P<a>Lieblings[a-zäöüß]+) ist {V}",),
    ),
    Attribute(
        name="relation",
        value="person",
        sentences=("{P} {only} (?:ist|heißt) {V}",),
        change_sentences=("{P} neuer? {hired} (?:ist|heißt) {V}",),
    ),
    Attribute(
        name="relation",
        value="person",
        sentences=("{P} {hired} (?:ist|heißt) {V}",),
        # There may be another one before or elsewhere.
        is_exclusive=False,
    ),
    Attribute(
        name="diet",
        value="diet",
        sentences=("{S} (?:bin|ist) {V}",),
        change_sentences=("{S} (?:bin|ist) {V} geworden",),
        anchors=word_set("Vegetarier Vegetarierin vegetarisch vegan Veganer Veganerin"),
    ),
    Attribute(
        name="marriage",
        value="marriage",
        sentences=("{S} (?:bin|ist) {V}",),
        anchors=word_set("ledig verheiratet verlobt geschieden verwitwet"),
    ),
    Attribute(
        name="schedule",
        value="when",
        is_about_thing=True,
        sentences=("{T} (?:ist|findet) {V}(?: statt)?",),
        change_sentences=(
            "{T} (?:wurde|ist) (?:von {W} )?auf {V} verschoben(?: worden)?",
            "{T} (?:wurde|ist) vom {W} auf (?:den )?{V} verschoben(?: worden)?",
        ),
    ),
)

_ENDINGS = (
    (r"(?P<s>\w+) (?P<v>\w+) nicht mehr", ("{s} {v}",)),
    # But "ich trinke nicht mehr Kaffee" may be "no more coffee than before".
    (
        r"(?P<s>\w+) (?P<b>bin|ist|sind) nicht mehr (?P<v>.+)",
        ("{s} {b} {v}",),
    ),
    (
        r"(?P<s>\w+) (?P<b>\w+) nicht mehr (?P<v>(?:in|im|bei|beim|als|für|mit|an|auf|zu|gern) .+)",
        ("{s} {b} {v}",),
    ),
    (r"(?P<s>\w+) (?P<b>\w+) kein(?P<e>e|en|em|er)? (?P<v>.+) mehr", ("{s} {b} {v}",)),
    (r"(?P<s>\w+) (?P<b>\w+) (?P<v>.+) nicht mehr", ("{s} {b} {v}",)),
)

GRAMMAR = Grammar(
    language="de",
    attributes=_ATTRIBUTES,
    slots=_SLOTS,
    openings=(
        (r"tatsächlich,? ", Mark.CORRECTED),
        (r"(?:korrektur|nein)[:,] ", Mark.CORRECTED),
        (r"(?:ab (?:heute|jetzt)|seit (?:heute|gestern)),? ", Mark.NOW),
        (r"(?:übrigens|also|naja|na ja|hallo|ok)[,:] ", None),
    ),
    adverbs=(
        (r"(?:jetzt|inzwischen|mittlerweile|nun)", Mark.NOW),
        (r"(?:immer noch|noch immer)", Mark.STILL),
    ),
    required_words=word_set(
        """
        bin ist sind wohne wohnt wohnen lebe lebt leben arbeite arbeitet arbeiten habe hab hat heiße
        heißt nenn nenne findet wurde mehr
        """
    ),
    blocking_words=word_set(
        """
        auch manchmal meistens oft teilweise wieder außerdem morgen gestern heute vielleicht
        wahrscheinlich möglicherweise glaube denke könnte würde sollte will möchte muss werde wird
        wenn falls als-ob obwohl weil sagt sagte war waren hatte hatten wohnte früher damals bis
        fast etwa ungefähr nie immer nur halb oder aber bald später eigentlich ehemals wochenende
        beide zweite zweiter zweites letzte letzten nächste nächsten seit vorübergehend derzeit
        nicht kein keine keinen
        """
    ),
    endings=_ENDINGS,
    user_subjects=word_set("ich mein meine mich meinem"),
    group_subjects=word_set("wir unser unsere"),
    non_names=word_set(
        """
        Ich Du Er Sie Es Wir Ihr Mein Meine Dein Sein Ihre Unser Unsere Der Die Das Den Dem Ein
        Eine Einen Einem Wenn Wer Was Wo Wann Wie Warum Nenn Nenne Kein Keine
        """
    ),
    one_off=word_set("hochzeit"),
    determiners=word_set("der die das mein meine unser unsere"),
    possessives=word_set("mein meine"),
)
