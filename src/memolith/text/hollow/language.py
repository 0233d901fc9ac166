"""What one language's data file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerLexicon:
    """What a language says without telling anything.

    Regular expressions are for words in small letters with one space between them and no marks
    but "'": "i'd be happy to help". All of it is a guess at what is frequent.

    Attributes:
        language: ISO 639-1 code.
        filler: By a name of what it is, what is said of which a whole sentence may consist.
        replies: Beginnings of an assistant's reply, in which no fact is told.
        recalling: Beginnings by which an assistant tells what it knows already.
        orders: Beginnings of what a program tells a model, not a user.
        unfinished: Words that end no sentence.
        short_of: Words that end none of up to four words, unless one of `asking` or `being` stands
            before.
        lacking: What a whole text may not be, since it stops before what it is to say.
        asking: Words after which one of `short_of` may end a sentence: "who he is".
        being: Forms of "to be": "the heating is on".
        continuing: Words in small letters that begin no sentence.
        subjects: Words for somebody who was named before, that open a sentence.
        vague: How sentences open that speak of something said before.
        objects: Words for something said before, at the end of a sentence.
        determiners: Words that open a sentence or a mere part of one.
        predicate: A regular expression of words that may be a verb.
    """

    language: str
    phrases: Mapping[str, tuple[str, ...]]
    reply_openings: tuple[str, ...]
    recollection_openings: tuple[str, ...]
    instruction_openings: tuple[str, ...]
    incomplete_endings: frozenset[str]
    short_incomplete_endings: frozenset[str]
    incomplete_texts: tuple[str, ...]
    question_words: frozenset[str]
    being: frozenset[str]
    continuation_words: frozenset[str]
    subjects: frozenset[str]
    vague_openings: tuple[str, ...]
    objects: frozenset[str]
    determiners: frozenset[str]
    predicate_pattern: str
