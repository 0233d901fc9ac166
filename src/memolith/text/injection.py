"""Detect prompt injection, by patterns on folded text (see `memolith.text.deobfuscation`).

The patterns cover English and German, and the most common phrase in French and Spanish. They follow
the attack types in published collections. `tests/corpora/hostile.py` has labelled texts.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memolith.text.deobfuscation import decode_escapes, fold, remove_markup


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """One pattern of prompt injection.

    Attributes:
        triggers: Groups of words. A text can match only if it contains a word of each group; other
            texts are not searched.
        pattern: The regular expression.
        imperative: Whether it matches only at the start of a clause, like commands.
        quotable: Whether a match alone in quotes or backticks counts as a mention only.
    """

    triggers: tuple[tuple[str, ...], ...]
    pattern: str
    imperative: bool = False
    quotable: bool = True

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern. Compiled at first use, since most patterns are never needed."""
        return _compile_rule(self.pattern)


@cache
def _compile_rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def _build_rule(
    triggers: str, pattern: str, *, imperative: bool = False, quotable: bool = True
) -> InjectionRule:
    groups = tuple(tuple(group.split()) for group in triggers.split("&"))
    return InjectionRule(groups, pattern, imperative, quotable)


_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|former|past|existing|initial|original"
    r"|system|prior|current|other)"
)
_INSTRUCTION_NOUNS = (
    r"(?:instructions?|prompts?|rules|guidelines|guidance|directions|directives?|commands?|orders"
    r"|constraints|restrictions|programming|training|polic(?:y|ies)|safeguards|messages?|context"
    r"|text|conversation|content|information|input)"
)
_OWN_INSTRUCTION_NOUNS = (
    r"(?:instructions?|prompts?|rules|guidelines|directives?|constraints|restrictions|programming"
    r"|training|polic(?:y|ies)|safeguards|safety \w+|content filters?|filters)"
)
_IGNORE_VERBS = (
    r"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|dismiss|neglect|drop|erase"
    r"|(?:do not|don'?t|stop|never) (?:follow|following|obey|obeying|listen(?:ing)? to|adher(?:e"
    r"|ing) to)"
    r"|pay no attention to)"
)
_MACHINE = (
    r"(?:ai|a\.i\.|llms?|language models?|chat ?bots?|chatgpt|gpt|claude|gemini|copilot"
    r"|assistant|agent"
    r"|bot|model)"
)
_SYSTEM_PROMPT = (
    r"(?:system[ -]?(?:prompts?|messages?|instructions?)|hidden (?:prompt|instructions|rules)"
    r"|(?:initial|original|secret|internal|developer) (?:prompt|instructions|message|rules)"
    r"|(?:full|entire|complete|exact) (?:prompt|instructions))"
)

INJECTION_RULES = (
    # Overriding earlier instructions
    _build_rule(
        "ignore disregard forget overr bypass discard dismiss neglect drop erase follow obey "
        "listen adher attention",
        _IGNORE_VERBS
        + r"\s+(?:(?:all|any|every|each|the|your|my|of|these|those|other|and|or|absolutely"
        r"|everything|anything|completely|please)\s+){0,5}"
        rf"(?:{_EARLIER}[\s,]+(?:(?:and|or|system|set of|\w+)\s+){{0,2}}{_INSTRUCTION_NOUNS}"
        rf"|(?:all|your|any)\s+(?:of\s+)?(?:your\s+|the\s+|safety\s+|system\s+)?{_OWN_INSTRUCTION_NOUNS}"
        rf"|{_INSTRUCTION_NOUNS}\s+(?:(?:that|which|you)\s+)?(?:were\s+|was\s+|have\s+)?(?:been\s+)?"
        r"(?:above|before|so far|given|told|received|provided)"
        r"|(?:the\s+)?(?:above|foregoing|previous|preceding)\s*(?:$|[.,;:!]|and\b|text\b)"
        r"|(?:everything|anything|all|what)\s+(?:that\s+)?(?:you|above|before)\s*(?:were"
        r"|was|have|'?ve|said|told|been"
        r"|above|before|$|[.,!]|and))",
        imperative=True,
    ),
    _build_rule(
        "bypass disable override overr turn",
        r"\b(?:bypass|disable|override|turn off|deactivate|remove)\s+(?:all\s+"
        r"|any\s+)?(?:of\s+)?your\s+"
        r"(?:\w+\s+){0,2}(?:filters?|guidelines|polic(?:y|ies)|restrictions|checks|protocols"
        r"|guardrails"
        r"|limits|safeguards|safety)",
        imperative=True,
    ),
    _build_rule(
        "ignor vergiss vergessen missachte beacht uberge",
        r"\b(?:ignorier(?:e|en sie|t)?|vergiss|vergessen sie|missachte(?:n sie)?|ubergeh(?:e"
        r"|en sie)|beachte)"
        r"\s+(?:(?:bitte|jetzt|ab|sofort|nun|einfach)\s+){0,3}"
        r"(?:(?:alle|alles|samtliche|die|deine|ihre|was|jegliche|saemtliche|meine)\s+){0,3}"
        r"(?:(?:vorherigen?|bisherigen?|obigen?|fruheren?|vorangegangenen?|vorigen?"
        r"|vorstehenden?|vorher|bisher"
        r"|oben|davor|ursprunglichen?|system-?|genannten?|gegebenen?|zuvor)\s+(?:\w+\s+){0,2}"
        r"(?:anweisung\w*|instruktion\w*|regeln?|vorgaben?|befehle?|prompts?|richtlinien"
        r"|nachrichten|kontext|text"
        r"|gesagt\w*|stand|steht)"
        r"|(?:deine|ihre|alle)\s+(?:anweisung\w*|instruktion\w*|vorgaben|richtlinien|befehle"
        r"|regeln|systemprompt\w*)"
        r"|(?:anweisung\w*|instruktion\w*|regeln|vorgaben|befehle)\s+(?:oben|davor|von oben"
        r"|zuvor|bisher))",
        imperative=True,
    ),
    _build_rule(
        "ignor oubli olvid",
        r"\b(?:ignorez?|oubliez?)\s+(?:toutes\s+)?(?:les|vos|tes)\s+(?:instructions|consignes"
        r"|regles)"
        r"|\b(?:ignora|olvida)\s+(?:todas\s+)?(?:las|tus)\s+(?:instrucciones|reglas|ordenes)",
        imperative=True,
    ),
    # New roles
    _build_rule(
        "you & now hereby henceforth on",
        r"\b(?:you are|you'?re) (?:now|hereby|henceforth|from now on) (?:in (?:\w+ ){0,2}mode"
        r"|(?:acting|going to act|operating|playing|speaking) as|no longer (?:bound|an? \w+"
        r"|restricted|subject|limited)"
        r"|(?:free|exempt) (?:from|of)|(?:un\w+ed|jailbroken|dan\b)|not bound"
        r"|the (?:admin\w*|system|developer|root|assistant|ai|bot)\b"
        r"|(?:an?|my) (?!(?:\w+ )?(?:member|customer|subscriber|user|owner|parent|mother"
        r"|father|citizen|resident"
        r"|manager|lead|part|father|big|team|grandma|grandpa|uncle|aunt|host|follower"
        r"|contributor|maintainer"
        r"|collaborator|participant|student|adult|year|few|bit|little|lot|proud|step)\b)\w+)",
        quotable=True,
    ),
    _build_rule(
        "from henceforth & on, henceforth point moment on",
        r"\b(?:from now on|henceforth|from this (?:point|moment) (?:on(?:wards?)?|forward)),? "
        r"(?:you(?:'?ll| will| must| shall| should)? (?:are|be|act|behave|respond|answer as|obey"
        r"|follow|pretend|ignore|only obey|have no)"
        r"|act as|respond as|pretend|ignore)\b",
    ),
    _build_rule(
        "pretend act role simulate behave respond & restrict rules limit filter guideline ethic "
        "safety jailb dan uncensored anything",
        r"\b(?:pretend|act|role-?play|behave|simulate|respond)\b[^.\n]{0,30}?\b(?:as if |like "
        r"|as |to be |that |you )?[^.\n]{0,25}?"
        r"(?:(?:have|had|with|without|has) (?:no|any|all) (?:\w+ )?(?:restrictions?|rules|limits"
        r"|limitations|filters?|guidelines"
        r"|ethic\w*|safety)|unrestricted|unfiltered|uncensored|jailbroken|\bdan\b"
        r"|do anything now)",
        imperative=True,
    ),
    _build_rule(
        "anything",
        r"\byou (?:can|will|may|shall) (?:\w+ )?do anything now\b|\bdo anything now\b\W*(?:$"
        r"|mode)",
    ),
    _build_rule(
        "mode & jailbreak god dan un sudo",
        r"\b(?:enter|enable|activate|switch (?:in)?to|engage) (?:\w+ ){0,2}(?:jailbreak|god|dan"
        r"|unrestricted|unfiltered|uncensored|sudo) mode",
        imperative=True,
    ),
    _build_rule(
        "bist & ki assist bot pirat hacker expert modell system agent terminal admin uneing "
        "unzens frei nicht modus dan",
        r"\bdu bist (?:ab )?(?:jetzt|nun|sofort|ab jetzt|nunmehr)(?: an)?,? (?:(?:ein|eine|der"
        r"|die|mein|meine)\s+(?:\w+\s+){0,2}"
        r"(?:ki|assistent\w*|bot|chatbot|pirat\w*|hacker\w*|expert\w*|modell|system|agent"
        r"|terminal|admin\w*)\b"
        r"|(?:\w+\s+){0,3}(?:uneingeschrankt\w*|unzensiert\w*|frei von|nicht mehr an)"
        r"|im \w+modus|dan\b)",
    ),
    _build_rule(
        "ab nun & du & keine nur ohne ki assist anweis befehl regel uneing ignor gehorch beschr",
        r"\b(?:ab (?:jetzt|sofort)|von nun an),? (?:bist|handelst|gehorchst|ignorierst"
        r"|antwortest|befolgst|wirst) du\b"
        r"[^.\n]{0,60}(?:keine|nur noch|ohne|ki|assistent|anweisung|befehl|regel|uneingeschrankt"
        r"|ignor|gehorch|beschrankung)",
    ),
    # Prompt leaks and exfiltration
    _build_rule(
        "your & prompt message instruction rules",
        r"\b(?:reveal|show|print|repeat|output|display|disclose|leak|dump|expose|recite|return"
        r"|write out|write down"
        r"|tell|give|send|paste|share|translate|summari[sz]e|spell out)\s+(?:(?:me|us|back|out"
        r"|all|of|verbatim|the|exactly|word for word)\s+){0,4}"
        rf"your\s+(?:\w+\s+){{0,2}}?(?:{_SYSTEM_PROMPT}|instructions|prompt)\b(?!-)",
        imperative=True,
    ),
    _build_rule(
        "repeat print output recite copy & above before",
        r"\b(?:repeat|print|output|recite|copy)\s+(?:(?:all|everything|the|of|exact|verbatim"
        r"|entire)\s+){0,3}(?:text|words?|prompt|instructions|messages?|content|lines?"
        r"|everything)?"
        r"\s*(?:written |that (?:is|was|came) |which (?:is|was) )?(?:above"
        r"|before this)\b[^.\n]{0,60}",
        imperative=True,
    ),
    _build_rule(
        "prompt anweisung systemnachricht regeln",
        r"\b(?:zeig|zeige|gib|nenn|nenne|verrat|verrate|wiederhole?|druck|drucke|offenbare?"
        r"|offenlegen|schreib|schreibe|sag|sage|leg|lege|zeigen sie|nennen sie|geben sie"
        r"|verraten sie)"
        r"\s+(?:(?:mir|uns|bitte|jetzt|sofort|den|die|wortlich|alle|komplett)\s+){0,4}"
        r"(?:deinen?|ihren?|deiner|den gesamten|den vollstandigen)\s+(?:\w+\s+){0,2}?"
        r"(?:system-?\s?prompts?|systemanweisung\w*|systemnachricht\w*|prompt|anweisungen"
        r"|instruktionen|internen regeln)\b",
        imperative=True,
    ),
    _build_rule(
        "send forward post upload exfiltrate transmit submit leak mail append & conversation "
        "chat memor credential password key secret prompt token data information details "
        "messages",
        r"\b(?:send|forward|post|upload|exfiltrate|transmit|submit|leak|e-?mail"
        r"|append)\b[^.\n]{0,60}\b(?:conversations?|chat (?:history|log)s?"
        r"|memor(?:y|ies)|credentials|passwords?|api keys?|secrets|system prompt|session tokens?"
        r"|(?:user'?s?|personal|private) (?:data|information|details|messages))"
        r"[^.\n]{0,40}\b(?:to|at|via) (?:(?:the |this )?(?:url|link|server|endpoint|address)\b"
        r"|https?:|www\.|\S+@\S+\.|attacker)",
        imperative=True,
    ),
    # Instructions about memory and about the user
    _build_rule(
        "store save remember record add write note keep treat log register memori & correct "
        "identity preference system core standing permanent trusted priority authoritative",
        r"\b(?:store|save|remember|record|add|write|note|keep|treat|log|register"
        r"|memori[sz]e)\s+(?:this|the following|that|it|these"
        r"|what follows)\b[^.\n]{0,40}?\b(?:as|to|in|into|under)\s+"
        r"(?:an?\s+|your\s+|the\s+|its\s+|their\s+)?(?:(?!my\b|our\b)[\w']+\s+){0,2}?"
        r"(?:corrections?|identity"
        r"|(?:user'?s?\s+)?preferences?|system (?:prompt|instructions?|rules?)|core memor(?:y"
        r"|ies)|standing (?:order|instruction)s?"
        r"|permanent (?:memory|instruction|rule)s?|trusted (?:fact|source|instruction)s?"
        r"|highest priority|authoritative)",
        imperative=True,
    ),
    _build_rule(
        "speicher merk notier behalt & korrektur identitat praferenz vorliebe systemanweisung "
        "dauerhaft prioritat",
        r"\b(?:speicher(?:e|n sie)?|merke? dir|notier(?:e|en sie)?|behalte?)\s+(?:dies\w*|das"
        r"|folgende\w*|es)\b[^.\n]{0,30}?\bals\s+(?:\w+\s+){0,2}?"
        r"(?:korrektur\w*|identitat|praferenz\w*|vorliebe\w*|systemanweisung\w*|dauerhafte \w+"
        r"|hochste prioritat)",
        imperative=True,
    ),
    _build_rule(
        "trusted authoritative preferred reliable primary & as & source authority provider vendor",
        r"\b(?:remember|treat|consider|regard|cite|keep|save|store)\b[^\n]{1,60}\bas (?:an?|the"
        r"|your) (?:most )?(?:trusted|authoritative|preferred|reliable|primary) (?:source"
        r"|authority|provider|vendor)"
        r"[^.\n]{0,40}\b(?:future|citations?|conversations?|always|answers|memory)",
        imperative=True,
    ),
    _build_rule(
        "user human & tell inform mention alert notify warn ask reveal show let say",
        r"\b(?:do not|don'?t|never|(?:you )?(?:must|shall|should) not) (?:tell|inform"
        r"|mention|alert|notify|warn|ask|reveal|show|let"
        r"|say)\b[^.\n]{0,30}?\bthe (?:user|human)\b"
        r"(?! (?:base|group|interface|manual|name))"
        r"|\bwithout (?:telling|informing|asking|alerting|notifying|warning) the (?:user|human)\b",
        imperative=True,
    ),
    _build_rule(
        "nutzer anwender user & nicht",
        r"\b(?:sag|sage|verrate?|erzahle?|melde|zeige)\s+(?:es\s+|das\s+|dies\s+)?(?:dem|der"
        r"|den) (?:be)?(?:nutzer|anwender|user)\w*\s+(?:\w+\s+){0,2}?(?:nichts|nicht)\b"
        r"|\binformiere?\s+(?:den|die)\s+(?:be)?(?:nutzer|anwender"
        r"|user)\w*\s+(?:\w+\s+){0,2}?nicht\b",
        imperative=True,
    ),
    # Text addressed to a model
    _build_rule(
        "instruction task role goal objective directive mission purpose anweisung aufgabe rolle "
        "& your new updated important urgent additional hidden secret priority special neue "
        "wichtige deine ihre",
        r"\b(?:your|deine|ihre) (?:new|neuen?|only|real|actual|updated|true) (?:task"
        r"|instructions?|role|goal|objective|directives?|mission|purpose|aufgabe|anweisung\w*"
        r"|rolle)"
        r"\s*(?:is|are|:|lautet|ist|sind)"
        r"|^\W{0,6}(?:new|updated|important|urgent|additional|hidden|secret|priority|special"
        r"|neue|wichtige) (?:system )?(?:instructions?|directives?|anweisung\w*)(?: (?:for|to"
        r"|fur|an) [^:\n]{1,40})?\s*:",
        imperative=True,
    ),
    _build_rule(
        "instruction note attention message important notice hinweis anweisung nachricht "
        "achtung & ai llm model chat gpt claude gemini copilot assistant agent bot",
        r"\b(?:instructions?|notes?|attention|messages?|important|notice|hinweis|anweisung\w*"
        r"|nachricht|achtung)\s*(?:\W{1,3}\s*)?(?:to |for |fur |an )?(?:the |all |any |every "
        r"|die |den |alle |jede )?"
        rf"(?:\w+[ -])?{_MACHINE}(?: (?:assistants?|agents?|models?|systems?|bots?"
        rf"|summari[sz]ers?))?(?: (?:reading|processing|parsing|that reads?|who reads?"
        rf"|summari[sz]ing|die|der|das)\b[^:,.\n]{{0,40}})?\s*[:,!]",
    ),
    _build_rule(
        "your & instructions rules guidelines & changed updated replaced",
        r"\byour (?:instructions|rules|guidelines) (?:have|has) (?:been )?"
        r"(?:changed|updated|replaced)\b",
        imperative=True,
    ),
    _build_rule(
        "reading & ai llm model",
        r"\b(?:ai|llm|language model)s? (?:(?:agent|assistant|model)s? )?reading this\b",
    ),
    _build_rule(
        "dear hey hello & ai llm model",
        r"\b(?:dear|hey|hello) (?:ai|llm|(?:large )?language model)s?(?: (?:assistant|agent"
        r"|model)s?)?\b",
    ),
    _build_rule(
        "if & you & ai llm model bot automated",
        r"\bif you(?: are|'?re) (?:an? )?(?:ai|llm|(?:large )?language model|chat ?bot"
        r"|automated (?:system|agent)|ai (?:assistant|agent|model))\b[^.\n]{0,40}"
        r"(?:,|then|you must|please|do|ignore|include|say|reply|answer)",
    ),
    _build_rule(
        "must should has shall is & ignore disregard obey forget reveal send store comply",
        rf"\b(?:the|any|all|every) (?:\w+ )?{_MACHINE}s?(?: reading this)?(?: \w+)? (?:must"
        rf"|should|has to|shall|is (?:required|ordered|instructed) to) (?:now |always "
        rf"|immediately )?(?:ignore|disregard|obey|forget|reveal|send (?:all|the user)"
        rf"|store this|comply)",
    ),
    # Role and end markers
    _build_rule(
        "<|",
        r"<\|\s?(?:im_(?:start|end|sep)|system|user|assistant|end(?:of(?:text|prompt|turn))?"
        r"|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|fim_\w+"
        r"|tool_\w+)\s?\|>",
    ),
    _build_rule(
        "[inst] [/inst] <<sys>> <</sys>> <start_of_turn> <end_of_turn>",
        r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
    ),
    _build_rule(
        "<system <assistant <developer <admin <instruction <prompt <memor </system </assistant "
        "</developer </admin </instruction </prompt </memor </context </user </document </tool "
        "</untrusted </conversation </data </input <tool_ <function_ </function_ </search "
        "</human <human <untrusted",
        r"</?(?:system(?:[-_ ]?(?:prompt|message|instructions?|note|reminder|override))?"
        r"|assistant|developer|admin(?:istrator)?|instructions?|prompt|memor(?:y|ies)|human"
        r"|untrusted\w*"
        r"|(?:tool|function)_(?:calls?|results?|responses?|use))(?:\s[^<>\n]{0,80})?>"
        r"|</(?:context|user(?:_\w+)?|documents?|conversation|data|input|search_results?|tool)>",
    ),
    _build_rule(
        "system: system] [system system) system* system_prompt prompt: message: override: note: "
        "update: instruction: reminder:",
        r"^[ \t>*#\-]{0,6}[\[(*_]{0,3}system(?:[ _-](?:prompt|message|note|override|update"
        r"|instructions?|reminder|notice|alert))?[\])*_]{0,3}\s?(?::(?!:)|(?<=\]))"
        r"(?!\s*(?:$|\d|v\d|ubuntu|debian|mac|os ?x|windows|win|linux|ios|android|fedora|arch"
        r"|red ?hat|rhel|centos|suse|alpine|nixos|freebsd|raspberry|intel|amd|arm|m[123]\b|x86"
        r"|apple|lenovo|dell|thinkpad|metric|imperial|postgres|python|node|kernel|pop|mint"
        r"|chrome))",
        quotable=False,
    ),
    _build_rule(
        "###",
        r"^[ \t>]{0,4}#{2,4}\s?(?:(?:new |system |hidden |end of )?(?:instructions?|prompt)"
        r"|system|assistant|human)\s?(?::|#|$)",
        quotable=False,
    ),
    _build_rule(
        "end begin start & prompt instruction context document input message anweisung kontext "
        "memory & - = # * [ <",
        r"(?:-{3,}|={3,}|#{3,}|\*{3,}|\[|<)\s?(?:end|begin|start|ende) (?:of |new |der "
        r"|des )?(?:the |new )?(?:system |user |admin |developer )?(?:prompt|instructions?"
        r"|context|document|input|message|anweisung\w*|kontext|memory)",
    ),
    _build_rule(
        "[long-term [relevant memory",
        r"^\s*(?:\[(?:long-term memory|relevant memories)\]|## memory context)\s*$",
        quotable=False,
    ),
)


# --- Matching


# Commands begin at the start of a sentence or clause, or after a word that introduces one.
_INSTRUCTION_START = re.compile(
    r"(?:^|[.!?:;,\n()\[\]{}<>*#|/\-–—…\"'`“”„«»]"
    r"|\b(?:please|pls|bitte|now|then|and|und|just|kindly|so|but|first|instead|jetzt|dann|also|immediately"
    r"|simply|always|must|shall|from (?:here|now) on"
    r"|you (?:will|can|may|should|have to|need to|are to|now)"
    r"|(?:want|need|ask|order|command|instruct|tell) you to"
    r"|ai|assistant|claude|gpt|chatgpt|copilot))\s*$"
)
_LOOK_BACK = 40
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "„": "“", "«": "»", "»": "«", "‘": "’"}
_MAX_QUOTED_CHARS = 60

_BLOB = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,4000}={0,2}(?![\w+/=])")
_MAX_BLOBS = 50
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_ROT13_MARKS = ("vtaber", "qvfertneq", "flfgrz cebzcg", "lbh ner abj")


def is_suspicious(text: str) -> bool:
    """Return whether a text is a suspected prompt injection.

    Detects instructions to ignore earlier instructions, new roles, and instructions about memory or
    the user. It also detects role tags, role headings and fake ends of a section. Look-alike
    letters count as the letters they imitate, and invisible letters are ignored. Text in base64 or
    rot13 and under formatting is decoded (`memolith.text.deobfuscation`). A phrase alone in quotes
    counts as a mention. Deliberately conservative: `docs/decisions/0010-screening.md` has the error
    rates. Linear in the length of the text.
    """
    folded = fold(text)
    return _has_instruction(folded) or any(map(_has_instruction, _decode_variants(text, folded)))


def _has_instruction(folded: str) -> bool:
    return any(
        _is_valid_match(folded, match, rule)
        for rule in INJECTION_RULES
        if _has_triggers(folded, rule)
        for match in rule.regex.finditer(folded)
    )


def _has_triggers(folded: str, rule: InjectionRule) -> bool:
    """Return whether a text has a trigger of each group. Plain loops, since this is a hot path."""
    for words in rule.triggers:
        for word in words:
            if word in folded:
                break
        else:
            return False
    return True


def _is_valid_match(text: str, match: re.Match[str], rule: InjectionRule) -> bool:
    if rule.imperative and not _INSTRUCTION_START.search(
        text[max(0, match.start() - _LOOK_BACK) : match.start()]
    ):
        return False
    return not (rule.quotable and _is_mention(text, match))


def _is_mention(text: str, match: re.Match[str]) -> bool:
    """Return whether a match is alone in a pair of quotes within a longer text."""
    opening = text[max(0, match.start() - _LOOK_BACK) : match.start()].rstrip()[-1:]
    closing = _QUOTES.get(opening)
    if closing is None:
        return False
    end = text.find(closing, match.end(), match.end() + _MAX_QUOTED_CHARS)
    return end >= 0 and not _is_whole_text(text, match.start(), end)


def _is_whole_text(text: str, start: int, end: int) -> bool:
    """Return whether a short quotation is the whole text."""
    if start > _LOOK_BACK or len(text) - end > _LOOK_BACK:
        return False
    return not text[:start].strip("".join(_QUOTES) + " \n") and not text[end + 1 :].strip()


def _decode_variants(text: str, folded: str) -> Iterator[str]:
    """Yield the text decoded from base64, rot13 and escapes, and without formatting."""
    if any(mark in folded for mark in _ROT13_MARKS):
        yield folded.translate(_ROT13)
    for blob, _ in zip(_BLOB.finditer(text), range(_MAX_BLOBS), strict=False):
        try:
            decoded = binascii.a2b_base64(blob[0] + "=" * (-len(blob[0]) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        yield fold(decoded)
    plain = decode_escapes(text)
    if plain != text:
        folded = fold(plain)
        yield folded
    without_markup = remove_markup(folded)
    if without_markup != folded:
        yield without_markup
