"""What of a question is about the conversation itself, and so stands in no message.

"What did we discuss about the garden?" looks for the garden; the messages about it say neither
"discuss" nor "we". Taking such phrasing out is worth 1 point of recall at 10 and 2 of
MRR where a person asks about earlier talks with an assistant, and costs nothing elsewhere; see
docs/decisions/0005-standard-ranking.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memolith.policies.ranking.query_parts import needed, part
from memolith.text.expressions import expression

if TYPE_CHECKING:
    from collections.abc import Iterable

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

_I = r"""
(?:have|had|did|do)\ I\ (?:ever\ |previously\ |also\ |already\ )?
    (?:mention(?:ed)?|say|said|tell|told|bring\ up|brought\ up|talk(?:ed)?\ about|
       describe[d]?|report(?:ed)?|state[d]?|share[d]?|ask(?:ed)?(?:\ (?:you|about))?)
    (?:\ you)?(?:\ (?:that|about))?(?=\W|$)
| (?:that\ |as\ )?I(?:\ have|'ve)?\ (?:ever\ |previously\ |also\ |already\ )?
    (?:mentioned|said|told\ you|brought\ up|talked\ about|reported|stated|asked(?:\ you|\ about)?)
    (?:\ (?:that|about))?(?=\W|$)
"""

_WE = r"""
(?:have|had|did|do)\ we\ (?:ever\ |previously\ |also\ |already\ )?
    (?:discuss(?:ed)?|talk(?:ed)?\ about|cover(?:ed)?|mention(?:ed)?|speak\ about|spoken\ about|
       go\ over|gone\ over)
| (?:that\ |as\ )?we(?:\ have|'ve|'d|\ had|\ were)?\ (?:ever\ |previously\ |been\ |already\ )?
    (?:discussed|discussing|talked\ about|talking\ about|covered|mentioned)(?:\ so\ far)?
"""

_YOU = r"""
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

_GERMAN = r"""
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

_WHOLE = r"(?<!\w)(?:{})(?!\w)"

_PARTS = (
    part("you| we|tell me|remind me|summar|order|mention only|s of", _WHOLE.format(_REQUESTS)),
    part("i |i'", _WHOLE.format(_I)),
    part("we |we'", _WHOLE.format(_WE)),
    part("you ", _WHOLE.format(_YOU)),
    part(
        "conversation|chat|discussion|session|message|request|mention|so far|answer",
        _WHOLE.format(_TALKS),
    ),
    part(
        "kannst du|sag|nenn|erinner|hab|hatte|hast|berichtet|sproch|empfohl|vorgeschlag|in unser|"
        "in den|in dem|fass",
        _WHOLE.format(_GERMAN),
    ),
)
_SPACE = expression(r"\s+")
_LOOSE = expression(r"\s+(?=[,.;:?!])|^[\s,.;:?!]+|[,;:](?=\s*[.?!])|(?<=[?!])\s*\.+$")


def without_phrasing(text: str) -> str:
    """Return a question without its phrasing about the conversation itself; may be empty."""
    straight = text.replace("’", "'")
    return tidied(_cut(straight, needed(straight, _PARTS)))


def _cut(text: str, parts: Iterable[re.Pattern[str]]) -> str:
    """Return a text with a space for each phrase: the first, and what follows it, and so on.

    Of two that begin at the same place that of the earlier part counts, as if they were one
    expression.
    """
    kept, end = [], 0
    found = [match for each in parts if (match := each.search(text))]
    while found:
        first = min(found, key=re.Match.start)
        kept.append(text[end : first.start()])
        end = first.end()
        later = (each if each.start() >= end else each.re.search(text, end) for each in found)
        found = [match for match in later if match]
    return " ".join([*kept, text[end:]])


def tidied(text: str) -> str:
    """Return a text from which words were cut, without the gaps they left."""
    return _LOOSE.sub("", _SPACE.sub(" ", text)).strip()
