"""The commands of a memory's life."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mnemon.testing.clock import SettableClock

UNITS = "I prefer metric units for everything"
NOBODYS = "01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11"


def remembered(mnemon: Any, text: str = UNITS, *options: str) -> str:
    stored: str = mnemon.json("remember", text, *options)["id"]
    return stored


def test_what_is_remembered_is_recalled(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    (found,) = mnemon.json("recall", "which units?")["memories"]
    assert found["record"]["id"] == id_
    assert found["record"]["content"] == UNITS


def test_every_option_of_remember_reaches_the_memory(mnemon: Any) -> None:
    stored = mnemon.json(
        *("remember", "Works at NASA", "--kind", "fact", "--importance", "0.9", "--key", "job"),
        *("--tag", "work", "--tag", "space", "--expires-in", "30d", "--session", "s1"),
        *("--happened-at", "2026-01-02T03:04:05+01:00", "--origin", "document"),
    )
    expected = {
        "content": "Works at NASA",
        "kind": "fact",
        "importance": 0.9,
        "key": "job",
        "tags": ["space", "work"],
        "expires_at": "2026-03-31T12:00:00Z",
        "session_id": "s1",
        "happened_at": "2026-01-02T02:04:05Z",
        "origin": "document",
        "owner_id": "tester",
    }
    assert {name: stored[name] for name in expected} == expected


def test_a_dash_stands_for_standard_input(mnemon: Any) -> None:
    mnemon.ok("remember", "-", stdin="Lives in Oslo\n")
    assert mnemon.json("list")["memories"][0]["content"] == "Lives in Oslo"


def test_who_tells_a_secret_is_told_that_it_is_not_stored(mnemon: Any) -> None:
    told = mnemon.ok("remember", "My API key is sk-proj-abcdEFGH1234567890abcdEFGH1234567890")
    assert "[REDACTED]" in told.err
    assert "REDACTED" not in mnemon.ok("remember", "I say [REDACTED] when I must").err


def test_bytes_that_are_no_text_are_refused(mnemon: Any) -> None:
    answer = mnemon("remember", "-", stdin=b"caf\xe9 in Oslo")
    assert (answer.code, "standard input: is not UTF-8 text" in answer.err) == (2, True)
    mnemon.ok("remember", "-", stdin="\ufeffA café in Oslo".encode())
    assert mnemon.json("list")["memories"][0]["content"] == "A café in Oslo"


def test_a_time_without_a_zone_is_in_that_of_the_machine(mnemon: Any) -> None:
    stored = mnemon.json("remember", UNITS, "--happened-at", "2026-01-02")
    assert stored["happened_at"].startswith(("2026-01-01", "2026-01-02"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--importance", "nan"), "importance: is nan"),
        (("--kind", "dream"), "kind: 'dream' is none of"),
        (("--expires-in", "soon"), "expires_in: is 'soon'"),
        (("--happened-at", "yesterday"), "'yesterday' is no time"),
        (("--happened-at", "9999-12-31T23:59:59-14:00"), "out of range"),
    ],
)
def test_a_wrong_value_is_a_usage_error_and_nothing_is_stored(
    mnemon: Any, options: tuple[str, ...], said: str
) -> None:
    answer = mnemon("remember", UNITS, *options)
    assert answer.code == 2
    assert said in answer.err
    assert mnemon.json("list")["memories"] == []


def test_owners_are_apart(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    assert mnemon.json("list", "--owner", "bob")["memories"] == []
    assert mnemon("show", id_, "--owner", "bob").code == 4


def test_an_exchange_is_logged_and_learned_from(mnemon: Any) -> None:
    out = mnemon.ok("learn", "My name is Alice and I live in Oslo", "Nice to meet you!").out
    assert "2 messages logged, 1 memory learned" in out
    assert "identity: My name is Alice" in out


def test_recall_shows_rank_kind_date_text_and_score(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    out = mnemon.ok("recall", "metric units").out
    first, second, third = out.splitlines()[:3]
    assert first.startswith(" 1  ██████████")
    for part in ("preference", "2026-03-01", id_):
        assert part in first
    assert second.strip() == UNITS
    assert "similarity +1.00" in third
    assert "of 2000 tokens" in out


def test_recall_shows_speaker_and_own_id_of_a_message(mnemon: Any) -> None:
    line = '{"session": "s", "id": "D1:3", "speaker": "Bob", "content": "The key is blue"}'
    mnemon.ok("import", "jsonl", "-", stdin=line)
    first = mnemon.ok("recall", "which key?").out.splitlines()[0]
    assert "episode" in first
    assert "Bob" in first
    assert "D1:3" in first


def test_names_that_are_too_long_for_the_line_stand_below_the_text(mnemon: Any) -> None:
    name = "m" * 60
    line = f'{{"session": "s", "id": "{name}", "speaker": "Bob", "content": "The key is blue"}}'
    mnemon.ok("import", "jsonl", "-", stdin=line)
    first, text, names = mnemon.ok("recall", "which key?").out.splitlines()[:3]
    assert first.endswith("Bob")
    assert text.strip() == "The key is blue"
    assert names.split()[0] == name


def test_the_trace_says_what_was_searched_and_dropped(mnemon: Any) -> None:
    for number in range(3):
        remembered(mnemon, f"The key number {number} is blue")
    out = mnemon.ok("recall", "blue key", "--top-k", "1", "--trace").out
    for name in ("searched words", "candidates", "time", "dropped", "rank"):
        assert name in out


def test_recall_of_nothing_says_so(mnemon: Any) -> None:
    assert mnemon.ok("recall", "anything").out == "Nothing found.\n"


def test_recall_takes_its_limits_from_the_configuration(
    mnemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        remembered(mnemon, f"The key number {number} is blue")
    monkeypatch.setenv("MNEMON_RAG_LIMIT", "2")
    monkeypatch.setenv("MNEMON_TOKEN_BUDGET", "100")
    result = mnemon.json("recall", "blue key")
    assert (len(result["memories"]), result["token_budget"]) == (2, 100)
    assert len(mnemon.json("recall", "blue key", "--top-k", "1")["memories"]) == 1


def test_filters_reach_the_search(mnemon: Any) -> None:
    remembered(mnemon, "The key is blue", "--kind", "fact", "--tag", "home")
    remembered(mnemon, "The key is green", "--kind", "event", "--happened-at", "2020-01-01T00:00Z")

    def found(*options: str) -> list[str]:
        result = mnemon.json("recall", "key", *options)
        return [each["record"]["content"] for each in result["memories"]]

    assert found("--kind", "fact") == ["The key is blue"]
    assert found("--tag", "home") == ["The key is blue"]
    assert found("--until", "2021-01-01T00:00Z") == ["The key is green"]
    assert found("--as-of", "2026-02-01T00:00Z") == []
    assert found("--mode", "keyword", "--session", "none") == []


def test_touching_counts_as_a_use_and_not_touching_does_not(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    mnemon.ok("recall", "units", "--no-touch")
    assert mnemon.json("show", id_)["access_count"] == 0
    mnemon.ok("recall", "units")
    assert mnemon.json("show", id_)["access_count"] == 1


def test_context_is_the_prompt_and_nothing_else(mnemon: Any) -> None:
    assert mnemon.ok("context", "units").out == ""
    remembered(mnemon)
    out = mnemon.ok("context", "units").out
    assert out.startswith("<memory>\n")
    assert out.endswith("</memory>\n")
    assert mnemon.json("context", "units") == {"context": out.removesuffix("\n")}


def test_a_context_keeps_its_budget(mnemon: Any) -> None:
    remembered(mnemon)
    assert mnemon.ok("context", "units", "--token-budget", "3", "--top-k", "2").out == ""


def test_context_ends_with_the_state_where_the_profile_has_a_place_for_it(mnemon: Any) -> None:
    out = mnemon.ok("context", "units", "--state", "Battery: 4 %", "--profile", "tiers").out
    assert out == "[Current physical state: Battery: 4 %]\n"
    assert mnemon.ok("context", "units", "--state", "Battery: 4 %").out == ""


def test_the_list_is_newest_first_and_goes_on_with_the_cursor(
    mnemon: Any, clock: SettableClock
) -> None:
    for number in range(3):
        remembered(mnemon, f"The key number {number} is blue")
        clock.advance(timedelta(days=1))
    page = mnemon.json("list", "--limit", "2")
    rest = mnemon.json("list", "--cursor", page["cursor"])
    contents = [each["content"] for each in (*page["memories"], *rest["memories"])]
    assert contents == [f"The key number {number} is blue" for number in (2, 1, 0)]
    out = mnemon.ok("list", "--limit", "2").out
    assert "2 of 3; more with --cursor" in out


def test_a_long_memory_is_cut_in_the_list_and_its_id_is_not(mnemon: Any) -> None:
    id_ = remembered(mnemon, "I prefer " + "very " * 100 + "long texts")
    out = mnemon.ok("list").out
    assert id_ in out
    assert "preference" in out
    assert "…" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_an_empty_list_says_so(mnemon: Any) -> None:
    assert mnemon.ok("list").out == "No memories.\n"


def test_show_shows_memories_and_messages(mnemon: Any) -> None:
    id_ = remembered(mnemon, UNITS, "--key", "units", "--tag", "style")
    out = mnemon.ok("show", id_).out
    for part in (UNITS, id_, "preference", "units", "style", "active", "2026-03-01 12:00"):
        assert part in out
    message = mnemon.json("learn", "Hello", "--session", "s1")["messages"][0]["id"]
    out = mnemon.ok("show", message).out
    for part in ("Hello", message, "user", "s1"):
        assert part in out


def test_an_id_of_nothing_is_not_found_and_no_id_is_a_usage_error(mnemon: Any) -> None:
    assert mnemon("show", NOBODYS).code == 4
    assert mnemon("show", "nonsense").code == 2
    for command in ("update", "forget", "restore", "history"):
        assert mnemon(command, NOBODYS, *(["x"] if command == "update" else [])).code == 4


def test_an_update_makes_a_version_that_the_history_shows(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    assert "version 2" in mnemon.ok("update", id_, "I prefer imperial units").out
    out = mnemon.ok("history", id_).out
    for part in (UNITS, "I prefer imperial units", "remembered", "updated", "fields content"):
        assert part in out
    assert len(mnemon.json("history", id_)["versions"]) == 2


def test_an_update_can_leave_the_text(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    changed = mnemon.json("update", id_, "--tag", "a", "--importance", "0.2")
    assert (changed["content"], changed["tags"], changed["importance"]) == (UNITS, ["a"], 0.2)
    assert mnemon("update", id_).code == 2


def test_what_is_forgotten_can_be_restored(mnemon: Any) -> None:
    id_ = remembered(mnemon)
    out = mnemon.ok("forget", id_).out
    assert "Forgotten: 1 memory" in out
    assert id_ in out
    assert mnemon.ok("recall", "units").out == "Nothing found.\n"
    assert "preference (forgotten)" in mnemon.ok("list", "--state", "all").out
    mnemon.ok("restore", id_)
    assert mnemon.json("list")["total"] == 1


def test_a_memory_is_forgotten_by_its_key(mnemon: Any) -> None:
    remembered(mnemon, UNITS, "--key", "units")
    mnemon.ok("forget", "--key", "units")
    assert mnemon.json("list")["memories"] == []


def test_forgetting_needs_either_an_id_or_a_key(mnemon: Any) -> None:
    assert mnemon("forget").code == 2
    assert mnemon("forget", NOBODYS, "--key", "units").code == 2


def test_a_memory_takes_the_place_of_another(mnemon: Any) -> None:
    old, new = remembered(mnemon), remembered(mnemon, "I prefer imperial units now")
    assert f"{old} is superseded by {new}" in mnemon.ok("supersede", old, new).out
    assert mnemon("supersede", old, new).code == 6


def test_stats_count_what_is_stored(mnemon: Any) -> None:
    mnemon.ok("learn", "My name is Alice and I live in Oslo", "Hello!")
    stats = mnemon.json("stats")
    assert (stats["total_count"], stats["messages"], stats["sessions"]) == (1, 2, 1)
    out = mnemon.ok("stats").out
    assert "identity 1" in out
    assert "tester" in out


def test_memory_that_is_switched_off_refuses_to_write(
    mnemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMON_ENABLED", "false")
    answer = mnemon("remember", UNITS)
    assert (answer.code, answer.out) == (7, "")
    assert "enabled = true" in answer.err


@pytest.mark.sqlite
def test_a_file_that_is_no_store_is_refused(mnemon: Any) -> None:
    from pathlib import Path

    Path("notes.txt").write_text("not a database at all, but long enough to look at\n" * 50)
    answer = mnemon("stats", "--store", "notes.txt")
    assert answer.code == 11
    assert len(answer.err.splitlines()) == 1


def test_nothing_that_was_stored_reaches_the_terminal_as_a_command(mnemon: Any) -> None:
    evil = "I prefer \u202eevil\u202c units [bold]loud[/bold] :smile:"
    id_ = remembered(mnemon, evil)
    for args in (("recall", "units"), ("list",), ("show", id_), ("history", id_)):
        out = mnemon.ok(*args).out
        assert "\u202e" not in out
        assert "\\u202eevil" in out
        assert "\u202e" not in mnemon.ok(*args, "--json").out
    assert "[bold]loud[/bold] :smile:" in mnemon.ok("show", id_).out


def test_learning_says_how_many_secrets_were_taken_out(mnemon: Any) -> None:
    said = "I like green tea. My password is tulip-4711-gate"
    told = mnemon.ok("learn", said, "Noted: password = tulip-4711-gate").out
    assert "1 memory learned; 2 secrets redacted" in told
    assert "tulip" not in told
    assert mnemon.json("learn", said, "--session", "s2")["redactions"] == 1
    assert "redacted" not in mnemon.ok("learn", "Nothing secret here").out
