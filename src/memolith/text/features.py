"""Extract text features for ranking, by English and German words and patterns.

The lists are guesses at frequent phrases in conversations, to be tuned by measurement. A text has a
trait if it contains one of the trait's words (in any case), or matches one of its patterns. A
pattern is only tried if the text contains one of its trigger words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from memolith.domain.memories import Features, Trait
from memolith.text.injection import is_suspicious
from memolith.text.lexicon.language import word_set
from memolith.text.segmentation import mask_code


@dataclass(frozen=True, slots=True)
class TriggeredPattern:
    """A pattern that is only tried on texts with one of its lower-case trigger words.

    Without triggers, the pattern is always tried; with `needs_digits`, only on texts with a digit.
    """

    regex: re.Pattern[str]
    triggers: frozenset[str] = frozenset()
    needs_digits: bool = False


def _build_pattern(
    regex: str, triggers: str = "", *, case: bool = False, needs_digits: bool = False
) -> TriggeredPattern:
    flags = 0 if case else re.IGNORECASE
    return TriggeredPattern(re.compile(regex, flags), word_set(triggers), needs_digits)


def _match_any(words: Iterable[str]) -> str:
    """Return an alternation of the words, grouped by first letter for speed."""
    groups = groupby(sorted(words), key=itemgetter(0))
    return "|".join(f"{first}(?:{'|'.join(word[1:] for word in group)})" for first, group in groups)


_NUMBER_WORDS = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
hundreds thousand thousands million millions billion dozen dozens twice thrice
zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert
tausend million millionen milliarde dutzend zweimal dreimal
"""
NUMBER_WORDS = word_set(_NUMBER_WORDS)
"""Without "one" and "ein", which are rarely used as numbers."""

FIRST_PERSON_WORDS = word_set(
    "i me my mine myself we our ours ourselves i'm i've i'll i'd we're we've we'll we'd "
    "ich mich mir mein meine meinem meinen meiner meines wir uns unser unsere unserem unseren "
    "unserer unseres"
)

# --- Time

_WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag"
)
_SEASONS = "spring summer autumn fall winter frühling frühjahr sommer herbst"
_UNITS = (
    "second seconds minute minutes hour hours day days night nights week weeks weekend weekends "
    "month months year years decade decades century centuries quarter semester "
    "sekunde sekunden minute minuten stunde stunden tag tage tagen nacht woche wochen wochenende "
    "monat monate monaten jahr jahre jahren jahrzehnt jahrhundert"
)
TIME_WORDS = word_set(
    f"""
    {_WEEKDAYS} mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february april june july august september october november december
    januar februar märz mai juni juli oktober dezember
    yesterday today tomorrow tonight ago o'clock noon midnight nowadays lately recently
    gestern vorgestern heute übermorgen uhr mitternacht neulich kürzlich
    """
)
"""Without March and May, which need patterns."""

_COUNT = (
    r"(?:\d+|an?|one|few|several|some|many|couple(?:\s+of)?|ein(?:e[mnr]?)?|paar|einigen?|"
    + _match_any(NUMBER_WORDS)
    + ")"
)
_UNIT = f"(?:{_match_any(word_set(_UNITS))})"
_RELATIVE = r"(?:last|next|this|past|coming|previous|following|every|each|the\s+(?:other|same))"
_RELATIVE_DE = r"(?:letzte|nächste|diese|vorige|vergangene|kommende|jede)[mnrs]?"
_PERIOD = f"(?:{_match_any(word_set(f'{_UNITS} {_SEASONS} {_WEEKDAYS}'))})"

TIME_PATTERNS = (
    _build_pattern(
        r"(?<![\d.,$€£-])(?:1[6-9]|20)\d\d(?![\d,-]|\.\d)|(?<!\d)(?:1[6-9]|20)?\d0['’]?s\b",
        needs_digits=True,
    ),
    _build_pattern(
        r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b"
        r"|\b(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:(?:\d\d){1,2}\b|(?!\w))",
        needs_digits=True,
    ),
    _build_pattern(r"\b[012]?\d:[0-5]\d\b|\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b", needs_digits=True),
    _build_pattern(
        r"\bin\s+(?:may|march)\b|\b(?:may|march)\s+\d{1,2}(?:st|nd|rd|th)?\b", "may march"
    ),
    _build_pattern(r"\b\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:may|march)\b", "may march"),
    _build_pattern(
        r"\b(?:[Oo]f|[Oo]n|[Bb]y|[Ss]ince|[Uu]ntil|[Tt]ill|[Ll]ast|[Nn]ext|[Tt]his|[Ee]arly|[Mm]id"
        r"|[Ll]ate|[Dd]uring|[Ff]rom)[\s-]+(?:May|March)\b",
        "may march",
        case=True,
    ),
    _build_pattern(
        r"\b(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?\s+\d{1,4}\b",
        case=True,
        needs_digits=True,
    ),
    _build_pattern(rf"\b(?:{_RELATIVE}|{_RELATIVE_DE})\s+{_PERIOD}\b", f"{_UNITS} {_SEASONS}"),
    _build_pattern(rf"\b{_COUNT}\s+(?:more\s+)?{_UNIT}\b", _UNITS),
    _build_pattern(
        r"\b(?:in|during|since)\s+(?:the\s+)?(?:early\s+|late\s+)?"
        r"(?:spring|summer|autumn|fall|winter|morning|afternoon|evening)\b"
        r"|\b(?:this|yesterday|every|in\s+the)\s+(?:morning|afternoon|evening)\b|\bat\s+night\b"
        r"|\b(?:im|seit|am|diesen)\s+(?:frühling|frühjahr|sommer|herbst|winter|morgen|abend)\b"
        r"|\bmorgen\s+(?:früh|abend|mittag|nachmittag)\b",
        f"{_SEASONS} morning afternoon evening night morgen abend",
    ),
    _build_pattern(r"\b(?:wann|bis|erst|ab|sehen\s+uns|wir|ich)\s+morgen\b", "morgen"),
)

# --- Places

PLACE_WORDS = word_set(
    """
    park beach hotel restaurant cafe café museum airport hospital school university library church
    city town village country street downtown station theater theatre gym stadium mountain mountains
    lake river forest island bakery bar pub mall supermarket office studio gallery zoo
    strand schule universität bibliothek kirche stadt dorf straße bahnhof flughafen krankenhaus
    insel bäckerei laden büro kneipe
    """
)
PLACE_PATTERNS = (
    _build_pattern(
        r"\b(?:in|In|at|At|from|From|to|To|near|Near|around|outside|visit|visited|aus|nach)\s+"
        r"(?:the\s+)?(?!I\b|January|February|March|April|May|June|July|August|September|October"
        r"|November|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)"
        r"[A-ZÀ-ÖØ-Þ][\w’'-]+",
        "in at from to near around outside visit visited aus nach",
        case=True,
    ),
)

# --- Names

PROPER_NOUN = re.compile(r"(?<=[\w,;:\"'”’)\]] )(?!I\b|OK\b|[A-Z]\b)[A-ZÀ-ÖØ-ÞĀŁŚŠŽА-Я][\w’'-]*")
"""A capitalised word inside a sentence. Weak evidence in German, which capitalises all nouns."""

# --- Preferences and standing instructions

PREFERENCE_WORDS = word_set(
    """
    prefer prefers preferred preference preferences favorite favourite favorites favourites
    bevorzuge bevorzugt lieblingsessen lieblingsfarbe lieblingsbuch lieblingsfilm lieblingsmusik
    lieblingsort lieblingstier lieblingsgetränk lieblingsserie lieblingsfach
    """
)
_FILLER = r"(?:\s+(?:really|also|just|always|absolutely|usually|still|do|don['’]?t|do\s+not))*"
PREFERENCE_PATTERNS = (
    _build_pattern(
        rf"\bi{_FILLER}\s+(?:like|love|hate|dislike|enjoy|adore|loathe)\b"
        r"|\bi\s+(?:can['’]?t|cannot)\s+stand\b|\bi(?:['’]d|\s+would)\s+(?:rather|prefer|love)\b"
        r"|\bi['’]?m\s+(?:a\s+(?:big\s+|huge\s+)?fan\s+of|into|not\s+a\s+fan)\b",
        "like love hate dislike enjoy adore loathe stand rather fan into",
    ),
    _build_pattern(
        r"(?:^|[.!?,;:\n]\s*|\b(?:and|but|please|should|must|you|to)\s+)(?:always|never)\s+\w+"
        r"|\bi\s+(?:always|never|usually)\b",
        "always never usually",
    ),
    _build_pattern(
        r"\bfrom\s+now\s+on\b|\bin\s+(?:the\s+)?future\b|\bgoing\s+forward\b"
        r"|\bmake\s+sure\s+you\b|(?:^|[.!?,;:\n]\s*|\bplease\s+|\balways\s+)make\s+sure\b"
        r"|\bi(?:['’]d\s+(?:like|want)|\s+want|\s+need|\s+would\s+like)\s+you\s+to\b"
        r"|\bplease\s+(?:use|do|don['’]?t|avoid|keep|include|remember|call|stop|write|answer)\b"
        r"|(?:^|[.!?\n]\s*)(?:don['’]?t|do\s+not|avoid)\s+\w+"
        r"|\b(?:remember|don['’]?t\s+forget)\s+(?:to|that)\b|\bwhenever\s+(?:i|you)\b",
        "now future forward sure you please don't don’t dont not avoid remember whenever",
    ),
    _build_pattern(
        r"\bich\s+(?:mag|liebe|hasse|möchte|will|trinke|esse)\b|\b(?:mag|liebe|hasse)\s+ich\b"
        r"|\bam\s+liebsten\b|\blieber\s+(?:mag|habe|trinke|esse)\b"
        r"|\bab\s+(?:jetzt|sofort)\b|\bin\s+zukunft\b|\bbitte\s+(?:immer|nie|niemals|kein|keine)\b"
        r"|(?:^|[.!?,]\s*)(?:immer|nie|niemals)\s+\w+|\bverwende\s+(?:immer|nie|bitte)\b"
        r"|\bachte\s+darauf\b|\bdenk\s+daran\b",
        "ich mag liebe hasse liebsten lieber jetzt sofort zukunft immer nie niemals bitte "
        "achte denk",
    ),
)


# --- Extraction


# The last part leaves out "i.e.".
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?(?!\.\w|[^\W\d_])")
_DIGIT = re.compile(r"\d")
# Quotes, brackets, emoji, other marks and white space may follow the question mark.
_QUESTION = re.compile(r"[?？؟՞፧⁇⁈⁉][^\w]*$")
_QUESTION_TAIL = 40
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
# Average length of Chinese and Japanese words: a common rule of thumb.
_CHARACTERS_PER_WORD = 2


def extract_features(text: str, *, tokens: int) -> Features:
    """Return the features of a text; `tokens` is its number of word pieces, used unchanged.

    The traits are guesses by words and patterns, for English and German. Code is ignored, except by
    the injection check. German capitalises all nouns, so that PROPER_NOUN and PLACE are weak there.
    """
    return Features(traits=_detect_traits(text), words=count_words(text), tokens=tokens)


def count_words(text: str) -> int:
    """Return the number of words: by white space, or half the characters in unspaced scripts."""
    if text.isascii():
        return len(text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + -(-unspaced // _CHARACTERS_PER_WORD)


def _detect_traits(text: str) -> Trait:
    prose = mask_code(text)
    words = frozenset(_WORD.findall(prose.replace("’", "'").lower()))
    figures = _DIGIT.search(text) is not None
    presence = {
        Trait.QUESTION: _is_question(text),
        Trait.TIME_EXPRESSION: _has_match(
            prose, words, TIME_WORDS, TIME_PATTERNS, has_digits=figures
        ),
        Trait.FIRST_PERSON: not words.isdisjoint(FIRST_PERSON_WORDS),
        Trait.NUMBER: figures or not words.isdisjoint(NUMBER_WORDS),
        Trait.PLACE: _has_match(prose, words, PLACE_WORDS, PLACE_PATTERNS),
        Trait.PROPER_NOUN: PROPER_NOUN.search(prose) is not None,
        Trait.PREFERENCE: _has_match(prose, words, PREFERENCE_WORDS, PREFERENCE_PATTERNS),
        Trait.SUSPICIOUS: is_suspicious(text),
    }
    traits = Trait.NONE
    for trait, is_present in presence.items():
        if is_present:
            traits |= trait
    return traits


def _is_question(text: str) -> bool:
    return _QUESTION.search(text.rstrip()[-_QUESTION_TAIL:]) is not None


def _has_match(
    text: str,
    words: frozenset[str],
    single_words: frozenset[str],
    patterns: tuple[TriggeredPattern, ...],
    *,
    has_digits: bool = True,
) -> bool:
    """Return whether a text contains one of the words, or matches one of the patterns.

    Args:
        text: The text, with code masked.
        words: Its words.
        single_words: The words to look for.
        patterns: The patterns to try.
        has_digits: Whether the text may contain digits.
    """
    return not words.isdisjoint(single_words) or any(
        pattern.regex.search(text)
        for pattern in patterns
        if (not pattern.triggers or not words.isdisjoint(pattern.triggers))
        and (has_digits or not pattern.needs_digits)
    )
