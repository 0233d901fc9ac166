"""Salience and importance of chunks, by reference values and by example."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memolith.adapters.models.local import WordPieceCounter
from memolith.policies.indexing import clamp_novelty
from memolith.policies.salience import (
    ChunkScore,
    SalienceScoring,
    SalienceSignals,
    compute_importance,
    compute_salience,
    find_signals,
)
from memolith.profiles.chunks import ChunksSettings
from memolith.text.cues import has_preference, is_about_now, is_statement
from memolith.text.entities import has_named_entity, has_number_or_date, has_technical_term
from support.rows import check_each

SCORING = SalienceScoring(ChunksSettings().min_stored_importance)

# A few of the reference values, for runs without the file: novelty, the four signals in order,
# salience, importance.
OWN_CASES = [
    (0.8535, (True, False, True, False), 0.7, 0.7921),
    (0.1498, (False, False, False, True), 0.1, 0.12988),
    (1.3938, (False, True, True, False), 0.6, 0.84),
    (-0.2436, (False, True, True, True), 0.7, 0.28),
    (0.0, (True, True, True, True), 1.0, 0.4),
    (0.0, (True, False, True, False), 0.7, 0.28),
    (1.0, (False, False, False, False), 0.0, 0.6),
    (0.5, (False, False, False, False), 0.0, 0.3),
]


@check_each(("distance", "held", "expected_salience", "expected"), OWN_CASES)
def test_importance_combines_novelty_and_salience(
    distance: float, held: tuple[bool, bool, bool, bool], expected_salience: float, expected: float
) -> None:
    found = compute_salience(SalienceSignals(*held))
    novelty = clamp_novelty(np.array([distance]))[0]
    assert found == pytest.approx(expected_salience, abs=1e-9)
    assert compute_importance(novelty, found) == pytest.approx(expected, abs=1e-9)


def test_importance_matches_golden_values(golden: Callable[[str], dict[str, Any]]) -> None:
    values = golden("chunks_importance.json")
    for case in values["cases"]:
        held = SalienceSignals(
            named_entity=case["named_entity"],
            number_or_date=case["number_or_date"],
            preference=case["preference"],
            technical_term=case["technical_term"],
        )
        novelty = clamp_novelty(np.array([case["novelty_raw"]]))[0]
        found = compute_importance(novelty, compute_salience(held))
        assert compute_salience(held) == pytest.approx(case["salience"], abs=values["tolerance"])
        assert found == pytest.approx(case["expect"], abs=values["tolerance"])
        assert (found >= SCORING.min_importance) == case["stored"] or abs(
            found - SCORING.min_importance
        ) < 1e-9


def test_chunk_exactly_at_threshold_is_stored() -> None:
    assert compute_importance(0.3, 0.3) >= SCORING.min_importance
    assert SCORING.score_chunk("It rained.", novelty=0.5, word_pieces=3).is_kept
    assert not SCORING.score_chunk("It rained.", novelty=0.4999, word_pieces=3).is_kept


def test_chunk_score_contains_all_components() -> None:
    weighed = SCORING.score_chunk("I prefer tea.", novelty=1.3, word_pieces=4)
    assert weighed == ChunkScore(novelty=1.0, salience=0.4, importance=0.76, is_kept=True)


def test_known_chunk_without_signals_is_dropped() -> None:
    weighed = SCORING.score_chunk("It rained again.", novelty=-0.1, word_pieces=4)
    assert weighed == ChunkScore(novelty=0.0, salience=0.0, importance=0.0, is_kept=False)


def test_threshold_is_configurable() -> None:
    assert (
        SalienceScoring(min_importance=0.0)
        .score_chunk("It rained.", novelty=0.0, word_pieces=3)
        .is_kept
    )


@check_each(
    "text",
    [
        "I met Anna at the station.",
        "Anna came.",
        "i live in oslo",
        "She works for Grimbold & Sons.",
        "We ate at Luigi's.",
        "It was built by J. K. Brunsworth.",
        "They flew to New York.",
        "The NASA said so.",
        "We met Dr. Threlkeld.",
        "Wir waren in Celle.",
        "Ich habe Frau Kowalke getroffen.",
        "Er arbeitet bei Brackmann.",
        "Ich fahre einen BMW.",
        "Gestern kam auch Egon Pirnke zu uns.",
        "Ich heiße Quasimodo.",
    ],
)
def test_named_entity_is_detected(text: str) -> None:
    assert has_named_entity(text)


@check_each(
    "text",
    [
        "",
        "The cat sat on the mat.",
        "I think I'm late. Ok. He said OK.",
        "We meet on Monday in July.",
        "# Getting Started With Chunks",
        "DO NOT TOUCH THIS",
        "You must NOT touch this.",
        "Note: The cat sat. “The dog sat.”",
        "Plan B is vitamin C.",
        "- Buy milk\n- Call home",
        "`Anna` is code",
        "Ich trinke gern Tee mit Zucker.",
        "Die Katze sitzt auf der Matte.",
        "Wir haben eine Tasse Kaffee getrunken.",
        "Ich bin in Eile und gehe nach Hause.",
        "Der Hund und die Katze leben im Haus.",
    ],
)
def test_text_without_name_has_no_named_entity(text: str) -> None:
    assert not has_named_entity(text)


@check_each("text", [
        "It costs 5 euros.", "It weighs 5kg.", "Three of us went.", "See you on Monday.",
        "Im Juli regnet es.", "It is -3.5 degrees.", "2024-01-18: done",
    ])  # fmt: skip
def test_number_or_date_is_detected(text: str) -> None:
    assert has_number_or_date(text)


@check_each(
    "text", ["", "No one came.", "Use utf8 and B2B.", "1. First\n2. Then", "`x = 1`", "Ein Haus."]
)
def test_text_without_number_is_not_detected(text: str) -> None:
    assert not has_number_or_date(text)


@check_each("text", [
        "call my_function", "the camelCase rule", "a ValueError", "run `ls`", "```\nls\n```",
        "use --verbose", "open config.yaml", "in /etc/hosts/x", "since 1.2.3", "as UTF-8",
        "at commit 3f2a9bc1", "std::vector", "main() runs", "os.path.join", "in C++",
    ])  # fmt: skip
def test_identifier_shape_is_technical(text: str) -> None:
    assert has_technical_term(text, tokens=4)


@check_each("text", [
        "", "It is nice, e.g. today.", "and/or", "- item", "It costs 3.50.", "McDonald came.",
        "A well-known thing...", "https is fine", "am 12.5. oder so", "1234567",
    ])  # fmt: skip
def test_plain_words_are_not_technical(text: str) -> None:
    assert not has_technical_term(text, tokens=0)


def test_rare_words_are_technical_only_in_english() -> None:
    rare = "Deoxyribonucleic acid polymerases synthesise oligonucleotides"
    plain = "The dog, the cat, and the bird: all of them, it seems, like to eat."
    german = "Der Schornsteinfegermeister und die Bundesausbildungsförderung, das ist es."
    [of_rare, of_plain, of_german] = WordPieceCounter().count([rare, plain, german])
    assert has_technical_term(rare, tokens=of_rare)
    assert not has_technical_term(plain, tokens=of_plain)
    assert not has_technical_term(german, tokens=of_german)


def test_all_signals_of_text_are_found_together() -> None:
    text = "I always use my_tool in Oslo at 5."
    assert find_signals(text, tokens=12) == SalienceSignals(True, True, True, True)
    assert find_signals("The cat sat there.", tokens=5) == SalienceSignals()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [" \n", "-", ".", "1.", "'&"])
def test_hostile_page_is_scanned_in_linear_time(unit: str) -> None:
    text = f"a {unit * (100_000 // len(unit))} b"
    for looks in (has_number_or_date, has_preference, is_statement, is_about_now):
        assert looks(text) in (True, False)
