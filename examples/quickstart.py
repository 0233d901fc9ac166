"""Remember a few things, take in a conversation, ask about both.

Run: python quickstart.py
"""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memolith import Memolith, Message

with TemporaryDirectory() as folder, Memolith.open(Path(folder) / "memory.db") as memory:
    alice = memory.owner("alice")

    # One fact at a time, where your program knows what matters.
    alice.remember("Prefers metric units", kind="preference", importance=0.8, key="units")

    # Or whole exchanges: kept word for word, and what the user says of herself as memories.
    learned = alice.learn(
        "My name is Alice and I live in Oslo. It rained all day.", "Nice to meet you!"
    )
    print("learned:", [(one.kind, one.content) for one in learned.memories])

    # Conversations of several people, with their own ids: logging them twice adds nothing.
    trip = [
        Message(
            "Bob",
            "Did you book the ferry?",
            at=datetime(2026, 5, 1, 9, tzinfo=UTC),
            external_id="1",
        ),
        Message(
            "Cleo",
            "Yes, for the 14th, at seven.",
            at=datetime(2026, 5, 1, 9, tzinfo=UTC),
            external_id="2",
        ),
    ]
    alice.log(trip, session="trip")
    print("logged again:", len(alice.log(trip, session="trip").messages), "new messages")

    for question in ("When does the ferry leave?", "Which units should I use?", "What is my name?"):
        best = alice.recall(question).memories[0]
        print(f"{question}  ->  {best.text}  (score {best.score.total:.2f}, {best.kind})")

    # Text for a system prompt, within a budget.
    print(alice.context("When does the ferry leave?", token_budget=300))

    # Nothing is lost: a key's earlier versions stay, and what is forgotten can be restored.
    alice.remember("Prefers imperial units after all", kind="preference", key="units")
    units = alice.list(kind="preference").memories[0]
    print("versions:", [version.memory.content for version in alice.history(units.id).versions])
