"""Trust by origin, and quarantine until review."""

from __future__ import annotations

import numpy as np

from memolith.domain.memories import Origin, Trait
from memolith.domain.messages import Role
from memolith.policies.trust import (
    can_have_kind,
    find_quarantined,
    get_trusted_kind,
    is_claim,
    is_quarantined,
    resolve_origins,
)
from memolith.profiles.standard import EXTERNAL_KINDS
from memolith.testing.builders import memory
from support.rows import check_each

SUSPICIOUS = Trait.SUSPICIOUS
REVIEWED = Trait.SUSPICIOUS | Trait.REVIEWED


@check_each("origin", Origin)
def test_every_origin_may_have_facts(origin: Origin) -> None:
    assert can_have_kind(origin, "fact")
    assert get_trusted_kind(origin, "fact", EXTERNAL_KINDS) == "fact"


@check_each("origin", Origin)
def test_untrusted_kind_becomes_trusted_one(origin: Origin) -> None:
    for kind in ("identity", "preference", "correction"):
        assert can_have_kind(origin, get_trusted_kind(origin, kind, EXTERNAL_KINDS))


@check_each(
    ("origin", "kind", "expected"),
    [
        (Origin.USER, "identity", False),
        (Origin.ASSISTANT, "identity", True),
        (Origin.IMPORT, "preference", True),
        (Origin.ASSISTANT, "fact", False),
    ],
)
def test_claim_about_user_comes_from_another_origin(
    origin: Origin, kind: str, *, expected: bool
) -> None:
    assert is_claim(memory(1, kind=kind, origin=origin)) is expected


def test_single_and_batch_quarantine_checks_agree() -> None:
    traits = [Trait.NONE, SUSPICIOUS, REVIEWED, Trait.REVIEWED, SUSPICIOUS | Trait.QUESTION]
    pairs = [(each, by_user) for each in traits for by_user in (False, True)]
    one_by_one = [is_quarantined(each, by_user=by_user) for each, by_user in pairs]
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    mask = find_quarantined(columns[0].astype(np.int32), columns[1].astype(np.bool_))
    assert mask is not None
    assert mask.tolist() == one_by_one
    assert sum(one_by_one) == 2


def test_no_quarantined_rows_give_no_mask() -> None:
    assert find_quarantined(np.array([0, 128], dtype=np.int32), np.array([False, True])) is None


@check_each(
    ("heard", "expected"),
    [
        ([], Origin.ASSISTANT),
        ([Role.USER, Role.SYSTEM], Origin.ASSISTANT),
        ([None], Origin.DOCUMENT),
        ([Role.TOOL], Origin.TOOL),
        ([Role.PARTICIPANT, Role.USER], Origin.DOCUMENT),
    ],
)
def test_assistant_inherits_lowest_trust_of_previous_messages(
    heard: list[Role | None], expected: Origin
) -> None:
    assert resolve_origins([*heard, Role.ASSISTANT])[-1] is expected


def test_later_messages_do_not_change_earlier_origins() -> None:
    roles = [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER]
    origins = [Origin.USER, Origin.ASSISTANT, Origin.TOOL, Origin.TOOL, Origin.USER]
    assert resolve_origins(roles) == origins
