"""Memory as tools of an agent: five tools in the formats of all models, and one way to call them.

    from memolith import Memolith, tools

    with Memolith.open("memory.db") as memory:
        alice = memory.owner("alice")
        offered = tools.openai()            # or tools.anthropic(); pass it to the model
        result = tools.call(alice, "memory_recall", {"query": "Which units should I use?"})
        print(result.text)                  # return it to the model

`memory_tool` is Anthropic's own memory tool, over the same store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.models.http import require_package
from memolith.api.owner import OwnerMemory
from memolith.tools.files import MemoryFiles
from memolith.tools.registry import TOOLS, Tool, call
from memolith.tools.schemas import ToolResult

if TYPE_CHECKING:
    from memolith.tools.anthropic_memory import AsyncMemoryTool, MemoryTool

__all__ = [
    "TOOLS",
    "MemoryFiles",
    "Tool",
    "ToolResult",
    "anthropic",
    "async_memory_tool",
    "call",
    "memory_tool",
    "openai",
]


def openai(*, responses: bool = False) -> list[dict[str, Any]]:
    """Return the tools in OpenAI's format.

    Args:
        responses: Use the format of the Responses API instead of chat completions.
    """
    functions = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in TOOLS.values()
    ]
    if responses:
        return [{"type": "function", **each} for each in functions]
    return [{"type": "function", "function": each} for each in functions]


def anthropic() -> list[dict[str, Any]]:
    """Return the tools in Anthropic's format."""
    return [
        {"name": each.name, "description": each.description, "input_schema": each.parameters}
        for each in TOOLS.values()
    ]


def memory_tool(memory: OwnerMemory) -> MemoryTool:
    """Return Anthropic's memory tool over an owner's memory, for `tool_runner(tools=[…])`.

    Raises:
        InvalidConfiguration: Anthropic's SDK is not installed.
    """
    require_package("anthropic", "tools")
    from memolith.tools.anthropic_memory import MemoryTool

    return MemoryTool(memory)


def async_memory_tool(memory: OwnerMemory) -> AsyncMemoryTool:
    """Return Anthropic's memory tool for an `AsyncAnthropic` client.

    The store runs on worker threads.

    Raises:
        InvalidConfiguration: Anthropic's SDK is not installed.
    """
    require_package("anthropic", "tools")
    from memolith.tools.anthropic_memory import AsyncMemoryTool

    return AsyncMemoryTool(memory)
