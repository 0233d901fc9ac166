"""Builders of candidates, results and golden cases for tests of profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memolith.domain.memories import Memory, Span
from memolith.domain.recall import RecalledItem, Score
from memolith.policies.ranking.model import Candidates
from memolith.policies.rendering.layout import Rendering, RenderInput
from memolith.testing import builders

Golden = Callable[[str], dict[str, Any]]

WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def words(texts: Sequence[str]) -> list[int]:
    """Count words: an additive token counter."""
    return [len(text.split()) for text in texts]


def candidates(rows: int, **columns: Any) -> Candidates:
    """Return equal memories as candidates, with the given columns replaced."""
    given = {
        name: column if name in {"kind", "role"} else np.array(column)
        for name, column in columns.items()
    }
    memories = {"is_memory": np.ones(rows, dtype=bool), "kind": ["fact"] * rows}
    return builders.candidates(rows, **(memories | given))


def recalled(content: str, kind: str, *, suspicious: bool = False, **fields: Any) -> RecalledItem:
    """Return a memory as a result."""
    fields = {"created_at": WHEN, "updated_at": WHEN, **fields}
    record = Memory(id=content, owner_id="alice", kind=kind, content=content, **fields)
    return RecalledItem(record, Score(1.0), Span(0, len(content)), 1, suspicious=suspicious)


def shown(rendering: Rendering, case: Mapping[str, Any], budget: int = 1_000) -> str:
    """Return the rendering of a golden case."""
    results = [_result(memory) for memory in case["memories"]]
    material = RenderInput(results, case.get("base_memory") or "", case.get("state") or "")
    return rendering.render(material, budget, words)[0]


def _result(memory: Mapping[str, Any]) -> RecalledItem:
    at = memory.get("happened_at")
    return recalled(
        memory["content"],
        memory["kind"],
        key=memory.get("key"),
        happened_at=None if at is None else datetime.fromisoformat(at),
    )
