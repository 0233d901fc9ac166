"""Compute the canonical form of a text: texts with the same form state the same fact.

Expands unambiguous contractions, drops articles, and folds case unless these carry meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from memolith.text.language_id import is_english, is_german
from memolith.text.lexicon.language import word_set
from memolith.text.words import NUMERAL, Word, words

_IRREGULAR_CONTRACTIONS = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    "i'm": ("i", "am"),
}
_NEGATED = word_set(
    "do does did is are was were have has had would could should must need might dare"
)
_ENDINGS = {"re": "are", "ve": "have", "ll": "will", "d": "'d"}
CONTRACTION_PARTS = frozenset(
    word
    for text in (
        *_IRREGULAR_CONTRACTIONS,
        *_NEGATED,
        *map("{}n".format, _NEGATED),
        *_ENDINGS.values(),
    )
    for word in (*text.split("'"), *_IRREGULAR_CONTRACTIONS.get(text, ()))
)
"""Words in expanded contractions, and the parts before their apostrophes."""
# After these words, 's is short for "is" or "has"; after others it may be a possessive.
_BEFORE_S = word_set("it he she that there here what who where how when why")
_ENGLISH_ADVERBS = word_set(
    """
    just already never always not also really recently probably finally only still even ever now
    since all often once twice certainly definitely almost nearly long
    """
)
# Maximum distance of a participle: three adverbs in a row are already rare.
_MAX_LOOKAHEAD = 4
# Before these participles, 's may be "has" ("he's left"). Participles in -ed are recognised by
# their ending, except for adjectives that never follow "has".
_IRREGULAR_PARTICIPLES = word_set("""
    been got gotten had gone left come become begun broken brought built bought caught chosen cut
    done drawn drunk driven eaten fallen felt found forgotten given grown heard held hidden hit hurt
    kept known laid led let lost made meant met paid put read ridden run said seen sold sent set
    shown shut sung sat slept spoken spent stood stolen swum taken taught told thought thrown
    understood woken worn won written quit bitten blown flown frozen lent lain risen shot spread
    """)
_PARTICIPLE_ADJECTIVES = word_set(
    """
    married tired bored excited worried interested scared engaged divorced retired red bed
    indeed called named allowed supposed used based located born allergic
    """
)
_CONTRACTION = re.compile(r"([^\W_]+(?:-[^\W_]+)*)'([^\W\d_]+)")
_NAME_LETTERS = 2


def expand_contractions(words: Sequence[Word], *, is_all_caps: bool) -> list[Word]:
    """Return the words with each contraction as two words, in lower case.

    'd is ambiguous and becomes a word of its own.

    Args:
        words: The words of a text, in order.
        is_all_caps: Whether the whole text is in capitals. Otherwise a word in capitals is a name.
    """
    expanded: list[Word] = []
    for at, word in enumerate(words):
        if "'" not in word.text and word.text.lower() not in _IRREGULAR_CONTRACTIONS:  # most words
            expanded.append(word)
            continue
        first, *rest = (
            _split_contraction(words, at) if is_all_caps or not _is_name(word.text) else [word.text]
        )
        if rest:
            expanded += [
                Word(first, starts_sentence=word.starts_sentence),
                Word(
                    rest[0],
                    is_before_punctuation=word.is_before_punctuation,
                    is_before_question_mark=word.is_before_question_mark,
                ),
            ]
        else:
            expanded.append(word)
    return expanded


def _split_contraction(words: Sequence[Word], at: int) -> tuple[str, ...]:
    lower = words[at].text.lower()
    if lower in _IRREGULAR_CONTRACTIONS:
        return _IRREGULAR_CONTRACTIONS[lower]
    match = _CONTRACTION.fullmatch(lower) if "'" in lower else None
    if match is None:
        return (lower,)
    base, ending = match[1], match[2]
    if ending == "t" and base.endswith("n") and base[:-1] in _NEGATED:
        return (base[:-1], "not")
    if ending in _ENDINGS:
        return (base, _ENDINGS[ending])
    if (
        ending == "s"
        and base in _BEFORE_S
        and not _is_possible_has(words[at + 1 : at + 1 + _MAX_LOOKAHEAD])
    ):
        return (base, "is")
    return (lower,)


def _is_name(word: str) -> bool:
    base = word.partition("'")[0]
    return len(base) >= _NAME_LETTERS and base.isupper()


def _is_possible_has(following: Sequence[Word]) -> bool:
    """Return whether a participle follows, apart from adverbs."""
    lower = (word.text.lower() for word in following)
    return _is_participle(next((word for word in lower if word not in _ENGLISH_ADVERBS), ""))


def _is_participle(word: str) -> bool:
    if word in _PARTICIPLE_ADJECTIVES:
        return False
    return word in _IRREGULAR_PARTICIPLES or word.endswith("ed")


# --- Articles


# --- English articles

# No noun phrase begins with these: an article before them is a letter, or part of a name ("The
# Who").
_ENGLISH_FUNCTION_WORDS = word_set(
    """
    and or but nor to of is are was were be been in at on for with from by as than that then if
    who whom which when where while because so has had do does did not will would can could
    shall should may might must i you he she it we they
    """
)
# "A few" means some, "few" hardly any; "the last week" is not "last week".
_MEANING_CHANGERS = {
    "a": word_set("few little bit lot while couple number good second third most one"),
    "an": word_set("only other"),
    "the": word_set(
        "few little one ones only other others last next more most less least second third rest"
    ),
}
_LABEL_NOUNS = word_set(
    """
    vitamin vitamins plan grade hepatitis type class option group team level section part row
    gate terminal block zone appendix exhibit point side model variant version case hall
    platform room building influenza answer category schedule line unit apartment tier
    """
)

# --- German articles

# The case, number and gender of a German article are part of the fact: "der Hund beißt den Mann"
# differs from "den Hund beißt der Mann". So "den", "dem" and "des" stay. "Der", "die", "das", "ein"
# and "eine" are removed only where they carry no meaning.
_DEFINITE_FORMS = {"einen": "den", "einem": "dem", "eines": "des"}
_GERMAN_ARTICLES = frozenset({"der", "die", "das", "ein", "eine"})
_GERMAN_ADJECTIVES = {
    "der": re.compile(r"[a-zäöüß]{2,}e"),
    "die": re.compile(r"[a-zäöüß]{2,}e"),
    "das": re.compile(r"[a-zäöüß]{2,}e"),
    "ein": re.compile(r"[a-zäöüß]{2,}e[rs]"),
    "eine": re.compile(r"[a-zäöüß]{2,}e"),
}
_GERMAN_DETERMINER = re.compile(
    r"(?:[mdsk]?ein|ihr|unser|eure?|dies|jen|jed|all|welch|manch|solch|einig|viel|wenig|beid)\w*"
)
_MAX_ADJECTIVES = 2
# Nouns with several genders and meanings: der Band, das Band, die Band.
_TWO_GENDER_NOUNS = word_set(
    """
    band bund ekel erbe gehalt golf heide hut kiefer kunde laster leiter mangel mark marsch mast
    messer militär moment otter pack pony raster reis schild see service single steuer taube tau
    tor verdienst wehr weise junge alm flur hort mensch stift teil dotter gummi korn koppel
    liter meter pol schwulst
    """
)
# After "die", these may be plurals with the form of the singular: die Fenster, das Fenster.
_MAYBE_PLURAL = re.compile(r"\w+(?:er|el|en|chen|lein|s)")
# After "der", these may be feminine and therefore datives: "der Frau hilft sie".
_MAYBE_FEMININE = re.compile(r"\w+(?:e|in|ung|heit|keit|schaft|ion|tät|ie|ik|ur|ei|enz|anz|is|a)")
_FEMININE_NOUNS = word_set(
    """
    frau mutter tochter schwester oma mama stadt bank firma kuh maus hand nacht welt uni bahn
    post zeit arbeit antwort gans braut polizei band burg macht kraft tür schuld wand haut luft
    zahl wahl fahrt post jugend hilfe nummer mauer feder schulter
    """
)
_GERMAN_COPULAS = frozenset({"ist", "war", "heißt", "heisst", "wird", "bleibt"})
_GERMAN_PRONOUNS = word_set(
    "ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen man wer wen wem"
)


def remove_articles(words: Sequence[Word], *, is_all_caps: bool) -> list[Word]:
    """Return the words without articles that can be identified and carry no meaning.

    Args:
        words: The words of a text, in order.
        is_all_caps: Whether the whole text is in capitals, which then carry no meaning.
    """
    texts = [word.text for word in words]
    if is_german(texts):
        return _remove_german_articles(words)
    if not any(text.lower() in _MEANING_CHANGERS for text in texts) or not is_english(texts):
        return list(words)
    removed = {
        at
        for at in range(len(words))
        if _is_removable_english_article(words, at, is_all_caps=is_all_caps)
    }
    return _drop_words(words, removed)


def _drop_words(words: Sequence[Word], removed: AbstractSet[int]) -> list[Word]:
    """Return the remaining words; a dropped first word passes on its sentence start."""
    return [
        replace(word, starts_sentence=True)
        if at - 1 in removed and words[at - 1].starts_sentence
        else word
        for at, word in enumerate(words)
        if at not in removed
    ]


def _is_removable_english_article(words: Sequence[Word], at: int, *, is_all_caps: bool) -> bool:
    word, lower = words[at], words[at].text.lower()
    if lower not in _MEANING_CHANGERS or word.is_before_punctuation or at + 1 == len(words):
        return False
    following = words[at + 1].text
    if not following[0].isalnum() or following.lower() in _ENGLISH_FUNCTION_WORDS:
        return False
    if word.text.isupper() and not (is_all_caps or (word.starts_sentence and lower == "a")):
        return False  # "Plan A needs time"
    if following.lower() in _MEANING_CHANGERS[lower]:
        return False
    return lower == "the" or not _is_label(words[at - 1].text.lower() if at else "")


def _is_label(previous: str) -> bool:
    """Return whether an "a" after this word may be a letter: "vitamin a", "5 a"."""
    return previous in _LABEL_NOUNS or NUMERAL.fullmatch(previous) is not None


def _remove_german_articles(words: Sequence[Word]) -> list[Word]:
    definite = [_to_definite_article(words, at) for at in range(len(words))]
    return _drop_words(
        definite, {at for at in range(len(definite)) if _is_removable_german_article(definite, at)}
    )


def _to_definite_article(words: Sequence[Word], at: int) -> Word:
    """Return the definite form of an indefinite article in an oblique case, or else the word."""
    definite = _DEFINITE_FORMS.get(words[at].text.lower())
    if definite is None or _find_noun(words, at, "") is None:
        return words[at]
    return replace(words[at], text=definite)


def _is_removable_german_article(words: Sequence[Word], at: int) -> bool:
    article = words[at].text.lower()
    noun_place = _find_noun(words, at, article) if article in _GERMAN_ARTICLES else None
    if noun_place is None or (
        at and words[at - 1].is_before_punctuation and not words[at].starts_sentence
    ):
        return False  # after a comma it may be a relative pronoun
    noun = words[noun_place].text.lower()
    if noun in _TWO_GENDER_NOUNS:
        return False
    match article:
        case "die":
            return _MAYBE_PLURAL.fullmatch(noun) is None
        case "der":
            return (
                words[at].starts_sentence and _is_masculine(noun) and _is_subject(words, noun_place)
            )
        case "das" | "ein":
            return not noun.endswith("e")
        case _:
            return True


def _find_noun(words: Sequence[Word], at: int, article: str) -> int | None:
    """Return the position of an article's noun: next, or after one or two adjectives."""
    for place in range(at + 1, min(at + 2 + _MAX_ADJECTIVES, len(words))):
        if words[place - 1].is_before_punctuation:
            return None
        text = words[place].text
        if text[0].isupper() and not text.isupper():
            return place
        adjective = _GERMAN_ADJECTIVES.get(article)
        if adjective is None or not adjective.fullmatch(text) or _GERMAN_DETERMINER.fullmatch(text):
            return None
    return None


def _is_masculine(noun: str) -> bool:
    return noun not in _FEMININE_NOUNS and _MAYBE_FEMININE.fullmatch(noun) is None


def _is_subject(words: Sequence[Word], noun_place: int) -> bool:
    """Return whether the noun at the start of a sentence must be its subject."""
    end = next(
        (at for at in range(noun_place + 1, len(words)) if words[at].starts_sentence), len(words)
    )
    rest = [word.text for word in words[noun_place + 1 : end]]
    if rest and rest[0] in _GERMAN_COPULAS:
        return True
    return not any(text[0].isupper() or text in _GERMAN_PRONOUNS for text in rest)


# --- Canonical form


_SEPARATOR = "\x1f"

_TIME_OF_DAY = re.compile(r"(\d[\d:.]*)?([ap])\.?(m)\.?", re.IGNORECASE)
_TIME_SUFFIXES = ("m", "m.")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_SAME_IN_CAPITALS = frozenset({"OK", "TV", "OKAY"})
_CASED_SIGNS = re.compile(r"://|[\\_=]")
_UNIT_CHARS = 2
_MIN_CAPITAL_WORDS = 3
# Words with another meaning if capitalised, without months. A guess at frequent ones.
_CAPITONYMS = word_set(
    """
    Turkey China Polish Bill Mark Rose Frank Will Reading Nice Mobile Cologne Jack Drew Grace
    Hope Joy Faith Ivy Lily Daisy Pearl Ruby Amber Rob Sue Pat Chase Hunter Mercury Mars Apple
    Amazon Windows Shell Target Gap Oracle Slack Word Excel Teams Signal Discord Zoom Python
    Java Swift Rust Go Bath Cork Job God Catholic Lent Bush Stone Brown Green Black White Young
    Baker Cook Smith Miller Fisher King Gene Dean Guy Ray Ted Don Dick Jean Robin Jay Wren Star
    Visa Dove Galaxy Champagne Hamburger Turkish Guinea Chile Chad Jordan Georgia Jersey
    """
)


def content_key(text: str) -> str:
    """Return the canonical form of a text as one string; empty only for an empty text."""
    return _SEPARATOR.join(canonical_words(text))


def canonical_words(text: str) -> tuple[str, ...]:
    """Return the words of the canonical form of a text, in order.

    Meaningful signs, emoji and question marks count as words. A text without words becomes a single
    word.
    """
    text_words = words(text)
    if not text_words:
        marks = " ".join(text.split())
        return (marks,) if marks else ()
    is_all_caps = _is_in_capitals(text_words)
    expanded = expand_contractions(text_words, is_all_caps=is_all_caps)
    without_articles = remove_articles(expanded, is_all_caps=is_all_caps) or expanded
    normal: list[str] = []
    for at, word in enumerate(without_articles):
        normal.append(_fold_case(without_articles, at, is_all_caps=is_all_caps))
        if word.is_before_question_mark:
            normal.append("?")
    return tuple(normal)


def _is_in_capitals(text_words: Sequence[Word]) -> bool:
    """Return whether the whole text is in capitals, so that a word in capitals is no name."""
    return (
        not any(char.islower() for word in text_words for char in word.text)
        and sum(word.text.isupper() for word in text_words) >= _MIN_CAPITAL_WORDS
    )


def _fold_case(words: Sequence[Word], at: int, *, is_all_caps: bool) -> str:
    """Return a word in lower case, or unchanged if its case may carry meaning."""
    word = words[at]
    lower = word.text.lower()
    if word.text == lower and not lower.endswith(_TIME_SUFFIXES):
        return lower
    after_number = at > 0 and NUMERAL.fullmatch(words[at - 1].text) is not None
    time = _TIME_OF_DAY.fullmatch(word.text)
    if time and (after_number or time[1]):
        return f"{time[1] or ''}{time[2]}{time[3]}".lower()  # "8 a.m." is "8 AM"
    should_keep = not is_all_caps and _should_keep_case(word, after_number=after_number)
    return word.text if should_keep else lower


def _should_keep_case(word: Word, *, after_number: bool) -> bool:
    text = word.text
    base = text.partition("'")[0]
    if text.islower() or _ORDINAL.fullmatch(text):
        return False
    if base.isupper() and sum(map(str.isalpha, base)) > 1:
        return text not in _SAME_IN_CAPITALS  # US and us, IT and it
    if after_number and text != "I" and (len(text) <= _UNIT_CHARS or not text[1:].islower()):
        return True  # MW and mW, MB/s and Mb/s
    return (
        _is_cased_code(text)
        or _CASED_SIGNS.search(text) is not None
        or (not word.starts_sentence and base in _CAPITONYMS)
    )


def _is_cased_code(text: str) -> bool:
    """Return whether letters and digits are mixed as in a measure or a code: 10M, aB3x."""
    if not any(map(str.isdigit, text)):
        return False
    letters = "".join(filter(str.isalpha, text))
    return text[0].isdigit() or not (letters[1:].islower() or not letters[1:])
