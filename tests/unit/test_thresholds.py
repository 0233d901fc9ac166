"""Thresholds by embedder: the labelled texts, the fit, and the effect of the configuration."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.thresholds.cases import cases
from corpora.thresholds.fitting import Measured, fitted, measured
from memolith.config import Settings, load
from memolith.config.profiles import apply_embedder_thresholds as configured
from memolith.config.profiles import get_source_thresholds
from memolith.config.reference import iter_effective_settings
from memolith.policies.embedding_models import (
    ERROR_RATES,
    FITTED_THRESHOLDS,
    SimilarityThresholds,
)
from memolith.testing.fakes import HashingEmbedder

LOCAL = "all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def isolate_user_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the developer's own configuration files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


# --- the labelled texts -------------------------------------------------------------------------


def test_cases_are_numerous_with_unique_facts_and_questions() -> None:
    assert len(cases()) >= 150
    facts = [case.fact for case in cases()]
    questions = [case.question for case in cases()]
    assert len(set(facts)) == len(set(questions)) == len(cases())


def test_texts_of_case_are_complete_and_different() -> None:
    for case in cases():
        texts = list(asdict(case).values())
        assert all(text == text.strip() and text for text in texts), case
        assert len(set(texts)) == len(texts), case
        assert case.question.endswith("?"), case
        assert case.other_question.endswith("?"), case


# --- the fit ------------------------------------------------------------------------------------

SIMILARITIES = st.lists(st.floats(-1, 1), min_size=1, max_size=60)


@given(SIMILARITIES, st.floats(0, 1))
@example([0.29], 0.0)
def test_fitted_threshold_is_lowest_within_error_rate(wrong: list[float], rate: float) -> None:
    columns = {name: np.array(wrong) for name in ERROR_RATES}
    threshold = fitted(Measured(columns, columns), dict.fromkeys(ERROR_RATES, rate)).floor
    share = np.mean(np.array(wrong) >= threshold)
    assert share <= rate or threshold == 1.0
    if threshold > -1.0:
        assert np.mean(np.array(wrong) >= threshold - 0.01 - 1e-9) > rate - 1e-9


def test_accepted_shares_separate_right_and_wrong_pairs() -> None:
    found = Measured({"floor": np.array([0.4, 0.6])}, {"floor": np.array([0.1, 0.2, 0.3, 0.5])})
    assert found.accepted("floor", 0.5) == (0.5, 0.25)


def test_every_question_is_measured_with_every_fact() -> None:
    some = cases()[:5]
    found = measured(HashingEmbedder(), some)
    assert len(found.right["floor"]) == 5
    assert len(found.wrong["floor"]) == 5 * 4 + 5 * 5
    assert len(found.right["merge"]) == 5
    assert len(found.wrong["merge"]) == 10


# --- the configuration --------------------------------------------------------------------------


def test_unset_thresholds_are_fitted_to_embedder() -> None:
    assert _get_thresholds(configured(load(), LOCAL).settings) == FITTED_THRESHOLDS[LOCAL]


def test_explicit_thresholds_are_not_overridden(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[memory]\nrag_threshold = 0.5\n[memory.facts]\nauto_merge_threshold = 0.99\n")
    loaded = configured(load(file, {"MEMOLITH_MERGE_THRESHOLD": "0.85"}), LOCAL)
    assert loaded.settings.companion.rag_threshold == 0.5
    assert loaded.settings.companion.merge_threshold == 0.85
    assert loaded.settings.facts.auto_merge_threshold == 0.99
    assert loaded.settings.facts.arbitration_threshold == FITTED_THRESHOLDS[LOCAL].arbitration
    assert loaded.origins["rag_threshold"] == f"{file}:2"


def test_unknown_embedder_uses_source_thresholds() -> None:
    loaded = load()
    assert configured(loaded, "another one") is loaded
    assert _get_thresholds(loaded.settings) == get_source_thresholds()


def test_effective_settings_name_embedder_as_origin() -> None:
    rows = {row.name: row for row in iter_effective_settings(configured(load(), LOCAL))}
    row = rows["rag_threshold"]
    assert (row.value, row.origin) == (FITTED_THRESHOLDS[LOCAL].floor, f"fitted to {LOCAL}")
    assert rows["decay_factor"].origin == "default"
    assert set(rows) == set(load().origins)


def _get_thresholds(settings: Settings) -> SimilarityThresholds:
    return SimilarityThresholds(
        floor=settings.companion.rag_threshold,
        least=settings.tiers.retrieval_min_similarity,
        merge=settings.companion.merge_threshold,
        arbitration=settings.facts.arbitration_threshold,
        auto_merge=settings.facts.auto_merge_threshold,
        duplicate=round(1.0 - settings.tiers.duplicate_distance_threshold, 2),
    )
