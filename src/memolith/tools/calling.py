"""One way to call a tool, whoever asks: what goes wrong is an answer too."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import msgspec

from memolith.errors import MemolithError, ServiceFailed, StoreUnavailable
from memolith.tools.answered import ToolResult
from memolith.tools.offered import TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.owner import OwnerMemory

_log = logging.getLogger(__name__)

_RETRY_HINT = "; try again later"
_MAX_FRAMES = 5


def call(
    memory: OwnerMemory, name: str, arguments: Mapping[str, object] | str | bytes | None = None
) -> ToolResult:
    """Call a tool; never raises: what went wrong is the answer, in words for the model.

    Args:
        memory: Whose memory it is about.
        name: The tool.
        arguments: A mapping, or JSON as OpenAI gives it.
    """
    tool = TOOLS.get(name)
    if tool is None:
        return _build_error_result(f"there is no tool of that name; there are {', '.join(TOOLS)}")
    try:
        words, data = tool.handler(memory, _parse_arguments(arguments, tool.arguments_type))
    except msgspec.DecodeError as error:  # of which msgspec's ValidationError is one
        return _build_error_result(f"arguments: {error}")
    except MemolithError as error:
        return _build_error_result(describe_error(error))
    except Exception as error:  # noqa: BLE001 - a model must get an answer, and no stack trace
        return _build_error_result(report_unexpected_error(error))
    return ToolResult(words, msgspec.to_builtins(data))


def describe_error(error: MemolithError) -> str:
    """Return what went wrong, and whether it may be better later."""
    is_passing = isinstance(error, StoreUnavailable) or (
        isinstance(error, ServiceFailed) and error.retryable
    )
    return f"{error}{_RETRY_HINT if is_passing else ''}"


def report_unexpected_error(error: Exception) -> str:
    """Name an error nobody has foreseen, and log where it arose, but not what it says.

    That might quote what is stored.
    """
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    where = " < ".join(f"{each.filename}:{each.lineno}" for each in reversed(frames))
    _log.error("unexpected error: %s at %s", type(error).__name__, where)
    return "an unexpected error: what was asked could not be done"


def _parse_arguments(
    arguments: Mapping[str, object] | str | bytes | None, arguments_type: type[msgspec.Struct]
) -> msgspec.Struct:
    if isinstance(arguments, str | bytes):
        return msgspec.json.decode(arguments or "{}", type=arguments_type, strict=False)
    return msgspec.convert(dict(arguments or {}), arguments_type, strict=False)


def _build_error_result(message: str) -> ToolResult:
    return ToolResult(f"Error: {message}", is_error=True)
