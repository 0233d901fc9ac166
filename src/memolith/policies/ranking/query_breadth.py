"""Whether a question asks for several pieces of evidence: a list, a count, an order, a summary.

One good match then answers only a part, and the rest often stands in other sessions.
"""

from __future__ import annotations

import re

_NO_NOUN = (
    r"(?:is|was|are|were|do|does|did|has|have|had|will|would|can|could|may|might|shall|should|must"
    r"|this|his|its|always|\w+(?:ss|us|is))\b"
)

_SUMS = r"""
\b(?:
  (?:what|which|the|in|chronological)\ order\b
| sequence\ (?:of|in)\b | chronolog\w+
| summar(?:y|ies|i[sz]e\w*)\b | overview\b | recap\b | walk\ me\ through\b
| how\ many\b | total\b | both\b | in\ (?:what|which)\ ways\b
| all\ (?:the|of|my|our)\b | each\ of\b | across\b | throughout\b | between\b | list\b
)"""

_GROWTH = r"""
\bhow\ (?:has|have|had|did)\ (?:my|our|the|his|her|their|\w+'s)\b.{0,80}
    \b(?:progress|evolve|develop|change|grow|improve)
"""

_NOUNS = rf"""
\b(?:
  (?:what|which)(?:\ (?:kinds?|types?|sorts?)\ of)?(?:\ (?!{_NO_NOUN})[\w-]+){{0,2}}?
    \ (?!{_NO_NOUN})[\w-]+s\b(?!\ (?:the|a|an|name)\b)
| (?:what|which|who)\ (?:are|were)\b
)"""

_GERMAN_BREADTH = r"""
\b(?:
  in\ welcher\ reihenfolge\b | reihenfolge\b | chronologisch\w* | zusammenfass\w* | überblick\b
| welche\ \w+(?:en|er|e|s)\b(?=.*\b(?:haben|hatten|sind|waren|habe|kann|können)\b)
| wie\ viele\b | insgesamt\b | beide\w*\b | alle\b | auf\ welche\ weisen?\b | zwischen\b
| liste\b | aufzähl\w*
)"""

_SEVERAL = re.compile(f"{_SUMS}|{_GROWTH}|{_NOUNS}|{_GERMAN_BREADTH}", re.IGNORECASE | re.VERBOSE)


def asks_for_several(text: str) -> bool:
    """Return whether a question asks for more than one piece of evidence can say.

    By words and patterns, English and German: a guess. Of the questions that the ranking's
    weights were fitted on, it is said of half of those with several pieces of evidence, and of one
    in ten of the others.
    """
    straight = text.replace("’", "'")
    return bool(_SEVERAL.search(straight))
