"""What is kept of callers stays within its bounds."""

from __future__ import annotations

from collections import OrderedDict

from memolith.server.auth import put_bounded
from memolith.server.metrics import Metrics


def test_over_so_many_the_oldest_goes() -> None:
    known: OrderedDict[str, int] = OrderedDict()
    for number, name in enumerate(("a", "b", "a", "c")):
        put_bounded(known, name, number, max_entries=2)
    assert known == {"a": 2, "c": 3}


def test_made_up_methods_are_counted_as_one() -> None:
    metrics = Metrics()
    for method in ("BREW", "PET", "GET"):
        metrics.observe(method, "", 405, 0.001)
    text = metrics.text().decode()
    assert 'method="-"' in text
    assert 'method="GET"' in text
    assert "BREW" not in text
