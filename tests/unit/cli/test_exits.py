"""Every error has an exit code."""

from collections.abc import Iterator

import pytest

from memolith import error_codes, errors
from memolith.cli.main import run_to_exit_code


def all_errors(kind: type[errors.MemolithError] = errors.MemolithError) -> Iterator[type]:
    yield kind
    for below in kind.__subclasses__():
        yield from all_errors(below)


def test_every_error_of_ours_has_a_code_and_no_two_the_same() -> None:
    assert set(error_codes.EXIT_CODES) == {
        kind for kind in all_errors() if kind.__module__ == errors.__name__
    }
    assert len(set(error_codes.EXIT_CODES.values())) == len(error_codes.EXIT_CODES)
    others = {
        0,
        error_codes.EXIT_FILE_ERROR,
        error_codes.EXIT_FINDINGS,
        error_codes.EXIT_INTERRUPTED,
        error_codes.EXIT_PIPE_CLOSED,
    }
    assert others.isdisjoint(error_codes.EXIT_CODES.values())


def test_an_error_below_ours_has_the_code_of_the_nearest_above() -> None:
    class Timeout(errors.ServiceFailed):
        pass

    assert (
        error_codes.get_exit_code(Timeout("s", "slow"))
        == error_codes.EXIT_CODES[errors.ServiceFailed]
    )


def raising(error: BaseException) -> object:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (errors.NotFound("memory", "x"), 4, "memolith: no memory 'x'\n"),
        (errors.InvalidInput("key", "bad \x1b[2J"), 2, "memolith: key: bad \\x1b[2J\n"),
        (KeyboardInterrupt(), 130, "memolith: interrupted\n"),
        (FileNotFoundError(2, "No such file or directory", "a.db"), 14, "a.db: no such file"),
        (OSError("odd"), 14, "memolith: odd\n"),
        (ZeroDivisionError("my secret diary"), 1, "unexpected error: ZeroDivisionError"),
    ],
)
def test_an_error_becomes_one_sentence_and_its_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_to_exit_code(raising(error)) == code  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "secret" not in err
    assert err.count("\n") == 1


def test_an_unforeseen_error_is_shown_in_full_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMOLITH_DEBUG", "1")
    with pytest.raises(ZeroDivisionError, match="details"):
        run_to_exit_code(raising(ZeroDivisionError("details")))  # type: ignore[arg-type]
