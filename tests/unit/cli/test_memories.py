"""The commands that store, search, change and delete memories."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memolith.testing.fakes import SettableClock

UNITS = "I prefer metric units for everything"
UNKNOWN_ID = "01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11"


def remember(memolith: Any, text: str = UNITS, *options: str) -> str:
    stored: str = memolith.json("remember", text, *options)["id"]
    return stored


def test_recall_finds_a_remembered_memory(memolith: Any) -> None:
    id_ = remember(memolith)
    (recall_contents,) = memolith.json("recall", "which units?")["memories"]
    assert recall_contents["record"]["id"] == id_
    assert recall_contents["record"]["content"] == UNITS


def test_remember_stores_the_value_of_every_option(memolith: Any) -> None:
    stored = memolith.json(
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


def test_remember_reads_standard_input_for_a_dash(memolith: Any) -> None:
    memolith.ok("remember", "-", stdin="Lives in Oslo\n")
    assert memolith.json("list")["memories"][0]["content"] == "Lives in Oslo"


def test_remember_warns_about_a_redacted_secret(memolith: Any) -> None:
    output = memolith.ok("remember", "My API key is sk-proj-abcdEFGH1234567890abcdEFGH1234567890")
    assert "[REDACTED]" in output.err
    assert "REDACTED" not in memolith.ok("remember", "I say [REDACTED] when I must").err


def test_remember_rejects_bytes_that_are_not_utf8(memolith: Any) -> None:
    answer = memolith("remember", "-", stdin=b"caf\xe9 in Oslo")
    assert (answer.code, "standard input: is not UTF-8 text" in answer.err) == (2, True)
    memolith.ok("remember", "-", stdin="\ufeffA café in Oslo".encode())
    assert memolith.json("list")["memories"][0]["content"] == "A café in Oslo"


def test_time_without_zone_uses_the_local_zone(memolith: Any) -> None:
    stored = memolith.json("remember", UNITS, "--happened-at", "2026-01-02")
    assert stored["happened_at"].startswith(("2026-01-01", "2026-01-02"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--importance", "nan"), "importance: is nan"),
        (("--kind", "dream"), "kind: 'dream' is not one of"),
        (("--expires-in", "soon"), "expires_in: is 'soon'"),
        (("--happened-at", "yesterday"), "'yesterday' is not a time"),
        (("--happened-at", "9999-12-31T23:59:59-14:00"), "out of range"),
    ],
)
def test_invalid_option_value_is_a_usage_error_and_stores_nothing(
    memolith: Any, options: tuple[str, ...], text: str
) -> None:
    answer = memolith("remember", UNITS, *options)
    assert answer.code == 2
    assert text in answer.err
    assert memolith.json("list")["memories"] == []


def test_owner_cannot_see_another_owners_memory(memolith: Any) -> None:
    id_ = remember(memolith)
    assert memolith.json("list", "--owner", "bob")["memories"] == []
    assert memolith("show", id_, "--owner", "bob").code == 4


def test_learn_logs_an_exchange_and_extracts_a_memory(memolith: Any) -> None:
    out = memolith.ok("learn", "My name is Alice and I live in Oslo", "Nice to meet you!").out
    assert "2 messages logged, 1 memory learned" in out
    assert "identity: My name is Alice" in out


def test_recall_shows_rank_kind_date_text_and_score(memolith: Any) -> None:
    id_ = remember(memolith)
    out = memolith.ok("recall", "metric units").out
    first, second, third = out.splitlines()[:3]
    assert first.startswith(" 1  ██████████")
    for part in ("preference", "2026-03-01", id_):
        assert part in first
    assert second.strip() == UNITS
    assert "similarity +1.00" in third
    assert "of 2000 tokens" in out


def test_recall_shows_speaker_and_external_id_of_a_message(memolith: Any) -> None:
    line = '{"session": "s", "id": "D1:3", "speaker": "Bob", "content": "The key is blue"}'
    memolith.ok("import", "jsonl", "-", stdin=line)
    first = memolith.ok("recall", "which key?").out.splitlines()[0]
    assert "episode" in first
    assert "Bob" in first
    assert "D1:3" in first


def test_recall_shows_long_external_id_below_the_text(memolith: Any) -> None:
    name = "m" * 60
    line = f'{{"session": "s", "id": "{name}", "speaker": "Bob", "content": "The key is blue"}}'
    memolith.ok("import", "jsonl", "-", stdin=line)
    first, text, names = memolith.ok("recall", "which key?").out.splitlines()[:3]
    assert first.endswith("Bob")
    assert text.strip() == "The key is blue"
    assert names.split()[0] == name


def test_trace_shows_searched_words_and_dropped_candidates(memolith: Any) -> None:
    for number in range(3):
        remember(memolith, f"The key number {number} is blue")
    out = memolith.ok("recall", "blue key", "--top-k", "1", "--trace").out
    for name in ("keywords", "candidates", "time", "dropped", "rank"):
        assert name in out


def test_recall_reports_an_empty_result(memolith: Any) -> None:
    assert memolith.ok("recall", "anything").out == "No results.\n"


def test_recall_takes_its_limits_from_the_configuration(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        remember(memolith, f"The key number {number} is blue")
    monkeypatch.setenv("MEMOLITH_RAG_LIMIT", "2")
    monkeypatch.setenv("MEMOLITH_TOKEN_BUDGET", "100")
    result = memolith.json("recall", "blue key")
    assert (len(result["memories"]), result["token_budget"]) == (2, 100)
    assert len(memolith.json("recall", "blue key", "--top-k", "1")["memories"]) == 1


def test_recall_filters_by_kind_tag_and_time(memolith: Any) -> None:
    remember(memolith, "The key is blue", "--kind", "fact", "--tag", "home")
    remember(memolith, "The key is green", "--kind", "event", "--happened-at", "2020-01-01T00:00Z")

    def recall_contents(*options: str) -> list[str]:
        result = memolith.json("recall", "key", *options)
        return [each["record"]["content"] for each in result["memories"]]

    assert recall_contents("--kind", "fact") == ["The key is blue"]
    assert recall_contents("--tag", "home") == ["The key is blue"]
    assert recall_contents("--until", "2021-01-01T00:00Z") == ["The key is green"]
    assert recall_contents("--as-of", "2026-02-01T00:00Z") == []
    assert recall_contents("--mode", "keyword", "--session", "none") == []


def test_recall_counts_a_use_unless_no_touch_is_given(memolith: Any) -> None:
    id_ = remember(memolith)
    memolith.ok("recall", "units", "--no-touch")
    assert memolith.json("show", id_)["access_count"] == 0
    memolith.ok("recall", "units")
    assert memolith.json("show", id_)["access_count"] == 1


def test_context_prints_only_the_prompt(memolith: Any) -> None:
    assert memolith.ok("context", "units").out == ""
    remember(memolith)
    out = memolith.ok("context", "units").out
    assert out.startswith("<memory>\n")
    assert out.endswith("</memory>\n")
    assert memolith.json("context", "units") == {"context": out.removesuffix("\n")}


def test_context_respects_the_token_budget(memolith: Any) -> None:
    remember(memolith)
    assert memolith.ok("context", "units", "--token-budget", "3", "--top-k", "2").out == ""


def test_context_ends_with_the_state_if_the_profile_supports_it(memolith: Any) -> None:
    out = memolith.ok("context", "units", "--state", "Battery: 4 %", "--profile", "tiers").out
    assert out == "[Current physical state: Battery: 4 %]\n"
    assert memolith.ok("context", "units", "--state", "Battery: 4 %").out == ""


def test_list_is_newest_first_and_continues_at_the_cursor(
    memolith: Any, clock: SettableClock
) -> None:
    for number in range(3):
        remember(memolith, f"The key number {number} is blue")
        clock.advance(timedelta(days=1))
    page = memolith.json("list", "--limit", "2")
    rest = memolith.json("list", "--cursor", page["cursor"])
    contents = [each["content"] for each in (*page["memories"], *rest["memories"])]
    assert contents == [f"The key number {number} is blue" for number in (2, 1, 0)]
    out = memolith.ok("list", "--limit", "2").out
    assert "2 of 3; next page: --cursor" in out


def test_list_shortens_long_content_but_not_ids(memolith: Any) -> None:
    id_ = remember(memolith, "I prefer " + "very " * 100 + "long texts")
    out = memolith.ok("list").out
    assert id_ in out
    assert "preference" in out
    assert "…" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_list_reports_an_empty_store(memolith: Any) -> None:
    assert memolith.ok("list").out == "No memories.\n"


def test_show_shows_memories_and_messages(memolith: Any) -> None:
    id_ = remember(memolith, UNITS, "--key", "units", "--tag", "style")
    out = memolith.ok("show", id_).out
    for part in (UNITS, id_, "preference", "units", "style", "active", "2026-03-01 12:00"):
        assert part in out
    message = memolith.json("learn", "Hello", "--session", "s1")["messages"][0]["id"]
    out = memolith.ok("show", message).out
    for part in ("Hello", message, "user", "s1"):
        assert part in out


def test_unknown_id_is_not_found_and_malformed_id_is_rejected(memolith: Any) -> None:
    assert memolith("show", UNKNOWN_ID).code == 4
    assert memolith("show", "nonsense").code == 2
    for command in ("update", "forget", "restore", "history"):
        assert memolith(command, UNKNOWN_ID, *(["x"] if command == "update" else [])).code == 4


def test_update_creates_a_version_shown_in_the_history(memolith: Any) -> None:
    id_ = remember(memolith)
    assert "version 2" in memolith.ok("update", id_, "I prefer imperial units").out
    out = memolith.ok("history", id_).out
    for part in (UNITS, "I prefer imperial units", "remembered", "updated", "fields content"):
        assert part in out
    assert len(memolith.json("history", id_)["versions"]) == 2


def test_update_can_change_fields_without_the_content(memolith: Any) -> None:
    id_ = remember(memolith)
    changed = memolith.json("update", id_, "--tag", "a", "--importance", "0.2")
    assert (changed["content"], changed["tags"], changed["importance"]) == (UNITS, ["a"], 0.2)
    assert memolith("update", id_).code == 2


def test_forgotten_memory_can_be_restored(memolith: Any) -> None:
    id_ = remember(memolith)
    out = memolith.ok("forget", id_).out
    assert "Forgotten: 1 memory" in out
    assert id_ in out
    assert memolith.ok("recall", "units").out == "No results.\n"
    assert "preference (forgotten)" in memolith.ok("list", "--state", "all").out
    memolith.ok("restore", id_)
    assert memolith.json("list")["total"] == 1


def test_forget_accepts_a_key(memolith: Any) -> None:
    remember(memolith, UNITS, "--key", "units")
    memolith.ok("forget", "--key", "units")
    assert memolith.json("list")["memories"] == []


def test_forget_needs_either_an_id_or_a_key(memolith: Any) -> None:
    assert memolith("forget").code == 2
    assert memolith("forget", UNKNOWN_ID, "--key", "units").code == 2


def test_supersede_replaces_a_memory_with_another(memolith: Any) -> None:
    old, new = remember(memolith), remember(memolith, "I prefer imperial units now")
    assert f"{old} is superseded by {new}" in memolith.ok("supersede", old, new).out
    assert memolith("supersede", old, new).code == 6


def test_stats_count_memories_messages_and_sessions(memolith: Any) -> None:
    memolith.ok("learn", "My name is Alice and I live in Oslo", "Hello!")
    stats = memolith.json("stats")
    assert (stats["total_count"], stats["messages"], stats["sessions"]) == (1, 2, 1)
    out = memolith.ok("stats").out
    assert "identity 1" in out
    assert "tester" in out


def test_disabled_memory_rejects_writes(memolith: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOLITH_ENABLED", "false")
    answer = memolith("remember", UNITS)
    assert (answer.code, answer.out) == (7, "")
    assert "enabled = true" in answer.err


@pytest.mark.sqlite
def test_file_that_is_not_a_store_is_rejected(memolith: Any) -> None:
    from pathlib import Path

    Path("notes.txt").write_text("not a database at all, but long enough to look at\n" * 50)
    answer = memolith("stats", "--store", "notes.txt")
    assert answer.code == 11
    assert len(answer.err.splitlines()) == 1


def test_stored_control_characters_are_escaped_in_output(memolith: Any) -> None:
    evil = "I prefer \u202eevil\u202c units [bold]loud[/bold] :smile:"
    id_ = remember(memolith, evil)
    for args in (("recall", "units"), ("list",), ("show", id_), ("history", id_)):
        out = memolith.ok(*args).out
        assert "\u202e" not in out
        assert "\\u202eevil" in out
        assert "\u202e" not in memolith.ok(*args, "--json").out
    assert "[bold]loud[/bold] :smile:" in memolith.ok("show", id_).out


def test_learn_reports_the_number_of_redacted_secrets(memolith: Any) -> None:
    text = "I like green tea. My password is tulip-4711-gate"
    output = memolith.ok("learn", text, "Noted: password = tulip-4711-gate").out
    assert "1 memory learned; 2 secrets redacted" in output
    assert "tulip" not in output
    assert memolith.json("learn", text, "--session", "s2")["redactions"] == 1
    assert "redacted" not in memolith.ok("learn", "Nothing secret here").out
