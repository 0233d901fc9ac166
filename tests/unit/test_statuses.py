"""Every error has an HTTP status and a JSON-RPC code."""

from __future__ import annotations

from memolith import errors
from memolith.error_codes import HTTP_STATUSES, RPC_CODES, get_http_status, get_rpc_code


def test_every_error_has_http_status_and_rpc_code() -> None:
    known = {
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.MemolithError)
    }
    assert set(HTTP_STATUSES) == known
    assert set(RPC_CODES) == known


def test_adapters_error_inherits_status_and_code() -> None:
    class AdapterError(errors.NotFound):
        pass

    assert (
        get_http_status(AdapterError("memory", "1")),
        get_rpc_code(AdapterError("memory", "1")),
    ) == (404, -32602)
