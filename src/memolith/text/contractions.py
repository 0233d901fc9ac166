"""English contractions, written out where they can mean one thing only."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memolith.text.lists import word_set
from memolith.text.words import Word

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
"""Words of which contractions are made, and what stands before their apostrophes."""
# After these 's is short for "is" or "has"; elsewhere it may be a possessive.
_BEFORE_S = word_set("it he she that there here what who where how when why")
_ENGLISH_ADVERBS = word_set(
    """
    just already never always not also really recently probably finally only still even ever now
    since all often once twice certainly definitely almost nearly long
    """
)
# A participle further away than this is not looked for: three adverbs are many.
_MAX_LOOKAHEAD = 4
# Participles, after which 's may be "has" ("he's left"). Those in -ed are told by their end; of
# them some are adjectives with which nobody means "has".
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
    """Return the words with contractions as two words, which are in lower case.

    'd may be two words, and stays one of its own.

    Args:
        words: A text's words, in order.
        shouted: The whole text is in capitals. In another a word in capitals is a name.
    """
    written: list[Word] = []
    for at, word in enumerate(words):
        if (
            "'" not in word.text and word.text.lower() not in _IRREGULAR_CONTRACTIONS
        ):  # by far the most
            written.append(word)
            continue
        first, *rest = (
            _split_contraction(words, at) if is_all_caps or not _is_name(word.text) else [word.text]
        )
        if rest:
            written += [
                Word(first, starts_sentence=word.starts_sentence),
                Word(
                    rest[0],
                    is_before_punctuation=word.is_before_punctuation,
                    is_before_question_mark=word.is_before_question_mark,
                ),
            ]
        else:
            written.append(word)
    return written


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
    """Tell whether a participle follows, adverbs aside."""
    lower = (word.text.lower() for word in following)
    return _is_participle(next((word for word in lower if word not in _ENGLISH_ADVERBS), ""))


def _is_participle(word: str) -> bool:
    if word in _PARTICIPLE_ADJECTIVES:
        return False
    return word in _IRREGULAR_PARTICIPLES or word.endswith("ed")
