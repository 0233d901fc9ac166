"""Every error has its HTTP status and its code of JSON-RPC."""

from __future__ import annotations

from memolith import errors
from memolith.error_codes import HTTP_STATUSES, RPC_CODES, get_http_status, get_rpc_code


def test_every_error_has_both() -> None:
    known = {
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.MemolithError)
    }
    assert set(HTTP_STATUSES) == known
    assert set(RPC_CODES) == known


def test_an_error_of_an_adapter_has_those_of_the_class_above_it() -> None:
    class Odd(errors.NotFound):
        pass

    assert (get_http_status(Odd("memory", "1")), get_rpc_code(Odd("memory", "1"))) == (404, -32602)
