"""Who is believed, and what waits for a review."""

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
def test_every_origin_may_hold_facts(origin: Origin) -> None:
    assert can_have_kind(origin, "fact")
    assert get_trusted_kind(origin, "fact", EXTERNAL_KINDS) == "fact"


@check_each("origin", Origin)
def test_a_kind_that_is_not_believed_becomes_one_that_is(origin: Origin) -> None:
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
def test_a_claim_says_of_the_user_what_the_user_did_not(
    origin: Origin, kind: str, *, expected: bool
) -> None:
    assert is_claim(memory(1, kind=kind, origin=origin)) is expected


def test_one_and_many_are_withheld_alike() -> None:
    traits = [Trait.NONE, SUSPICIOUS, REVIEWED, Trait.REVIEWED, SUSPICIOUS | Trait.QUESTION]
    pairs = [(each, by_user) for each in traits for by_user in (False, True)]
    one_by_one = [is_quarantined(each, by_user=by_user) for each, by_user in pairs]
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    mask = find_quarantined(columns[0].astype(np.int32), columns[1].astype(np.bool_))
    assert mask is not None
    assert mask.tolist() == one_by_one
    assert sum(one_by_one) == 2


def test_where_nothing_is_withheld_there_is_no_mask() -> None:
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
def test_an_assistant_is_as_trusted_as_those_it_has_heard(
    heard: list[Role | None], expected: Origin
) -> None:
    assert resolve_origins([*heard, Role.ASSISTANT])[-1] is expected


def test_what_is_heard_later_changes_nothing_of_what_was_said() -> None:
    roles = [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER]
    origins = [Origin.USER, Origin.ASSISTANT, Origin.TOOL, Origin.TOOL, Origin.USER]
    assert resolve_origins(roles) == origins
