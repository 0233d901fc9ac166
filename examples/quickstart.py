"""Store facts and a conversation, and ask about them.

Run: python quickstart.py
"""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memolith import Memolith, Message

with TemporaryDirectory() as folder, Memolith.open(Path(folder) / "memory.db") as memory:
    alice = memory.owner("alice")

    # Store a single fact, if your program knows what is important.
    alice.remember("Prefers metric units", kind="preference", importance=0.8, key="units")

    # Or store an exchange: verbatim, with memories of the user's statements about herself.
    learned = alice.learn(
        "My name is Alice and I live in Oslo. It rained all day.", "Nice to meet you!"
    )
    print("learned:", [(one.kind, one.content) for one in learned.memories])

    # Log messages of several people with your own ids. Logging them again adds nothing.
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

    # Get text for a system prompt, within a token budget.
    print(alice.context("When does the ferry leave?", token_budget=300))

    # Storing under a key again creates a new version. Earlier versions are kept.
    alice.remember("Prefers imperial units after all", kind="preference", key="units")
    units = alice.list(kind="preference").memories[0]
    print("versions:", [version.memory.content for version in alice.history(units.id).versions])
