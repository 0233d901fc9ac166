"""Clauses, and where each stands to what it says: states it, denies it, supposes it, asks.

English and German, by words and their order, no parse: guesses at what is frequent, held to be
cautious in what counts as plainly said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.text.lists import listed
from memolith.text.names import CAPITALISED_NAMES, NAMES
from memolith.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

_APOSTROPHE = str.maketrans("’‘ʼ`´", "'" * 5)

# Said with a "not" that denies nothing.
_IDIOMS = re.compile(
    r"\b(?:can(?:'t|not| not) wait|not only|not just|no (?:problem|worries|doubt|wonder|idea)"
    r"|why not|don't (?:worry|forget)|do not (?:worry|forget)|needless to say|not to mention"
    r"|nicht nur|kein problem|keine sorge|vergiss nicht|nicht vergessen)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n't|dont|doesnt"
    r"|didnt|isnt|cant|wont|no longer|anymore|unable|refus\w*|avoid\w*|lacks?|lacking|instead of"
    r"|rather than|except|stop|stops|stopped|stopping|quit|quits|quitting|gave up|given up"
    r"|giving up|used to|former|formerly|previously|ex"
    r"|nicht|kein\w*|nie|niemals|nichts|niemand|nirgends|weder|ohne|statt|anstatt|außer|nimmer"
    r"|aufgehört|früher\w*|ehemalig\w*|vermeide\w*)\b",
    re.IGNORECASE,
)
_DISLIKES = re.compile(
    r"\b(?:dislik\w*|hat(?:e|es|ed|ing)|loath\w*|detest\w*|despis\w*|averse|aversion"
    r"|can(?:'t|not| not) (?:stand|bear)|hass(?:e|t|te|en)|verabscheu\w*)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|probably|wish\w*|hop(?:e|es|ed|ing)|dream\w*|consider\w*"
    r"|thinking (?:of|about)|thinks? (?:of|about)|would(?! (?:like|love|prefer|rather))|could"
    r"|(?<=')d(?! (?:like|love|prefer|rather|better|been))|wants? to|wanted to"
    r"|plan(?:s|ned|ning)?|intend\w*|aims? to|if|whether|supposedly|unsure"
    r"|not sure|interested in|goal"
    r"|vielleicht|möglicherweise|wahrscheinlich|hoff\w*|wünsch\w*|träum\w*|überleg\w*|würde\w*"
    r"|könnte\w*|plan(?:e|t|en)|wenn|falls|ob)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:if|unless|suppose|wenn|falls)\b", re.IGNORECASE)
_LEADS = listed(
    "but however although though because whereas while except unless instead rather than nor"
    " without aber sondern jedoch obwohl weil denn während außer statt anstatt ohne weder noch"
)
_BOUNDARY = re.compile(
    r"[;:–—()]|\s-\s"
    rf"|,?\s+(?=(?:{'|'.join(sorted(_LEADS))})\b)"
    r"|,?\s+(?:and|und)\s+(?=(?:\w+\s+)?(?:not|never|no|\w+n't|nicht|kein\w*|nie)\b)",
    re.IGNORECASE,
)
_COMMA = re.compile(r",(?!\s*\d)")
_LISTED_WORDS = 3
_ALTERNATIVE = re.compile(r"\b(?:or|nor|oder|noch)\b", re.IGNORECASE)

_SAYS = re.compile(r"[^\W_]")
_TAIL = 40
_QUESTION = re.compile(r"[?？؟][^\w]*$")
YES = re.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|correct|right|exactly|indeed|absolutely|of course|ja|jawohl"
    r"|genau|stimmt|richtig)\b",
    re.IGNORECASE,
)
"""The beginning of an answer that says yes."""

NO = re.compile(r"\W*(?:no|nope|nah|nein|nö)\b(?:\W|$)", re.IGNORECASE)
"""The beginning of an answer that says no; it denies what was asked, not what follows it."""

FIRST_PERSON = re.compile(
    r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]ur|[Oo]urs|i|i'm|i've|i'd|i'll"
    r"|[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein\w*|[Ww]ir|[Uu]ns|[Uu]nser\w*)\b"
)
_I = re.compile(r"\b(?:I|i|[Ww]e|[Ii]ch|[Ww]ir)\b")
_OTHERS = re.compile(r"\W*(?:he|she|they|his|her|their|er|sie|seine?|ihre?)\b", re.IGNORECASE)
_MINE = re.compile(
    r"\W*(?:and |und |but |aber |that |dass )?(?:my|our|mein\w*|unser\w*)\s+"
    r"(?:(?:old|new|best|good|big|little|late|ex|former|first|only|own|whole|dear|great|step"
    r"|young|eld|alt|ält|neu|jüng|gut|groß|größ|klein|lieb)(?:e[mnrs]?|est|ste[mnrs]?|ere[mnrs]?)?"
    r"[\s-]+)?(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w-]*")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence that says one thing.

    Attributes:
        text: Its words, with "'" for every apostrophe.
        denies: Whether it says that something is not so, no longer so, or not liked.
        supposes: Whether it says that something may be, is wished or planned.
        asks: Whether it is of a question.
        of_other: Whether it speaks of somebody else than the speaker, as far as that shows.
        of_mine: What of the speaker it speaks of ("sister" of "My sister lives …"); empty where
            it speaks of the speaker or of something else.
    """

    text: str
    denies: bool
    supposes: bool
    asks: bool
    of_other: bool
    of_mine: str


def clauses(text: str) -> Iterator[tuple[Clause, ...]]:
    """Yield the clauses of each sentence of a text, in order. Linear in the length."""
    plain = text.translate(_APOSTROPHE)
    for span in sentences(plain):
        found = _clauses_of(" ".join(span.of(plain).split()))
        if found:
            yield found


def _clauses_of(sentence: str) -> tuple[Clause, ...]:
    asks = _QUESTION.search(sentence[-_TAIL:]) is not None
    supposes = _CONDITION.match(sentence) is not None
    of_other = _is_of_other(sentence)
    says_no = "," in sentence and NO.match(sentence) is not None
    told = NO.sub(" ", sentence, count=1) if says_no else sentence
    return tuple(
        Clause(
            text=part,
            denies=_denies(part),
            supposes=supposes or _SUPPOSES.search(part) is not None,
            asks=asks,
            of_other=of_other,
            of_mine=_of_mine(part),
        )
        for part in _parted(told)
        if _SAYS.search(part)
    )


def without_dislike(text: str) -> str:
    """Return a text in which what is disliked is liked; a clause says elsewhere that it denies."""
    return _DISLIKES.sub("like", text)


def _denies(part: str) -> bool:
    plain = _DISLIKES.sub(" ", _IDIOMS.sub(" ", part))
    return (_DENIES.search(plain) is not None) != (_DISLIKES.search(part) is not None)


def _of_mine(part: str) -> str:
    mine = None if _I.search(part) else _MINE.match(part)
    return mine["noun"] if mine else ""


def _parted(sentence: str) -> Iterator[str]:
    for stretch in _BOUNDARY.split(sentence):
        yield from _at_commas(stretch)


def _at_commas(stretch: str) -> list[str]:
    """Return the parts between commas; a list such as "tea, coffee or milk" is one."""
    parts: list[str] = []
    for part in reversed(_COMMA.split(stretch)):
        if parts and _goes_on(parts[-1]):
            parts[-1] = f"{part},{parts[-1]}"
        else:
            parts.append(part)
    return parts[::-1]


def _goes_on(part: str) -> bool:
    """Tell whether a part is the rest of a list: a few words, "or", and more."""
    alternative = _ALTERNATIVE.search(part)
    before = part[: alternative.start()].split() if alternative else ()
    return 0 < len(before) <= _LISTED_WORDS and not FIRST_PERSON.search(part)


def _is_of_other(sentence: str) -> bool:
    if FIRST_PERSON.search(sentence):
        return False
    if _OTHERS.match(sentence):
        return True
    first = _WORD.search(sentence)
    return first is not None and (first[0] in CAPITALISED_NAMES or first[0].lower() in NAMES)
