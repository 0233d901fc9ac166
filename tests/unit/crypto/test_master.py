"""Sources of a master key, and invalid keys."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.crypto.master_key import (
    KeyDerivation,
    Passphrase,
    ProvidedKey,
    parse_master_key,
    read_key,
)
from memolith.errors import InvalidConfiguration, KeyUnavailable
from support.rows import check_each

from .conftest import CHEAP

KEYS = st.binary(min_size=32, max_size=32)


@given(key=KEYS)
def test_key_is_parsed_as_hex_and_base64(key: bytes) -> None:
    for text in (
        key.hex(),
        key.hex().upper(),
        base64.b64encode(key).decode(),
        base64.urlsafe_b64encode(key).decode().rstrip("="),
    ):
        source = parse_master_key(f" {text}\n", "MEMOLITH_KEY")
        assert isinstance(source, ProvidedKey)
        assert source.key == key


@check_each("text", ["secret-words", "ab" * 31, "zz" * 32, "passphrase:", "é" * 44])
def test_invalid_key_is_rejected_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidConfiguration, match="32 bytes") as refused:
        parse_master_key(text, "MEMOLITH_KEY")
    assert text == "passphrase:" or text not in str(refused.value)


def test_passphrase_derives_same_key_only_with_same_salt() -> None:
    source = parse_master_key("passphrase:correct horse", "MEMOLITH_KEY")
    assert isinstance(source, Passphrase)
    salted = KeyDerivation.with_random_salt(CHEAP)
    assert source.derive_key(salted) == Passphrase("correct horse").derive_key(salted)
    assert source.derive_key(salted) != source.derive_key(KeyDerivation.with_random_salt(CHEAP))
    assert len(source.derive_key(salted)) == 32


def test_file_without_key_is_named_and_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("hunter2 hunter2")
    file.chmod(0o600)
    with pytest.raises(KeyUnavailable, match="contains no key") as refused:
        read_key(file)
    assert "hunter2" not in str(refused.value)


def test_folder_as_key_file_is_reported_as_unavailable_key(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeyUnavailable, match="cannot be read"):
        read_key(tmp_path)
