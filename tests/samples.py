"""Candidates, results and golden cases for the tests of profiles, made with few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from mnemon.domain.items import Span
from mnemon.domain.memories import Memory
from mnemon.domain.messages import Role
from mnemon.domain.recall import Recalled, Score
from mnemon.policies.ranking.model import Candidates
from mnemon.policies.rendering.model import Material, Rendering

Golden = Callable[[str], dict[str, Any]]

WHEN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def words(texts: Sequence[str]) -> list[int]:
    """Count words: a token counter whose counts add up."""
    return [len(text.split()) for text in texts]


def candidates(rows: int, **columns: Any) -> Candidates:
    """Return that many equal memories, but for these columns."""
    values: dict[str, Any] = {
        "similarity": np.full(rows, 0.5),
        "best_similarity": np.full(rows, 0.5),
        "text": np.zeros(rows),
        "next_similarity": np.full(rows, np.nan),
        "previous_text": np.zeros(rows),
        "previous_traits": np.zeros(rows, dtype=np.int64),
        "previous_speaker": np.full(rows, -1),
        "is_memory": np.ones(rows, dtype=bool),
        "kind": ["fact"] * rows,
        "session": np.full(rows, -1),
        "sequence": np.zeros(rows, dtype=np.int64),
        "speaker": np.full(rows, -1),
        "role": [Role.USER] * rows,
        "at": np.zeros(rows, dtype=np.int64),
        "traits": np.zeros(rows, dtype=np.int64),
        "words": np.full(rows, 10),
        "importance": np.full(rows, 0.5),
        "strength": np.full(rows, 0.5),
        "freshness": np.full(rows, 0.5),
        "held": np.zeros(rows, dtype=np.int64),
    }
    given = {
        name: column if name in {"kind", "role"} else np.array(column)
        for name, column in columns.items()
    }
    return Candidates(**(values | given))


def recalled(content: str, kind: str, *, suspicious: bool = False, **fields: Any) -> Recalled:
    """Return a memory as a result."""
    fields = {"created_at": WHEN, "updated_at": WHEN, **fields}
    record = Memory(id=content, owner_id="alice", kind=kind, content=content, **fields)
    return Recalled(record, Score(1.0), Span(0, len(content)), 1, suspicious=suspicious)


def shown(rendering: Rendering, case: Mapping[str, Any], budget: int = 1_000) -> str:
    """Return the rendering of a golden case."""
    results = [_result(memory) for memory in case["memories"]]
    material = Material(results, case.get("base_memory") or "", case.get("state") or "")
    return rendering.render(material, budget, words)[0]


def _result(memory: Mapping[str, Any]) -> Recalled:
    at = memory.get("happened_at")
    return recalled(
        memory["content"],
        memory["kind"],
        key=memory.get("key"),
        happened_at=None if at is None else datetime.fromisoformat(at),
    )
