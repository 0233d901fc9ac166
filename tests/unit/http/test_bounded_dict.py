"""State about callers stays bounded."""

from __future__ import annotations

from collections import OrderedDict

from memolith.server.auth import put_bounded
from memolith.server.metrics import Metrics


def test_bounded_mapping_evicts_its_oldest_entry() -> None:
    known: OrderedDict[str, int] = OrderedDict()
    for number, name in enumerate(("a", "b", "a", "c")):
        put_bounded(known, name, number, max_entries=2)
    assert known == {"a": 2, "c": 3}


def test_unknown_http_methods_share_one_metric_label() -> None:
    metrics = Metrics()
    for method in ("BREW", "PET", "GET"):
        metrics.observe(method, "", 405, 0.001)
    text = metrics.text().decode()
    assert 'method="-"' in text
    assert 'method="GET"' in text
    assert "BREW" not in text
