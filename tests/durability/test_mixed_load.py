"""Many processes and threads run mixed operations on one store: no call fails or is lost."""

from __future__ import annotations

import pytest

from support.durability.mixed_load import Load, lost, run, table


def check(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    part = run(load)
    with capsys.disabled():
        print("", load, *table(part, load), sep="\n")  # noqa: T201 - the purpose is to show the table
    assert part.errors == {}
    assert lost(load, part) == []


def test_mixed_load_loses_no_write_and_raises_no_error(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(Load(store, processes=2, threads=3, owners=5, seconds=0.7), capsys)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_mixed_load_of_two_minutes_loses_no_write(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(Load(store), capsys)
