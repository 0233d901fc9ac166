"""Regular expressions that are compiled late are those that `re` would compile at once."""

from __future__ import annotations

import gc
import pkgutil
import re
from importlib import import_module

import pytest

import memolith
from memolith.text.expressions import expression
from support.rows import check_each


@check_each(
    ("method", "arguments"),
    [
        ("search", ("a1 b2",)),
        ("match", ("a1 b2",)),
        ("fullmatch", ("a1",)),
        ("split", ("xa1y",)),
        ("findall", ("a1 b2",)),
        ("sub", ("-", "a1 b2")),
        ("subn", ("-", "a1 b2")),
    ],
)
def test_an_expression_finds_what_the_pattern_finds(
    method: str, arguments: tuple[str, ...]
) -> None:
    late, early = (make(r"([A-Z])\d", re.IGNORECASE) for make in (expression, re.compile))
    for _ in range(2):  # the first call compiles it, the second finds it compiled
        assert repr(getattr(late, method)(*arguments)) == repr(getattr(early, method)(*arguments))
    assert [each.span() for each in late.finditer("a1 b2")] == [(0, 2), (3, 5)]


def test_an_expression_has_its_text() -> None:
    assert expression("a+").pattern == "a+"


def test_what_an_expression_has_not_is_named() -> None:
    with pytest.raises(AttributeError, match="an expression has no 'groupindex'"):
        _ = expression("a").groupindex


def test_an_expression_is_compiled_when_it_is_first_used() -> None:
    wrong = expression("(")  # which `re.compile` refuses
    with pytest.raises(re.error):
        wrong.search("")


def test_every_expression_there_is_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(memolith.__path__, "memolith."):
        if not module.name.startswith(("memolith.text.", "memolith.policies.", "memolith.config.")):
            continue
        import_module(module.name)
    kind = type(expression(""))
    gc.unfreeze()  # what tests/conftest.py has frozen is else not among the objects
    found = [each for each in gc.get_objects() if type(each) is kind]
    gc.freeze()
    assert len(found) > 200
    for each in found:
        each.search("")
