"""Learn facts with a language model, notice a change, get a summary: against a scripted model.

The client is OpenAI's own, over a real socket; a server in this process plays the model, so that
nothing is needed but the extra `memolith[openai]`. With a model of yours, the settings below are a
section `[memory.chat]` of memolith.toml.

Run: python learning_with_a_model.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from memolith import Memolith
from memolith.config import load
from memolith.demo.model_server import Asked, ModelServer

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


def model(asked: Asked) -> object:
    """Answer what a language model is asked, as one might."""
    if asked.schema is not None and asked.schema.name == "summary":
        return {"summary": SUMMARY}
    told = [fact for words, facts in FACTS.items() if words in asked.user for fact in facts]
    return {
        "facts": [{"content": fact, "kind": "fact", "happened": None, "from": [1]} for fact in told]
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
            alice.learn(said, reply, session="monday")  # waits for no model
        alice.end_session("monday")
        print(f"{alice.backlog().pending_messages} messages wait to be learned from")

        # What a worker does: one in the process, unless `worker=False`, or `memolith worker`.
        memory.work()

        print("remembered:")
        for one in reversed(alice.list(state="all").memories):
            print(f"  {one.state.value:<11} {one.kind:<9} {one.content}")

        # What no sentence supports is withheld until somebody looks at it.
        print("to be reviewed:", [one.content for one in alice.review()])

        (summary,) = alice.summaries()
        print(f"a summary of {len(summary.sources)} messages, which stay: {summary.content}")

        spent = alice.usage()
        print({purpose: each.calls for purpose, each in spent.by_purpose.items()})
