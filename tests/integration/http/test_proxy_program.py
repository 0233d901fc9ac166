"""`memolith serve` as a chat proxy with the local embedder remembers across restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from memolith.demo.model_server import ModelServer, ReceivedRequest
from support.chat_proxy import user
from support.server_process import environment, served


def answer(request: ReceivedRequest) -> Any:
    if request.headers["user-agent"] != "memolith":  # a request of Memolith itself
        return {"facts": []}
    knows = "Alex" in request.system and "NASA" in request.system
    return "You are Alex, of NASA." if knows else "Nice to meet you."


def settings(folder: Path, model: ModelServer) -> dict[str, str]:
    return environment(
        folder,
        MEMOLITH_CHAT__PROVIDER="openai",
        MEMOLITH_CHAT__MODEL="scripted",
        MEMOLITH_CHAT__BASE_URL=model.openai_url,
        MEMOLITH_PROXY__MEMORY_TIMEOUT_MS="20000",  # for busy machines
        OPENAI_API_KEY="sk-upstream",
    )


def ask(client: httpx.Client, text: str) -> str:
    sent = client.post("/v1/chat/completions", json={"messages": [user(text)], "stream": True})
    assert sent.headers["X-Memolith-Memory"] == "on"
    return sent.text


@pytest.mark.soak
def test_exchange_before_a_shutdown_is_recalled_after_restart(
    tmp_path: Path,
) -> None:
    with ModelServer(answer) as model:
        env = settings(tmp_path, model)
        with served(env) as client:
            assert "meet" in ask(client, "My name is Alex and I work at NASA")
        with served(env) as client:
            assert "NASA" in ask(client, "Do you remember my name?")
        assert {asked.key for asked in model.requests} == {"sk-upstream"}
