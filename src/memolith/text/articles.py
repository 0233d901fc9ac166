"""Articles: which words of a text are, and may be left out without changing what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from memolith.text.lists import word_set
from memolith.text.speech import is_english, is_german
from memolith.text.words import NUMERAL, Word

# --- English --------------------------------------------------------------------------------------

# No noun phrase begins with these: what stands before them is a letter or a name ("The Who").
_ENGLISH_FUNCTION_WORDS = word_set(
    """
    and or but nor to of is are was were be been in at on for with from by as than that then if
    who whom which when where while because so has had do does did not will would can could
    shall should may might must i you he she it we they
    """
)
# "A few" are some, "few" hardly any; "the last week" is not "last week".
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

# --- German ---------------------------------------------------------------------------------------

# What the case, number and gender of a German article say is part of the fact: "der Hund beißt
# den Mann" is another than "den Hund beißt der Mann". So den, dem, des stay, whether definite or
# not; der, die, das, ein, eine go only where nothing hangs on them.
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
# Nouns of two genders and two meanings: der Band, das Band, die Band.
_TWO_GENDER_NOUNS = word_set(
    """
    band bund ekel erbe gehalt golf heide hut kiefer kunde laster leiter mangel mark marsch mast
    messer militär moment otter pack pony raster reis schild see service single steuer taube tau
    tor verdienst wehr weise junge alm flur hort mensch stift teil dotter gummi korn koppel
    liter meter pol schwulst
    """
)
# After "die" these may be plurals that look like the singular: die Fenster, das Fenster.
_MAYBE_PLURAL = re.compile(r"\w+(?:er|el|en|chen|lein|s)")
# After "der" these may be feminine, and so a dative: "der Frau hilft sie".
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
    """Return the words without articles, where these can be told and nothing hangs on them.

    Args:
        words: A text's words, in order.
        shouted: The whole text is in capitals, which then say nothing.
    """
    texts = [word.text for word in words]
    if is_german(texts):
        return _remove_german_articles(words)
    if not any(text.lower() in _MEANING_CHANGERS for text in texts) or not is_english(texts):
        return list(words)
    left_out = {
        at
        for at in range(len(words))
        if _is_removable_english_article(words, at, is_all_caps=is_all_caps)
    }
    return _drop_words(words, left_out)


def _drop_words(words: Sequence[Word], left_out: AbstractSet[int]) -> list[Word]:
    """Return the other words; what follows a word that opened a sentence opens it now."""
    return [
        replace(word, starts_sentence=True)
        if at - 1 in left_out and words[at - 1].starts_sentence
        else word
        for at, word in enumerate(words)
        if at not in left_out
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
    """Tell whether an "a" after this word may be a letter: "vitamin a", "5 a"."""
    return previous in _LABEL_NOUNS or NUMERAL.fullmatch(previous) is not None


def _remove_german_articles(words: Sequence[Word]) -> list[Word]:
    told = [_to_definite_article(words, at) for at in range(len(words))]
    return _drop_words(
        told, {at for at in range(len(told)) if _is_removable_german_article(told, at)}
    )


def _to_definite_article(words: Sequence[Word], at: int) -> Word:
    """Return an indefinite article in an oblique case as the definite one, else the word."""
    definite = _DEFINITE_FORMS.get(words[at].text.lower())
    if definite is None or _find_noun(words, at, "") is None:
        return words[at]
    return replace(words[at], text=definite)


def _is_removable_german_article(words: Sequence[Word], at: int) -> bool:
    article = words[at].text.lower()
    noun_at = _find_noun(words, at, article) if article in _GERMAN_ARTICLES else None
    if noun_at is None or (
        at and words[at - 1].is_before_punctuation and not words[at].starts_sentence
    ):
        return False  # after a comma it may be a relative pronoun
    noun = words[noun_at].text.lower()
    if noun in _TWO_GENDER_NOUNS:
        return False
    match article:
        case "die":
            return _MAYBE_PLURAL.fullmatch(noun) is None
        case "der":
            return words[at].starts_sentence and _is_masculine(noun) and _is_subject(words, noun_at)
        case "das" | "ein":
            return not noun.endswith("e")
        case _:
            return True


def _find_noun(words: Sequence[Word], at: int, article: str) -> int | None:
    """Return where the noun of an article stands: next, or after one or two adjectives."""
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


def _is_subject(words: Sequence[Word], noun_at: int) -> bool:
    """Tell whether the noun that opens a sentence must be its subject."""
    end = next(
        (at for at in range(noun_at + 1, len(words)) if words[at].starts_sentence), len(words)
    )
    rest = [word.text for word in words[noun_at + 1 : end]]
    if rest and rest[0] in _GERMAN_COPULAS:
        return True
    return not any(text[0].isupper() or text in _GERMAN_PRONOUNS for text in rest)
