"""Every error has its HTTP status and its code of JSON-RPC."""

from __future__ import annotations

from memolith import errors
from memolith.entrypoints.statuses import RPC_CODES, STATUSES, rpc_code_of, status_of


def test_every_error_has_both() -> None:
    known = {
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.MemolithError)
    }
    assert set(STATUSES) == known
    assert set(RPC_CODES) == known


def test_an_error_of_an_adapter_has_those_of_the_class_above_it() -> None:
    class Odd(errors.NotFound):
        pass

    assert (status_of(Odd("memory", "1")), rpc_code_of(Odd("memory", "1"))) == (404, -32602)
