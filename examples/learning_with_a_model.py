"""Learn facts with a language model, detect a change and create a summary.

A scripted server in this process replaces the model. OpenAI's client calls it over a real socket,
so the example needs the extra `memolith[openai]` but no API key. For a real model, put the settings
below into the section `[memory.chat]` of memolith.toml.

Run: python learning_with_a_model.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from memolith import Memolith
from memolith.config import load
from memolith.demo.model_server import ModelServer, ReceivedRequest

CONVERSATION = (
    ("Hi! I live in Oslo and I work as a nurse.", "Nice to meet you!"),
    ("My sister Ingrid is getting married on 6 June.", "How lovely. Where?"),
    ("In Bergen. And guess what: I moved to Bergen.", "Congratulations!"),
)

FACTS = {
    "I live in Oslo": ["The user lives in Oslo.", "The user works as a nurse."],
    "Ingrid": ["Ingrid, the sister of the user, is getting married on 6 June."],
    "I moved to Bergen": ["The user moved to Bergen.", "The user owns a yacht."],  # invented
}

SUMMARY = (
    "The user worked as a nurse, lived in Oslo and then moved to Bergen. Ingrid, the sister of the"
    " user, was getting married on 6 June in Bergen."
)


def model(request: ReceivedRequest) -> object:
    """Return the scripted response to a request."""
    if request.schema is not None and request.schema.name == "summary":
        return {"summary": SUMMARY}
    found = [fact for words, facts in FACTS.items() if words in request.user for fact in facts]
    return {
        "facts": [
            {"content": fact, "kind": "fact", "happened": None, "from": [1]} for fact in found
        ]
    }


with TemporaryDirectory() as folder, ModelServer(model) as server:
    settings = {
        "MEMOLITH_CHAT__PROVIDER": "openai",
        "MEMOLITH_CHAT__MODEL": "scripted",
        "MEMOLITH_CHAT__BASE_URL": server.openai_url,
    }
    config = load(None, settings, {})
    with Memolith.open(Path(folder) / "memory.db", config=config, worker=False) as memory:
        alice = memory.owner("alice")
        for said, reply in CONVERSATION:
            alice.learn(said, reply, session="monday")  # does not wait for the model
        alice.end_session("monday")
        print(f"{alice.backlog().pending_messages} messages wait to be learned from")

        # Usually a worker does this: in the process (the default), or `memolith worker`.
        memory.work()

        print("remembered:")
        for one in reversed(alice.list(state="all").memories):
            print(f"  {one.state.value:<11} {one.kind:<9} {one.content}")

        # Unsupported facts are quarantined until someone reviews them.
        print("to be reviewed:", [one.content for one in alice.review()])

        (summary,) = alice.summaries()
        print(f"a summary of {len(summary.sources)} messages, which stay: {summary.content}")

        spent = alice.usage()
        print({purpose: each.calls for purpose, each in spent.by_purpose.items()})
