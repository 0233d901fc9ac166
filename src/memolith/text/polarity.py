"""Split text into clauses and classify them: negated, hypothetical, a question, about others.

English and German, by words and their order, without parsing. The lists are guesses at frequent
phrases. Doubtful clauses do not count as plain statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memolith.text.lexicon.language import word_set
from memolith.text.lexicon.names import CAPITALISED_NAMES, LOWERCASE_NAMES
from memolith.text.segmentation import sentences

_APOSTROPHE = str.maketrans("’‘ʼ`´", "'" * 5)

# Idioms with a "not" that negates nothing.
_IDIOMS = re.compile(
    r"\b(?:can(?:'t|not| not) wait|not only|not just|no (?:problem|worries|doubt|wonder|idea)"
    r"|why not|don't (?:worry|forget)|do not (?:worry|forget)|needless to say|not to mention"
    r"|nicht nur|kein problem|keine sorge|vergiss nicht|nicht vergessen)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n't|dont|doesnt"
    r"|didnt|isnt|cant|wont|no longer|anymore|unable|refus\w*|avoid\w*|lacks?|lacking|instead of"
    r"|rather than|except|stop|stops|stopped|stopping|quit|quits|quitting|gave up|given up"
    r"|giving up|used to|former|formerly|previously|ex"
    r"|nicht|kein\w*|nie|niemals|nichts|niemand|nirgends|weder|ohne|statt|anstatt|außer|nimmer"
    r"|aufgehört|früher\w*|ehemalig\w*|vermeide\w*)\b",
    re.IGNORECASE,
)
_DISLIKE = re.compile(
    r"\b(?:dislik\w*|hat(?:e|es|ed|ing)|loath\w*|detest\w*|despis\w*|averse|aversion"
    r"|can(?:'t|not| not) (?:stand|bear)|hass(?:e|t|te|en)|verabscheu\w*)\b",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
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
_CLAUSE_OPENERS = word_set(
    "but however although though because whereas while except unless instead rather than nor"
    " without aber sondern jedoch obwohl weil denn während außer statt anstatt ohne weder noch"
)
_BOUNDARY = re.compile(
    r"[;:–—()]|\s-\s"
    rf"|,?\s+(?=(?:{'|'.join(sorted(_CLAUSE_OPENERS))})\b)"
    r"|,?\s+(?:and|und)\s+(?=(?:\w+\s+)?(?:not|never|no|\w+n't|nicht|kein\w*|nie)\b)",
    re.IGNORECASE,
)
_COMMA = re.compile(r",(?!\s*\d)")
_MAX_LIST_WORDS = 3
_ALTERNATIVE = re.compile(r"\b(?:or|nor|oder|noch)\b", re.IGNORECASE)

_WORD_CHAR = re.compile(r"[^\W_]")
_TAIL = 40
_QUESTION = re.compile(r"[?？؟][^\w]*$")
YES_PATTERN = re.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|correct|right|exactly|indeed|absolutely|of course|ja|jawohl"
    r"|genau|stimmt|richtig)\b",
    re.IGNORECASE,
)
"""The beginning of an affirmative answer."""

NO_PATTERN = re.compile(r"\W*(?:no|nope|nah|nein|nö)\b(?:\W|$)", re.IGNORECASE)
"""The beginning of a negative answer. It negates the question, not the rest of the answer."""

FIRST_PERSON_PATTERN = re.compile(
    r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]ur|[Oo]urs|i|i'm|i've|i'd|i'll"
    r"|[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein\w*|[Ww]ir|[Uu]ns|[Uu]nser\w*)\b"
)
_I = re.compile(r"\b(?:I|i|[Ww]e|[Ii]ch|[Ww]ir)\b")
_THIRD_PERSON_START = re.compile(
    r"\W*(?:he|she|they|his|her|their|er|sie|seine?|ihre?)\b", re.IGNORECASE
)
_POSSESSIVE_START = re.compile(
    r"\W*(?:and |und |but |aber |that |dass )?(?:my|our|mein\w*|unser\w*)\s+"
    r"(?:(?:old|new|best|good|big|little|late|ex|former|first|only|own|whole|dear|great|step"
    r"|young|eld|alt|ält|neu|jüng|gut|groß|größ|klein|lieb)(?:e[mnrs]?|est|ste[mnrs]?|ere[mnrs]?)?"
    r"[\s-]+)?(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w-]*")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a sentence.

    Attributes:
        text: The words, with "'" for every apostrophe.
        is_negated: Whether it negates something, ends it, or expresses a dislike.
        is_hypothetical: Whether it expresses a possibility, a wish or a plan.
        is_question: Whether it is part of a question.
        is_about_other: Whether it is recognisably about a person other than the speaker.
        possessed_noun: The speaker's relative or thing that it is about ("sister" of "My sister
            lives …"); empty if it is about the speaker or something else.
    """

    text: str
    is_negated: bool
    is_hypothetical: bool
    is_question: bool
    is_about_other: bool
    possessed_noun: str


def split_clauses(text: str) -> Iterator[tuple[Clause, ...]]:
    """Yield the clauses of each sentence of a text, in order. Linear in the length."""
    plain = text.translate(_APOSTROPHE)
    for span in sentences(plain):
        clauses = _parse_clauses(" ".join(span.extract(plain).split()))
        if clauses:
            yield clauses


def _parse_clauses(sentence: str) -> tuple[Clause, ...]:
    asks = _QUESTION.search(sentence[-_TAIL:]) is not None
    is_conditional = _CONDITION.match(sentence) is not None
    is_about_other = _is_about_other(sentence)
    is_no = "," in sentence and NO_PATTERN.match(sentence) is not None
    content = NO_PATTERN.sub(" ", sentence, count=1) if is_no else sentence
    return tuple(
        Clause(
            text=part,
            is_negated=_is_negated(part),
            is_hypothetical=is_conditional or _HYPOTHETICAL.search(part) is not None,
            is_question=asks,
            is_about_other=is_about_other,
            possessed_noun=_get_possessed_noun(part),
        )
        for part in _split_sentence(content)
        if _WORD_CHAR.search(part)
    )


def replace_dislikes(text: str) -> str:
    """Return a text with words of dislike replaced by "like"; `is_negated` holds the negation."""
    return _DISLIKE.sub("like", text)


def _is_negated(part: str) -> bool:
    plain = _DISLIKE.sub(" ", _IDIOMS.sub(" ", part))
    return (_NEGATION.search(plain) is not None) != (_DISLIKE.search(part) is not None)


def _get_possessed_noun(part: str) -> str:
    possessive = None if _I.search(part) else _POSSESSIVE_START.match(part)
    return possessive["noun"] if possessive else ""


def _split_sentence(sentence: str) -> Iterator[str]:
    for segment in _BOUNDARY.split(sentence):
        yield from _split_at_commas(segment)


def _split_at_commas(segment: str) -> list[str]:
    """Return the parts between commas; a list such as "tea, coffee or milk" is one part."""
    parts: list[str] = []
    for part in reversed(_COMMA.split(segment)):
        if parts and _is_list_rest(parts[-1]):
            parts[-1] = f"{part},{parts[-1]}"
        else:
            parts.append(part)
    return parts[::-1]


def _is_list_rest(part: str) -> bool:
    """Return whether a part is the rest of a list: a few words, "or", and more."""
    alternative = _ALTERNATIVE.search(part)
    before = part[: alternative.start()].split() if alternative else ()
    return 0 < len(before) <= _MAX_LIST_WORDS and not FIRST_PERSON_PATTERN.search(part)


def _is_about_other(sentence: str) -> bool:
    if FIRST_PERSON_PATTERN.search(sentence):
        return False
    if _THIRD_PERSON_START.match(sentence):
        return True
    first = _WORD.search(sentence)
    return first is not None and (
        first[0] in CAPITALISED_NAMES or first[0].lower() in LOWERCASE_NAMES
    )
