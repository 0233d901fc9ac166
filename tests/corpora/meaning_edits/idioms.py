"""Phrases in which listed words are not changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corpora.meaning_edits.words import Language

# Words after the object "her", and things after the possessive "her".
_NO_THING = (
    r"\s*(?:$|[^\w\s]|(?:in|on|at|to|and|or|but|the|a|an|is|was|for|about|with|from|that|when|if|"
    r"because|yesterday|today|tomorrow|my|his|not|so|again|twice|once)\b)"
)
_HER_ALONE = rf"\b[Hh]er(?={_NO_THING})"

FIXED: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "direction": (
            r"right (?:now|away|here|there|after|before|to)\b"
            r"|\b(?:all|you're|that's|is|are) right\b"
            r"|(?:I|you|he|she|we|they|it|who|has|have|had|was|were|been|nothing|got) left\b"
            r"|\b(?!Turn|Keep|Go|Bear|Look|Move|Lean)[A-Z]\w+ left\b"
            r"|left (?:for|him|her|me|us|them|it|school|home|[A-Z])"
            r"|\b\w+(?:ing|ed|ke|ok|t|p) up\b(?= ?[.,!?]?$)|up to\b|what's up|\bover (?:there|here)"
        ),
        "before_after": (
            r"\bnot until\b|after all|ever since|before long|sooner or later"
            r"|(?<!quarter )(?<!half )(?<!minutes )(?<!ten )(?<!five )(?<!twenty )\b(?:to|past)\b"
        ),
        "modality": (
            r"\b(?i:a|the|tin|trash) (?:can|must|might|may)\b|\bmay (?=\d)|\bhave to do with"
        ),
        "tense": (
            r"\b(?i:to|must|may|can|could|might|should|would|will|not|n't|did|do|does|I'd) "
            r"(?:(?:I|you|he|she|we|they|it) )?(?:have|be)\b"
            r"|\b[Ii]f I were\b|\bam (?=\d)|(?<=\d) ?am\b"
        ),
        "number": (
            r"\b(?:no|any|every|some|each|which|this|that|the|another|only) one\b|\bone (?:another|"
            r"of|by one|day)\b|\bat once\b|\bonce (?:I|you|he|she|we|they|the|upon)\b"
            r"|(?<!\bthe )(?<!\bmy )(?<!\bhis )(?<!\bher )(?<!\bour )\b(?:[Ff]irst|second)\b"
            r"|\b(?:in|by|on|with|for) half\b|\bhalf (?:past|marathon|sister|brother)\b|at first"
        ),
        "month": r"^(?:May|March)(?= (?:I|you|he|she|we|they|the|it)\b)",
        "time": r"(?<!\d)(?<!\d )\bam\b|\bgood (?:morning|evening|afternoon)\b",
        "quantifier": (
            r"\ball right\b|\bat all\b|\bafter all\b|\babove all\b|^No, |\bno longer\b"
            r"|\bno matter\b"
            r"|\bno one\b(?=')|\b(?i:a|quite a) (?:few|little)\b|\bmost of all\b|^no[.!]?$"
            r"|\beither(?=[.!?]?$)|\b(?:how|as|so|too|very) (?:much|many|little|few)\b"
            r"|\babout(?! (?:\d|half|two|three|four|five|six|ten|twenty|fifty))\b"
            r"|\bsome(?:how|what)\b|\bof all\b"
        ),
        "comparative": r"\bno longer\b|\bmore or less\b|\bany longer\b|\bmost of\b|\bno more\b|"
        r"\bmore than\b|\bless than\b|\bat (?:most|least)\b|\bbetter (?:not|off)\b",
        "frequency": r"\bfor ?ever\b|\bever since\b|\bhave (?:you|they|we) ever\b|\bdaily mail\b",
        "unit": r"\bone day\b|\bthese days\b|\bevery (?:day|week|month|year)\b|"
        r"\b(?:last|next|this) (?:week|month|year)\b|\bsome day\b|\ball day\b",
        "antonym": (
            r"\b(?:look|looks|feel|feels|sounds|would|'d|something|things|just|more) like\b"
            r"|\blike (?:this|that)\b|\bnot (?:un|im|dis)\w+|\bwithout fail\b"
            r"|\b(?:years?|months?) old\b|\bin love\b|\blove to hear\b|\bfor love\b"
        ),
        "possessive": rf"\bmy (?:god|goodness)\b|{_HER_ALONE}",
        "pronoun": rf"\b[Hh]er\b(?!{_NO_THING})",
    },
    "de": {
        "direction": (
            r"\bunter anderem\b|\büber(?= (?:das|die|den|mich|uns|meine?n?) )|\bhoch(?= \w+e\b)"
        ),
        "before_after": r"\bbis (?:bald|dann|später)\b|\bnach dem (?:Motto)\b",
        "number": r"\bauf einmal\b|\bacht geben\b|\bnicht einmal\b|\bnoch einmal\b",
        "date": r"\b[Gg]uten [Mm]orgen\b|(?<!^)\bMorgen\b|\b(?:heute|gestern) (?=[Mm]orgen\b)",
        "quantifier": (
            r"\bvor allem\b|\balles Gute\b|\bnur noch\b|\bso (?:viel|etwas)\b|\bviel Glück\b"
        ),
        "comparative": r"\bnicht mehr\b|\bmehr oder weniger\b|\bkeine? mehr\b|\bimmer \w+er\b",
        "possessive": r"\bsein(?=\s*(?:$|[.,!?]))|\b(?:zu|nicht) sein\b",
        "pronoun": r"(?<=\w )Sie\b",
        "frequency": r"\bimmer noch\b|\bnoch immer\b|\bwie immer\b",
        "unit": (
            r"\b[Gg]uten Tag\b|\bjeden Tag\b"
            r"|\b(?:letzte[ns]?|nächste[ns]?) (?:Woche|Monat|Jahr)\b"
        ),
        "antonym": r"^liebe[rs]?\b|\bfür immer\b|\bmit freundlichen\b|\bwas für\b|\bzu spät\b",
        "modality": r"\bsicher (?=ist)|\bkann sein\b",
        "tense": (
            r"\b(?:immer|auch|nur) noch\b|\bweder\b.*\bnoch\b"
            r"|\bnoch (?:nie|kein|nicht|einmal)\w*"
        ),
    },
}
"""Patterns by kind of edit for phrases that it leaves unchanged.

These are idioms and other meanings of the words ("all right", "she left", "a few").
"""
