"""Many processes of many threads do this and that to one store: nothing is refused or lost."""

from __future__ import annotations

import pytest

from support.durability.mixed_load import Load, lost, run, table


def check(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    part = run(load)
    with capsys.disabled():
        print("", load, *table(part, load), sep="\n")  # noqa: T201 - the table is what it is for
    assert part.errors == {}
    assert lost(load, part) == []


def test_nothing_is_refused_or_lost_by_a_mixed_load(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(Load(store, processes=2, threads=3, owners=5, seconds=0.7), capsys)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_nothing_is_refused_or_lost_by_a_mixed_load_of_two_minutes(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(Load(store), capsys)
