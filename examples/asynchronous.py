"""Serve many owners concurrently with the asynchronous API.

Run: python asynchronous.py
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from memolith import AsyncMemolith


async def main(path: Path) -> None:
    """Store and recall for three owners concurrently; their memories are isolated."""
    async with await AsyncMemolith.open(path) as memory:
        people = {"ada": "engines", "grace": "compilers", "edsger": "shortest paths"}
        await asyncio.gather(
            *(memory.remember(f"Works on {what}", owner=who) for who, what in people.items())
        )
        answers = await asyncio.gather(
            *(memory.recall("What does she or he work on?", owner=who) for who in people)
        )
        for who, answer in zip(people, answers, strict=True):
            print(who, [result.content for result in answer.memories])


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder) / "memory.db"))
