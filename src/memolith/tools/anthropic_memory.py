"""Anthropic's memory tool for the SDK's tool runner, over an owner's memory."""

from __future__ import annotations

import anyio.to_thread
from anthropic.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memolith.api.owner import OwnerMemory
from memolith.tools.files import MemoryFiles


def _run_command(files: MemoryFiles, command: object) -> str:
    result = files.run(command)
    if result.is_error:
        raise ToolError(result.text)
    return result.text


class MemoryTool(BetaAbstractMemoryTool):
    """Memory tool for `client.beta.messages.tool_runner(tools=[…])`. Thread-safe.

    Every method raises `ToolError`, whose message the SDK returns to the model.
    """

    def __init__(self, memory: OwnerMemory) -> None:
        """Store files in a memory."""
        super().__init__()
        self.files = MemoryFiles(memory)

    def call(self, input: object) -> str:
        """Run the model's command."""
        return _run_command(self.files, input)

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command."""
        return _run_command(self.files, command.to_dict())

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a directory."""
        return self.execute(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return self.execute(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace text that occurs once in a file."""
        return self.execute(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line of a file."""
        return self.execute(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file, or all files in a directory."""
        return self.execute(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or directory."""
        return self.execute(command)

    def clear_all_memory(self) -> str:
        """Forget all files."""
        self.files.clear()
        return "All memory cleared"


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """Memory tool for `AsyncAnthropic`; the store runs on worker threads."""

    def __init__(self, memory: OwnerMemory) -> None:
        """Store files in a memory."""
        super().__init__()
        self.files = MemoryFiles(memory)

    async def call(self, input: object) -> str:
        """Run the model's command."""
        return await anyio.to_thread.run_sync(_run_command, self.files, input)

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command."""
        return await self.call(command.to_dict())

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or list a directory."""
        return await self.execute(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return await self.execute(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace text that occurs once in a file."""
        return await self.execute(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line of a file."""
        return await self.execute(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file, or all files in a directory."""
        return await self.execute(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or directory."""
        return await self.execute(command)

    async def clear_all_memory(self) -> str:
        """Forget all files."""
        await anyio.to_thread.run_sync(self.files.clear)
        return "All memory cleared"
