"""What of a question is about the conversation itself, and so stands in no message.

"What did we discuss about the garden?" looks for the garden; the messages about it say neither
"discuss" nor "we". Taking such phrasing out is worth 1 point of recall at 10 and 2 of
MRR where a person asks about earlier talks with an assistant, and costs nothing elsewhere; see
docs/decisions/0005-standard-ranking.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

_REQUESTS = r"""
(?:can|could|would|will)\ (?:you|we)\ (?:please\ |also\ )?
    (?:tell|remind|show|give|help|list|walk|explain|summari[sz]e|provide|describe|recall|find|go)
    (?:\ me|\ us)?(?:\ (?:with|through|of|over))?
| (?:please\ )?(?:tell|remind)\ me(?:\ (?:of|about))?
| do\ you\ (?:still\ )?(?:remember|recall|know)(?:\ (?:if|whether|that))?
| (?:a\ |the\ )?(?:(?:clear|complete|comprehensive|brief|short|full|detailed|quick)\ )*
    summary\ of(?:\ (?:how|what|everything|all))?
| summari[sz]e(?:\ (?:how|what|everything|all))?
| the\ order\ in\ which
| \ ?(?:in\ order[,.]?\ )?(?:please\ )?mention\ only(?:\ and\ only)?\ \w+\ items
| (?:,\ )?in\ order(?=[.,?!]|$)
| (?:different|various)\ (?:aspects|concepts|ways|things)\ of
"""

_I_PHRASES = r"""
(?:have|had|did|do)\ I\ (?:ever\ |previously\ |also\ |already\ )?
    (?:mention(?:ed)?|say|said|tell|told|bring\ up|brought\ up|talk(?:ed)?\ about|
       describe[d]?|report(?:ed)?|state[d]?|share[d]?|ask(?:ed)?(?:\ (?:you|about))?)
    (?:\ you)?(?:\ (?:that|about))?(?=\W|$)
| (?:that\ |as\ )?I(?:\ have|'ve)?\ (?:ever\ |previously\ |also\ |already\ )?
    (?:mentioned|said|told\ you|brought\ up|talked\ about|reported|stated|asked(?:\ you|\ about)?)
    (?:\ (?:that|about))?(?=\W|$)
"""

_WE_PHRASES = r"""
(?:have|had|did|do)\ we\ (?:ever\ |previously\ |also\ |already\ )?
    (?:discuss(?:ed)?|talk(?:ed)?\ about|cover(?:ed)?|mention(?:ed)?|speak\ about|spoken\ about|
       go\ over|gone\ over)
| (?:that\ |as\ )?we(?:\ have|'ve|'d|\ had|\ were)?\ (?:ever\ |previously\ |been\ |already\ )?
    (?:discussed|discussing|talked\ about|talking\ about|covered|mentioned)(?:\ so\ far)?
"""

_YOU_PHRASES = r"""
(?:have|had|did|do|would|what\ would)\ you\ (?:previously\ |also\ |already\ )?
    (?:recommend(?:ed)?|suggest(?:ed)?|say|said|tell|told|mention(?:ed)?|advise[d]?|propose[d]?)
    (?:\ me)?(?:\ (?:that|to|about))?(?=\W|$)
| (?:that\ |as\ )?you\ (?:previously\ |also\ |already\ )?
    (?:recommended|suggested|said|told\ me|mentioned|advised|proposed)(?=\W|$)
"""

_TALKS = r"""
(?:throughout|across|in|during|over|from)\ (?:all\ )?(?:of\ )?
    (?:our|my|the|these|those|past|previous|earlier)
    \ (?:past\ |previous\ |earlier\ |recent\ |many\ )?
    (?:conversations?|chats?|discussions?|sessions|messages|requests)(?:\ together)?
| (?:as|was|were|is|did|does|do|has|have)?\ ?mention(?:s|ed)?(?:\ (?:that|in|on))?(?=\W|$)
| so\ far(?=\W|$)
| answer\ (?:with\ )?(?:yes\ or\ no|in\ \w+\ words?)
"""

_GERMAN_PHRASING = r"""
(?:kannst|könntest)\ du\ (?:mir\ )?(?:bitte\ )?(?:sagen|zeigen|erklären)?
| (?:sag|sage|nenn|nenne|erinnere)\ (?:mir|mich)(?:\ bitte)?(?:\ (?:an|daran))?
| (?:erinnerst\ du\ dich|weißt\ du\ noch)(?:\ (?:an|daran|ob))?
| (?:habe?|hatte)\ ich(?:\ dir)?(?=\W.*\b(?:gesagt|erzählt|erwähnt|berichtet)\b)
| (?:haben|hatten)\ wir(?=\W.*\b(?:besprochen|gesprochen|geredet)\b)
| (?:hast|hattest)\ du(?:\ mir)?(?=\W.*\b(?:empfohlen|vorgeschlagen|gesagt|geraten)\b)
| (?:gesagt|erzählt|erwähnt|berichtet|besprochen|gesprochen|empfohlen|vorgeschlagen)(?=\W|$)
| in\ (?:unseren|den|unserem|dem)\ (?:letzten\ |früheren\ )?(?:gesprächen?|unterhaltung(?:en)?)
| fasse?\ (?:bitte\ )?(?:zusammen)?
| zusammenfassung\ (?:von|der|des)
"""

_PHRASING = re.compile(
    "|".join(
        rf"(?<!\w)(?:{part})(?!\w)"
        for part in (_REQUESTS, _I_PHRASES, _WE_PHRASES, _YOU_PHRASES, _TALKS, _GERMAN_PHRASING)
    ),
    re.IGNORECASE | re.VERBOSE,
)
_SPACE = re.compile(r"\s+")
_LOOSE = re.compile(r"\s+(?=[,.;:?!])|^[\s,.;:?!]+|[,;:](?=\s*[.?!])|(?<=[?!])\s*\.+$")


def strip_phrasing(text: str) -> str:
    """Return a question without its phrasing about the conversation itself; may be empty."""
    straight = text.replace("’", "'")
    return tidy(_PHRASING.sub(" ", straight))


def tidy(text: str) -> str:
    """Return a text from which words were cut, without the gaps they left."""
    return _LOOSE.sub("", _SPACE.sub(" ", text)).strip()
