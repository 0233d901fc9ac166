"""Handling of an arbitrator's verdict or failure."""

from __future__ import annotations

from threading import Event

import pytest

from memolith.adapters.models.callables import TimedArbitrator
from memolith.errors import ServiceFailed
from memolith.policies.merging import Operation, Verdict
from memolith.ports.models import Arbitrator
from memolith.testing.fakes import ScriptedArbitrator

YES = Verdict(Operation.NOOP)


def test_port_and_function_are_called_alike() -> None:
    script: Arbitrator = ScriptedArbitrator([YES])
    for asked in (script, lambda _existing, _candidate: YES):
        arbitrator: Arbitrator = TimedArbitrator(asked, 5.0)
        assert arbitrator.arbitrate("known", "new") == YES


def test_known_text_is_first_argument() -> None:
    script = ScriptedArbitrator([YES])
    TimedArbitrator(script, 5.0).arbitrate("known", "new")
    assert script.calls == [("known", "new")]


def test_slow_arbitrator_fails_and_is_retryable() -> None:
    never = Event()

    def wait_for_event(existing: str, candidate: str) -> Verdict:
        never.wait(60)
        return Verdict(Operation.ADD, existing + candidate)

    with pytest.raises(ServiceFailed, match=r"timed out after 0\.01 s") as caught:
        TimedArbitrator(wait_for_event, 0.01).arbitrate("known", "new")
    never.set()
    assert caught.value.retryable


def test_arbitrator_error_repeats_no_memory() -> None:
    def fail(existing: str, candidate: str) -> Verdict:
        raise ValueError(existing + candidate)

    with pytest.raises(ServiceFailed, match="raised ValueError") as caught:
        TimedArbitrator(fail, 5.0).arbitrate("known", "new")
    assert "known" not in str(caught.value)
    with pytest.raises(ServiceFailed, match="no answer left"):
        TimedArbitrator(ScriptedArbitrator(), 5.0).arbitrate("known", "new")
    with pytest.raises(ServiceFailed, match="returned str"):
        TimedArbitrator(lambda _a, _b: "ADD", 5.0).arbitrate("known", "new")  # type: ignore[arg-type,return-value]
    unknown = Verdict("delete")  # type: ignore[arg-type]
    with pytest.raises(ServiceFailed, match="unknown operation"):
        TimedArbitrator(lambda _a, _b: unknown, 5.0).arbitrate("known", "new")
