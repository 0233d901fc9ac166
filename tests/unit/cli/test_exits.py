"""Every error class has an exit code."""

from collections.abc import Iterator

import pytest

from memolith import error_codes, errors
from memolith.cli.main import run_to_exit_code


def iterate_errors(kind: type[errors.MemolithError] = errors.MemolithError) -> Iterator[type]:
    yield kind
    for below in kind.__subclasses__():
        yield from iterate_errors(below)


def test_every_error_class_has_a_unique_exit_code() -> None:
    assert set(error_codes.EXIT_CODES) == {
        kind for kind in iterate_errors() if kind.__module__ == errors.__name__
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


def test_subclass_has_the_exit_code_of_its_nearest_base() -> None:
    class Timeout(errors.ServiceFailed):
        pass

    assert (
        error_codes.get_exit_code(Timeout("s", "slow"))
        == error_codes.EXIT_CODES[errors.ServiceFailed]
    )


def make_failing(error: BaseException) -> object:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (errors.NotFound("memory", "x"), 4, "memolith: no memory 'x'\n"),
        (errors.InvalidInput("key", "bad \x1b[2J"), 2, "memolith: key: bad \\x1b[2J\n"),
        (KeyboardInterrupt(), 130, "memolith: interrupted\n"),
        (FileNotFoundError(2, "No such file or directory", "a.db"), 14, "a.db: no such file"),
        (OSError("odd"), 14, "memolith: odd\n"),
        (ZeroDivisionError("my secret diary"), 1, "unexpected error: ZeroDivisionError"),
    ],
)
def test_error_is_reported_in_one_line_with_its_exit_code(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_to_exit_code(make_failing(error)) == code  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "secret" not in err
    assert err.count("\n") == 1


def test_debug_setting_raises_unexpected_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMOLITH_DEBUG", "1")
    with pytest.raises(ZeroDivisionError, match="details"):
        run_to_exit_code(make_failing(ZeroDivisionError("details")))  # type: ignore[arg-type]
