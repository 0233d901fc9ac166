"""A JSON array, read element by element."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.errors import InvalidInput
from memolith.import_export import files
from memolith.import_export.files import iter_elements
from memolith.policies.arguments import MAX_MESSAGE_CHARS
from support.rows import check_each

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read_elements(data: bytes) -> list[tuple[int, object]]:
    return list(iter_elements(io.BytesIO(data), "file.json"))


def get_read_error(data: bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read_elements(data)
    return caught.value


@given(st.lists(JSON, max_size=5), st.booleans(), st.integers(1, 40))
def test_elements_equal_standard_parser_for_any_chunk_size(
    values: list[object],
    ascii_only: bool,  # noqa: FBT001
    chunk: int,
) -> None:
    data = json.dumps(values, ensure_ascii=ascii_only, indent=1).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK_BYTES", chunk)
        try:
            found = [value for _, value in read_elements(data)]
        except InvalidInput:
            # An escaped lone surrogate is invalid UTF-8.
            assert "\\ud" not in str(values) or not ascii_only
            return
    assert found == json.loads(data)


def test_each_element_has_its_line_number() -> None:
    assert read_elements(b'\n[ {"a":\n 1},\n\n "x",\n7]') == [(2, {"a": 1}), (5, "x"), (6, 7)]


def test_empty_array_has_no_elements() -> None:
    assert read_elements(b" [ ] ") == []


def test_byte_order_mark_is_ignored() -> None:
    assert read_elements(b"\xef\xbb\xbf[1]") == [(1, 1)]


@check_each(
    ("data", "field", "problem"),
    [
        (b"", "file.json:1", "expected a JSON list"),
        (b'\n{"a": 1}', "file.json:2", "expected a JSON list"),
        (b"[1,\n2", "file.json:2", "is incomplete"),
        (b"[1,\n2 3]", "file.json:2", "expected ','"),
        (b'[1,\n{"a":\n}]', "file.json:3", "expecting value"),
        (b"[1,\n]", "file.json:2", "expecting value"),
        (b'["\xff"]', "file.json", "UTF-8"),
        (b"[" * 200_000, "file.json:1", "nested too deeply"),
    ],
)
def test_malformed_array_is_reported_with_line(data: bytes, field: str, problem: str) -> None:
    error = get_read_error(data)
    assert error.field == field
    assert problem in error.problem


@pytest.mark.parametrize("element", [b'"%s"', b"[%s]"])
def test_oversized_element_is_rejected_without_reading_on(
    element: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 100)
    monkeypatch.setattr(files, "MAX_CHUNK_BYTES", 400)
    monkeypatch.setattr(files, "MAX_ELEMENT_CHARS", 1_000)
    file = io.BytesIO(b"[1,\n" + element % (b"1," * 50_000) + b"]")
    with pytest.raises(InvalidInput) as caught:
        list(iter_elements(file, "file.json"))
    assert caught.value.field == "file.json:2"
    assert "contains an element of more than 1,000 characters" in str(caught.value)
    assert file.tell() < 2_000


def test_array_may_be_longer_than_one_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 100)
    monkeypatch.setattr(files, "MAX_ELEMENT_CHARS", 1_000)
    text = "a" * 900
    data = json.dumps([text] * 20, indent=600).encode()
    assert [value for _, value in read_elements(data)] == [text] * 20


def test_default_limit_accepts_conversation_of_longest_messages() -> None:
    text = "a" * MAX_MESSAGE_CHARS
    assert [value for _, value in read_elements(json.dumps([[text] * 15]).encode())] == [
        [text] * 15
    ]
