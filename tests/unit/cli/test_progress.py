"""Progress is for people at a terminal."""

import io
import sys

import pytest

from memolith.cli.output import progress


class Terminal(io.StringIO):
    """What says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total", [None, 3])
def test_a_terminal_sees_what_is_being_done(
    monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("Importing [all] files", total) as advance:
        advance(2)
    assert "Importing [all] files" in terminal.getvalue()


def test_a_pipe_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Importing", 3) as advance:
        advance(2)
    assert capsys.readouterr() == ("", "")
