"""Properties of screening for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corpora.hostile import HOSTILE, TALK
from corpora.secret_samples import HARMLESS, SECRETS
from memolith.text.cleaning import clean
from memolith.text.deobfuscation import fold
from memolith.text.screening import contains_secrets, redact, sanitize_lines, screen

PIECES = (
    *(sample.text for sample in SECRETS),
    *(secret for sample in SECRETS for secret in sample.secrets),
    *HARMLESS,
    *HOSTILE,
    *TALK,
    *(
        "password",
        ": ",
        "=",
        "token",
        " is ",
        "[REDACTED]",
        "\n",
        '"',
        "'",
        "://",
        "@",
        ":",
        "4111",
    ),
    *(
        "-",
        " ",
        "eyJ",
        ".",
        "AKIA",
        "-----BEGIN PRIV{}KEY-----".format("ATE "),
        "key",
        "auth",
        "für",
        ";",
    ),
)

texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=8).map("".join),
)


@given(texts)
def test_screening_twice_equals_screening_once(text: str) -> None:
    once = screen(text)
    assert screen(once.text) == type(once)(once.text, 0, once.suspicious)


@given(texts)
def test_redacted_text_contains_no_secret(text: str) -> None:
    assert not contains_secrets(redact(text)[0])
    assert not contains_secrets(sanitize_lines(text))


@given(texts)
def test_text_is_redacted_exactly_if_it_contains_secrets(text: str) -> None:
    plain, count = redact(text)
    assert contains_secrets(text) == (count > 0) == (plain != text)


@given(texts)
def test_redacted_text_is_a_subsequence_of_the_original(text: str) -> None:
    rest = iter(text)
    left = redact(text)[0].replace("[REDACTED]", "")
    assert all(char in rest for char in left.replace("[REDACTED]", ""))


@given(texts)
def test_sanitizing_keeps_or_replaces_whole_lines(text: str) -> None:
    known = {*text.split("\n"), "[REDACTED]"}
    assert known.issuperset(sanitize_lines(text).split("\n"))


@given(texts)
def test_redacting_keeps_cleaned_text_clean(text: str) -> None:
    cleaned = clean(f"a {text}")
    screened = redact(cleaned)[0]
    assert clean(screened) == screened


@given(st.text(max_size=100))
def test_folding_twice_equals_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
