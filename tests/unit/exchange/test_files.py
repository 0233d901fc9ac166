"""Opening files to import."""

import io
import zipfile
from pathlib import Path

import pytest

from memolith.errors import InvalidInput
from memolith.import_export.files import iter_conversation_files, open_binary, open_rereadable


def make_archive(members: dict[str, str]) -> io.BytesIO:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name, text in members.items():
            made.writestr(name, text)
    data.seek(0)
    return data


def read_contents(file: io.BytesIO) -> list[tuple[str, bytes]]:
    return [(name, inner.read()) for name, inner in iter_conversation_files(file, "export")]


def test_plain_file_is_read_unchanged() -> None:
    assert read_contents(io.BytesIO(b"[]")) == [("export", b"[]")]


def test_all_conversations_in_archive_are_read_in_order() -> None:
    file = make_archive(
        {"x/conversations-1.json": "b", "x/conversations-0.json": "a", "user.json": "c"}
    )
    assert read_contents(file) == [
        ("export/x/conversations-0.json", b"a"),
        ("export/x/conversations-1.json", b"b"),
    ]


def test_archive_without_conversations_is_rejected() -> None:
    with pytest.raises(InvalidInput, match=r"contains no conversations.json"):
        read_contents(make_archive({"user.json": "c"}))


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"), open_binary(tmp_path / "none"):
        pass


class Pipe(io.BytesIO):
    """A stream that can be read only once."""

    def seekable(self) -> bool:
        return False


def test_pipe_can_be_read_twice() -> None:
    with open_rereadable(Pipe(b"text")) as file:
        assert file.read() == b"text"
        file.seek(0)
        assert file.read() == b"text"


def test_seekable_file_is_not_copied() -> None:
    source = io.BytesIO(b"text")
    with open_rereadable(source) as file:
        assert file is source
