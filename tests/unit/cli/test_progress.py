"""Progress is shown only on a terminal."""

import io
import sys

import pytest

from memolith.cli.output import progress


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total", [None, 3])
def test_progress_is_shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("Importing [all] files", total) as advance:
        advance(2)
    assert "Importing [all] files" in terminal.getvalue()


def test_progress_is_not_written_to_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Importing", 3) as advance:
        advance(2)
    assert capsys.readouterr() == ("", "")
