"""What stands where a secret would: is it one?"""

from __future__ import annotations

import re

from memolith.text.secrets.words import COMMON_WORDS

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

# Calls, subscripts, fields of what is usually called so, environment variables, paths, addresses.
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

# Algorithms, versions, dates, sizes, products: letters with figures, and no secrets.
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
    """Tell whether a value stands for a secret: a variable, a mask, a hint, or our own mark."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """Tell whether a bare value is code, a path, an address, or the name of a secret."""
    named = _IDENTIFIER.fullmatch(value) is not None and _NAMES.search(value) is not None
    return named or _EXPRESSION.fullmatch(value) is not None


def is_common_word(value: str) -> bool:
    """Tell whether a value is a word that is usual there."""
    return value.strip(".,;:!?)('\"…").casefold() in COMMON_WORDS


def is_secret_after_sign(value: str, *, spaced: bool) -> bool:
    """Tell whether what follows "password:" or "password=" is a password.

    Args:
        value: It, without quotes.
        spaced: Whether there are spaces around an equals sign, as in code.
    """
    if len(value) < _MIN_CHARS or is_placeholder(value) or is_common_word(value):
        return False
    return not is_expression(value) and not (spaced and _SNAKE.fullmatch(value))


def is_secret_in_prose(value: str) -> bool:
    """Tell whether what follows "my password is" looks like one: figures or signs in a word."""
    if len(value) < _MIN_PROSE_CHARS or is_placeholder(value) or is_expression(value):
        return False
    if value.isdigit():
        return True
    return _TERM.fullmatch(value) is None and _is_mixed(value)


def is_word(value: str) -> bool:
    """Tell whether a value is a word, but none that is usual there."""
    return len(value) >= _MIN_PROSE_CHARS and value.isalpha() and not is_common_word(value)


def is_secret_after_weak_name(value: str, *, tight: bool) -> bool:
    """Tell whether what follows "token:" or "secret=" is one: many things are called so.

    Args:
        value: It, without quotes.
        tight: Whether an equals sign stands right before it.
    """
    if is_placeholder(value) or is_expression(value) or _TERM.fullmatch(value):
        return False
    if tight and len(value) >= _MIN_RANDOM_CHARS:
        return True
    return len(value) >= _MIN_WEAK_CHARS and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    if _LETTER.search(value) is None:
        return False
    return _DIGIT.search(value) is not None or _SYMBOL.search(value) is not None
