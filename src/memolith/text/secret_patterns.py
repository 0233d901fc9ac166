"""Patterns and word lists for secrets.

A value after "password:" counts as a password unless a list or rule excludes it. A missing word
costs a word of the text, but an extra word may leak a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from memolith.domain.memories import Span
from memolith.text.lexicon.language import word_set

_ENGLISH = """
a able about above access active actually added after again all allowed almost already also always
an and another any anything apparently are as ask at available await bad based be because been being
below better between both broken but by bytes called can cannot case-sensitive changed changing
char characters chars check clear common complex complicated compromised computed contains correct
created default definitely deprecated derived different difficult disabled does done due each easy
either empty enabled encrypted enforced entered enough even ever every everything exactly expired
expires exposed false field fine first for forgotten found four free from generated generic given
gone good great handled hard has hash hashed have he her here hers hidden his i if ignored
important impossible in incorrect input insecure inside instead invalid is it its just kept key
known last later leaked least less like likely limited literal locked long longer lost lower
mandatory managed me mentioned mine missing more most must my needed needs neither never new next
nil no none nor not nothing now null number obfuscated obsolete obvious of off often ok okay old on
once one only open optional or other our ours out over part personal please plain plaintext prompt
protected provided public quite random rather read ready really recommended required reset
restricted return returns right rotated safe salted same saved secret secure see sensitive sent set
several shared
she short should shown simple simply since so some somebody someone something sometimes somewhere
soon still stolen stored string strong stronger such supposed sure temporary test text than that
the their theirs them then there these they thing this those three through to too totally treated
true two type typed unchanged undefined under unique unknown unset until up updated upper us use
used user useless user's uses using usually valid validated value var variable verified very void
was way we weak weaker well were what when where whether which who why will with within without
won't would wrong yes you your yours
bool boolean bytes dict float int integer list number object optional secretstr str tuple uuid any
"""

_GERMAN = """
abgelaufen aber alle allein alles alt am an anders auch auf aus bei bekannt besser bitte da damit
dann das dass dasselbe dein deine dem den denn der deshalb die dies diese dieses doch dort durch
egal ein eine einem einen einer eines einfach endlich entweder er erforderlich erlaubt es etwas
euer extrem falsch fast für ganz geändert geheim gehasht gelöscht gemeint genau gerade geschützt
gesperrt gespeichert gestern gestohlen gilt gleich gültig gut gültig hat heute hier ich ihr immer
im in ist ja jede jeder jetzt kein keine keiner kennt kompliziert korrekt kurz lang leer leicht
leider man mein meine meins mehr merken mit muss nach nächste natürlich neu nicht nichts nie
niemand noch nötig nur ob oder ohne okay optional richtig schlecht schon schwach schwer sehr sein
seit sicher sie siehe so sofort soll sollte stark streng super to überall um unbekannt und ungültig
uns unser unsicher unter unverändert verboten vergessen verloren verschlüsselt vertraulich viel
vom von vor vorhanden wahrscheinlich war weg weil weiterhin wer wichtig wie wieder wird wirklich wo
wurde zeichen ziemlich zu zufällig zum zur zurückgesetzt zwischen
"""

COMMON_WORDS = word_set(_ENGLISH) | word_set(_GERMAN)
"""Words that follow "password:" or "my password is" without being a password."""


# --- Values after a name


REDACTED = "[REDACTED]"

_MIN_CHARS = 3
_MIN_PROSE_CHARS = 4
_MIN_WEAK_CHARS = 6
_MIN_RANDOM_CHARS = 16

# Variables, templates, masks, "your-key-here".
_PLACEHOLDER = re.compile(
    r"\$\w+|\$[({].*|%\w+%|%[(s].*|\{.*|<.*|\[.*|@\w+@|[*x•·.…#?_-]+"
    r"|(?:your|my|the|insert|enter|put|some|dein|deine|ihr|ihre)[-_ ].*"
    r"|redacted|hidden|masked|omitted|placeholder|geschwärzt|xxx.*",
    re.IGNORECASE | re.DOTALL,
)

# Calls, subscripts, fields of common objects, environment variables, paths, URLs.
_EXPRESSION = re.compile(
    r"[A-Za-z_$][\w.:>-]*[(\[].*"
    r"|(?:self|this|cls|os|sys|process|env|environ|config|cfg|conf|settings|args|kwargs|opts"
    r"|options"
    r"|params|request|req|res|response|form|event|body|data|ctx|context|state|props|user|account"
    r"|credentials|creds|secrets|vault|app|obj|row|record|payload|st|import\.meta)\??\.\w.*"
    r"|(?:https?://|~?\.{0,2}/[\w.-]+/|[A-Za-z]:\\).*|arn:.*|/[\w.-]+\.\w+",
    re.DOTALL,
)
_NAMES = re.compile(
    r"pass(?:word|wd|wort|phrase|code)?|pwd|kennwort|secret|token|key|credential|auth",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]+")
_SNAKE = re.compile(r"[a-z]+(?:_[a-z]+)+")

# Algorithms, versions, dates, sizes, products: letters with digits that are no secrets.
_TERM = re.compile(
    r"(?:hmac-?|pbkdf2-?)*(?:sha|md|rsa|aes|hs|rs|es|ed|utf|base|v|argon|bcrypt|pbkdf|oauth|http"
    r"|x|gpt"
    r"|http/|tls|ssl|ipv|p|k|s|ec|web|i18n|mp|h)-?\d[\w.:-]{0,8}(?:-?(?:hash(?:ed|es)?|encoded"
    r"|based))?"
    r"|v?\d+(?:[.:/-]\d+)*(?:[a-z]{1,3}\d*)?|\d+-?[a-z]+|1password\w*|office365|[2m]fa\w*|2fa-.*"
    r"|\d{4}-\d\d-\d\d.*|\d+(?:st|nd|rd|th)|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_SYMBOL = re.compile(r"\w[!@#$%^&*+=~?€§|\\][\w!@#$%^&*+=~?€§|\\]|\w!$")


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: a variable, a mask, a hint or `REDACTED`."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """Return whether a bare value is code, a path, a URL, or the name of a secret."""
    is_reference = _IDENTIFIER.fullmatch(value) is not None and _NAMES.search(value) is not None
    return is_reference or _EXPRESSION.fullmatch(value) is not None


def is_common_word(value: str) -> bool:
    """Return whether a value is a common word after the name of a secret."""
    return value.strip(".,;:!?)('\"…").casefold() in COMMON_WORDS


def is_secret_after_sign(value: str, *, spaced: bool) -> bool:
    """Return whether the value after "password:" or "password=" is a password.

    Args:
        value: The value, without quotes.
        spaced: Whether spaces surround the equals sign, as in code.
    """
    if len(value) < _MIN_CHARS or is_placeholder(value) or is_common_word(value):
        return False
    return not is_expression(value) and not (spaced and _SNAKE.fullmatch(value))


def is_secret_in_prose(value: str) -> bool:
    """Return whether the word after "my password is" looks like one, with digits or symbols."""
    if len(value) < _MIN_PROSE_CHARS or is_placeholder(value) or is_expression(value):
        return False
    if value.isdigit():
        return True
    return _TERM.fullmatch(value) is None and _is_mixed(value)


def is_word(value: str) -> bool:
    """Return whether a value is a word, but not a common one."""
    return len(value) >= _MIN_PROSE_CHARS and value.isalpha() and not is_common_word(value)


def is_secret_after_weak_name(value: str, *, is_adjacent: bool) -> bool:
    """Return whether the value after "token:" or "secret=" is a secret; these names are ambiguous.

    Args:
        value: The value, without quotes.
        is_adjacent: Whether it directly follows an equals sign.
    """
    if is_placeholder(value) or is_expression(value) or _TERM.fullmatch(value):
        return False
    if is_adjacent and len(value) >= _MIN_RANDOM_CHARS:
        return True
    return len(value) >= _MIN_WEAK_CHARS and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    if _LETTER.search(value) is None:
        return False
    return _DIGIT.search(value) is not None or _SYMBOL.search(value) is not None


# --- Secrets with a known format


_KEY_BOUNDARY = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%3[Dd])|(?<=%20))"
"""Start of a token: not inside a word, but allowed after an escaped newline, as in JSON."""


@dataclass(frozen=True, slots=True)
class SecretShape:
    """The format of one kind of secret.

    Attributes:
        trigger: A lower-case substring of all such secrets; texts without it are not searched.
        pattern: The regular expression; the secret is its group "secret", or else the whole match.
        accept: Decides whether a match is a secret; None accepts all matches.
    """

    trigger: str
    pattern: str
    accept: Callable[[str], bool] | None = None

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern. Compiled at first use, since most patterns are never needed."""
        return _compile_shape(self.pattern)


@cache
def _compile_shape(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def is_random(text: str) -> bool:
    """Return whether a token looks random: letters and digits, but no words.

    A capital, or a run of 16 characters without a hyphen, distinguishes it from a name with a
    number.
    """
    return (
        any(c.isdigit() for c in text)
        and any(c.isalpha() for c in text)
        and (any(c.isupper() for c in text) or any(len(run) >= 16 for run in text.split("-")))  # noqa: PLR2004 - see docstring
    )


def has_digit(text: str) -> bool:
    """Return whether a token has a digit; examples in manuals ("xoxb-your-token") have none."""
    return any(c.isdigit() for c in text)


def _build_shape(
    trigger: str, pattern: str, accept: Callable[[str], bool] | None = None
) -> SecretShape:
    return SecretShape(trigger, _KEY_BOUNDARY + pattern, accept)


SECRET_SHAPES = (
    # Clouds
    _build_shape("akia", r"AKIA[A-Z0-9]{16,}+"),
    _build_shape("asia", r"ASIA[A-Z0-9]{16,}+", is_random),
    _build_shape("aiza", r"AIza[\w-]{35,}+"),
    _build_shape("ya29.", r"ya29\.[\w.-]{20,}+"),
    _build_shape("gocspx-", r"GOCSPX-[\w-]{20,}+"),
    _build_shape("accountkey=", r"AccountKey=(?P<secret>[\w+/]{40,}+={0,2})"),
    _build_shape("sig=", r"sig=(?P<secret>[\w%+/-]{30,}+={0,2})"),
    _build_shape("ltai", r"LTAI[A-Za-z0-9]{16,}+", is_random),
    _build_shape("do", r"do[opr]_v1_[0-9a-f]{40,}+"),
    _build_shape("hrku-", r"HRKU-[\w-]{30,}+"),
    _build_shape("dapi", r"dapi[0-9a-f]{32}+(?:-\d)?"),
    _build_shape("hvs.", r"hv[sbr]\.[\w-]{20,}+"),
    _build_shape("atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{50,}+"),
    _build_shape("pul-", r"pul-[0-9a-f]{40}+"),
    _build_shape("tskey-", r"tskey-[a-z]{2,12}-[\w-]{15,}+"),
    _build_shape("pscale_", r"pscale_(?:pw|tkn|oauth)_[\w.-]{30,}+"),
    _build_shape("sbp_", r"sbp_[0-9a-f]{40}+"),
    # Code hosts, packages, builds
    _build_shape("gh", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    _build_shape("github_pat_", r"github_pat_\w{22,}+"),
    _build_shape("gl", r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[\w.-]{18,}+"),
    _build_shape("gr1348941", r"GR1348941[\w-]{20,}+"),
    _build_shape("npm_", r"npm_[A-Za-z0-9]{30,}+"),
    _build_shape("pypi-", r"pypi-Ag[\w-]{40,}+"),
    _build_shape("rubygems_", r"rubygems_[0-9a-f]{40,}+"),
    _build_shape("dckr_", r"dckr_[po]at_[\w-]{20,}+"),
    _build_shape("ccipat_", r"CCIPAT_[A-Za-z0-9]{20,}+_[0-9a-f]{30,}+"),
    _build_shape("atatt3", r"ATATT3[\w=-]{40,}+"),
    _build_shape("atctt3", r"ATCTT3[\w=-]{40,}+"),
    _build_shape("sntry", r"sntry[su]_[\w=+/]{40,}+"),
    _build_shape("nrak-", r"NRAK-[A-Z0-9]{27}+"),
    _build_shape("gl", r"gl(?:sa|c)_[\w+/=]{30,}+"),
    _build_shape("pmak-", r"PMAK-[0-9a-f]{24}+-[0-9a-f]{30,}+"),
    _build_shape("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.]{30,}+"),
    _build_shape("ops_eyj", r"ops_eyJ[\w+/]{60,}+={0,2}"),
    # Chat and mail
    _build_shape("xox", r"xox[abeoprs](?:\.xox[a-z])?-[\w-]{10,}+", has_digit),
    _build_shape("xapp-", r"xapp-\d-[\w-]{20,}+"),
    SecretShape(
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{20,}+)",
    ),
    SecretShape(
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{10,24}/[\w-]{30,}+)",
    ),
    SecretShape(
        ".",
        r"(?<![\w-])[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}+",
        is_random,
    ),
    _build_shape(":aa", r"\d{8,10}:AA[\w-]{30,}+"),
    _build_shape("sg.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}+"),
    _build_shape("sk", r"SK[0-9a-f]{32}(?!\w)"),
    _build_shape("ac", r"AC[0-9a-f]{32}(?!\w)"),
    _build_shape("-us", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    _build_shape("key-", r"key-[0-9a-f]{32}(?!\w)"),
    _build_shape("xkeysib-", r"xkeysib-[0-9a-f]{40,}+-\w{10,}+"),
    # Payments and shops
    _build_shape("_live_", r"[srw]k_live_[A-Za-z0-9]{10,}+"),
    _build_shape("_test_", r"[srw]k_test_[A-Za-z0-9]{10,}+"),
    _build_shape("whsec_", r"whsec_[\w+/]{20,}+={0,2}"),
    _build_shape("sq0", r"sq0[a-z]{3}-[\w-]{22,}+"),
    _build_shape("shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}+"),
    # Models
    _build_shape("sk-ant-", r"sk-ant-[\w-]{16,}+"),
    _build_shape("sk-", r"sk-[\w-]{20,}+", is_random),
    _build_shape("hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _build_shape("gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    _build_shape("xai-", r"xai-[A-Za-z0-9]{40,}+"),
    _build_shape("pplx-", r"pplx-[A-Za-z0-9]{40,}+"),
    _build_shape("r8_", r"r8_[A-Za-z0-9]{35,}+"),
    # Offices
    _build_shape("lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}+"),
    _build_shape("ntn_", r"ntn_[A-Za-z0-9]{40,}+"),
    _build_shape("secret_", r"secret_[A-Za-z0-9]{40,}+"),
    _build_shape("figd_", r"figd_[\w-]{30,}+"),
    _build_shape("pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{60,}+"),
    # Standards
    _build_shape("eyj", r"eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+){0,3}+"),
    _build_shape("age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+"),
)
"""In no particular order: overlapping matches are joined."""

AWS_SECRET = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/]{40}(?![\w+/=-])")
"""Secret part of an AWS key: 40 characters without a prefix of their own. It counts only in texts
that also contain the first part."""


# --- Private keys


_KEY_EDGE = re.compile(
    r"-----(?P<begin>BEGIN)? ?(?:END )?[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?P<putty>PuTTY-User-Key-File-\d): "
    r"|Private-MAC: [0-9a-f]{20,}+"
)
# Content of a block without an end: base64 and headers.
_KEY_BODY = re.compile(
    r"(?:(?:\s|\\[nr]|[>|*#+\"'])*+"
    r"(?:[A-Za-z][A-Za-z-]{2,20}: [^\n]{0,120}|[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/]{0,15}=))*+"
)


_MAX_KEY_CHARS = 65_536
"""Maximum size of a block: a PGP key ring with many subkeys has tens of thousands of characters."""


def find_private_keys(text: str) -> Iterator[Span]:
    """Yield blocks of private keys, in order; an unclosed block ends with its last base64 line."""
    if "PRIVATE KEY" not in text and "PuTTY-User" not in text:
        return
    edges = list(_KEY_EDGE.finditer(text))
    for place, edge in enumerate(edges):
        if edge["begin"] is None and edge["putty"] is None:
            continue
        closing = edges[place + 1] if place + 1 < len(edges) else None
        if closing is not None and _is_matching_edge(edge, closing):
            yield Span(edge.start(), closing.end())
        else:
            body = _KEY_BODY.match(text, edge.end())
            yield Span(edge.start(), edge.end() if body is None else body.end())


def _is_matching_edge(edge: re.Match[str], other: re.Match[str]) -> bool:
    begins = other["begin"] is not None or other["putty"] is not None
    return not begins and other.start() - edge.end() <= _MAX_KEY_CHARS


# --- Passwords in URLs


_MAX_ADDRESS_CHARS = 1_024
"""Maximum length of a password: a signed token in a database URL has about 900 characters."""

# In web URLs a slash ends the host, so that the rest is a path (`host:80/@scope` has no password).
# Passwords in database URLs are often not escaped.
_WEB_PASSWORD = re.compile(
    rf"(?<=://)[^\s:/?#@\"'`<>\[\]]{{0,256}}+:([^\s/?#@\"'<>]{{1,{_MAX_ADDRESS_CHARS}}}+)@(?=[\w\[])"
)
_OTHER_PASSWORD = re.compile(
    rf"(?<=://)[^\s:/?#@\"'`<>\[\]]{{0,256}}+:"
    rf"([^\s@\"'<>]{{1,{_MAX_ADDRESS_CHARS}}}+(?:@[^\s@/\"'<>]{{1,{_MAX_ADDRESS_CHARS}}}+)*?)@(?=[\w\[.-]+"
    rf"(?:[:/?,;\s]|$))"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}$")
_MAX_SCHEME_CHARS = 31


def find_connection_passwords(text: str) -> Iterator[Span]:
    """Yield the passwords in URLs, in order."""
    if "://" not in text or "@" not in text:
        return
    place = text.find("://")
    while place >= 0:
        after = place + len("://")
        head = text[max(0, place - _MAX_SCHEME_CHARS) : place]
        scheme = _SCHEME.search(head)
        if scheme is not None:
            pattern = (
                _WEB_PASSWORD
                if scheme[0].lower() in ("http", "https", "ws", "wss")
                else _OTHER_PASSWORD
            )
            match = pattern.match(text, after)
            if match is not None and not is_placeholder(match[1]):
                yield Span(match.start(1), match.end(1))
        place = text.find("://", after)


# --- Payment cards


MIN_CARD_DIGITS = 13
MAX_CARD_DIGITS = 19

# Groups of digits with single separators. A preceding plus, letter or decimal point, or a following
# letter, marks a phone number, an id or a fraction. A following letter is checked after the match:
# in the pattern, it would make each group of a long run a new start, and the search quadratic.
_SEPARATOR = "[ \u00a0\u2007\u2009\u202f\\-\u2010-\u2013]"
_GROUPS = rf"(?:\d{{4}}(?:\.\d{{4}}(?!\d)){{3,}}+|\d++(?:{_SEPARATOR}\d++)*+)"
_RUN = re.compile(rf"(?<![\w+])(?<!\d\.){_GROUPS}")
_BEHIND_POINT = re.compile(rf"\.({_GROUPS})")
_WORD = re.compile(r"\w")
_GROUP = re.compile(r"\d+")
_GROUP_SIZE = 4
_MAX_GROUPS = 5
_OTHER_GROUPS = ([6, 5], [6, 4])

# Prefixes and lengths by network (ISO/IEC 7812, as published by the networks): Visa; Mastercard;
# American Express; Diners Club; JCB; Mir, RuPay and Troy; then Maestro, Discover, UnionPay and
# RuPay, whose ranges are interleaved.
_NETWORKS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}"
    r"|(?:30[0-5]|3095|3[689])\d{10,16}"
    r"|35(?:2[89]|[3-8]\d)\d{12,15}"
    r"|(?:220[0-4]|8[12]\d\d|9792)\d{12,15}"
    r"|(?:5[0678]|6\d)\d{11,17}"
)


def find_cards(text: str) -> Iterator[Span]:
    """Yield the spans of payment card numbers, in order, without overlaps.

    A card number has 13 to 19 digits, the prefix of a known network and a valid check digit (Luhn).
    It is written in one piece, in groups of four (the last of any length), or as 4-6-5 or 4-6-4.
    One in ten other numbers of that length passes the check, and few of those have a known prefix.
    """
    run = _RUN.search(text)
    while run is not None:
        start, end = run.span(run.lastindex or 0)
        last: Span | None = None
        if end - start >= MIN_CARD_DIGITS and _WORD.match(text, end) is None:
            for last in _find_in_run(text, start, end):
                yield last
        # A point after a card number ends a sentence, and does not begin a fraction.
        fraction = _BEHIND_POINT.match(text, end) if last and last.end == end else None
        run = fraction or _RUN.search(text, end)


def _find_in_run(text: str, start: int, end: int) -> Iterator[Span]:
    groups = [Span(each.start(), each.end()) for each in _GROUP.finditer(text, start, end)]
    first = 0
    while first < len(groups):
        last = _find_card_end(text, groups, first)
        if last is not None:
            yield Span(groups[first].start, groups[last].end)
        first = first + 1 if last is None else last + 1


def _find_card_end(text: str, groups: Sequence[Span], first: int) -> int | None:
    """Return the last group of the longest card number that begins with a group."""
    sizes = [group.end - group.start for group in groups[first : first + _MAX_GROUPS]]
    for count in range(_count_printed_groups(sizes), 0, -1):
        if MIN_CARD_DIGITS <= sum(sizes[:count]) <= MAX_CARD_DIGITS:
            digits = "".join(group.extract(text) for group in groups[first : first + count])
            if is_card(digits):
                return first + count - 1
    return None


def _count_printed_groups(sizes: Sequence[int]) -> int:
    """Return the maximum number of groups of a card number that begins with these group sizes."""
    if sizes[0] != _GROUP_SIZE:
        return 1
    if sizes[1:3] in _OTHER_GROUPS:
        return 3
    same = next((place for place, size in enumerate(sizes) if size != _GROUP_SIZE), len(sizes))
    return min(same + 1, len(sizes))


def is_card(digits: str) -> bool:
    """Return whether digits have a known prefix and a valid check digit."""
    plain = "".join(str(int(each)) for each in digits)
    return _NETWORKS.fullmatch(plain) is not None and _is_luhn_valid(plain) and len(set(plain)) > 1


def _is_luhn_valid(digits: str) -> bool:
    """Return whether the check digit is valid (ISO/IEC 7812-1, annex B)."""
    doubled = [sum(divmod(2 * int(each), 10)) for each in digits[-2::-2]]
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0
